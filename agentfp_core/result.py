"""What a run returns: its status, its answer, and everything that can be asked of its record."""

from __future__ import annotations

import html
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from agentfp_core.checkpoint import Checkpoint
from agentfp_core.errors import AgentfpError, AnswerRefusedError, NoAnswerError, OutputSchemaError, RunPausedError
from agentfp_core.state import RunState

if TYPE_CHECKING:
    from agentfp_core.called import Called
    from agentfp_core.delivery import DeliveryStats
    from agentfp_core.events.agent import EarlyReason
    from agentfp_core.memos import Memo
    from agentfp_core.messages import History, Usage
    from agentfp_core.pause import Pause
    from agentfp_core.record import Record

Out = TypeVar("Out")
Status: TypeAlias = Literal["answered", "paused", "stopped_early", "refused"]


@dataclass(frozen=True, slots=True)
class StoppedEarly:
    """A limit ended the turn while the model still wanted something.

    Args:
        reason: which limit.
        iteration: at which model call the limit fired; a call for a last answer comes after it.
        pending_tool_calls: calls that were wanted and not run.
        answer_was_empty: whether there is no text.
        wrapped_up: whether the text is from a last call that asked for one.
    """

    reason: EarlyReason
    iteration: int
    pending_tool_calls: int
    answer_was_empty: bool
    wrapped_up: bool


@dataclass(frozen=True, slots=True)
class ContractUnmet:
    """The answer does not fit the output type.

    Args:
        stage: no JSON, or JSON that does not fit.
        attempts: answers judged.
        retries_spent: re-asks made.
        path: where it does not fit.
        error: what the validator says.
        broken_by: the plugin whose rewriting made it unfit.
        fallback_configured: whether there was a last resort.
        stop_reason: why the model stopped, when not of itself.
    """

    stage: str
    attempts: int
    retries_spent: int
    path: str | None
    error: str | None
    broken_by: str | None
    fallback_configured: bool
    stop_reason: str | None


class StoppedEarlyError(NoAnswerError):
    """A limit ended the turn before the model was done. ``stopped`` says which."""

    def __init__(self, stopped: StoppedEarly) -> None:
        self.stopped = stopped
        super().__init__(f"the run stopped early ({stopped.reason}) in iteration {stopped.iteration}; raise the limit, or read result.text")


class Head:
    """The end of a conversation's record with its folds, for the one run that goes on from it without folding anew."""

    __slots__ = ("_taken", "memos", "record", "state")

    def __init__(self, record: Record, state: RunState, memos: dict[str, Memo]) -> None:
        self.record = record
        self.state = state
        self.memos = memos
        self._taken = False

    def take(self) -> tuple[RunState, dict[str, Memo]] | None:
        """The folds; None when another run has gone on from here."""
        if self._taken:
            return None
        self._taken = True
        return self.state, self.memos

    def give_back(self) -> None:
        """The run that took the folds changed nothing."""
        self._taken = False


