"""A live conversation: one record over all its turns, and the questions that are open in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import anyio

from agentfp_core import resuming, starting
from agentfp_core.callables import refuse_loop
from agentfp_core.checkpoint import Checkpoint
from agentfp_core.errors import NoConversationError, PendingQuestionError, RunInFlightError
from agentfp_core.events.pause import PauseResume
from agentfp_core.events.tool import ToolDispatched
from agentfp_core.messages import History
from agentfp_core.missing import MISSING
from agentfp_core.pause import Pause
from agentfp_core.record import Record
from agentfp_core.result import Head, RunResult
from agentfp_core.streaming import RunStream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from typing_extensions import Unpack

    from agentfp_core.agent import Agent
    from agentfp_core.events.base import Event
    from agentfp_core.run import Run
    from agentfp_core.starting import CallArguments

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

    async def send(self, message: Any, **call: Unpack[CallArguments[Deps]]) -> RunResult[Out]:
        """Run one turn.

        Args:
            message: what the person says.
            **call: as for ``agent.run``, except ``history``.

        Raises:
            RunInFlightError: a turn is live.
            PendingQuestionError: a question is open; call :meth:`resume` or :meth:`abandon`.
        """
        options = {**self._defaults, **call}
        return await self._turn(lambda opened: self.agent._start(message, history=self._history, opened=opened, **options))

    def stream(self, message: Any, **call: Unpack[CallArguments[Deps]]) -> RunStream[Out]:
        """Stream one turn; see ``agent.stream``.

        Args:
            message: what the person says.
            **call: as for ``agent.run``, except ``history``.
        """
        self._check_idle()
        options = {**self._defaults, **call}

        async def go(push: Callable[[Event], None]) -> RunResult[Out]:
            return await self._turn(lambda opened: self.agent._start(message, history=self._history, push=push, opened=opened, **options))

        return RunStream(go)

    async def resume(self, answers: Any = MISSING, **call: Unpack[CallArguments[Deps]]) -> RunResult[Out]:
        """Answer the open question; see ``agent.resume``.

        Args:
            answers: by question id; one answer alone when there is one question.
            **call: as for ``agent.run``, except ``history``.

        Raises:
            NoConversationError: no question is open.
            RunInFlightError: a turn is live.
        """
        pause, options = self._pause, {**self._defaults, **call}
        if self._live is not None:
            raise RunInFlightError(self.agent.agent_id, self._live)
        if pause is None:
            raise NoConversationError("nothing-pending")
        return await self._turn(lambda opened: self.agent._resume(pause, answers, opened=opened, **options), resuming=True)

    def send_sync(self, message: Any, **call: Any) -> RunResult[Out]:
        """:meth:`send` for code without an event loop.

        Args:
            message: what the person says.
            **call: as for ``agent.run``, except ``history``.
        """
        refuse_loop("send_sync", "await chat.send(...)")
        return anyio.run(lambda: self.send(message, **call))

    def resume_sync(self, answers: Any = MISSING, **call: Any) -> RunResult[Out]:
        """:meth:`resume` for code without an event loop.

        Args:
            answers: by question id; one answer alone when there is one question.
            **call: as for ``agent.run``, except ``history``.
        """
        refuse_loop("resume_sync", "await chat.resume(...)")
        return anyio.run(lambda: self.resume(answers, **call))

    def abandon(self) -> Pause | None:
        """Drop the open question: its calls are settled without running, and the next message is taken.

        Returns:
            What was dropped; None when no question was open.
        """
        dropped = self._pause
        if dropped is not None:
            self._stand_at(resuming.abandon(self.agent, dropped, starting.CallOptions(**self._defaults)))
        return dropped

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

    async def _turn(
        self, go: Callable[[Callable[[Run[Any]], None]], Awaitable[RunResult[Out]]], *, resuming: bool = False
    ) -> RunResult[Out]:
        if not resuming:
            self._check_idle()
        made: list[Run[Any]] = []
        self._live = "the live one"
        try:
            result = await go(made.append)
        except BaseException:
            if made:
                self._broke_off(made[0])
            raise
        finally:
            self._live = None
        return self._stand_at(result)

    def _stand_at(self, result: RunResult[Out]) -> RunResult[Out]:
        self.result = result
        self._history = result.history
        self._pause = result.pause
        return result

    def _broke_off(self, run: Run[Any]) -> None:
        """A turn that failed before it did anything can be sent again. Once tools ran or a pause was used up, it is part of all this."""
        if run.closed and any(isinstance(event.payload, (ToolDispatched, PauseResume)) for event in run.record.tail.events):
            self._history = run.state.history(run.record)
            self._history._head = Head(run.record, run.state, run.memos)
            self._pause = None

    def __repr__(self) -> str:
        return f"Conversation({len(self.history)} messages{', waits for an answer' if self._pause else ''})"
