"""How a run begins with a new message, and what all legs share: the options of a call, the opened run, the guard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypedDict, TypeVar

from agentfp_core.admission import UserMessage, admit, read_message, seed_history
from agentfp_core.errors import (
    ConversationMismatchError,
    PendingQuestionError,
    RedactedRecordError,
    UsageError,
    describe_type,
)
from agentfp_core.events.agent import IterationEnd
from agentfp_core.guard import admit_model
from agentfp_core.journal import Journal
from agentfp_core.leg import run_leg
from agentfp_core.limits import Limits
from agentfp_core.listeners import Listeners, ListenerSpec
from agentfp_core.loop import End, run_turn
from agentfp_core.memos import Memo
from agentfp_core.messages import History
from agentfp_core.model import Model, ModelSettings, resolve_model
from agentfp_core.outcomes import settle
from agentfp_core.plugins import run_options
from agentfp_core.record import Record
from agentfp_core.redaction import RedactionPolicy
from agentfp_core.result import Head, RunResult
from agentfp_core.run import Run
from agentfp_core.segments import Identity, SegmentHeader
from agentfp_core.state import RunState

if TYPE_CHECKING:
    from agentfp_core.agent import Agent
    from agentfp_core.events.base import Event

Deps = TypeVar("Deps")
HistoryInput: TypeAlias = History | str | bytes | Mapping[str, Any] | Sequence[Any]


class CallArguments(TypedDict, Generic[Deps], total=False):
    """What a call of ``run``, ``stream``, ``resume`` and their like takes besides its message; see :class:`CallOptions`."""

    deps: Deps
    identity: Identity | None
    session_id: str | None
    correlation_id: str | None
    trace_id: str | None
    model: Model | str | None
    options: Mapping[str, Any] | None
    limits: Limits | None
    model_settings: ModelSettings | Mapping[str, Any] | None
    on_event: ListenerSpec
    journal: Journal | str | Path | None
    timeout: float | None
    stream: str | None
    redact: RedactionPolicy | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """What the caller of one run may say besides its message.

    Args:
        deps: handed to tools, hooks and functions for instructions.
        identity: whom the run is for.
        session_id: the hosting session, 1 to 400 visible ASCII characters.
        correlation_id: the caller's own id for what this run belongs to; copied to the record's header and nothing else.
        trace_id: id of the caller's trace; the same.
        model: in place of the agent's.
        options: options of plugins, by name.
        limits: in place of the agent's.
        model_settings: over the agent's.
        on_event: listeners of this run.
        journal: the file to stream the record to.
        timeout: seconds for this leg.
        stream: ``hold`` or ``live``, in place of the agent's.
        redact: what to mask besides the agent's policy.
        push: takes every event of a streamed run.
        opened: is handed the run when it is made, before anything is filed.
    """

    deps: Any = None
    identity: Identity | None = None
    session_id: str | None = None
    correlation_id: str | None = None
    trace_id: str | None = None
    model: Model | str | None = None
    options: Mapping[str, Any] | None = None
    limits: Limits | None = None
    model_settings: ModelSettings | Mapping[str, Any] | None = None
    on_event: ListenerSpec = None
    journal: Journal | str | Path | None = None
    timeout: float | None = None
    stream: str | None = None
    redact: RedactionPolicy | None = None
    push: Callable[[Event], None] | None = None
    opened: Callable[[Run[Any]], None] | None = None

    def __post_init__(self) -> None:
        session = self.session_id
        if session is not None and not (
            isinstance(session, str) and 1 <= len(session) <= 400 and all("!" <= character <= "~" for character in session)
        ):
            raise TypeError("session_id takes 1 to 400 visible ASCII characters")
        for name in ("correlation_id", "trace_id"):
            if getattr(self, name) is not None and not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} takes a text, got a {type(getattr(self, name)).__name__}")
        if self.identity is not None and not isinstance(self.identity, Identity):
            raise TypeError(f"identity takes an Identity, got a {type(self.identity).__name__}")
        if self.journal is not None and not (isinstance(self.journal, (Journal, Path)) or (isinstance(self.journal, str) and self.journal)):
            raise TypeError(f"journal takes a Journal or the path of one, got {describe_type(self.journal)}")
        if self.timeout is not None and not (isinstance(self.timeout, (int, float)) and self.timeout > 0):
            raise TypeError(f"timeout takes seconds above 0, got {self.timeout!r}")
        if self.limits is not None and not isinstance(self.limits, Limits):
            raise TypeError(f"limits takes a Limits, got a {type(self.limits).__name__}")
        if self.stream not in (None, "hold", "live"):
            raise TypeError(f"stream takes 'hold' or 'live', got {self.stream!r}")
        if self.redact is not None and not isinstance(self.redact, RedactionPolicy):
            raise TypeError(f"redact takes a RedactionPolicy, got a {type(self.redact).__name__}")


def open_run(
    agent: Agent[Any, Any],
    call: CallOptions,
    *,
    base: Record,
    folds: tuple[RunState, dict[str, Memo]] | None,
    root_id: str,
    resumed_from: str | None = None,
    identity: Identity | None = None,
    session_id: str | None = None,
    parent: Run[Any] | None = None,
    path: tuple[str, ...] = (),
) -> Run[Any]:
    """Make the run for one leg on top of a record; nothing is filed yet.

    Raises:
        UsageError: the agent's tools need ``deps``, and there are none.
    """
    if call.deps is None and parent is None and agent.needs_deps:
        raise UsageError(f"the agent's deps_type is {agent.deps_type.__name__}, and deps is None; pass deps= to the run")
    admit_model(agent._model if call.model is None else call.model)
    clock, ids = agent.clock, agent.ids
    header = SegmentHeader(
        root_id=root_id,
        run_id=ids.new("run"),
        first_seq=base.next_seq,
        started_ns=clock.time_ns(),
        agent_id=agent.name,
        session_id=session_id,
        correlation_id=call.correlation_id,
        trace_id=call.trace_id,
        identity=identity,
        path=path,
        parent_run=None if parent is None else parent.run_id,
        resumed_from=resumed_from,
    )
    options = run_options(agent.plugin_set, call.options)
    settings = ModelSettings.of(call.model_settings).over(agent.model_settings)
    listeners = Listeners(agent.listeners, call.on_event, outer=None if parent is None else parent.listeners)
    if folds is None:
        folds = fold(agent, base, root_id)
    state, memos = folds
    record = base.open_segment(header)
    run: Run[Any] = Run(
        agent=agent,
        record=record,
        state=state,
        memos=memos,
        deps=call.deps,
        model=agent.model if call.model is None else resolve_model(call.model),
        settings=settings,
        limits=call.limits or agent.limits,
        options=options,
        listeners=listeners,
        stream_mode=call.stream or agent.stream_mode,
        redact=agent.redact if call.redact is None else call.redact.joined(agent.redact),
        journal=Journal(call.journal) if isinstance(call.journal, (str, Path)) else call.journal,
        parent=parent,
    )
    run.push = call.push
    run.watch()
    if call.opened is not None:
        call.opened(run)
    return run


def reopen_run(
    agent: Agent[Any, Any],
    call: CallOptions,
    base: Record,
    *,
    folds: tuple[RunState, dict[str, Memo]] | None = None,
    parent: Run[Any] | None = None,
) -> Run[Any]:
    """Make the run for a leg that goes on with the last one of a record: of the same person, session and place."""
    last = base.headers[-1]
    return open_run(
        agent,
        call,
        base=base,
        folds=folds,
        root_id=base.root_id,
        resumed_from=last.run_id,
        identity=last.identity,
        session_id=call.session_id or last.session_id,
        parent=parent,
        path=last.path,
    )


def fold(agent: Agent[Any, Any], record: Record, root_id: str) -> tuple[RunState, dict[str, Memo]]:
    """The kernel's state and the plugins' memos that a record leads to."""
    state = RunState(root_id)
    memos = {plugin.name: Memo(plugin) for plugin in agent.plugin_set.plugins if plugin.memo_events}
    for event in record:
        state.replay(event)
        for memo in memos.values():
            if memo.reads(event.name):
                memo.apply(event)
    return state, memos


# --- a new message ---------------------------------------------------------------------------------------------------------


async def start(
    agent: Agent[Any, Any],
    message: Any,
    call: CallOptions,
    history: HistoryInput | None,
    *,
    parent: Run[Any] | None = None,
    path: tuple[str, ...] = (),
) -> RunResult[Any]:
    """Run one turn over a message."""
    said = read_message(message, "run")
    known = History.of(history) if history is not None else None
    base, folds, imported, root_id = _base_of(agent, known)
    if parent is not None:
        root_id = parent.root_id
    last = base.headers[-1] if base.headers else None
    if last is not None:
        check_agent(agent, last)
    whose = last if parent is None else parent.header  # a nested run is for whom its parent is for
    identity = call.identity or (whose.identity if whose is not None else None)
    session_id = call.session_id or (whose.session_id if whose is not None else None)
    run = open_run(agent, call, base=base, folds=folds, root_id=root_id, identity=identity, session_id=session_id, parent=parent, path=path)
    if parent is not None:
        parent.record.children[path[-1]] = run.record
    with in_flight(agent, run, nested=parent is not None):
        try:
            return await run_leg(run, lambda: _new_turn(run, said, imported), leg="run", timeout=call.timeout)
        finally:
            close_journal(run, call)


async def _new_turn(run: Run[Any], said: UserMessage, imported: History | None) -> End:
    if imported is not None:
        seed_history(run, imported)
    _close_broken_off(run)
    run.begin_turn(max(run.turn, run.state.turn, max((m.turn for m in imported), default=0) if imported else 0) + 1)
    refused = await admit(run, said)
    return refused if refused is not None else await run_turn(run, None)


def _close_broken_off(run: Run[Any]) -> None:
    """Settle the calls of a turn that broke off with its process: no message may follow calls that have no results."""
    if run.state.batch is None and not run.state.open_iteration:
        return
    run.begin_turn(run.state.turn)
    run.begin_iteration(run.state.iteration)
    settle(run, "failed")
    if run.state.open_iteration:
        run.emit(IterationEnd(0))


def _base_of(agent: Agent[Any, Any], known: History | None) -> tuple[Record, tuple[RunState, dict[str, Memo]] | None, History | None, str]:
    """The record to go on from, its folds if they are at hand, messages to import, and the conversation's id."""
    if known is None:
        return Record(), None, None, agent.ids.new("conv")
    record, head = known.record, known._head
    if record is None:
        return Record(), None, known, known.root_id or agent.ids.new("conv")
    if record.redacted:
        raise RedactedRecordError(
            f"this history is of a copy that was redacted by {', '.join(record.redacted)}; go on from the live one or a checkpoint of it"
        )
    folds = head.take() if head is not None and same_plugins(agent, head) else None
    if folds is None:
        folds = fold(agent, record, record.root_id)
    pause = folds[0].pause
    if pause is not None:
        first = pause.questions[0] if pause.questions else None
        if head is not None and head.state is folds[0]:
            head.give_back()
        raise PendingQuestionError(
            tool_name=first.tool if first else None,
            tool_call_id=first.tool_call_id if first else None,
            question=first.prompt if first else None,
        )
    return record, folds, None, record.root_id


