"""A request as the Responses interface takes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agentfp.model import Message, ModelFeatureError, ModelRequest, fitting_id, report_foreign_thinking, with_extra
from agentfp_openai.families import Family, check_sampling, effort_of
from agentfp_openai.parts import responses_part
from agentfp_openai.request import answer_schema, function
from agentfp_openai.responses_items import items_of, meta_of
from agentfp_openai.server import Kind


def responses_body(
    model: str, request: ModelRequest, *, kind: Kind, family: Family, effort: str | None, summary: str | None, streaming: bool
) -> dict[str, Any]:
    """The JSON of a request. Nothing is stored at the provider: what a reply needs of earlier ones goes along, sealed.

    Args:
        model: the model's name.
        request: the request.
        kind: of the server.
        family: of the model.
        effort: the reasoning effort that the model was made with.
        summary: which summary of its thinking is asked for.
        streaming: whether the reply is to come in pieces.

    Raises:
        ModelFeatureError: a wish that the model or this interface cannot grant.
    """
    settings = request.settings
    effort = effort_of(model, family, settings, effort)
    check_sampling(model, family, settings, effort)
    _check_wishes(model, request)
    report_foreign_thinking(request, "openai", model, lambda block: bool(meta_of(block.provider_meta)))
    body: dict[str, Any] = {"model": model, "input": list(_items(request.messages, kind)), "store": False}
    if request.system:
        body["instructions"] = request.system
    if family.efforts:
        body["include"] = ["reasoning.encrypted_content"]
    reasoning = {"effort": effort, "summary": None if family.efforts == () else summary}
    if any(reasoning.values()):
        body["reasoning"] = {name: value for name, value in reasoning.items() if value is not None}
    if request.tools:
        strict = kind != "compatible"
        body["tools"] = [{"type": "function", "strict": False, **function(tool, strict=strict)} for tool in request.tools]
    if request.tool_choice is not None:
        body["tool_choice"] = {"type": "function", "name": request.tool_choice}
    if request.output_schema_json is not None:
        body["text"] = {"format": {"type": "json_schema", **answer_schema(request.output_schema_json)}}
    wishes = {"temperature": settings.temperature, "top_p": settings.top_p, "max_output_tokens": settings.max_tokens}
    body |= {name: value for name, value in wishes.items() if value is not None}
    if streaming:
        body["stream"] = True
    return with_extra(body, settings.extra)


def _check_wishes(model: str, request: ModelRequest) -> None:
    wishes = {"seed": request.settings.seed, "stop": request.settings.stop or None}
    named = [name for name, value in wishes.items() if value is not None]
    if named:
        msg = f"model {model!r} of 'openai' takes no {' and no '.join(named)} over Responses; leave it out, or use 'openai-chat:{model}'"
        raise ModelFeatureError(msg, provider="openai", model=model)


def _items(messages: Sequence[Message], kind: Kind) -> Iterator[dict[str, Any]]:
    for message in messages:
        if message.role == "assistant":
            yield from items_of(message)
        elif message.role == "tool":
            yield {
                "type": "function_call_output",
                "call_id": fitting_id(message.tool_call_id or "", any_letters=True),
                "output": _content(message),
            }
        else:
            role = "developer" if message.role == "system" and kind != "compatible" else message.role
            yield {"type": "message", "role": role, "content": _content(message)}  # not every server does without the type


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.parts:
        return message.text
    text = [{"type": "input_text", "text": message.text}] if message.text else []
    return [*text, *(responses_part(part) for part in message.parts)]
