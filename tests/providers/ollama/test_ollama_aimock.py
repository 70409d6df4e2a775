"""Whole runs of an agent on Ollama, against a server of somebody else that speaks its wire format."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import BaseModel

from agentfp import Agent, ModelNotFoundError, ModelRateLimitError
from agentfp.testing import assert_record_valid
from agentfp_ollama import OllamaModel
from tests.providers.aimock import Aimock

pytestmark = [pytest.mark.anyio, pytest.mark.service, pytest.mark.usefixtures("allow_any_model")]
WAYS = pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])


class Whole(OllamaModel):
    """One that is not asked for pieces."""

    @property
    def features(self) -> Any:
        return dataclasses.replace(super().features, streaming=False)


def model_at(aimock: Aimock, streaming: bool = True) -> OllamaModel:
    return (OllamaModel if streaming else Whole)("qwen3:8b", base_url=aimock.url, retries=1)


async def port_status(switch: str) -> str:
    """Ports of one switch and their state."""
    return f"{switch}: port 3 is down, 42 % load"


@WAYS
async def test_a_run_with_tools_over_two_turns(aimock: Aimock, streaming: bool) -> None:
    both = [{"name": "port_status", "arguments": f'{{"switch": "{name}"}}'} for name in ("A", "Ä")]
    aimock.answers(
        {"match": {"userMessage": "Which ports", "hasToolResult": False}, "response": {"toolCalls": both}},
        {"match": {"userMessage": "Which ports", "hasToolResult": True}, "response": {"content": "Port 3 is down."}},
        {"match": {"userMessage": "Sure?"}, "response": {"content": "Yes."}},
    )
    chat = Agent(model_at(aimock, streaming), instructions=["You are brief."], tools=[port_status]).conversation()
    result = await chat.send("Which ports of A and Ä are down?")
    assert result.text == "Port 3 is down."
    assert [call.arguments for call in result.calls] == [{"switch": "A"}, {"switch": "Ä"}]
    assert len({call.id for call in result.calls}) == 2
    assert_record_valid(result.record)
    assert (await chat.send("Sure?")).text == "Yes."
    first, second, third = aimock.bodies()
    assert [m["role"] for m in third["messages"]] == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]
    assert first["messages"][0]["content"] == "You are brief."
    assert [t["function"]["name"] for t in first["tools"]] == ["port_status"]
    assert second["messages"][4]["content"] == "Ä: port 3 is down, 42 % load"


async def test_a_typed_answer(aimock: Aimock) -> None:
    class Count(BaseModel):
        ports: int

    aimock.answers({"match": {"userMessage": "how many"}, "response": {"content": '{"ports": 3}'}})
    assert (await Agent(model_at(aimock), output_type=Count).run("how many")).output == Count(ports=3)


@WAYS
@pytest.mark.parametrize("size", [1, 2, 3, 50])
async def test_text_in_pieces_of_any_size(aimock: Aimock, streaming: bool, size: int) -> None:
    text = "Grüße aus Köln: ✓ 漢字 und 12,5 €."  # aimock cuts in the middle of what is two units in JavaScript; Ollama does not
    aimock.answers({"match": {"userMessage": "hello"}, "response": {"content": text}, "chunkSize": size})
    assert (await Agent(model_at(aimock, streaming)).run("hello")).text == text


@WAYS
async def test_what_the_server_refuses(aimock: Aimock, streaming: bool) -> None:
    with pytest.raises(ModelNotFoundError, match="ollama pull qwen3:8b"):
        await Agent(model_at(aimock, streaming)).run("nobody answers this")
    aimock.chaos(rateLimitRate=1)
    with pytest.raises(ModelRateLimitError) as caught:
        await Agent(model_at(aimock, streaming)).run("hello")
    assert caught.value.retry_after == 1
