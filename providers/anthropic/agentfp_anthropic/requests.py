"""A model request as the body of the Messages API; what the model cannot do is refused here, before anything is sent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from agentfp.model import ModelRequest, closed_schema, lacking, with_extra
from agentfp_anthropic.catalog import RequestRules
from agentfp_anthropic.content import PROVIDER, Wire, wire_messages
from agentfp_anthropic.marks import put_marks

BINDING_BETA = "thinking-binding-controls-2026-08-01"


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a model is asked, whatever the request; see :class:`~agentfp_anthropic.model.AnthropicModel`."""

    thinking: Literal["adaptive", "between_tools", "disabled"] | None = None
    thinking_display: Literal["summarized", "omitted"] | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    on_changed_history: Literal["drop_thinking", "error"] = "drop_thinking"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is sent.

    Args:
        body: JSON data.
        wire: the messages in it.
        betas: those that it needs.
    """

    body: dict[str, Any]
    wire: Wire
    betas: tuple[str, ...]


def ask(request: ModelRequest, model: str, rules: RequestRules, style: Style, *, stream: bool) -> Asked:
    """Write a request.

    Args:
        request: the request.
        model: name of the model.
        rules: what its requests may hold.
        style: how it is asked.
        stream: whether the reply is to come in pieces.

    Raises:
        ModelFeatureError: the model cannot do what the request wishes for; names both.
    """
    settings = request.settings
    wire = wire_messages(request.messages, model)
    thinking, betas = _thinking(request, model, rules, style, wire)
    _check(request, model, rules, thinking)
    budget = thinking.get("budget_tokens", 0) if thinking else 0
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": settings.max_tokens if settings.max_tokens is not None else _room(rules, budget),
        "messages": wire.messages,
    }
    if stream:
        body["stream"] = True
    tools: list[dict[str, Any]] = [
        {"name": spec.name, "input_schema": spec.parameters, **({"description": spec.description} if spec.description else {})}
        for spec in request.tools
    ]
    marks = request.cache_marks if settings.prompt_cache != "off" else ()
    system = put_marks(marks, system=request.system, tools=tools, last=wire.last)
    if request.system.strip():
        body["system"] = system
    if tools:
        body["tools"] = tools
    elif called := called_tools(wire):
        # The API wants the tools of calls in the history to be there, though none may be called any more.
        body |= {"tools": called, "tool_choice": {"type": "none"}}
    if request.tool_choice is not None:
        body["tool_choice"] = {"type": "tool", "name": request.tool_choice}
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.top_p is not None:
        body["top_p"] = settings.top_p
    if settings.stop:
        body["stop_sequences"] = list(settings.stop)
    if thinking:
        body["thinking"] = thinking
    output = _output(request, model, style)
    if output:
        body["output_config"] = output
    return Asked(with_extra(body, settings.extra), wire, betas)


def _room(rules: RequestRules, budget: int) -> int:
    """The `max_tokens` of a request that states none: what the model can give, and in any case more than it may think."""
    return rules.max_output if rules.max_output > budget else budget + RequestRules().max_output


def called_tools(wire: Wire) -> list[dict[str, Any]]:
    """Stand-ins for the tools that were called before and are not offered now."""
    blocks = (block for message in wire.messages if message["role"] == "assistant" for block in message["content"])
    names = dict.fromkeys(block["name"] for block in blocks if block["type"] == "tool_use")
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _thinking(
    request: ModelRequest, model: str, rules: RequestRules, style: Style, wire: Wire
) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """The wish for thinking; None where the model's own way is left as it is."""
    wish = request.settings.thinking_tokens
    made: dict[str, Any] | None = {"type": style.thinking} if style.thinking else None
    if wish == 0:
        if rules.thinking_off is None:
            raise lacking(PROVIDER, model, "way to switch thinking off (thinking_tokens=0)", "set effort='low' to have less of it")
        made = None if rules.thinking_off == "omit" else {"type": rules.thinking_off}
    elif wish is not None and not rules.thinking_budget:
        raise lacking(
            PROVIDER, model, "budget for thinking (thinking_tokens)", "it decides by itself; set effort='low' to 'max' on the model"
        )
    elif wish is not None and wish < 1024:
        raise lacking(
            PROVIDER, model, f"budget for thinking as small as thinking_tokens={wish}", "the least is 1024, and 0 switches it off"
        )
    elif wish is not None:
        made = {"type": "enabled", "budget_tokens": wish}
    if style.thinking_display and (made is None or made["type"] in ("adaptive", "enabled")) and wish != 0:
        made = {**(made or {"type": "adaptive"}), "display": style.thinking_display}
    drops = rules.bound_thinking and wire.thinking and style.on_changed_history == "drop_thinking"
    if drops and (made is None or made["type"] == "adaptive"):
        # Pieces of the system text change from call to call here, and the API refuses thinking whose past has changed.
        made = {**(made or {"type": "adaptive"}), "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        return made, (BINDING_BETA,)
    return made, ()


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
            raise lacking(
                PROVIDER,
                model,
                "JSON schema output (json_schema) of objects with free keys",
                "name the keys, or take output_strategy='tool'",
            )
        output["format"] = {"type": "json_schema", "schema": schema}
    return output
