"""What the plugin knows of a run: a fold over its record that keeps what was served, what left the request, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentfp.plugin import Event


@dataclass
class Work:
    """What there was to look at in a leg, counted from events that no check files."""

    requests: int = 0
    replies: int = 0
    batches: int = 0
    results: int = 0
    drafts: int = 0


@dataclass
class State:
    """What is known.

    Args:
        turn: the person's turn.
        work: of the leg that goes on.
        tools: the tools on the wire of the last request.
        request: number of the last request.
        stated: the tools that the model's adapter read back from the last request's body; None when it says nothing.
        results: messages of tools: which tool's, by message id.
        left: by message of a tool, the plugins that took it out of the request.
        gone: the messages of tools that are not in the request.
        present: how many results of each tool are in the request.
        dropped: how many results of each tool are not.
        pieces: digests of the system text's paragraphs that vouch for something.
        blobs: texts by digest.
        found: identities of the findings of this turn.
        evidence: the last judgement of the values of a draft.
        claims: what the claims of a draft came to.
    """

    turn: int = 0
    work: Work = field(default_factory=Work)
    tools: tuple[str, ...] = ()
    request: int = 0
    stated: tuple[str, ...] | None = None
    results: dict[str, str] = field(default_factory=dict)
    left: dict[str, set[str]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    present: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    pieces: tuple[str, ...] = ()
    blobs: dict[str, str] = field(default_factory=dict)
    found: set[tuple[object, ...]] = field(default_factory=set)
    evidence: Any = None
    claims: list[Any] = field(default_factory=list)

    # --- legs and turns ---

    def _leg(self, event: Event, payload: Any) -> None:
        self.work = Work()

    def _begin(self, event: Event, payload: Any) -> None:
        self.turn = event.turn
        self.found = set()
        self._back(event, payload)

    # --- requests ---

    def _blob(self, event: Event, payload: Any) -> None:
        self.blobs[payload.digest] = payload.body

    def _served(self, event: Event, payload: Any) -> None:
        self.work.requests += 1
        self.request, self.stated = payload.call, None
        if payload.tools is not None:
            self.tools = tuple([tool.name for tool in payload.tools])
        if payload.pieces is not None:
            self.pieces = tuple([piece.digest for piece in payload.pieces if piece.slot == "system" and not piece.quoted])
        for edit in payload.edits or ():
            self._edit(edit)

    def _edit(self, edit: Any) -> None:
        tool = self.results.get(edit.target)
        if tool is None:
            return
        by = self.left.get(edit.target)
        if edit.op in ("ticket", "hide"):
            if not by:
                self._move(tool, -1)
                self.gone.add(edit.target)
            self.left.setdefault(edit.target, set()).add(edit.plugin)
        elif edit.op == "restore" and by:
            by.discard(edit.plugin)
            if not by:
                self._move(tool, 1)
                self.gone.discard(edit.target)

    def _move(self, tool: str, by: int) -> None:
        self.present[tool] = self.present.get(tool, 0) + by
        self.dropped[tool] = self.dropped.get(tool, 0) - by

    def _stated(self, event: Event, payload: Any) -> None:
        self.stated = tuple(payload.names)

    def _reply(self, event: Event, payload: Any) -> None:
        self.work.replies += 1
        self.work.batches += payload.tool_call_count > 0

    # --- results, drafts ---

    def _message(self, event: Event, payload: Any) -> None:
        if payload.role == "tool" and payload.tool_name is not None:
            self.results[payload.message_id] = payload.tool_name
            self.present[payload.tool_name] = self.present.get(payload.tool_name, 0) + 1

    def _ended(self, event: Event, payload: Any) -> None:
        self.work.results += payload.ran

    def _values(self, event: Event, payload: Any) -> None:
        self.evidence = payload

    def _claim(self, event: Event, payload: Any) -> None:
        if hasattr(payload, "disposition"):
            self.claims.append(payload)

    def _draft(self, event: Event, payload: Any) -> None:
        self.work.drafts += payload.chosen == "final"

    def _back(self, event: Event, payload: Any) -> None:
        self.evidence, self.claims = None, []

    def _finding(self, event: Event, payload: Any) -> None:
        subjects = tuple(sorted((row.kind, row.id) for row in payload.subjects))
        self.found.add((payload.kind, payload.seam, subjects, payload.predicate, payload.advisory))


STEPS: Mapping[str, Callable[[State, Event, Any], None]] = {
    "agentfp.agent.run_configured": State._leg,
    "agentfp.agent.turn_start": State._begin,
    "agentfp.agent.route_decided": State._draft,
    "agentfp.context.blob": State._blob,
    "agentfp.context.served": State._served,
    "agentfp.context.tools_stated": State._stated,
    "agentfp.stream.llm_end": State._reply,
    "agentfp.message.added": State._message,
    "agentfp.tool.ended": State._ended,
    "agentfp.evidence.checked": State._values,
    "agentfp.answer.claim": State._claim,
    "agentfp.answer.drafted": State._back,
    "agentfp.integrity.finding": State._finding,
}
"""What each event does."""

_OTHERS = ("answer", "evidence")
LISTENED = tuple(dict.fromkeys(f"agentfp.{name.split('.')[1]}.*" if name.split(".")[1] in _OTHERS else name for name in STEPS))
"""What the memo listens to. Of other distributions whole domains: a version of theirs need not have every event."""
