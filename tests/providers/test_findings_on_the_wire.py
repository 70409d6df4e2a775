"""The findings ledger through every provider: its schemas, calls that declare, tickets and its piece go out as they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from agentfp import Agent
from agentfp.model import Model, ModelError, ModelRequest
from agentfp.testing import ScriptedModel, call
from agentfp_anthropic import AnthropicModel
from agentfp_bedrock import BedrockModel
from agentfp_findings import Findings
from agentfp_gemini import GeminiModel
from agentfp_local import LocalModel
from agentfp_ollama import OllamaModel
from tests.providers.anthropic.messages_oracle import check_request as check_anthropic
from tests.providers.bedrock.converse_oracle import check_request as check_bedrock
from tests.providers.faults import Faults, reply
from tests.providers.gemini.oracle import check_body as check_gemini
from tests.providers.ollama.chats import check_body as check_ollama
from tests.providers.openai.samples import model_at, own_model

pytestmark = pytest.mark.anyio
BEDROCK = "anthropic.claude-test-v1:0"


class Place(BaseModel):
    model_config = ConfigDict(extra="forbid")
    floor: int
    door: str | None = None


def look(place: Place) -> str:
    """Look at a place."""
    return "Nothing of use."


def search(words: str, limit: int = 5) -> str:
    """Search for words."""
    return "Door d12: shut."


TOLD: dict[str, Any] = {
    "basis": "direct",
    "expect": "high",
    "previous": [
        {"tool_call_id": "c1", "standing": "noise"},
        {
            "tool_call_id": "c2",
            "standing": "fact",
            "assertions": [{"subject": {"kind": "door", "id": "d12"}, "predicate": "Schloß ☀", "value": {"is": ["shut", None, 1.5]}}],
        },
    ],
}


def openai(url: str, api: str) -> Model:
    return own_model(url, api, "gpt-5-mini")


MODELS: dict[str, Callable[[str], Model]] = {
    "openai chat": lambda url: openai(url, "chat"),
    "openai responses": lambda url: openai(url, "responses"),
    "compatible chat": lambda url: model_at(url, "chat"),
    "compatible responses": lambda url: model_at(url, "responses"),
    "anthropic": lambda url: AnthropicModel("m", base_url=url, api_key="k"),
    "bedrock": lambda url: BedrockModel(BEDROCK, endpoint_url=url, api_key="k"),
    "gemini": lambda url: GeminiModel("m", base_url=url, api_key="k"),
    "ollama": lambda url: OllamaModel("m", base_url=url),
}


async def asked(offer: str) -> ModelRequest:
    """The last request of a run whose model declares."""
    first = [call("look", id="c1", place={"floor": 1}, _findings={"basis": "exploratory"}), call("search", id="c2", words="d12")]
    model = ScriptedModel([first, call("search", id="c3", words="d12", _findings=TOLD), "Shut."])
    await Agent(model, tools=[look, search], plugins=[Findings(offer=offer)]).run("Is it shut?")
    return model.requests[2]


async def sent(faults: Faults, model: Model, request: ModelRequest) -> Any:
    """The body that goes out; what comes back is of no interest here."""
    faults.plays(reply(400, {"error": {"message": "no"}}))
    with suppress(ModelError):
        await model.complete(request)
    return faults.requests[-1].json()


def checked(name: str, body: dict[str, Any]) -> None:
    """What the official SDK says of a body."""
    if name == "anthropic":
        check_anthropic(body)
    elif name == "bedrock":
        check_bedrock(body, BEDROCK)
    elif name == "gemini":
        check_gemini(body)
    elif name == "ollama":
        check_ollama(body)


def schemas(data: Any) -> list[dict[str, Any]]:
    """Every schema in a body that is decorated, from the outside in."""
    found = []
    if isinstance(data, dict):
        if isinstance(data.get("properties"), dict) and "_findings" in data["properties"]:
            found.append(data)
        for value in data.values():
            found += schemas(value)
    elif isinstance(data, list):
        for value in data:
            found += schemas(value)
    return found


def declared(data: Any) -> list[Any]:
    """Every declaration in the calls of a body, which some interfaces have as text."""
    if isinstance(data, str):
        return declared(json.loads(data)) if data.startswith("{") else []
    if isinstance(data, dict):
        own = [data["_findings"]] if "_findings" in data else []
        return own + [found for key, value in data.items() if key != "properties" for found in declared(value)]
    return [found for value in data for found in declared(value)] if isinstance(data, list) else []


def texts(data: Any) -> list[str]:
    if isinstance(data, str):
        return [data]
    items = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [text for value in items for text in texts(value)]


def without_references(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of ``look`` as servers get it that know no references."""
    made = json.loads(json.dumps(schema))
    named = made.pop("$defs", {})
    for name, part in made["properties"].items():
        if "$ref" in part:
            made["properties"][name] = named[part["$ref"].rpartition("/")[2]]
    return dict(made)


@pytest.mark.parametrize("offer", ["text", "enum"])
@pytest.mark.parametrize("name", MODELS)
async def test_what_the_ledger_adds_goes_out_as_it_is(faults: Faults, name: str, offer: str) -> None:
    request = await asked(offer)
    body = await sent(faults, MODELS[name](faults.url), request)
    checked(name, body)
    wanted = [tool.parameters for tool in request.tools]
    assert schemas(body) == ([without_references(schema) for schema in wanted] if name == "ollama" else wanted)
    assert ('"enum": ["c3", "c2"]' in json.dumps(body)) == (offer == "enum")
    assert declared(body) == [{"basis": "exploratory"}, TOLD]
    said = texts(body)
    assert any('{"collapsed":true,"standing":"noise","tool_call_id":"c1"}' in text for text in said)
    assert any('{"s":"door/d12","p":"Schloß ☀","v":{"is":["shut",null,1.5]},"from":["tool:c2"]}' in text for text in said)
    if name.startswith("openai"):  # the strict form has no arguments that may be left out
        assert [tool.get("function", tool)["strict"] for tool in body["tools"]] == [False, False]


async def test_without_the_plugin_the_same_tools_go_out_in_the_strict_form_where_there_is_one(faults: Faults) -> None:
    model = ScriptedModel(["Done."])
    await Agent(model, tools=[look, search]).run("Go.")
    body = await sent(faults, openai(faults.url, "chat"), model.requests[0])
    assert [tool["function"]["strict"] for tool in body["tools"]] == [True, False]


@pytest.mark.parametrize("question", ["Search the words “d12”.", "Search for findings with the words “d12”."])
async def test_a_small_model_is_asked_for_the_tools_own_arguments_alone(faults: Faults, question: str) -> None:
    bodies = []
    for plugins in ([], [Findings()]):
        model = ScriptedModel(["Done."])
        await Agent(model, tools=[look, search], plugins=plugins).run(question)
        bodies.append(await sent(faults, LocalModel("m", base_url=faults.url, key="k"), model.requests[0]))
    assert "search" in json.dumps(bodies[0])
    assert bodies[0] == bodies[1]


def test_every_provider_is_here() -> None:
    names = {name.partition(" ")[0] for name in MODELS} - {"compatible"}
    folders = {path.parent.name for path in (Path(__file__).parents[2] / "providers").glob("*/pyproject.toml")}
    assert folders == names | {"local"}
