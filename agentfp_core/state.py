"""The kernel's own fold: everything a run needs to know of its record, kept up to date event by event.

A live run, a resumed one and a loaded recording all compute it with the same code, so they cannot disagree.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pydantic_core

from agentfp_core.errors import RecordFormatError
from agentfp_core.events.agent import (
    AnswerDrafted,
    AnswerRefused,
    BudgetExhausted,
    EarlyReason,
    IterationEnd,
    IterationStart,
    OutputAttempt,
    RunConfigured,
    RunEnded,
    StopRequested,
    TurnEnd,
    TurnStart,
)
from agentfp_core.events.base import Event
from agentfp_core.events.context import Blob, Served
from agentfp_core.events.cost import CostTick, CostUnpriced, LimitHit
from agentfp_core.events.hook import VerdictFiled
from agentfp_core.events.message import MessageAdded, ProposedCall, Thinking
from agentfp_core.events.pause import PauseAbandoned, PauseAnswered, PauseRequest, PauseResume
from agentfp_core.events.stream import CallFailed, HelperReplied, LlmEnd
from agentfp_core.events.tool import ToolDispatched, ToolEnded, ToolStarted
from agentfp_core.jsonable import without_surrogates
from agentfp_core.messages import History, Message, ThinkingBlock, ToolCall, Usage, part_from_dict
from agentfp_core.record import Record
from agentfp_core.redaction import PLACEHOLDER
from agentfp_core.served import Piece, ServedState

SETTLED = ("success", "partial", "absent")


class OpenBatch:
    """The calls of the last reply, until all their messages have landed."""

    __slots__ = ("calls", "dispatched", "ended", "landed", "message_seq", "occurrences", "started", "undeclared", "verdicts")

    def __init__(self, calls: tuple[ToolCall, ...], message_seq: int) -> None:
        self.calls = calls
        self.message_seq = message_seq
        self.started: set[str] = set()
        self.undeclared: set[str] = set()
        self.dispatched: set[str] = set()
        self.ended: dict[str, tuple[int, ToolEnded]] = {}
        self.landed: set[str] = set()
        self.verdicts: list[Event] = []
        self.occurrences: dict[str, int] = {}


class RunState:
    """What the record says, as the loop needs it.

    Args:
        root_id: the conversation.
    """

    def __init__(self, root_id: str) -> None:
        self.root_id = root_id
        self.served = ServedState(root_id)
        self.messages_served = 0
        self.caches: dict[str, dict[str, Any]] = {}
        self.messages: list[Message] = []
        self.system_texts: list[str] = []
        self.batch: OpenBatch | None = None
        self.unasked: dict[int, str] = {}  # results whose calls are not on the record: it begins with a resumed leg
        self.pause: PauseRequest | None = None
        self.pause_event: Event | None = None
        self.pause_answers: dict[str, str] = {}
        self.turn = 0
        self.open_turn = False
        self.occurrences: dict[str, int] = {}
        self.freed: dict[str, list[int]] = {}
        self.call_ids: set[str] = set()
        self.open_iteration = False
        self.last_status: str | None = None
        self._reset_budget()
        self._reset_turn()
        self._handlers: dict[str, Callable[[Event, Any], None]] = {
            RunConfigured.event_name: self._configured,
            TurnStart.event_name: self._turn_start,
            IterationStart.event_name: self._iteration,
            IterationEnd.event_name: self._iteration_end,
            MessageAdded.event_name: self._message,
            LlmEnd.event_name: self._usage,
            HelperReplied.event_name: self._usage,
            CallFailed.event_name: self._usage,
            CostTick.event_name: self._cost,
            CostUnpriced.event_name: self._unpriced,
            LimitHit.event_name: self._limit,
            Blob.event_name: self._blob,
            Served.event_name: self._served,
            ToolStarted.event_name: self._started,
            ToolDispatched.event_name: self._dispatched,
            ToolEnded.event_name: self._ended,
            VerdictFiled.event_name: self._verdict,
            AnswerDrafted.event_name: self._drafted,
            AnswerRefused.event_name: self._refused,
            StopRequested.event_name: self._stop_requested,
            OutputAttempt.event_name: self._attempt,
            BudgetExhausted.event_name: self._exhausted,
            PauseRequest.event_name: self._paused,
            PauseAnswered.event_name: self._answered,
            PauseResume.event_name: self._resumed,
            PauseAbandoned.event_name: self._abandoned,
            TurnEnd.event_name: self._turn_end,
            RunEnded.event_name: self._run_end,
        }

    @classmethod
    def of(cls, record: Record) -> RunState:
        """The state that a record leads to."""
        state = cls(record.root_id)
        for event in record:
            state.replay(event)
        return state

    def replay(self, event: Event) -> None:
        """Fold in an event of a record that may come from a file.

        Raises:
            RecordFormatError: it does not go with the events before it.
        """
        try:
            self.apply(event)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            msg = f"event {event.seq} ({event.name}) does not go with what is before it; the record was changed"
            raise RecordFormatError(msg) from error

    def apply(self, event: Event) -> None:
        """Fold one event in."""
        handler = self._handlers.get(event.name)
        if handler is not None:
            handler(event, event.payload)

    def handler(self, name: str) -> Callable[[Event, Any], None] | None:
        """What folds events of a name in; None when nothing depends on them."""
        return self._handlers.get(name)

    def history(self, record: Record | None = None) -> History:
        """The messages up to now."""
        return History.view_of(self.messages, len(self.messages), root_id=self.root_id, record=record)

    # --- legs and turns ---

    def _reset_budget(self) -> None:
        self.iteration = 0
        self._tokens: list[int | None] = [None] * 5
        self.usd: Decimal | None = None
        self.unpriced = 0
        self.limits_hit: set[str] = set()
        self.early: EarlyReason | None = None
        self.early_iteration = 0
        self.pending_tool_calls = 0
        self.wrap_up_asked = False
        self.stop_requested: EarlyReason | None = None
        self.completed_iterations = 0

    def _reset_turn(self) -> None:
        self.revisions: dict[str, int] = {}
        self.schema_attempts = 0
        self.schema_retries = 0
        self.repeats: dict[str, int] = {}
        self.turn_started_ns = 0

    def _configured(self, event: Event, payload: RunConfigured) -> None:
        if payload.leg == "recovery":
            self._reset_budget()
            self.pause = self.pause_event = None

    def _turn_start(self, event: Event, payload: TurnStart) -> None:
        self.turn = event.turn
        self.open_turn = True
        self._reset_budget()
        self._reset_turn()
        self.turn_started_ns = event.ts_ns

    def _iteration(self, event: Event, payload: IterationStart) -> None:
        self.iteration = payload.iteration
        self.open_iteration = True

    def _iteration_end(self, event: Event, payload: IterationEnd) -> None:
        self.open_iteration = False
        self.completed_iterations += 1

    def _turn_end(self, event: Event, payload: TurnEnd) -> None:
        self.open_turn = False

    def _run_end(self, event: Event, payload: RunEnded) -> None:
        self.last_status = payload.status

    # --- messages and requests ---

    def _message(self, event: Event, payload: MessageAdded) -> None:
        content = payload.content
        if content is None:
            content = self._content_of(payload)
        message = Message(
            payload.message_id,
            payload.role,
            without_surrogates(content),
            event.turn if payload.message_turn is None else payload.message_turn,
            payload.author,
            _calls(payload.tool_calls) if payload.tool_calls else (),
            payload.tool_call_id,
            payload.tool_name if payload.tool_name is None else without_surrogates(payload.tool_name),
            tuple(map(without_surrogates, payload.notes)) if payload.notes else (),
            self._parts_of(payload),
            _thinking(payload.thinking) if payload.thinking else (),
            payload.own if payload.own is None else without_surrogates(payload.own),
            bool(payload.failed),
        )
        self.messages.append(message)
        self.served.add_message(message)
        if message.role == "system":
            self.system_texts.append(message.content)
        elif message.tool_calls:
            self.batch = OpenBatch(message.tool_calls, event.seq)
            for call in message.tool_calls:
                self.call_ids.add(call.id)
                self.batch.occurrences[call.id] = self._number(call)
        elif message.role == "tool" and self.batch is not None and message.tool_call_id is not None:
            self.batch.landed.add(message.tool_call_id)
            if len(self.batch.landed) == len(self.batch.calls):
                self.batch = None

    def _content_of(self, payload: MessageAdded) -> str:
        if self.batch is not None and payload.tool_call_id in self.batch.ended:
            return self.batch.ended[payload.tool_call_id][1].content
        return self.unasked.pop(payload.content_of, "") if payload.content_of is not None else ""

    def _parts_of(self, payload: MessageAdded) -> tuple[Any, ...]:
        if payload.parts is None:
            return ()
        if payload.parts == PLACEHOLDER:
            return ()
        return tuple(part_from_dict(part) for part in pydantic_core.from_json(payload.parts))

    def _blob(self, event: Event, payload: Blob) -> None:
        self.served.blobs[payload.digest] = without_surrogates(payload.body)

    def _served(self, event: Event, payload: Served) -> None:
        self.served.apply(payload)
        self.messages_served = payload.messages

    def unanswered_corrections(self) -> tuple[Piece, ...]:
        """What the last request said of a draft that was sent back, when no reply to it has reached the history."""
        return self.served.corrections() if self.messages_served == len(self.messages) else ()

    # --- money and limits ---

    def _usage(self, event: Event, payload: LlmEnd | HelperReplied | CallFailed) -> None:
        used = (payload.input_tokens, payload.output_tokens, payload.cache_read_tokens, payload.cache_write_tokens, payload.thinking_tokens)
        self._tokens = [a if b is None else b if a is None else a + b for a, b in zip(self._tokens, used, strict=True)]

    @property
    def usage(self) -> Usage:
        """Tokens of the turn; what no reply reported is None."""
        return Usage(*self._tokens)

    def _cost(self, event: Event, payload: CostTick) -> None:
        self.usd = Decimal(payload.cumulative_usd)

    def _unpriced(self, event: Event, payload: CostUnpriced) -> None:
        self.unpriced += 1

    def _limit(self, event: Event, payload: LimitHit) -> None:
        self.limits_hit.add(payload.kind)

    def _exhausted(self, event: Event, payload: BudgetExhausted) -> None:
        self.early, self.early_iteration = payload.reason, event.iteration
        self.pending_tool_calls = payload.pending_tool_calls
        self.wrap_up_asked = payload.action == "wrapped-up"

    # --- calls ---

    def _started(self, event: Event, payload: ToolStarted) -> None:
        if self.batch is not None and event.call_id is not None:
            self.batch.started.add(event.call_id)
            if payload.tool is None:
                self.batch.undeclared.add(event.call_id)

    def _dispatched(self, event: Event, payload: ToolDispatched) -> None:
        if self.batch is not None:
            self.batch.dispatched.update(payload.calls)

    def _ended(self, event: Event, payload: ToolEnded) -> None:
        batch, call_id = self.batch, event.call_id
        if batch is None or call_id is None:
            self.unasked[event.seq] = payload.content
            return
        batch.ended[call_id] = (event.seq, payload)
        if payload.ran and payload.fingerprint is not None:
            self.repeats[payload.fingerprint] = self.repeats.get(payload.fingerprint, 0) + 1
        if not payload.ran or payload.outcome not in SETTLED:  # made again, it is the same call once more
            for call in batch.calls:
                if call.id == call_id:
                    bisect.insort(self.freed.setdefault(occurrence_key(call), []), batch.occurrences[call_id])

    def _number(self, call: ToolCall) -> int:
        """Number a call among those with its tool and arguments; the number of one that came to nothing is given again."""
        key = occurrence_key(call)
        freed = self.freed.get(key)
        if freed:
            return freed.pop(0)
        number = self.occurrences.get(key, 0)
        self.occurrences[key] = number + 1
        return number

    def _verdict(self, event: Event, payload: VerdictFiled) -> None:
        if self.batch is not None and payload.moment == "before_tool":
            self.batch.verdicts.append(event)

    # --- answers ---

    def _drafted(self, event: Event, payload: AnswerDrafted) -> None:
        if payload.key != "output_schema":
            self.revisions[payload.key] = self.revisions.get(payload.key, 0) + 1

    def _refused(self, event: Event, payload: AnswerRefused) -> None:
        """Take a withdrawn answer out of the history; views of it as it was stay as they were."""
        if payload.withdraws is not None:
            self.messages = [message for message in self.messages if message.id != payload.withdraws]
            self.served.withdraw(payload.withdraws)

    def _stop_requested(self, event: Event, payload: StopRequested) -> None:
        self.stop_requested = self.stop_requested or payload.limit

    def _attempt(self, event: Event, payload: OutputAttempt) -> None:
        self.schema_attempts += 1
        if payload.outcome == "retried":
            self.schema_retries += 1

    # --- pauses ---

    def _paused(self, event: Event, payload: PauseRequest) -> None:
        self.pause, self.pause_event = payload, event
        self.pause_answers = {}

    def _answered(self, event: Event, payload: PauseAnswered) -> None:
        self.pause_answers.update({answer.id: answer.value for answer in payload.answers})

    def _resumed(self, event: Event, payload: PauseResume) -> None:
        self.pause = self.pause_event = None
        self.pause_answers = {}

    def _abandoned(self, event: Event, payload: PauseAbandoned) -> None:
        self.pause = self.pause_event = None
        self.pause_answers = {}
        self.open_turn = False


def _calls(proposed: tuple[ProposedCall, ...]) -> tuple[ToolCall, ...]:
    return tuple([ToolCall(c.id, without_surrogates(c.name), without_surrogates(c.arguments), c.provider_meta) for c in proposed])


def _thinking(blocks: tuple[Thinking, ...]) -> tuple[ThinkingBlock, ...]:
    return tuple([ThinkingBlock(without_surrogates(t.text), t.signature, t.redacted, t.provider_meta) for t in blocks])


def occurrence_key(call: ToolCall) -> str:
    """What makes two calls the same call: the tool and its canonical arguments."""
    return f"{call.name}\x1f{call.arguments_json}"
