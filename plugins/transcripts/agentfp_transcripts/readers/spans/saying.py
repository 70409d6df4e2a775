"""What was said in the span of one model call, whichever names the instrumentation gives its attributes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentfp.plugin import ToolCall
from agentfp_transcripts.building import call
from agentfp_transcripts.content import as_text, items, mapping, name_of, parsed, result_text, text_of
from agentfp_transcripts.readers.spans.export import Span, look_up, numbered

_ROLES: dict[str, Literal["system", "user", "assistant", "tool"]] = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant",
    "model": "assistant", "tool": "tool", "function": "tool",
}  # fmt: skip
_EVENTS = {"gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant",
           "gen_ai.tool.message": "tool", "gen_ai.choice": "assistant"}  # fmt: skip
_DETAILS = "gen_ai.client.inference.operation.details"


@dataclass(frozen=True, slots=True)
class Said:
    """A message, before it has a place in a transcript."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    tool: str | None = None
    failed: bool = False

    @property
    def mark(self) -> tuple[Any, ...]:
        """What two tellings of one message have in common; ids and blanks may differ."""
        return self.role, self.text.strip(), tuple((c.name, c.arguments_json) for c in self.calls)


def said_in(span: Span) -> tuple[list[Said], list[Said]]:
    """What the model was given and what it said; both empty for a span that holds neither."""
    given, made = list(_open_inference(span, "llm.input_messages")), list(_open_inference(span, "llm.output_messages"))
    if given or made:
        return given, made
    given, made = _gen_ai(span.attributes)
    for name, attributes in span.events:
        if not (given or made) and name == _DETAILS:
            given, made = _gen_ai(attributes)
    if given or made:
        return given, made
    given, made = _numbered(span, "gen_ai.prompt"), _numbered(span, "gen_ai.completion")
    if given or made:
        return given, made
    return _events(span)


def whole_in(span: Span) -> list[Said]:
    """What an agent's span tells of its whole run, where it does."""
    told = span.get("pydantic_ai.all_messages")
    if told is not None:
        return [*_instructions(span.attributes), *(s for m in items(parsed(_plain(told))) for s in _parts(m))]
    told = span.get("all_messages_events")
    return [] if told is None else [s for e in items(parsed(told)) for s in _event(as_text(mapping(e).get("event.name")), mapping(e))]


def _plain(value: Any) -> Any:
    """A value that is also a branch."""
    return value.get("") if isinstance(value, Mapping) and "" in value else value


# --- OpenInference -------------------------------------------------------------------------------------------------------


def _open_inference(span: Span, path: str) -> Iterator[Said]:
    for item in numbered(span.get(path)):
        message = mapping(mapping(item).get("message")) or mapping(item)
        role = _ROLES.get(as_text(message.get("role")).lower())
        if role is None:
            continue
        text = as_text(_plain(message.get("content")))
        parts = [mapping(mapping(p).get("message_content")) for p in numbered(message.get("contents"))]
        text = text or "\n".join(as_text(p["text"]) for p in parts if isinstance(p.get("text"), str))
        calls = [mapping(mapping(c).get("tool_call")) or mapping(c) for c in numbered(message.get("tool_calls"))]
        made = tuple(call(mapping(c.get("function")).get("name"), mapping(c.get("function")).get("arguments"), c.get("id")) for c in calls)
        if message.get("function_call_name"):
            made = (*made, call(message["function_call_name"], message.get("function_call_arguments_json"), ""))
        call_id = as_text(message.get("tool_call_id")) or None
        if call_id is not None and role == "user":
            role = "tool"
        yield Said(role, text, made, call_id, name_of(message, "name") if role == "tool" else None)


# --- OpenTelemetry's GenAI conventions ------------------------------------------------------------------------------------


def _gen_ai(attributes: Mapping[str, Any]) -> tuple[list[Said], list[Said]]:
    """Attributes that hold messages made of parts, as JSON text or as they are."""
    given = [said for message in numbered(look_up(attributes, "gen_ai.input.messages")) for said in _parts(message)]
    made = [said for message in numbered(look_up(attributes, "gen_ai.output.messages"))[:1] for said in _parts(message)]
    return ([*_instructions(attributes), *given] if given or made else []), made


