"""Compares two recordings step by step: the first step that differs, what the model was served there, and what changed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agentfp import RecordFile, RecordFormatError
from agentfp.plugin import ModelRequest
from agentfp_recording.reading import RecordingFile

Step: TypeAlias = Mapping[str, Any]
Cause: TypeAlias = Literal["configuration", "message", "request", "reply", "tool", "person", "end", "missing", "other"]
TIMES = frozenset({"seq", "replied_seq", "duration_ms", "waited_ms", "receipt", "conversation"})
"""Fields of steps that differ between any two runs."""
IDS = frozenset({"id", "pause", "call_id"})
_SERVED = frozenset({"served", "model"})
_REPLY = frozenset({"replied", "stop", "text", "own_text", "draft", "input_tokens", "output_tokens", "usd", "transitions"})


@dataclass(frozen=True, slots=True)
class Change:
    """One value that differs: where in the step, and what stands there on each side; None where nothing does."""

    where: str
    a: Any
    b: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where two recordings part.

    Args:
        same: whether they do not.
        steps: how many steps are the same before that.
        cause: what kind of difference it is: of two requests that were the same, the ``reply`` may still differ.
        kind: of the step, such as ``model_call``.
        call: the model call, when it is one.
        changes: what differs in the step.
        served: the lines of a diff between the two requests; empty when they are the same.
        request: what was served, as the first recording has it, when the step is a model call.
        note: why there is no ``request``.
        a: the step in the first recording; None where that has ended.
        b: the step in the second one.
    """

    same: bool
    steps: int
    cause: Cause | None = None
    kind: str | None = None
    call: int | None = None
    changes: tuple[Change, ...] = ()
    served: tuple[str, ...] = ()
    request: ModelRequest | None = None
    note: str | None = None
    a: Step | None = None
    b: Step | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        if self.same:
            return {"same": True, "steps": self.steps}
        return {
            "same": False,
            "steps": self.steps,
            "cause": self.cause,
            "kind": self.kind,
            "call": self.call,
            "changes": [{"where": change.where, "a": change.a, "b": change.b} for change in self.changes],
            "served": {
                "same": not self.served,
                "diff": list(self.served),
                "request": None if self.request is None else _lines(self.request),
            },
            **({} if self.note is None else {"note": self.note}),
            "a": self.a,
            "b": self.b,
        }


@dataclass
class _Ids:
    """Puts numbers in place of ids, in the order in which they appear, so that two runs compare."""

    names: dict[str, str] = field(default_factory=dict)

    def of(self, value: str) -> str:
        return self.names.setdefault(value, f"#{len(self.names) + 1}")

    def plain(self, value: Any, key: str = "") -> Any:
        """A step, or a part of one, without times, and with numbers for ids."""
        if isinstance(value, Mapping):
            if key == "answers":
                return {self.of(name): self.plain(item) for name, item in value.items()}
            found = {name: self.plain(item, name) for name, item in value.items() if name not in TIMES}
            if value.get("op") in ("ticket", "hide", "restore"):
                found["target"] = self.of(value["target"])
            return found
        if isinstance(value, (list, tuple)):
            return [self.plain(item, key if key in IDS else "") for item in value]
        if isinstance(value, str):
            return self.of(value) if key in IDS else self.names.get(value, value)
        return value


def diff(a: str | Path | RecordingFile, b: str | Path | RecordingFile, path: Sequence[str] = ()) -> Difference:
    """Compare two recordings; times, durations and ids do not count.

    Args:
        a: a recording, or its path.
        b: another one.
        path: call ids that lead to a nested run, the same in both.

    Raises:
        RecordFormatError: one is none.
        OSError: one cannot be read.
    """
    left, right = _opened(a), _opened(b)
    count = 0
    for one, other in zip_longest(_steps(left, tuple(path)), _steps(right, tuple(path))):
        if one is None or other is None or one[1] != other[1]:
            return _difference(left, right, tuple(path), count, one, other)
        count += 1
    return Difference(same=True, steps=count)