class RunResult(Generic[Out]):
    """What became of a run. Reading the answer of a paused or refused run raises.

    Attributes:
        status: ``answered``, ``paused``, ``stopped_early`` or ``refused``.
        run_id: the leg.
        record: everything that happened.
        history: the messages; ``history=`` of a run takes it.
        usage: tokens of the turn.
        cost_usd: dollars of the turn, None when nothing could be priced.
        pause: what to resume, when paused.
        error: what ``raise_for_status`` raises, when refused.
        refused_by: the plugin that refused.
        tell_person: a sentence that may be shown in place of a refused answer.
        stopped_early: which limit ended the turn.
        contract_unmet: why the answer does not fit the output type.
        plugin_failures: hooks that raised, by plugin.
        listener_failures: listeners that raised.
        deliveries: what became of the events at sinks.
    """

    def __init__(
        self,
        *,
        status: Status,
        head: Head,
        text: str = "",
        output: Any = None,
        has_output: bool = False,
        pause: Pause | None = None,
        error: Exception | None = None,
        refused_by: str | None = None,
        tell_person: str | None = None,
        contract_unmet: ContractUnmet | None = None,
        plugin_failures: dict[str, int] | None = None,
        listener_failures: int = 0,
        deliveries: DeliveryStats | None = None,
    ) -> None:
        state = head.state
        self.status: Status = status
        self.record: Record = head.record
        self.run_id = head.record.run_id
        self.root_id = head.record.root_id
        self.usage: Usage = state.usage
        self.cost_usd: Decimal | None = state.usd
        self._unpriced = state.unpriced
        self.pause = pause
        self.error = error
        self.refused_by = refused_by
        self.tell_person = tell_person
        self.contract_unmet = contract_unmet
        self.plugin_failures = dict(plugin_failures or {})
        self.listener_failures = listener_failures
        self.deliveries = deliveries
        self.stopped_early: StoppedEarly | None = None
        if state.early is not None:
            self.stopped_early = StoppedEarly(state.early, state.early_iteration, state.pending_tool_calls, not text, state.wrap_up_asked)
        self.history: History = state.history(head.record)
        self._head = head
        self.history._head = head
        self._text = text
        self._output = output
        self._has_output = has_output

    @property
    def calls(self) -> list[Called]:
        """Every tool call of the conversation up to here: arguments, outcome, result; in the order they were proposed."""
        from agentfp_core.called import calls_of

        return calls_of(self.record)

    @property
    def paused(self) -> bool:
        """Whether the run waits for a person."""
        return self.status == "paused"

    @property
    def refused(self) -> bool:
        """Whether a plugin refused the message, a call or the answer."""
        return self.status == "refused"

    @property
    def text(self) -> str:
        """The answer as shown to people.

        Raises:
            RunPausedError: the run is paused.
            AnswerRefusedError: it was refused; the refused text is on the record only.
        """
        self._check_readable()
        return self._text

    @property
    def output(self) -> Out:
        """The answer as the output type; the text when there is none.

        Raises:
            RunPausedError: the run is paused.
            AnswerRefusedError: it was refused.
            OutputSchemaError: the answer does not fit the output type.
        """
        self._check_readable()
        if self._has_output:
            value: Out = self._output
            return value
        unmet = self.contract_unmet
        if unmet is not None:
            raise OutputSchemaError(self._text, unmet.stage, unmet.error or "it does not fit")
        if self.stopped_early is not None:
            raise StoppedEarlyError(self.stopped_early)
        raise NoAnswerError("the run has no output of its type")

    def _check_readable(self) -> None:
        if self.pause is not None:
            raise RunPausedError(self.pause)
        if self.status == "refused":
            raise self._refusal()

    def _refusal(self) -> Exception:
        if isinstance(self.error, AgentfpError):
            return self.error
        error = AnswerRefusedError(f"the answer was refused by {self.refused_by!r}", plugin=self.refused_by)
        error.__cause__ = self.error
        return error

    def raise_for_status(self) -> RunResult[Out]:
        """Raise the typed error of a run that was not answered; return the result otherwise.

        Raises:
            RunPausedError: it is paused.
            AnswerRefusedError: it was refused, or what the plugin gave as the error.
            StoppedEarlyError: a limit ended it.
        """
        if self.status == "refused" and self.error is not None:
            raise self.error
        self._check_readable()
        if self.stopped_early is not None:
            raise StoppedEarlyError(self.stopped_early)
        return self

    def checkpoint(self) -> Checkpoint:
        """Where the conversation stands, to go on from in another process."""
        return Checkpoint(self.record)

    def __str__(self) -> str:
        return self._text if self.status in ("answered", "stopped_early") else f"[{self.status}]"

    def __repr__(self) -> str:
        cost = "" if self.cost_usd is None else f", ${self.cost_usd}"
        return f"RunResult({self.status!r}, {len(self.history)} messages, {self.usage.total} tokens{cost})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(m.role)}</td><td><pre>{html.escape(_line(m.text, m.tool_calls))}</pre></td></tr>" for m in self.history
        )
        return f"<p><b>{self.status}</b> · {self.usage.total} tokens</p><table>{rows}</table>"


def _line(text: str, calls: Any) -> str:
    shown = [text] if text else []
    shown += [f"{call.name}({call.arguments_json})" for call in calls]
    joined = "\n".join(shown)
    return joined if len(joined) <= 2000 else joined[:2000] + " …"