def _instructions(attributes: Mapping[str, Any]) -> list[Said]:
    told = look_up(attributes, "gen_ai.system_instructions")
    text = text_of(parsed(told)) if told is not None else ""
    return [Said("system", text)] if text else []


def _parts(message: Any) -> Iterator[Said]:
    """One message; each result of a tool is one of its own."""
    whole = mapping(message)
    role = _ROLES.get(as_text(whole.get("role")).lower())
    if role is None:
        return
    if not isinstance(whole.get("parts"), list):  # some write the vendor's form instead
        yield _chat(role, whole)
        return
    texts: list[str] = []
    calls: list[ToolCall] = []
    results = 0
    for part in whole["parts"]:
        one = mapping(part)
        kind = as_text(one.get("type"))
        if kind == "text":
            texts.append(as_text(one.get("content", one.get("text"))))
        elif kind in ("tool_call", "server_tool_call"):
            inner = mapping(one.get("server_tool_call")) or one
            calls.append(call(one.get("name", inner.get("name")), inner.get("arguments"), one.get("id")))
        elif kind in ("tool_call_response", "server_tool_call_response"):
            if texts or calls:
                yield Said(role, "\n".join(texts), tuple(calls))
                texts, calls = [], []
            results += 1
            result = next((one[key] for key in ("response", "result", "content", kind) if key in one), None)
            yield Said("tool", result_text(result), (), as_text(one.get("id")) or None, name_of(one, "name"))
    if texts or calls or not results:
        yield Said(role, "\n".join(texts), tuple(calls))


def _chat(role: Literal["system", "user", "assistant", "tool"], message: Mapping[str, Any]) -> Said:
    calls = []
    for one in numbered(message.get("tool_calls")):
        wanted = mapping(one)
        function = mapping(wanted.get("function")) or wanted
        calls.append(call(function.get("name"), function.get("arguments"), wanted.get("id")))
    content = parsed(_plain(message.get("content"))) if role != "tool" else _plain(message.get("content"))
    text = text_of(content) if isinstance(content, list) else as_text(_plain(message.get("content")))
    call_id = name_of(message, "tool_call_id", "id") if role == "tool" else None
    return Said(role, text, tuple(calls), call_id, name_of(message, "name") if role == "tool" else None)


def _numbered(span: Span, path: str) -> list[Said]:
    """Attributes with numbers in their names, as OpenLLMetry writes them."""
    found = []
    for item in numbered(span.get(path)):
        role = _ROLES.get(as_text(mapping(item).get("role")).lower())
        if role is not None:
            found.append(_chat(role, mapping(item)))
    return found


def _events(span: Span) -> tuple[list[Said], list[Said]]:
    """One event a message, as the conventions had it before; also listed in an attribute."""
    listed = [(as_text(mapping(e).get("event.name")), dict(mapping(e))) for e in items(parsed(_plain(span.get("events"))))]
    given: list[Said] = []
    made: list[Said] = []
    for name, attributes in [*span.events, *listed]:
        (made if name == "gen_ai.choice" else given).extend(_event(name, attributes))
        if name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
            told = _plain(look_up(attributes, name.replace("content.", "")))
            (given if name.endswith("prompt") else made).extend(
                _chat(_ROLES[role], mapping(m)) for m in items(parsed(told)) if (role := as_text(mapping(m).get("role")).lower()) in _ROLES
            )
    return given, made[:1]


def _event(name: str, attributes: Mapping[str, Any]) -> Iterator[Said]:
    if name not in _EVENTS:
        return
    message = attributes.get("message")
    inner = parsed(message) if name == "gen_ai.choice" and message is not None else attributes
    if isinstance(inner, str):
        inner = {"content": inner}
    fields = dict(mapping(inner))
    if isinstance(fields.get("tool_calls"), str):
        try:
            fields["tool_calls"] = json.loads(fields["tool_calls"])
        except (ValueError, RecursionError):
            del fields["tool_calls"]
    role = _ROLES.get(as_text(fields.get("role")).lower(), _ROLES[_EVENTS[name]])
    yield _chat(role, fields)