def _opened(source: str | Path | RecordingFile) -> RecordFile:
    return source.file if isinstance(source, RecordingFile) else RecordingFile(source).file


def _steps(file: RecordFile, path: tuple[str, ...]) -> Iterator[tuple[Step, Step]]:
    """The steps as they are, and as they compare."""
    ids = _Ids()
    for step in file.steps(path):
        yield step, ids.plain(step)


def _difference(
    left: RecordFile, right: RecordFile, path: tuple[str, ...], count: int, one: tuple[Step, Step] | None, other: tuple[Step, Step] | None
) -> Difference:
    a, b = (None if side is None else side[0] for side in (one, other))
    changes = tuple(_changes(None if one is None else one[1], None if other is None else other[1]))
    either = a or b or {}
    kind = either.get("kind") if a is None or b is None or a["kind"] == b["kind"] else None
    call = either.get("call") if kind == "model_call" else None
    served: tuple[str, ...] = ()
    request, note = None, None
    if call is not None:
        try:
            requests = [None if step is None else file.served_at(step["call"], path) for file, step in ((left, a), (right, b))]
            request = requests[0] or requests[1]
            if requests[0] is not None and requests[1] is not None:
                served = _requests(requests[0], requests[1])
        except RecordFormatError as error:
            note = str(error)
    cause = _cause(a, b, kind, changes)
    return Difference(
        same=False, steps=count, cause=cause, kind=kind, call=call, changes=changes, served=served, request=request, note=note, a=a, b=b
    )


def _cause(a: Step | None, b: Step | None, kind: str | None, changes: Sequence[Change]) -> Cause:
    if a is None or b is None:
        return "missing"
    kinds: Mapping[str | None, Cause] = {"leg": "configuration", "message": "message", "answers": "person", "pause": "person", "end": "end"}
    if kind != "model_call":
        return kinds.get(kind, "other")
    where = [change.where.strip("/").split("/") for change in changes]
    if any(part[0] in _SERVED for part in where):
        return "request"
    if any(part[0] in _REPLY or (part[0] == "calls" and (len(part) < 3 or part[2] in ("tool", "arguments"))) for part in where):
        return "reply"
    return "tool" if any(part[0] == "calls" for part in where) else "other"


def _changes(a: Any, b: Any, where: str = "") -> Iterator[Change]:
    if a == b:
        return
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in dict.fromkeys((*a, *b)):
            yield from _changes(a.get(key), b.get(key), f"{where}/{key}")
    elif isinstance(a, list) and isinstance(b, list):
        for index, (one, other) in enumerate(zip_longest(a, b)):
            yield from _changes(one, other, f"{where}/{index}")
    else:
        yield Change(where, a, b)


def _requests(a: ModelRequest, b: ModelRequest) -> tuple[str, ...]:
    """The lines in which two requests differ."""
    return tuple(difflib.unified_diff(_lines(a), _lines(b), "a", "b", lineterm="", n=1))


def _lines(request: ModelRequest) -> list[str]:
    """A request as lines: what it says, without ids."""
    lines = [f"model {request.model}", *(f"system: {line}" for line in request.system.splitlines())]
    for message in request.messages:
        who = message.role if message.tool_name is None else f"{message.role} {message.tool_name}"
        lines += [f"{who}: {line}" for line in (message.text or "").splitlines()]
        lines += [f"{who} calls {call.name}({call.arguments_json})" for call in message.tool_calls]
    for tool in request.tools:
        lines.append(f"tool {tool.name}: {tool.description} {tool.parameters_json}")
    settings = json.loads(request.settings.to_json())
    lines += [f"setting {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in sorted(settings.items()) if value is not None]
    if request.output_schema_json is not None:
        lines.append(f"output schema: {request.output_schema_json}")
    return lines
