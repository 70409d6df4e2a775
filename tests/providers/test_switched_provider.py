"""A conversation that goes on with another provider: what the first one left in it must be nothing that the next one refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from agentfp.events import ThinkingOmitted
from agentfp.model import (
    Message,
    Model,
    ModelError,
    ModelRequest,
    ThinkingBlock,
    ToolCall,
    ToolSpec,
    block_meta,
)
from agentfp_anthropic import AnthropicModel
from agentfp_bedrock import BedrockModel
from agentfp_gemini import GeminiModel
from agentfp_ollama import OllamaModel
from agentfp_openai import ChatModel, ResponsesModel, Server, openai
from tests.providers.faults import Faults, reply

pytestmark = pytest.mark.anyio
IDS = ("a.b/c", "a_b/c", "call_" + "x" * 300 + "1", "call_" + "x" * 300 + "2", "call_fine")
HISTORY = (
    Message("1", "user", "hej ünïcode 🙂"),
    Message(
        "2",
        "assistant",
        "Looking.",
        tool_calls=(
            ToolCall(IDS[0], "look", '{"n":1}', block_meta("anthropic", {"caller": {"type": "other"}})),
            ToolCall(IDS[1], "made up.name!", '{"n":1}', '{"gemini":"call","id":"g1","signature":"c2ln"}'),
            ToolCall(IDS[2], "look", '{"n": ', '{"openai.responses":{"at":1,"call":{"id":"fc_1"}}}'),
            ToolCall(IDS[3], "look", "[1]", "no JSON"),
            ToolCall(IDS[4], "look", '{"n":2}', '{"openai.chat":{"call":{"extra_content":{}},"host":"elsewhere"}}'),
        ),
        thinking=(
            ThinkingBlock("a", "seal", provider_meta=block_meta("anthropic", {"type": "thinking"})),
            ThinkingBlock("b", "seal", provider_meta=block_meta("bedrock", {})),
            ThinkingBlock("g", "c2ln", provider_meta='{"gemini":"thought","n":0}'),
            ThinkingBlock("c", provider_meta='{"openai.chat":{"message":{"reasoning":"c"},"host":"elsewhere"}}'),
            ThinkingBlock("o", provider_meta='{"ollama":"thinking"}'),
            ThinkingBlock("r", provider_meta='{"openai.responses":{"at":0,"item":{"type":"reasoning","summary":[]}}}'),
        ),
    ),
    *(Message(f"r{at}", "tool", "seen", tool_call_id=one, tool_name="look") for at, one in enumerate(IDS)),
)
LOOK = ToolSpec("look", "Looks.", '{"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"}')


def _openai(kind: type[ChatModel | ResponsesModel], server_kind: Any) -> Callable[[str], Model]:
    features = openai("gpt-5.1", api_key="k").features
    return lambda url: kind("gpt-5.1", server=Server(url, server_kind, "k"), features=features)


MODELS: dict[str, Callable[[str], Model]] = {
    "chat": _openai(ChatModel, "openai"),
    "responses": _openai(ResponsesModel, "openai"),
    "compatible": _openai(ChatModel, "compatible"),
    "anthropic": lambda url: AnthropicModel("claude-sonnet-4-5", api_key="k", base_url=url),
    "bedrock": lambda url: BedrockModel("anthropic.claude-test-v1:0", api_key="k", endpoint_url=url),
    "gemini": lambda url: GeminiModel("gemini-2.5-flash", api_key="k", base_url=url),
    "ollama": lambda url: OllamaModel("qwen3:8b", base_url=url),
}
RESULTS = ("tool_call_id", "call_id", "tool_use_id", "toolUseId")
LONGEST = {"chat": 40, "responses": 64, "anthropic": 128, "bedrock": 64}
PLAIN = ("anthropic", "bedrock")
OWN = {"chat": (), "responses": (5,), "compatible": (), "anthropic": (0,), "bedrock": (1,), "gemini": (2,), "ollama": (4,)}


async def _sent(name: str, faults: Faults, report: Callable[[Any], None]) -> Any:
    faults.plays(reply(400, {}))
    with pytest.raises(ModelError):
        await MODELS[name](faults.url).complete(ModelRequest(system="", messages=HISTORY, tools=(LOOK,), report=report))
    return faults.requests[-1].json()


def _objects(data: Any) -> list[dict[str, Any]]:
    if isinstance(data, list):
        return [found for one in data for found in _objects(one)]
    return [data, *_objects(list(data.values()))] if isinstance(data, dict) else []


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("gemini", "ollama")])
async def test_ids_of_calls_fit_the_provider_stay_apart_and_their_results_find_them(name: str, faults: Faults) -> None:
    found = _objects(await _sent(name, faults, lambda _: None))
    results = [o for o in found if o.get("role") == "tool" or o.get("type") in ("tool_result", "function_call_output") or "content" in o]
    answered = [o[key] for o in results for key in RESULTS if key in o]
    calls = [o for o in found if {"input", "arguments", "function"} & o.keys()]
    asked: list[str] = [o[key] for o in calls for key in (("call_id",) if name == "responses" else ("id", "toolUseId")) if key in o]
    assert sorted(asked) == sorted(answered)
    assert len(set(asked)) == len(IDS)
    assert IDS[-1] in asked, "one that fits is left as it is"
    assert all(len(one) <= LONGEST.get(name, 1000) for one in asked)
    if name in PLAIN:
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", one) for one in asked)
    if name == "compatible":
        assert tuple(asked) == IDS, "a server's own ids mean something to it"


@pytest.mark.parametrize("name", MODELS)
async def test_a_made_up_name_of_a_tool_is_written_so_that_it_is_not_refused(name: str, faults: Faults) -> None:
    sent = json.dumps(await _sent(name, faults, lambda _: None))
    assert ("made up.name!" in sent) == (name == "ollama"), "Ollama takes any name"


@pytest.mark.parametrize("name", MODELS)
async def test_thinking_goes_back_to_its_provider_alone_and_what_is_left_out_is_reported(name: str, faults: Faults) -> None:
    reported: list[Any] = []
    sent = json.dumps(await _sent(name, faults, reported.append))
    left_out = [one.block_index for one in reported if isinstance(one, ThinkingOmitted)]
    assert left_out == [at for at in range(6) if at not in OWN[name]]
    assert [word for word in ("extra_content", '"reasoning": "c"') if word in sent] == [], "fields of one server are refused by another"
