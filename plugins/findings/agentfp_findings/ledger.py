"""The ledger: the fold of the record that everything else reads. Each event costs what it brings, not what is there already."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from agentfp.events import MessageAdded, RunConfigured, Served, ToolEnded
from agentfp.plugin import Event
from agentfp_findings.absence import Limits, limits_of
from agentfp_findings.carriers import Carriers
from agentfp_findings.conflicts import Conflicts, stated
from agentfp_findings.entries import Entries
from agentfp_findings.events import (
    ConflictFound,
    Contingent,
    Declared,
    FrameSkipped,
    Judged,
    Malformed,
    StandingDeclared,
    UnsettledByAbsence,
)
from agentfp_findings.sections import Ids
from agentfp_findings.text import quoted
from agentfp_findings.words import COLLAPSED

MINTED = "agentfp.artifacts.minted"
MEMO_EVENTS = (
    "agentfp.findings.*",
    MessageAdded.event_name,
    ToolEnded.event_name,
    Served.event_name,
    RunConfigured.event_name,
    MINTED,
)
EVIDENCE, WINDOW = "evidence", "window"
"""Names of plugins that this one works with."""
KEPT = 4
"""Turns that a window keeps for the facts in them, unless the settings say otherwise."""
UNRUN = frozenset({"halted", "abandoned", "cancelled"})
"""Outcomes of calls that a run's end left unrun: the sentence in place of a result is the library's, and no result."""
OFFERED = 32


@dataclass(slots=True)
class Result:
    """A result in the history.

    Args:
        message_id: its message.
        tool: its tool.
        ref: the reference under which it was placed.
        quoted: its call's id as JSON text.
        place: its place among the results.
    """

    message_id: str
    tool: str | None
    ref: str | None
    quoted: str
    place: int


@dataclass(frozen=True, slots=True)
class Holds:
    """Turns that a window keeps for the facts in them.

    Args:
        kept: their places in what was asked about, the newest first.
        yielded: how many more would have been kept without the limit.
    """

    kept: tuple[int, ...]
    yielded: int


class Asked(NamedTuple):
    """What a call tests, and what its result should show, as the model said before it."""

    proposition: str | None = None
    predicts: str | None = None


NOTHING_ASKED = Asked()


class Ledger:
    """What the record says of results and their standings. A window reads it as the memo of the plugin ``findings``.

    Args:
        keep: how many turns a window keeps for their facts; None for the default.

    Attributes:
        results: by call id, in the order of the history.
        current: the last standing of each id, in the order in which ids were first named.
        judgments: the last of each call.
        unsettled: by call id, while it is ruled out.
        handled: calls whose declaration is on the record.
        undeclared: served results without a standing, in the order of the history, with their JSON text.
        noise: ids of noise.
        changed: ids whose standing changed since the last request.
        ticketed: messages that are served short now.
        question: what the person last said.
        first: no request of this leg was served yet.
        plugins: names of the plugins of this leg.
        has_tools: whether the agent of this leg has tools.
        entries: what is served of standings and of what follows from them.
        handlers: what folds in an event, by its name; one without is passed over.
        carriers: which results hold which values; only with the evidence plugin.
        skipped: a ``frame_skipped`` is on the record.
    """

    def __init__(self, keep: int | None = None) -> None:
        self._keep = keep
        self.results: dict[str, Result] = {}
        self.current: dict[str, StandingDeclared] = {}
        self.judgments: dict[str, Judged] = {}
        self.unsettled: dict[str, UnsettledByAbsence] = {}
        self.handled: set[str] = set()
        self.changed: dict[str, None] = {}
        self.ticketed: set[str] = set()
        self.question = ""
        self.first = True
        self.plugins: frozenset[str] = frozenset()
        self.has_tools = False
        self.carriers: Carriers | None = None
        self.skipped = False
        self.conflicts = Conflicts()
        self.entries = Entries()
        self.noise = Ids()
        self.undeclared: dict[str, str] = {}
        self._offer: dict[str, str] = {}
        self._open_ids: dict[str, str] = {}
        self._ranks: dict[str, int] = {}
        self._asked: dict[str, Asked] = {}
        self._ended: dict[str, ToolEnded] = {}
        self._refs: dict[str, str] = {}
        self._limits: dict[str, Limits] = {}
        self._calls: dict[str, str] = {}
        self._set_aside = 0
        self.handlers: dict[str, Callable[[Event, Any], None]] = {
            MessageAdded.event_name: self._message,
            ToolEnded.event_name: self._tool_ended,
            Served.event_name: self._served,
            RunConfigured.event_name: self._configured,
            MINTED: self._minted,
            Declared.event_name: self._declared,
            StandingDeclared.event_name: self._standing,
            ConflictFound.event_name: self._conflict,
            Malformed.event_name: self._malformed,
            Contingent.event_name: self._contingent,
            UnsettledByAbsence.event_name: self._unsettled,
            Judged.event_name: self._judged,
            FrameSkipped.event_name: self._frame_skipped,
        }

    # --- what others ask ---

    def standing_of(self, call_id: str) -> str | None:
        """The current standing of a result; None while it is undeclared."""
        found = self.current.get(call_id)
        return None if found is None else found.standing

    @property
    def turns_kept(self) -> int:
        """How many turns a window keeps for the facts in them; 0 without a window."""
        if WINDOW not in self.plugins:
            return 0
        return KEPT if self._keep is None else self._keep

    def fact_holds(self, turns: Sequence[Iterable[str]]) -> Holds:
        """Which turns a window should keep since a fact stands on them, the newest first.

        Args:
            turns: the turns before the recent window, the oldest first, each as the ids of the calls whose results it holds.
        """
        held = [index for index, calls in enumerate(turns) if any(self.standing_of(call_id) == "fact" for call_id in calls)]
        return Holds(tuple(reversed(held))[: self.turns_kept], max(len(held) - self.turns_kept, 0))

    @property
    def any_set_aside(self) -> bool:
        """Whether any current standing is another than ``fact``."""
        return self._set_aside > 0

    def offer(self) -> tuple[list[str], int]:
        """The ids that a declaration may name, as JSON texts, the newest first, and how many older ones are left out.

        When there are too many, open ones come before older undeclared ones and facts.
        """
        left_off = len(self._offer) - OFFERED
        if left_off <= 0:
            return list(reversed(self._offer.values())), 0
        newest = dict(islice(reversed(self._offer.items()), OFFERED))
        opened = [call_id for call_id in islice(reversed(self._open_ids), OFFERED) if call_id not in newest]
        for call_id in list(reversed(newest)) if opened else ():
            if len(newest) + len(opened) <= OFFERED:
                break
            if call_id not in self._open_ids:
                del newest[call_id]
        return [*newest.values(), *[self._open_ids[call_id] for call_id in opened]][:OFFERED], left_off

    def asked(self, call_id: str) -> Asked:
        """What was declared that a call tests."""
        return self._asked.get(call_id, NOTHING_ASKED)

    def limits(self, call_id: str) -> Limits | None:
        """What a result that found nothing says of its own limits."""
        return self._limits.get(call_id)

    # --- the kernel's events ---

    def _configured(self, event: Event, payload: Any) -> None:
        self.first = True
        self.plugins = frozenset(entry.name for entry in payload.plugins)
        self.has_tools = bool(payload.tools)

    def _tool_ended(self, event: Event, payload: Any) -> None:
        if event.call_id is not None:
            self._ended[event.call_id] = payload

    def _minted(self, event: Event, payload: Any) -> None:
        ref = field_of(payload, "ref")
        if event.call_id is not None and isinstance(ref, str):
            self._refs[event.call_id] = ref
            if event.call_id in self.results:
                self.results[event.call_id].ref = ref

    def _message(self, event: Event, payload: Any) -> None:
        if payload.role == "tool":
            self._landed(event, payload)
        elif payload.role == "user" and payload.author == "person":
            self.question = payload.content or ""
            if EVIDENCE in self.plugins:
                self._carriers(event.turn).add_said(self.question)

    def _landed(self, event: Event, payload: Any) -> None:
        call_id = payload.tool_call_id
        ended = self._ended.pop(call_id, None)
        if call_id is None or (ended is not None and not ended.ran and ended.outcome in UNRUN):
            return
        content = payload.content if payload.content is not None else "" if ended is None else ended.content
        place = len(self.results)
        result = Result(payload.message_id, payload.tool_name, self._refs.get(call_id), quoted(call_id), place)
        self.results[call_id] = result
        self._calls[payload.message_id] = call_id
        if call_id not in self.current:
            self.undeclared[call_id] = self._offer[call_id] = result.quoted
        limits = limits_of(content, absent=ended is not None and ended.outcome == "absent")
        if limits is not None:
            self._limits[call_id] = limits
        if EVIDENCE in self.plugins:
            self._carriers(event.turn).add_result(call_id, content)

    def _carriers(self, turn: int) -> Carriers:
        if self.carriers is None or self.carriers.turn != turn:
            self.carriers = Carriers(turn)
        return self.carriers

    def _served(self, event: Event, payload: Any) -> None:
        self.first = False
        self.changed = {}
        for edit in payload.edits or ():
            if edit.op == "ticket" and edit.plugin == "findings":
                self.ticketed.add(edit.target)
            elif edit.op == "restore" and edit.plugin == "findings":
                self.ticketed.discard(edit.target)
            elif edit.op in ("hide", "restore") and (call_id := self._calls.get(edit.target)) is not None:
                self._hide(call_id, hidden=edit.op == "hide")

    def _hide(self, call_id: str, *, hidden: bool) -> None:
        """A window took a result out of requests, or put it back."""
        if hidden:
            for ids in (self.undeclared, self._offer, self._open_ids):
                ids.pop(call_id, None)
        else:
            self._list(call_id, self.standing_of(call_id))

    def _list(self, call_id: str, standing: str | None) -> None:
        if standing in COLLAPSED:
            self._offer.pop(call_id, None)
        else:
            self._put(self._offer, call_id)
        if standing == "open":
            self._put(self._open_ids, call_id)
        elif self._open_ids:
            self._open_ids.pop(call_id, None)
        if standing is None:
            self._put(self.undeclared, call_id)
        else:
            self.undeclared.pop(call_id, None)

    def _put(self, ids: dict[str, str], call_id: str) -> None:
        """Add an id; one that comes back, which is rare, goes where the history has it."""
        if call_id in ids:
            return
        result, last = self.results[call_id], next(reversed(ids), call_id)
        ids[call_id] = result.quoted
        if self.results[last].place > result.place:
            ordered = sorted(ids, key=lambda other: self.results[other].place)
            for other in ordered:
                ids[other] = ids.pop(other)

    # --- the ledger's own ---

    def _declared(self, event: Event, payload: Any) -> None:
        if event.call_id is not None:
            self.handled.add(event.call_id)
            if payload.proposition is not None or payload.predicts is not None:
                self._asked[event.call_id] = Asked(payload.proposition, payload.predicts)

    def _malformed(self, event: Event, payload: Any) -> None:
        if event.call_id is not None:
            self.handled.add(event.call_id)

    def _standing(self, event: Event, payload: Any) -> None:
        call_id = payload.id
        before = self.current.get(call_id)
        rank = self._ranks.setdefault(call_id, len(self._ranks))
        self.current[call_id] = payload
        self._set_aside += (payload.standing != "fact") - (before is not None and before.standing != "fact")
        if call_id in self.results:
            self._list(call_id, payload.standing)
            self.changed[call_id] = None
        fact = payload.standing == "fact"
        if fact or (before is not None and before.standing == "fact"):
            self.conflicts.put(call_id, stated(payload.assertions) if fact else ())
        if payload.standing != "ruled-out" and self.unsettled.pop(call_id, None) is not None:
            self.entries.unsettled.drop(rank)
        if before is not None:
            self.entries.drop(rank)
            self.noise.drop(call_id)
        if payload.standing == "noise":
            self.noise.put(call_id, quoted(call_id))
        else:
            self.entries.put(rank, call_id, payload, self.asked(call_id).proposition)

    def _conflict(self, event: Event, payload: Any) -> None:
        self.conflicts.known[(payload.kind, payload.id, payload.predicate)] = None

    def _contingent(self, event: Event, payload: Any) -> None:
        self.entries.put_contingent(event.seq, event.call_id or "answer", payload)

    def _unsettled(self, event: Event, payload: Any) -> None:
        rank = self._ranks.get(payload.result)
        if rank is not None and self.standing_of(payload.result) == "ruled-out":
            self.unsettled[payload.result] = payload
            self.entries.put_unsettled(rank, payload)

    def _judged(self, event: Event, payload: Any) -> None:
        if event.call_id is not None:
            self.judgments[event.call_id] = payload

    def _frame_skipped(self, event: Event, payload: Any) -> None:
        self.skipped = True


def field_of(payload: Any, name: str) -> Any:
    """A field of another plugin's event, whose class may be unknown here; None where there is none."""
    raw = getattr(payload, "data", None)
    if isinstance(raw, str) and not hasattr(payload, name):
        try:
            data = json.loads(raw)
        except ValueError:
            return None
        return data.get(name) if isinstance(data, dict) else None
    return getattr(payload, name, None)
