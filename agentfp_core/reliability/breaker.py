"""A model that is left alone for a while after it has failed too often."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Literal

from agentfp_core.errors import CircuitOpenError, ConfigError
from agentfp_core.events.base import Payload
from agentfp_core.events.error import CircuitChanged
from agentfp_core.model import Model, ModelChunk, ModelRequest, ModelResponse, ModelWrapper, resolve_model
from agentfp_core.protocol import streaming
from agentfp_core.reliability.kinds import error_kind

State = Literal["closed", "open", "half-open"]


class CircuitBreaker(ModelWrapper):
    """Refuses calls at once while a model is down, so that nobody waits for it and it can recover.

    After ``failures`` failed calls in a row the circuit is open: calls raise ``CircuitOpenError``. After ``cooldown`` seconds one call
    at a time is let through (half-open); after ``half_open_successes`` that succeed the circuit is closed, after one that fails it is
    open again. Only what may pass counts as a failure: rate limits, server errors, timeouts, broken connections.

    All runs that share the object share the circuit. It may be used from several threads.

    Args:
        model: the model, or its name.
        failures: failed calls in a row that open the circuit.
        cooldown: seconds that it stays open.
        half_open_successes: calls that must succeed before it closes.
        clock: gives seconds that only grow; for tests.
    """

    def __init__(
        self,
        model: Model | str,
        *,
        failures: int = 5,
        cooldown: float = 30.0,
        half_open_successes: int = 2,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        named = {"failures": failures, "half_open_successes": half_open_successes}
        problems = [f"{name} takes a whole number from 1" for name, value in named.items() if type(value) is not int or value < 1]
        if isinstance(cooldown, bool) or not isinstance(cooldown, (int, float)) or not 0 <= cooldown < float("inf"):
            problems.append("cooldown takes seconds from 0")
        if problems:
            raise ConfigError([f"CircuitBreaker: {problem}" for problem in problems])
        super().__init__(resolve_model(model))
        self._limit, self._cooldown, self._wanted, self._clock = failures, cooldown, half_open_successes, clock
        self._lock = threading.Lock()
        self._state: State = "closed"
        self._failed = self._succeeded = 0
        self._until = 0.0
        self._probing = False

    @property
    def state(self) -> State:
        """``closed`` (calls go through), ``open`` (none does) or ``half-open`` (one at a time does)."""
        return self._state

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Call the model.

        Raises:
            CircuitOpenError: the circuit is open; says for how long.
            ModelError: of the model.
        """
        with self._watched(request.report) as done:
            response = await self.inner.complete(request)
            done()
            return response

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream from the model; a stream counts when it has ended."""
        with self._watched(request.report) as done:
            async with streaming(self.inner, request) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, ModelResponse):
                        done()
                    yield chunk

    @contextlib.contextmanager
    def _watched(self, report: Callable[[Payload], None]) -> Iterator[Callable[[], None]]:
        probe = self._enter(report)
        succeeded = False

        def done() -> None:
            nonlocal succeeded
            succeeded = True
            self._success(report)

        try:
            yield done
        except Exception as error:
            if not succeeded and error_kind(error) in ("rate-limit", "5xx-transient"):
                self._failure(report, error)
            raise
        finally:
            if probe:
                with self._lock:
                    self._probing = False

    def _enter(self, report: Callable[[Payload], None]) -> bool:
        """Let a call through, or refuse it; says whether it is the one that probes."""
        with self._lock:
            if self._state == "closed":
                return False
            left = self._until - self._clock()
            if self._state == "open" and left > 0:
                raise self._refusal(left)
            if self._probing:
                raise self._refusal(0.0)
            self._probing = True
            if self._state == "half-open":
                return True
            self._state, self._succeeded = "half-open", 0
        report(CircuitChanged("half-open", self.provider, "cooldown over"))
        return True

    def _refusal(self, left: float) -> CircuitOpenError:
        when = f"for {left:.1f} s" if left > 0 else "while one call tries whether it is back"
        msg = f"model {self.name!r} of {self.provider!r} failed too often; no call is sent {when}. Fall back on another model, or wait"
        return CircuitOpenError(msg, provider=self.provider, model=self.name, retry_after=max(left, 0.0))

    def _success(self, report: Callable[[Payload], None]) -> None:
        with self._lock:
            self._failed = 0
            if self._state != "half-open":
                return
            self._succeeded += 1
            if self._succeeded < self._wanted:
                return
            self._state = "closed"
        report(CircuitChanged("closed", self.provider, f"{self._wanted} calls succeeded"))

    def _failure(self, report: Callable[[Payload], None], error: Exception) -> None:
        with self._lock:
            self._failed += 1
            if self._state == "open" or (self._state == "closed" and self._failed < self._limit):
                return
            self._state, self._until = "open", self._clock() + self._cooldown
        report(CircuitChanged("open", self.provider, type(error).__name__))
