"""A model request as the body of Converse; what the model cannot do is refused here, before anything is sent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from agentfp.model import ModelRequest, closed_schema, lacking, with_extra
from agentfp_bedrock.catalog import RequestRules
from agentfp_bedrock.content import PROVIDER, Block, Wire, wire_messages
from agentfp_bedrock.marks import put_marks

ROOM = 8_192
"""Tokens of a reply beside its thinking, where a request with a budget for thinking states no ``max_tokens``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a model is asked, whatever the request; see :class:`~agentfp_bedrock.model.BedrockModel`."""

    thinking: Literal["adaptive", "between_tools", "disabled"] | None = None
    effort: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What is sent.

    Args:
        body: JSON data.
        wire: the messages in it.
    """

    body: dict[str, Any]
    wire: Wire


def ask(request: ModelRequest, model: str, rules: RequestRules, style: Style) -> Asked:
    """Write a request.

    Args:
        request: the request.
        model: name of the model.
        rules: what its requests may hold.
        style: how it is asked.

    Raises:
        ModelFeatureError: the model cannot do what the request wishes for; names both.
    """
    settings = request.settings
    thinking = _thinking(request, model, rules, style)
    _check(request, model, rules, thinking)
    wire = wire_messages(request.messages, model)
    tools = _tools(request, wire)
    marks = request.cache_marks if settings.prompt_cache != "off" else ()
    system = put_marks(marks, system=request.system, tools=tools, wire=wire, tool_marks=rules.tool_marks, long_marks=rules.long_marks)
    body: dict[str, Any] = {"messages": wire.messages}
    if system:
        body["system"] = system
    if tools:
        body["toolConfig"] = {"tools": tools}
        if request.tool_choice is not None:
            body["toolConfig"]["toolChoice"] = {"tool": {"name": request.tool_choice}}
    most = settings.max_tokens
    if most is None and thinking and "budget_tokens" in thinking:
        most = thinking["budget_tokens"] + ROOM  # some models' own limit is below what they are to think
    inference = {
        "maxTokens": most,
        "temperature": settings.temperature,
        "topP": settings.top_p,
        "stopSequences": list(settings.stop) or None,
    }
    if any(value is not None for value in inference.values()):
        body["inferenceConfig"] = {key: value for key, value in inference.items() if value is not None}
    if thinking:
        body["additionalModelRequestFields"] = {"thinking": thinking}
    output = _output(request, model, style)
    if output:
        body["outputConfig"] = output
    return Asked(with_extra(body, settings.extra), wire)


def _tools(request: ModelRequest, wire: Wire) -> list[Block]:
    """The tools; where none are offered, stand-ins for those that were called before, for the API wants them to be there."""
    specs = [(spec.name, spec.description, spec.parameters) for spec in request.tools]
    if not specs:
        specs = [(name, "No longer offered.", {"type": "object"}) for name in wire.called()]
    return [
        {"toolSpec": {"name": name, **({"description": text} if text.strip() else {}), "inputSchema": {"json": schema}}}
        for name, text, schema in specs
    ]


def _thinking(request: ModelRequest, model: str, rules: RequestRules, style: Style) -> dict[str, Any] | None:
    """The wish for thinking; None where the model's own way is left as it is."""
    wish = request.settings.thinking_tokens
    if wish is None:
        return {"type": style.thinking} if style.thinking else None
    if not rules.claude:
        if wish:
            raise lacking(
                PROVIDER, model, "budget for thinking (thinking_tokens)", "leave it out, or see what extra= may hold for this model"
            )
        return None
    if wish == 0:
        if rules.thinking_off is None:
            raise lacking(PROVIDER, model, "way to switch thinking off (thinking_tokens=0)", "set effort='low' to have less of it")
        return None if rules.thinking_off == "omit" else {"type": rules.thinking_off}
    if not rules.thinking_budget:
        raise lacking(
            PROVIDER, model, "budget for thinking (thinking_tokens)", "it decides by itself; set effort='low' to 'max' on the model"
        )
    if wish < 1024:
        raise lacking(
            PROVIDER, model, f"budget for thinking as small as thinking_tokens={wish}", "the least is 1024, and 0 switches it off"
        )
    return {"type": "enabled", "budget_tokens": wish}


def _check(request: ModelRequest, model: str, rules: RequestRules, thinking: dict[str, Any] | None) -> None:
    settings = request.settings
    if settings.seed is not None:
        raise lacking(PROVIDER, model, "seed", "leave it out; the API cannot repeat a reply")
    sampling = [name for name in ("temperature", "top_p") if getattr(settings, name) is not None]
    if sampling and not rules.sampling:
        raise lacking(PROVIDER, model, " and ".join(sampling), "leave it out; the newer models take none")
    if not thinking or thinking["type"] != "enabled":
        return
    budget = thinking["budget_tokens"]
    if settings.max_tokens is not None and settings.max_tokens <= budget:
        raise lacking(
            PROVIDER,
            model,
            f"room for thinking_tokens={budget} within max_tokens={settings.max_tokens}",
            "thinking counts among the reply's tokens; make max_tokens larger",
        )
    if request.tool_choice is not None:
        raise lacking(PROVIDER, model, "forced tool choice (forced_tool_choice) beside thinking_tokens", "leave one of them out")
    if settings.temperature not in (None, 1, 1.0):
        raise lacking(PROVIDER, model, "temperature beside thinking_tokens", "leave one of them out")


def _output(request: ModelRequest, model: str, style: Style) -> dict[str, Any]:
    output: dict[str, Any] = {"effort": style.effort} if style.effort else {}
    if request.output_schema_json is not None:
        schema = closed_schema(json.loads(request.output_schema_json))
        if schema is None:
            instead = "name the keys, or take output_strategy='tool'"
            raise lacking(PROVIDER, model, "JSON schema output (json_schema) of objects with free keys", instead)
        text = json.dumps(schema, ensure_ascii=False)
        output["textFormat"] = {"type": "json_schema", "structure": {"jsonSchema": {"schema": text, "name": "answer"}}}
    return output
