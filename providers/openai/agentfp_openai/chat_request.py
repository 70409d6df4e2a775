"""A request as Chat Completions takes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agentfp.model import Message, ModelFeatureError, ModelRequest, ToolCall, fitting_id, fitting_name, report_foreign_thinking, with_extra
from agentfp_openai.families import Family, check_sampling, effort_of
from agentfp_openai.parts import chat_part
from agentfp_openai.request import answer_schema, function, noted
from agentfp_openai.server import Server

CHAT = "openai.chat"
"""Under this name stands in ``provider_meta`` what is noted of a reply of this interface."""
MOST_OF_ID = 40
"""Characters that OpenAI takes as the id of a call."""
THINKING_FIELDS = ("reasoning_content", "reasoning")
"""Where compatible servers put the text of a model's thinking, and read it back."""


def chat_body(model: str, request: ModelRequest, *, server: Server, family: Family, effort: str | None, streaming: bool) -> dict[str, Any]:
    """The JSON of a request.

    Args:
        model: the model's name.
        request: the request.
        server: that it is for.
        family: of the model.
        effort: the reasoning effort that the model was made with.
        streaming: whether the reply is to come in pieces.

    Raises:
        ModelFeatureError: a wish that the model or this interface cannot grant.
    """
    settings, kind, origin = request.settings, server.kind, server.host
    effort = effort_of(model, family, settings, effort)
    check_sampling(model, family, settings, effort)
    report_foreign_thinking(request, "openai", model, lambda block: bool(_meta(block.provider_meta, "message", origin)))
    body: dict[str, Any] = {"model": model, "messages": list(_messages(model, request.system, request.messages, server))}
    if request.tools:
        body["tools"] = [{"type": "function", "function": function(tool, strict=kind != "compatible")} for tool in request.tools]
    if request.tool_choice is not None:
        body["tool_choice"] = {"type": "function", "function": {"name": request.tool_choice}}
    if request.output_schema_json is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": answer_schema(request.output_schema_json)}
    wishes = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_completion_tokens" if kind != "compatible" else "max_tokens": settings.max_tokens,
        "stop": list(settings.stop) or None,
        "seed": settings.seed,
        "reasoning_effort": effort,
    }
    body |= {name: value for name, value in wishes.items() if value is not None}
    if streaming:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return with_extra(body, settings.extra)


def _messages(model: str, system: str, messages: Sequence[Message], server: Server) -> Iterator[dict[str, Any]]:
    if system:
        yield {"role": "system", "content": system}  # models that know developers take it as theirs
    for message in messages:
        if message.role == "assistant":
            yield _assistant(message, server)
        elif message.role == "tool":
            if message.parts:
                msg = (
                    f"model {model!r} takes no images or documents in a tool's result over Chat Completions; use 'openai-responses:{model}'"
                )
                raise ModelFeatureError(msg, provider="openai", model=model)
            yield {"role": "tool", "tool_call_id": _id(message.tool_call_id or "", server), "content": message.text}
        elif message.parts:
            text = [{"type": "text", "text": message.text}] if message.text else []
            yield {"role": message.role, "content": [*text, *(chat_part(part, model) for part in message.parts)]}
        else:
            yield {"role": message.role, "content": message.text}


def _assistant(message: Message, server: Server) -> dict[str, Any]:
    made: dict[str, Any] = {"role": "assistant", "content": message.text or (None if message.tool_calls else "")}
    if message.tool_calls:
        made["tool_calls"] = [_call(call, server) for call in message.tool_calls]
    for block in message.thinking:
        made |= _meta(block.provider_meta, "message", server.host)
    return made


def _call(call: ToolCall, server: Server) -> dict[str, Any]:
    called = {"name": fitting_name(call.name), "arguments": call.arguments_json}
    made = {"id": _id(call.id, server), "type": "function", "function": called}
    return made | _meta(call.provider_meta, "call", server.host)


def _id(call_id: str, server: Server) -> str:
    """OpenAI takes no long ids; another server's own may be long, and mean something to it."""
    return call_id if server.kind == "compatible" else fitting_id(call_id, longest=MOST_OF_ID, any_letters=True)


def _meta(text: str | None, of: str, origin: str) -> dict[str, Any]:
    """Fields that came with a message or a call and go back with it; servers refuse requests with such fields of another one."""
    facts = noted(CHAT, text)
    fields = facts.get(of)
    return fields if isinstance(fields, dict) and facts.get("host", origin) == origin else {}
