"""Commentary: what happens in a run, a sentence an event, without numbers and fields; live or over a recording."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from agentfp import Record
from agentfp.events import Event, UnknownPayload, payload_json, words_of
from agentfp.plugin import MemoSource, SegmentHeader, record_of
from agentfp_recording.reading import RecordingFile
from agentfp_recording.wording import FIRST, SKIPPED, THIRD

Voice: TypeAlias = Literal["third", "first"]
PLACEHOLDER = "[REDACTED]"
MOST = 200
"""Characters of what a person wrote."""


class _Sign(Enum):
    UNKNOWN = "unknown"


UNKNOWN: Final = _Sign.UNKNOWN
"""In place of a key: an event of an application or a plugin that the commentary has no words for."""
_CHOSEN: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "tool.ended": lambda data: data.get("outcome"),
    "hook.verdict": lambda data: data.get("verdict"),
    "answer.assessed": lambda data: data.get("standing"),
    "evidence.checked": lambda data: data.get("action"),
    "findings.standing": lambda data: data.get("standing"),
    "tools.repeated_call": lambda data: data.get("mode", "result"),
    "approval.decided": lambda data: "yes" if data.get("approved") else "no",
    "cost.limit_hit": lambda data: data.get("action"),
    "agent.budget_exhausted": lambda data: data.get("action"),
    "run.ended": lambda data: data.get("status"),
    "reliability.retried": lambda data: data.get("action"),
    "error.circuit_changed": lambda data: data.get("state"),
}
"""Events that have several sentences, and what chooses among them."""
_QUIET = frozenset({"hook.verdict.Allow", "hook.verdict.Note", "hook.verdict.AskPerson", "tool.ended.denied"})
_FIELD = re.compile(r"\{(\w+)\}")


class Commentator:
    """Tells a run, event by event. One for each run: it remembers names, and what the model asked for.

    Args:
        app: what the agent is called where it has no name of its own.
        voice: ``third``, for those who watch; ``first``, as the agent itself would tell the person who asked.
        templates: sentences by key, in place of the ones there are; keys that are not in it keep theirs.
    """

    def __init__(self, app: str = "the agent", voice: Voice = "third", templates: Mapping[str, str] | None = None) -> None:
        self.app = app
        self.voice: Voice = voice
        self._templates = {**(THIRD if voice == "third" else FIRST), **(templates or {})}
        self._tools: dict[str, str] = {}
        self._clauses: dict[str, str] = {}
        self._after: Literal["first", "again", "retry"] = "first"

    def key_for(self, event: Event) -> str | _Sign | None:
        """The key of an event's sentence; None where nothing is said, ``UNKNOWN`` where there are no words for it."""
        name, data = event.name, _data(event)
        if not name.startswith("agentfp."):
            return UNKNOWN
        short = name.removeprefix("agentfp.")
        if short == "message.added" and data.get("role") == "user" and data.get("author") == "person":
            return "agent.turn_start"
        if short == "message.added" and data.get("role") == "assistant":
            return "stream.llm_end.tools" if data.get("tool_calls") else "stream.llm_end.final"
        if short in SKIPPED or (short == "model.helper_replied" and data.get("plugin") == "kernel"):  # a nested run, which tells itself
            return None
        if short == "context.served":
            return f"context.served.{self._after}"
        if short in _CHOSEN:
            key = f"{short}.{_CHOSEN[short](data)}"
            if key in _QUIET or (key not in THIRD and short == "run.ended"):
                return None
            return key if key in THIRD or key in self._templates else UNKNOWN
        return short if short in THIRD or short in self._templates else UNKNOWN

    def tell(self, event: Event, header: SegmentHeader | None = None) -> str | None:
        """What an event adds to the story.

        Args:
            event: of a live run, or of a recording.
            header: of its leg; names the actor of a nested run.

        Returns:
            One sentence; None when the event adds nothing.
        """
        data = _data(event)
        key = self.key_for(event)
        self._note(event, data)
        if key is None:
            return None
        if isinstance(key, str):
            nested = header is not None and header.path and key == "agent.turn_start"
            template = self._templates.get(f"{key}.nested" if nested else key)
            return self._fill(template, event, data, header) if template else None
        words = words_of(event.payload) if self.voice == "third" and event.name.startswith("agentfp.") else None
        return f"{event.source}: {words}" if words else None

    def _fill(self, template: str, event: Event, data: Mapping[str, Any], header: SegmentHeader | None) -> str:
        agent = (header.agent_id if header is not None and header.path else None) or self.app
        tool = _tool(data.get("tool") or self._tools.get(event.call_id or "") or self._tools.get(data.get("result", "")))
        called = data["calls"] if event.name == "agentfp.tool.dispatched" and isinstance(data.get("calls"), list) else []
        values = {
            **{name: value for name, value in data.items() if isinstance(value, str)},
            "app": self.app,
            "agent": agent,
            "tool": tool,
            "tools": _list([self._named(call) for call in called]),
            "tool_names": _list([self._tools.get(call, "a tool") for call in called]),
            "tools_wanted": _list([_tool(call.get("name")) for call in data.get("tool_calls") or ()]),
            "text": _clipped(data.get("content") or ""),
        }
        line = _FIELD.sub(lambda found: values.get(found[1], ""), template)
        first = _FIELD.match(template)
        is_name = first is not None and first[1] not in ("agent", "app") and values.get(first[1]) != "a tool"
        return line if is_name else line[:1].upper() + line[1:]  # a tool, a plugin, a model is called what it is called

    def _named(self, call_id: str) -> str:
        tool = self._tools.get(call_id, "a tool")
        clause = self._clauses.get(tool)
        return f'{tool} ("{clause}")' if clause else tool

    def _note(self, event: Event, data: Mapping[str, Any]) -> None:
        """Remember what later sentences need."""
        name = event.name
        if name == "agentfp.tool.started":
            self._tools[event.call_id or ""] = _tool(data.get("tool") or data.get("undeclared"))
        elif name == "agentfp.context.blob":
            self._describe(data.get("body", ""))
        elif name == "agentfp.message.added" and data.get("role") == "user":
            self._after = "first"
        elif name == "agentfp.context.served":
            self._after = "retry"
        elif name == "agentfp.tool.ended":
            self._after = "again"

    def _describe(self, body: str) -> None:
        """Keep what a tool says of itself, where a text that requests are made of is a tool."""
        if not body.startswith('{"description":'):
            return
        try:
            found = json.loads(body)
        except ValueError:
            return
        sentence = str(found.get("description", "")).strip().split("\n")[0].rstrip(".")
        if sentence and isinstance(found.get("name"), str):
            self._clauses[found["name"]] = _clipped(sentence)


