"""``LLMCall``: one model call, without tools and without a loop, with the same record, output type and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from agentfp_core.agent import Agent
from agentfp_core.errors import ConfigError
from agentfp_core.limits import Limits
from agentfp_core.result import RunResult

if TYPE_CHECKING:
    from typing_extensions import TypeForm, Unpack

    from agentfp_core.model import Model
    from agentfp_core.starting import CallArguments

Out = TypeVar("Out", default=str)
NOTHING_TO_HALT = "an LLMCall has nothing to halt; pass Limits(usd=..., on_usd='warn')"


class LLMCall(Generic[Out]):
    """One model call. It never pauses and never asks again.

    Args:
        model: a model, or ``"provider:name"``.
        output_type: what the answer must be.
        **settings: arguments of :class:`Agent`, without tools; a ``Limits.usd`` can only warn.

    Raises:
        ConfigError: an argument needs a loop.
    """

    def __init__(self, model: Model | str, *, output_type: TypeForm[Out] = str, **settings: Any) -> None:  # type: ignore[assignment]
        refused = [name for name in ("tools", "output_retries") if name in settings]
        problems = [f"an LLMCall takes no {name!r}; use an Agent" for name in refused]
        given: Limits = settings.pop("limits", None) or Limits(on_usd="warn")
        if given.usd is not None and given.on_usd == "halt":
            problems.append(NOTHING_TO_HALT)
        if problems:
            raise ConfigError(problems)
        made: Any = Agent
        self.agent: Agent[Any, Out] = made(
            model,
            output_type=output_type,
            output_retries=0,
            limits=_of_one_call(given),
            **settings,
        )

    async def run(self, message: Any, **call: Unpack[CallArguments[Any]]) -> RunResult[Out]:
        """Make the call; see :meth:`Agent.run`.

        Args:
            message: what is asked: a text, or a list of texts, images and documents.
            **call: as for :meth:`Agent.run`.

        Raises:
            ConfigError: its ``limits`` would halt.
        """
        return await self.agent.run(message, **_once(call))

    def run_sync(self, message: Any, **call: Unpack[CallArguments[Any]]) -> RunResult[Out]:
        """:meth:`run` for code without an event loop.

        Args:
            message: what is asked: a text, or a list of texts, images and documents.
            **call: as for :meth:`Agent.run`.
        """
        return self.agent.run_sync(message, **_once(call))


def _of_one_call(given: Limits) -> Limits:
    return Limits(iterations=1, wrap_up=False, usd=given.usd, on_usd="warn", tokens=given.tokens)


def _once(call: CallArguments[Any]) -> CallArguments[Any]:
    """The arguments of a run whose limits leave it one call."""
    limits = call.get("limits")
    if limits is None:
        return call
    if limits.usd is not None and limits.on_usd == "halt":
        raise ConfigError(NOTHING_TO_HALT)
    return {**call, "limits": _of_one_call(limits)}
