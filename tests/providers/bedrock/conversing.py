"""What a Bedrock model sends: a request goes to a server that keeps it, and comes back as JSON that botocore's model has checked."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from agentfp.model import Message, ModelRequest, ModelResponse
from agentfp_bedrock import BedrockModel
from tests.providers.bedrock.converse_oracle import check_request
from tests.providers.faults import Faults, Received, reply

NAME = "anthropic.claude-test-v1:0"
DONE = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Done."}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    "metrics": {"latencyMs": 1},
}


def user(text: str = "Hi.", **more: Any) -> Message:
    return Message(more.pop("id", "m_1"), "user", text, **more)


def request(*messages: Message, **more: Any) -> ModelRequest:
    return ModelRequest(system=more.pop("system", ""), messages=messages or (user(),), **more)


def model(faults: Faults, name: str = NAME, **settings: Any) -> BedrockModel:
    keys: dict[str, Any] = {} if "access_key_id" in settings else {"api_key": "k"}
    return BedrockModel(name, endpoint_url=faults.url, **keys, **settings)


async def exchanged(
    faults: Faults, wish: ModelRequest, answer: Any = None, name: str = NAME, **settings: Any
) -> tuple[Received, ModelResponse]:
    """What was sent and what the model made of the answer."""
    faults.plays(reply(200, DONE if answer is None else answer, x_amzn_requestid="req-7"))
    response = await model(faults, name, **settings).complete(wish)
    return faults.requests[-1], response


async def sent(faults: Faults, wish: ModelRequest, name: str = NAME, **settings: Any) -> dict[str, Any]:
    """The body that was sent."""
    received, _ = await exchanged(faults, wish, name=name, **settings)
    assert unquote(received.path) == f"/model/{name}/converse"
    body: dict[str, Any] = received.json()
    check_request(body, name)
    return body
