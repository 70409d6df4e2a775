"""``LLMCall``: one model call, without tools and without a loop, with the same record, output type and limits."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from agentfp_core.agent import Agent
from agentfp_core.errors import ConfigError
from agentfp_core.limits import Limits
from agentfp_core.result import RunResult

Out = TypeVar("Out")


class LLMCall(Generic[Out]):
    """One model call. It never pauses and never asks again.

    Args:
        model: a model, or ``"provider:name"``.
        output_type: what the answer must be.
        **settings: arguments of :class:`Agent`, without tools; a ``Limits.usd`` can only warn.

    Raises:
        ConfigError: an argument needs a loop.
    """

    def __init__(self, model: Any, *, output_type: Any = str, **settings: Any) -> None:
        refused = [name for name in ("tools", "output_retries") if name in settings]
        problems = [f"an LLMCall takes no {name!r}; use an Agent" for name in refused]
        given: Limits = settings.pop("limits", None) or Limits(on_usd="warn")
        if given.usd is not None and given.on_usd == "halt":
            problems.append("an LLMCall has nothing to halt; pass Limits(usd=..., on_usd='warn')")
        if problems:
            raise ConfigError(problems)
        made: Any = Agent
        self.agent: Agent[Any, Out] = made(
            model,
            output_type=output_type,
            output_retries=0,
            limits=Limits(iterations=1, wrap_up=False, usd=given.usd, on_usd="warn", tokens=given.tokens),
            **settings,
        )

    async def run(self, message: Any, **call: Any) -> RunResult[Out]:
        """Make the call; see :meth:`Agent.run`."""
        return await self.agent.run(message, **call)

    def run_sync(self, message: Any, **call: Any) -> RunResult[Out]:
        """:meth:`run` for code without an event loop."""
        return self.agent.run_sync(message, **call)
