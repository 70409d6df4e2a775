"""How the checks ask a model: as the kernel does, with its own checks of requests, replies and chunks."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentfp_core import jsontext, protocol
from agentfp_core.messages import Message
from agentfp_core.model import Model, ModelRequest, ModelResponse, TextChunk, ThinkingChunk, ToolSpec

CITY = {"type": "object", "properties": {"city": {"type": "string", "description": "Its name."}}, "required": ["city"]}
WEATHER = ToolSpec("get_weather", "The weather of a city.", jsontext.canonical(CITY))
TIME = ToolSpec("get_time", "The time of day in a city.", jsontext.canonical(CITY))
TOOLS = (WEATHER, TIME)
ODD = 'naïve 東京 🌦️👩‍👩‍👧 עברית a\u0301\u2028\u2029 "quoted" \\ {"not": json}\r\n\ndata: [DONE]\n\nevent: x\ttab \x7f end'
"""A text that formats stumble over: scripts, emoji, separators of lines, and what looks like the format itself."""


@dataclass
class Told:
    """What a model gave.

    Args:
        response: the complete reply.
        texts: streamed pieces of its text.
        thoughts: streamed pieces of its thinking.
    """

    response: ModelResponse
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)


def user(text: str, **more: Any) -> Message:
    """A person's message."""
    return Message(more.pop("id", "m_1"), "user", text, **more)


def request(message: str | Sequence[Message] = "Say something.", **more: Any) -> ModelRequest:
    """A request of one message, or of several."""
    messages = [user(message)] if isinstance(message, str) else list(message)
    return ModelRequest(system=more.pop("system", ""), messages=messages, **more)


def admit(model: Model, wish: ModelRequest) -> None:
    """Refuse a request as the kernel does before it calls a model."""
    protocol.check_request(model, wish)
    for message in wish.messages:
        protocol.check_message(model, message)


async def ask(model: Model, wish: ModelRequest, *, stream: bool, into: list[str] | None = None) -> Told:
    """Ask as the kernel does.

    Args:
        model: the model.
        wish: the request.
        stream: whether to stream, where the model can.
        into: takes the streamed texts as they come, so that they are there when the stream breaks off.
    """
    admit(model, wish)
    if not (stream and model.features.streaming):
        return Told(await protocol.complete(model, wish))
    told: Told | None = None
    texts: list[str] = [] if into is None else into
    thoughts: list[str] = []
    async with contextlib.aclosing(protocol.open_stream(model, wish)) as chunks:  # type: ignore[type-var]
        async for raw in chunks:
            chunk = protocol.check_chunk(model, raw)
            assert told is None, f"the stream went on after its complete reply, with a {type(chunk).__name__}"
            if isinstance(chunk, TextChunk):
                texts.append(chunk.text)
            elif isinstance(chunk, ThinkingChunk):
                thoughts.append(chunk.text)
            else:
                told = Told(protocol.check_response(model, chunk), texts, thoughts)
    assert told is not None, "the stream ended without its complete reply; the last chunk must be a ModelResponse"
    shown = "".join(texts)
    assert shown == told.response.text, f"the streamed texts joined are {shown!r}, the reply's text is {told.response.text!r}"
    return told
