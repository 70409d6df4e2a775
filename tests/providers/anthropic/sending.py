"""What an Anthropic model sends: a request goes to a server that keeps it, and comes back as JSON that the SDK's types have checked."""

from __future__ import annotations

from typing import Any

from agentfp.model import Message, ModelRequest, ModelResponse
from agentfp_anthropic import AnthropicModel
from tests.providers.anthropic.messages_oracle import check_request
from tests.providers.faults import Faults, Received, reply

DONE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [{"type": "text", "text": "Done."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


def user(text: str = "Hi.", **more: Any) -> Message:
    return Message(more.pop("id", "m_1"), "user", text, **more)


def request(*messages: Message, **more: Any) -> ModelRequest:
    return ModelRequest(system=more.pop("system", ""), messages=messages or (user(),), **more)


async def exchanged(
    faults: Faults, wish: ModelRequest, answer: Any = None, name: str = "m", **settings: Any
) -> tuple[Received, ModelResponse]:
    """What was sent and what the model made of the answer."""
    faults.plays(reply(200, DONE if answer is None else answer))
    model = AnthropicModel(name, base_url=faults.url, **settings)
    response = await model.complete(wish)
    return faults.requests[-1], response


async def sent(faults: Faults, wish: ModelRequest, name: str = "m", *, beta: bool = False, **settings: Any) -> dict[str, Any]:
    """The body that was sent."""
    received, _ = await exchanged(faults, wish, name=name, **settings)
    body: dict[str, Any] = received.json()
    check_request(body, beta=beta)
    return body