def same_plugins(agent: Agent[Any, Any], head: Head) -> bool:
    """Whether folds made for one agent do for this one: the plugins are the same objects, for a memo may depend on settings."""
    folding = {plugin.name: plugin for plugin in agent.plugin_set.plugins if plugin.memo_events}
    return {name: memo.of for name, memo in head.memos.items()} == folding


def check_agent(agent: Agent[Any, Any], header: SegmentHeader) -> None:
    """A conversation with an agent of a name is not gone on with by one of another.

    Raises:
        ConversationMismatchError: the names differ.
    """
    if agent.name is not None and header.agent_id is not None and header.agent_id != agent.name:
        raise ConversationMismatchError(header.agent_id, agent.name)


class in_flight:  # noqa: N801 - used as a function is
    """Marks a conversation as live while a leg runs."""

    def __init__(self, agent: Agent[Any, Any], run: Run[Any], *, nested: bool = False) -> None:
        self.agent = agent
        self.run = run
        self.keys = () if nested else (run.root_id, f"agent {id(agent)}") if agent.exclusive else (run.root_id,)

    def __enter__(self) -> None:
        begun = []
        try:
            for key in self.keys:
                self.agent.index.begin(key, self.run.run_id, self.agent.agent_id)
                begun.append(key)
        except BaseException:
            for key in begun:
                self.agent.index.end(key, self.run.run_id)
            raise

    def __exit__(self, *_: object) -> None:
        for key in self.keys:
            self.agent.index.end(key, self.run.run_id)


def close_journal(run: Run[Any], call: CallOptions) -> None:
    """Close a journal that was opened for this call; one that the caller handed in stays open."""
    if run.journal is not None and run.journal is call.journal:
        run.journal.end()
    elif run.journal is not None:
        with suppress(OSError):  # a journal that cannot be written has failed the run already
            run.journal.close()
