"""A live conversation: one record over all its turns, and the questions that are open in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agentfp_core import starting
from agentfp_core.checkpoint import Checkpoint
from agentfp_core.errors import NoConversationError, PendingQuestionError, RunInFlightError
from agentfp_core.messages import History
from agentfp_core.pause import MISSING, Pause
from agentfp_core.record import Record
from agentfp_core.result import Head, RunResult
from agentfp_core.streaming import RunStream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentfp_core.agent import Agent
    from agentfp_core.events.base import Event

Deps = TypeVar("Deps")
Out = TypeVar("Out")


class Conversation(Generic[Deps, Out]):
    """A conversation with an agent. Its turns share one record; one of them is live at a time.

    Make one with ``agent.conversation(...)``.

    Attributes:
        result: what the last turn returned; None before the first.
    """

    def __init__(
        self, agent: Agent[Deps, Out], *, history: Any = None, checkpoint: Checkpoint | str | bytes | None = None, defaults: dict[str, Any]
    ) -> None:
        self.agent = agent
        self.result: RunResult[Out] | None = None
        self._defaults = defaults
        self._history: History | None = None if history is None else History.of(history)
        self._pause: Pause | None = None
        self._live: str | None = None
        if checkpoint is not None:
            self._open(checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint.from_json(checkpoint))

    def _open(self, checkpoint: Checkpoint) -> None:
        record = checkpoint.record
        state, memos = starting.fold(self.agent, record, record.root_id)
        self._history = state.history(record)
        self._history._head = Head(record, state, memos)
        if state.pause is not None:
            self._pause = Pause.of(record, state)

    # --- reading ---

    @property
    def history(self) -> History:
        """The messages up to now."""
        if self.result is not None:
            return self.result.history
        return self._history if self._history is not None else History()

    @property
    def record(self) -> Record:
        """The record of all turns."""
        record = self.history.record
        return record if record is not None else Record()

    @property
    def pending(self) -> Pause | None:
        """The pause that waits for an answer, or None."""
        return self._pause

    def checkpoint(self) -> Checkpoint:
        """Where the conversation stands; ``agent.conversation(checkpoint=...)`` goes on from it, in another process too."""
        return Checkpoint(self.record)

    # --- doing ---

    async def send(self, message: Any, **call: Any) -> RunResult[Out]:
        """Run one turn.

        Args:
            message: what the person says.
            **call: as for ``agent.run``, except ``history``.

        Raises:
            RunInFlightError: a turn is live.
            PendingQuestionError: a question is open; call :meth:`resume` or :meth:`abandon`.
        """
        self._check_idle()
        return await self._turn(self.agent.run(message, history=self._last(), **{**self._defaults, **call}))

    def stream(self, message: Any, **call: Any) -> RunStream[Out]:
        """Stream one turn; see ``agent.stream``."""
        self._check_idle()
        options = {**self._defaults, **call}

        async def go(push: Callable[[Event], None]) -> RunResult[Out]:
            return await self._turn(self.agent._start(message, history=self._last(), push=push, **options))

        return RunStream(go)

    async def resume(self, answers: Any = MISSING, **call: Any) -> RunResult[Out]:
        """Answer the open question; see ``agent.resume``.

        Raises:
            NoConversationError: no question is open.
            RunInFlightError: a turn is live.
        """
        if self._live is not None:
            raise RunInFlightError(self.agent.agent_id, self._live)
        if self._pause is None:
            raise NoConversationError("nothing-pending")
        return await self._turn(self.agent.resume(self._pause, answers, **{**self._defaults, **call}))

    def abandon(self) -> Pause | None:
        """Drop the open question: its calls are settled without running, and the next message is taken.

        Returns:
            What was dropped; None when no question was open.
        """
        dropped = self._pause
        if dropped is not None:
            self.result = starting.abandon(self.agent, dropped)
            self._pause = None
        return dropped

    def _last(self) -> History | None:
        return self.result.history if self.result is not None else self._history

    def _check_idle(self) -> None:
        if self._live is not None:
            raise RunInFlightError(self.agent.agent_id, self._live)
        if self._pause is not None:
            first = self._pause.questions[0] if self._pause.questions else None
            raise PendingQuestionError(
                tool_name=first.tool if first else None,
                tool_call_id=first.call_id if first else None,
                question=first.prompt if first else None,
            )

    async def _turn(self, run: Awaitable[RunResult[Out]]) -> RunResult[Out]:
        self._live = "the live one"
        try:
            result = await run
        finally:
            self._live = None
        self.result = result
        self._pause = result.pause
        return result

    def __repr__(self) -> str:
        return f"Conversation({len(self.history)} messages{', waits for an answer' if self._pause else ''})"
