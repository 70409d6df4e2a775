"""Reads messages of the Vercel AI SDK: those that models get, and those that user interfaces keep, of its versions 3 to 6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentfp.plugin import ToolCall
from agentfp.transcripts import Transcript, TranscriptError
from agentfp_transcripts.building import Builder, call
from agentfp_transcripts.content import as_text, items, mapping, name_of, result_text, text_of
from agentfp_transcripts.readers.openai_chat import LISTS, messages_of

_ROLES = frozenset({"system", "user", "assistant", "tool", "data"})
_QUIET = frozenset({"reasoning", "step-start", "source", "source-url", "source-document", "tool-approval-request",
                    "tool-approval-response"})  # fmt: skip


def _parts(message: Any) -> list[Mapping[str, Any]]:
    """The parts of a message, wherever its version keeps them; calls that stand beside a text come before it."""
    whole = mapping(message)
    found = items(whole.get("parts")) or [
        *({"type": "tool-invocation", "toolInvocation": one} for one in items(whole.get("toolInvocations"))),
        *(items(whole.get("content")) or [{"type": "text", "text": as_text(whole.get("content"))}]),
    ]
    return [part if isinstance(part, Mapping) else {"type": "text", "text": as_text(part)} for part in found]


def _tool(part: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The fields of a part that calls a tool or holds its result; None if it does neither."""
    kind = as_text(part.get("type"))
    if kind == "tool-invocation":
        return mapping(part.get("toolInvocation"))
    return part if "toolCallId" in part and (kind.startswith("tool-") or kind == "dynamic-tool") and kind not in _QUIET else None


class VercelReader:
    """Messages with parts such as ``tool-call`` and ``tool-result``, or ``tool-NAME`` with a state, or with ``toolInvocations``."""

    name = "vercel"

    def recognises(self, data: Any) -> bool:
        """Whether a message has a part of a tool as this library alone writes them."""
        messages = messages_of(data)
        if not messages or not all(mapping(message).get("role") in _ROLES for message in messages):
            return False
        return any(_tool(part) is not None for message in messages for part in _parts(message))

    def read(self, data: Any, *, id: str, source: str) -> Sequence[Transcript]:
        """The one transcript."""
        messages = messages_of(data)
        if messages is None:
            raise TranscriptError(f"{source}: there is no list of messages; they are looked for under {', '.join(map(repr, LISTS))}")
        whole = mapping(data)
        building = Builder(name_of(whole, "id", "chatId", "conversation_id") or id, format=self.name, source=source)
        if whole.get("system"):
            building.add("system", text_of(whole["system"], building.skipped))
        for message in messages:
            _add(building, message)
        return [building.build()]


def _add(building: Builder, message: Any) -> None:
    role = mapping(message).get("role")
    if role in ("system", "user"):
        building.add(role, text_of([part for part in _parts(message) if not _is_quiet(part)], building.skipped), id=message.get("id"))
    elif role in ("assistant", "tool"):
        _add_steps(building, message)
    else:
        building.unreadable("has a role that says nothing to the model")


def _is_quiet(part: Mapping[str, Any]) -> bool:
    kind = as_text(part.get("type"))
    return kind in _QUIET or kind.startswith("data-")


def _add_steps(building: Builder, message: Mapping[str, Any]) -> None:
    """What is said and called becomes a message up to each result, for one message of an interface holds all steps of a turn."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    for part in _parts(message):
        fields = _tool(part)
        if fields is None:
            if not _is_quiet(part):
                texts.append(text_of([part], building.skipped))
            continue
        own, name = as_text(fields.get("toolCallId")), _name(part, fields)
        if part.get("type") != "tool-result":
            calls.append(call(name, fields.get("args", fields.get("input", fields.get("rawInput"))), own))
        for result, failed in _results(part, fields, building):
            if texts or calls:
                building.add("assistant", "".join(texts), calls=calls)
                texts, calls = [], []
            building.add("tool", result, call_id=own or None, tool=name, failed=failed)
    if "".join(texts) or calls:
        building.add("assistant", "".join(texts), id=message.get("id"), calls=calls)


def _name(part: Mapping[str, Any], fields: Mapping[str, Any]) -> str:
    return as_text(fields.get("toolName")) or as_text(part.get("type")).removeprefix("tool-")


def _results(part: Mapping[str, Any], fields: Mapping[str, Any], building: Builder) -> Iterator[tuple[str, bool]]:
    """The result that a part holds, if it holds one, and whether the tool failed."""
    if part.get("type") == "tool-call":
        return
    if fields.get("state") in ("output-error", "output-denied"):
        yield as_text(fields.get("errorText")), True
    elif fields.get("preliminary") is True:
        return
    elif "result" in fields:  # up to version 4
        yield result_text(fields["result"], building.skipped), fields.get("isError") is True
    elif part.get("type") == "tool-result":
        output = mapping(fields.get("output"))
        kind = as_text(output.get("type"))
        yield result_text(output.get("value", output.get("reason")), building.skipped), kind.startswith(("error-", "execution-denied"))
    elif "output" in fields:
        yield result_text(fields["output"], building.skipped), False
