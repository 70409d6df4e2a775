"""Whole runs of an agent on Gemini, against a server of somebody else that speaks its wire format."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import Agent, ModelAuthenticationError, ModelNotFoundError, ModelRateLimitError, Usage
from agentfp.testing import assert_record_valid
from agentfp_gemini import GeminiModel
from tests.providers.aimock import Aimock

pytestmark = [pytest.mark.anyio, pytest.mark.service, pytest.mark.usefixtures("allow_any_model")]
WAYS = pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])


class Whole(GeminiModel):
    """One that is not asked for pieces."""

    @property
    def features(self) -> Any:
        import dataclasses

        return dataclasses.replace(super().features, streaming=False)


def model_at(aimock: Aimock, streaming: bool = True, **more: Any) -> GeminiModel:
    kind = GeminiModel if streaming else Whole
    return kind("gemini-4-hydrogen", api_key="k3y", base_url=f"{aimock.url}/v1beta", retries=1, **more)


async def port_status(switch: str) -> str:
    """Ports of one switch and their state."""
    return f"{switch}: port 3 is down, 42 % load"


@WAYS
async def test_a_run_with_tools_over_two_turns(aimock: Aimock, streaming: bool) -> None:
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 4}
    both = [{"name": "port_status", "arguments": f'{{"switch": "{name}"}}'} for name in ("A", "Ä")]
    aimock.answers(
        {"match": {"userMessage": "Which ports", "hasToolResult": False}, "response": {"toolCalls": both, "usage": usage}},
        {"match": {"userMessage": "Which ports", "hasToolResult": True}, "response": {"content": "Port 3 is down. 🦊", "usage": usage}},
        {"match": {"userMessage": "Sure?"}, "response": {"content": "Yes."}},
    )
    chat = Agent(model_at(aimock, streaming), instructions=["You are brief."], tools=[port_status]).conversation()
    result = await chat.send("Which ports of A and Ä are down?")
    assert result.text == "Port 3 is down. 🦊"
    assert result.usage == Usage(22, 8)
    assert [call.arguments for call in result.calls] == [{"switch": "A"}, {"switch": "Ä"}]
    assert_record_valid(result.record)
    assert (await chat.send("Sure?")).text == "Yes."
    first, second, third = aimock.bodies()
    assert [m["role"] for m in third["messages"]] == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]
    assert first["messages"][0]["content"] == "You are brief."
    assert [t["function"]["name"] for t in first["tools"]] == ["port_status"]
    assert "42 % load" in second["messages"][3]["content"]


@WAYS
async def test_thinking_comes_beside_the_answer(aimock: Aimock, streaming: bool) -> None:
    aimock.answers({"match": {"userMessage": "hello"}, "response": {"content": "Hi there.", "reasoning": "A greeting."}})
    result = await Agent(model_at(aimock, streaming)).run("hello")
    assert result.text == "Hi there."
    (message,) = [m for m in result.history if m.role == "assistant"]
    assert [block.text for block in message.thinking] == ["A greeting."]


async def test_a_typed_answer(aimock: Aimock) -> None:
    aimock.answers({"match": {"userMessage": "how many"}, "response": {"content": '{"ports": 3}'}})
    from pydantic import BaseModel

    class Count(BaseModel):
        ports: int

    assert (await Agent(model_at(aimock), output_type=Count).run("how many")).output == Count(ports=3)


@WAYS
@pytest.mark.parametrize("size", [1, 2, 3, 50])
async def test_text_in_pieces_of_any_size(aimock: Aimock, streaming: bool, size: int) -> None:
    text = "Grüße aus Köln: ✓ 漢字 und 12,5 €."  # aimock cuts in the middle of what is two units in JavaScript; no server of Google does
    aimock.answers({"match": {"userMessage": "hello"}, "response": {"content": text}, "chunkSize": size})
    assert (await Agent(model_at(aimock, streaming)).run("hello")).text == text


@WAYS
async def test_what_the_server_refuses(aimock: Aimock, streaming: bool) -> None:
    with pytest.raises(ModelNotFoundError, match="status 404"):
        await Agent(model_at(aimock, streaming)).run("nobody answers this")
    aimock.chaos(rateLimitRate=1)
    with pytest.raises(ModelRateLimitError) as caught:
        await Agent(model_at(aimock, streaming)).run("hello")
    assert caught.value.retry_after == 1


@WAYS
async def test_a_missing_key_is_told_at_the_first_call(aimock: Aimock, streaming: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    kind = GeminiModel if streaming else Whole
    agent = Agent(kind("m", base_url=f"{aimock.url}/v1beta"))
    with pytest.raises(ModelAuthenticationError, match=r"set GEMINI_API_KEY \(or GOOGLE_API_KEY\), or pass api_key"):
        await agent.run("hello")
    assert aimock.journal() == []
