"""A reader made of a file of JSON paths, for formats that no reader knows."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentfp.plugin import ToolCall, nearest
from agentfp.transcripts import Transcript, TranscriptError
from agentfp_transcripts.building import Builder, call
from agentfp_transcripts.content import as_text, clean_text, result_text, text_of

_TOP = ("transcripts", "id", "system", "messages", "tools")
_MESSAGE = ("role", "content", "id", "name", "tool_calls", "tool_call_id", "failed", "result")
_CALL = ("id", "name", "arguments", "result", "failed")
_ROLES = {"system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant",
          "tool": "tool", "function": "tool"}  # fmt: skip
_SECTIONS: Mapping[str, Sequence[str]] = {"message": _MESSAGE, "call": _CALL}
_DEFAULTS = {"message": {"role": "$.role", "content": "$.content"}, "call": {"id": "$.id", "name": "$.name", "arguments": "$.arguments"}}


class MapReader:
    """Reads what a map says.

    Args:
        paths: a map, as TOML or JSON data: ``messages`` (required), ``transcripts``, ``id``, ``system`` and ``tools`` at the top;
            ``message`` and ``call`` with paths in a message and a call; ``roles`` from the data's words to ours.

    Raises:
        TranscriptError: the map is wrong; tells all that is.
    """

    name = "map"

    def __init__(self, paths: Mapping[str, Any]) -> None:
        problems: list[str] = []
        self._top = _compiled({k: v for k, v in paths.items() if k not in (*_SECTIONS, "roles")}, _TOP, "", problems)
        self._parts = {
            name: _compiled({**_DEFAULTS[name], **_table(paths, name, problems)}, known, f"{name}.", problems)
            for name, known in _SECTIONS.items()
        }
        self._roles = {**_ROLES}
        for word, role in _table(paths, "roles", problems).items():
            if role in ("system", "user", "assistant", "tool", "skip"):
                self._roles[word] = role
            else:
                problems.append(f"roles.{word}: {role!r} is no role; {nearest(str(role), ('system', 'user', 'assistant', 'tool', 'skip'))}")
        if "messages" not in self._top:
            problems.append('messages is missing: the path of a transcript\'s messages, such as "$.turns[*]"')
        if problems:
            raise TranscriptError("; ".join(problems))

    @classmethod
    def load(cls, path: Path) -> MapReader:
        """Read a map.

        Args:
            path: a file of TOML, or of JSON where its name ends in .json.

        Raises:
            TranscriptError: it is no map; tells all that is wrong.
        """
        try:
            text = path.read_text(encoding="utf-8")
            data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except ValueError as error:
            raise TranscriptError(f"{path}: {error}") from error
        if not isinstance(data, dict):
            raise TranscriptError(f"{path}: a map is a table of JSON paths")
        try:
            return cls(data)
        except TranscriptError as error:
            raise TranscriptError(f"{path}: {error}") from error

    def recognises(self, data: Any) -> bool:
        """Whether there is a message where the map says."""
        return any(True for one in self._transcripts(data) for _ in _values(self._top["messages"], one))

    def read(self, data: Any, *, id: str, source: str) -> Sequence[Transcript]:
        """The transcripts that the map finds."""
        found = list(self._transcripts(data))
        made = [self._one(one, id if len(found) == 1 else f"{id}[{number}]", source) for number, one in enumerate(found)]
        if not any(transcript.messages for transcript in made):
            raise TranscriptError(f"{source}: nothing stands at the paths of the map")
        return made

    def _transcripts(self, data: Any) -> Iterator[Any]:
        if "transcripts" in self._top:
            yield from _values(self._top["transcripts"], data)
        else:
            yield data

    def _one(self, data: Any, id: str, source: str) -> Transcript:
        own = next(_values(self._top.get("id"), data), None)
        building = Builder(as_text(own) or id, format=self.name, source=source)
        building.offer(list(_values(self._top.get("tools"), data)))
        for prompt in _values(self._top.get("system"), data):
            building.add("system", text_of(prompt, building.skipped))
        for message in _values(self._top["messages"], data):
            self._add(building, message)
        return building.build()

    def _add(self, building: Builder, message: Any) -> None:
        paths = self._parts["message"]

        def one(field: str) -> Any:
            return next(_values(paths.get(field), message), None)

        role = self._roles.get(clean_text(as_text(one("role"))), self._roles.get(as_text(one("role")).lower()))
        if role == "skip":
            return
        own = one("id") if isinstance(one("id"), str) else None
        if role == "tool":
            call_id = one("tool_call_id")
            text, failed = result_text(one("content"), building.skipped), bool(one("failed"))
            building.add("tool", text, id=own, call_id=as_text(call_id) or None, tool=as_text(one("name")) or None, failed=failed)
        elif role == "assistant":
            wanted = [
                inner for found in _values(paths.get("tool_calls"), message) for inner in (found if isinstance(found, list) else [found])
            ]
            building.add("assistant", text_of(one("content"), building.skipped), id=own, calls=[self._call(c) for c in wanted])
            for inner in wanted:
                self._add_result(building, inner)
        elif role is not None:
            building.add("system" if role == "system" else "user", text_of(one("content"), building.skipped), id=own)
        else:
            building.unreadable("has a role that the map does not name under roles")

    def _call(self, data: Any) -> ToolCall:
        paths = self._parts["call"]
        return call(*(next(_values(paths.get(key), data), None) for key in ("name", "arguments", "id")))

    def _add_result(self, building: Builder, data: Any) -> None:
        """The result, where calls hold it themselves."""
        paths = self._parts["call"]
        for result in _values(paths.get("result"), data):
            failed = bool(next(_values(paths.get("failed"), data), False))
            building.add(
                "tool",
                result_text(result, building.skipped),
                call_id=self._call(data).id or None,
                tool=self._call(data).name,
                failed=failed,
            )


def _table(paths: Mapping[str, Any], name: str, problems: list[str]) -> Mapping[str, Any]:
    table = paths.get(name, {})
    if isinstance(table, Mapping):
        return table
    problems.append(f"{name} must be a table")
    return {}


def _compiled(paths: Mapping[str, Any], known: Sequence[str], where: str, problems: list[str]) -> dict[str, Any]:
    import jsonpath

    found = {}
    for name, path in paths.items():
        if name not in known:
            problems.append(f"{where}{name} is no field of a map; {nearest(name, known)}")
        elif not isinstance(path, str):
            problems.append(f"{where}{name} must be a JSON path, got a {type(path).__name__}")
        else:
            try:
                found[name] = jsonpath.compile(path)
            except jsonpath.JSONPathError as error:
                problems.append(f"{where}{name}: {path!r} is no JSON path: {str(error).splitlines()[0]}")
    return found


def _values(path: Any, data: Any) -> Iterator[Any]:
    if path is not None and isinstance(data, (Mapping, list)):
        yield from path.findall(data)
