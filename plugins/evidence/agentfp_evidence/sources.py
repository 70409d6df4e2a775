"""Says of each message of a conversation what it may ground: evidence, given, or neither."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pydantic_core

from agentfp.plugin import Message
from agentfp_evidence.reading import Reading, read, read_data

Ground: TypeAlias = Literal["evidence", "given", "none"]
ResultStanding: TypeAlias = Literal["served", "empty", "failed"]

_GIVEN_AUTHORS = frozenset({"person", "app", "user", "system", ""})
_UNSEEN = re.compile(r"(?m)^\[(?:image|document|audio|video)\b[^\]\n]{0,200}\]$")
"""What stands in a text for a part that has none."""
_UNSEEN_TYPE = re.compile(r"image|document|file|audio|video|media|blob")
_TEXT_BLOCKS = ("text", "input_text", "output_text")


@dataclass(frozen=True, slots=True)
class Source:
    """One message as far as it concerns the origin of values.

    Args:
        index: its place in the conversation; None for what was given besides.
        ground: ``evidence`` for a result, ``given`` for what the person or the application wrote, else ``none``.
        text: its text.
        reading: its leaves, for what grounds something.
        call_id: of a result, the call that it answers.
        tool: the tool of that call.
        standing: of a result: whether it served anything.
        echoed: texts that the model itself passed to the call, lower case.
        label: what it is, where it is no message.
        person: the person wrote it.
        unseen: it holds an image or a document, which nothing here can read.
    """

    index: int | None
    ground: Ground
    text: str
    reading: Reading
    call_id: str | None = None
    tool: str | None = None
    standing: ResultStanding | None = None
    echoed: frozenset[str] = frozenset()
    label: str = ""
    person: bool = False
    unseen: bool = False


_NOTHING = Reading([], [])


class SourceReader:
    """Reads messages in order; keeps the calls, so that a result knows what the model passed to its tool."""

    def __init__(self) -> None:
        self.calls: dict[str, tuple[str, frozenset[str]]] = {}
        """By call id: the tool, and the texts among the arguments."""

    def read(
        self,
        message: Message | Mapping[str, Any],
        index: int,
        *,
        failed: Collection[str] = (),
        nested: Mapping[str, Iterable[str]] | None = None,
        passed: Mapping[str, str] | None = None,
    ) -> Source:
        """Read one message.

        Args:
            message: a message of the library, or a mapping in the form of OpenAI's chat messages.
            index: its place.
            failed: ids of messages or calls whose tool reported a failure.
            nested: by call id, the texts that the answer of a nested agent may ground.
            passed: by call id, the JSON of the arguments that the tool got, where it is not what the model wrote.
        """
        if isinstance(message, Message):
            if passed and message.tool_call_id in passed and message.tool_call_id in self.calls:
                self.calls[message.tool_call_id] = (self.calls[message.tool_call_id][0], _texts(passed[message.tool_call_id]))
            return self._of_message(message, index, failed, nested or {})
        return self._of_mapping(message, index, failed, nested or {})

    def _of_message(self, message: Message, index: int, failed: Collection[str], nested: Mapping[str, Iterable[str]]) -> Source:
        for call in message.tool_calls:
            self.calls[call.id] = (call.name, _texts(call.arguments_json))
        if message.role == "tool":
            bad = message.failed or message.id in failed or message.tool_call_id in failed
            return self._result(message.content, index, message.tool_call_id, message.tool_name, bad, nested, bool(message.parts))
        given = message.role in ("system", "user") and message.author in _GIVEN_AUTHORS
        return self._spoken(message.content, index, given, message.role == "user", bool(message.parts))

    def _of_mapping(self, data: Mapping[str, Any], index: int, failed: Collection[str], nested: Mapping[str, Iterable[str]]) -> Source:
        for call in data.get("tool_calls") or ():
            if isinstance(call, Mapping):
                inner = call.get("function")
                function = inner if isinstance(inner, Mapping) else call
                self.calls[str(call.get("id"))] = (str(function.get("name")), _texts(function.get("arguments")))
        role = data.get("role")
        content = _content(data.get("content"))
        unseen = _holds_unseen(data.get("content"))
        if role in ("tool", "function"):
            call_id = data.get("tool_call_id")
            bad = bool(data.get("is_error")) or data.get("status") == "error" or data.get("id") in failed or call_id in failed
            return self._result(content, index, call_id, data.get("name") or data.get("tool_name"), bad, nested, unseen)
        given = role in ("system", "user", "developer") and data.get("author", "") in _GIVEN_AUTHORS
        return self._spoken(content, index, given, role == "user", unseen)

    def _result(
        self,
        content: Any,
        index: int,
        call_id: str | None,
        tool: str | None,
        failed: bool,
        nested: Mapping[str, Iterable[str]],
        unseen: bool,
    ) -> Source:
        named, echoed = self.calls.get(call_id or "", (tool, frozenset()))
        tool = tool or named
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
        if failed:
            return Source(index, "none", text, _NOTHING, call_id, tool, "failed")
        if call_id is not None and call_id in nested:
            grounded = "\n".join(nested[call_id])
            return Source(index, "evidence", grounded, read_data([*nested[call_id]]), call_id, tool, "served")
        reading = read(text)
        unseen = unseen or _UNSEEN.search(text) is not None
        standing: ResultStanding = "empty" if not unseen and _is_empty(text, reading) else "served"
        return Source(index, "evidence", text, reading, call_id, tool, standing, echoed, unseen=unseen)

    def _spoken(self, content: Any, index: int, given: bool, person: bool, unseen: bool) -> Source:
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
        unseen = given and (unseen or _UNSEEN.search(text) is not None)
        reading = read(text) if given else _NOTHING
        return Source(index, "given" if given else "none", text, reading, person=person and given, unseen=unseen)


def given_source(data: Any, label: str = "") -> Source:
    """What was given besides the messages: a text, or JSON data."""
    data = pydantic_core.to_jsonable_python(data, fallback=str)
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return Source(None, "given", text, read_data(data), label=label)


def _content(content: Any) -> Any:
    """The text of a content that is a list of text blocks; other data as it is; nothing for None."""
    if content is None:
        return ""
    if isinstance(content, list) and content and all(isinstance(b, Mapping) and "type" in b for b in content):
        return "\n\n".join(str(b.get("text", "")) for b in content if b.get("type") in _TEXT_BLOCKS)
    return content


def _holds_unseen(content: Any) -> bool:
    """Whether a content in blocks holds one that is no text, such as an image."""
    return isinstance(content, list) and any(isinstance(b, Mapping) and _UNSEEN_TYPE.search(str(b.get("type", ""))) for b in content)


def _texts(arguments: Any) -> frozenset[str]:
    if isinstance(arguments, str):
        if not arguments.startswith("{"):
            return frozenset()
        arguments = read(arguments).leaves
        return frozenset(leaf.value.lower() for leaf in arguments if isinstance(leaf.value, str) and not leaf.is_key)
    return frozenset(leaf.value.lower() for leaf in read_data(arguments or {}).leaves if isinstance(leaf.value, str) and not leaf.is_key)


def _is_empty(text: str, reading: Reading) -> bool:
    """Whether a result found nothing: no text, null, or data in which no list and no object holds anything."""
    if not text.strip():
        return True
    if reading.data:
        return all(_nothing_in(data) for data in reading.data) and not any(leaf.node is None for leaf in reading.leaves)
    return text.strip().lower() in ("null", "none", '""', "''")


def _nothing_in(data: Any) -> bool:
    if isinstance(data, dict):
        return data.get("af_absent") is True or all(isinstance(v, (dict, list)) and _nothing_in(v) for v in data.values())
    return isinstance(data, list) and all(_nothing_in(item) for item in data)