def _data(event: Event) -> Mapping[str, Any]:
    payload = event.payload
    try:
        found = json.loads(payload.data if isinstance(payload, UnknownPayload) else payload_json(payload))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _tool(name: Any) -> str:
    """The name of a tool; what was masked is none."""
    return name if isinstance(name, str) and name and name != PLACEHOLDER else "a tool"


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "a tool"


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST else f"{line[: MOST - 1]}…"


def commentary(
    event: Event, header: SegmentHeader | None = None, *, app: str = "the agent", templates: Mapping[str, str] | None = None
) -> str | None:
    """One sentence on one event alone, in the third person; see :class:`Commentator`, which also knows what came before.

    Args:
        event: the event.
        header: of its leg.
        app: what the agent is called.
        templates: see :class:`Commentator`.
    """
    return Commentator(app, templates=templates).tell(event, header)


def narrate(source: MemoSource | RecordingFile, app: str | None = None, templates: Mapping[str, str] | None = None) -> Iterator[str]:
    """The whole story of a run, told by somebody who watches.

    Args:
        source: a result, a record, a checkpoint, or a recording.
        app: what the agent is called; its own name when left out.
        templates: see :class:`Commentator`.
    """
    return tell(source, "third", app, templates)


def tell(
    source: MemoSource | RecordingFile, voice: Voice = "first", app: str | None = None, templates: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The whole story of a run, sentence by sentence; see :func:`narrate`.

    Args:
        source: a result, a record, a checkpoint, or a recording.
        voice: ``first``: the agent tells it; ``third``: somebody who watches.
        app: what the agent is called; its own name when left out.
        templates: see :class:`Commentator`.
    """
    commentators: dict[tuple[str, ...], Commentator] = {}
    for header, event in _events(source):
        found = commentators.get(header.path)
        if found is None:
            found = commentators[header.path] = Commentator(app or header.agent_id or "the agent", voice, templates)
        line = found.tell(event, header)
        if line is not None and (voice == "third" or not header.path):
            yield line


def _events(source: MemoSource | RecordingFile) -> Iterable[tuple[SegmentHeader, Event]]:
    if isinstance(source, (str, Path)):
        source = RecordingFile(source)
    return source if isinstance(source, RecordingFile) else _in_order(record_of(source))


def _in_order(record: Record) -> Iterator[tuple[SegmentHeader, Event]]:
    """The events of a record; those of nested runs before the end of the call that ran them."""
    told: set[str] = set()
    for header in record.headers:
        for event in record.of_run(header.run_id):
            if event.name == "agentfp.tool.ended" and event.call_id in record.children and event.call_id not in told:
                told.add(event.call_id)
                yield from _in_order(record.children[event.call_id])
            yield header, event
