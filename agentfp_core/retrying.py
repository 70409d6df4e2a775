"""When a failed call is worth another attempt, and how long to wait before it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from agentfp_core.errors import (
    CircuitOpenError,
    ConfigError,
    ContentFilterError,
    ModelAuthenticationError,
    ModelBadRequestError,
    ModelFeatureError,
    ModelNotFoundError,
    ProviderProtocolError,
)

_HOPELESS = (
    CircuitOpenError,
    ContentFilterError,
    ModelAuthenticationError,
    ModelBadRequestError,
    ModelFeatureError,
    ModelNotFoundError,
    ProviderProtocolError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often to try, and how long to wait in between.

    Args:
        attempts: calls in all; 1 never tries again.
        initial: seconds before the second attempt.
        factor: by which each further wait grows.
        longest: seconds that no wait exceeds, one that the provider states included.
    """

    attempts: int = 3
    initial: float = 0.2
    factor: float = 2.0
    longest: float = 10.0

    def __post_init__(self) -> None:
        problems = []
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 1:
            problems.append("attempts takes a whole number from 1")
        problems += [
            f"{name} takes a number from {least:g}"
            for name, least in (("initial", 0.0), ("factor", 1.0), ("longest", 0.0))
            if isinstance(getattr(self, name), bool)
            or not isinstance(getattr(self, name), (int, float))
            or not least <= getattr(self, name) < float("inf")
        ]
        if problems:
            raise ConfigError([f"retries: {problem}" for problem in problems])

    def wait(self, attempt: int, stated: float | None = None) -> float:
        """Seconds to wait after a failed attempt.

        Args:
            attempt: number of the failed attempt, from 1.
            stated: seconds that the provider asks for; kept to as far as ``longest`` allows.
        """
        if stated is not None and stated >= 0:
            return min(stated, self.longest)
        grown = self.initial * self.factor ** (attempt - 1)
        return min(grown, self.longest) * random.uniform(0.75, 1.0)  # so that callers who failed together come back apart


def worth_retrying(error: BaseException) -> bool:
    """Whether the same request may succeed later.

    Errors without a status and those of 429 and from 500 are; other refusals (4xx), malformed replies and what is no error of a
    call (a cancellation) are not.
    """
    if not isinstance(error, Exception) or isinstance(error, _HOPELESS):
        return False
    status = status_of(error)
    return status is None or status == 429 or not 400 <= status < 500


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error carries: ours, or that of a vendor's own client."""
    for name in ("status", "status_code"):
        status = getattr(error, name, None)
        if isinstance(status, int):
            return status
    return None
