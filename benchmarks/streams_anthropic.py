"""The stream of Anthropic's Messages API, for `streams.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
from anthropic import AsyncAnthropic

from agentfp.http import SseDecoder
from agentfp.model import TextChunk
from agentfp_anthropic.replies import ReplyReader
from benchmarks.streams import Subject, sse

WORD = " word"


async def ours(cut: list[bytes]) -> str:
    decoder, reply, text = SseDecoder(), ReplyReader("m", None), ""
    for block in cut:
        for event in decoder.feed(block):
            chunk = reply.take(event)
            text += chunk.text if isinstance(chunk, TextChunk) else ""
    return text if reply.done and reply.response().text == text else "the reply says something else"


class Blocks(httpx2.AsyncByteStream):
    """The body of a reply, in the blocks that it came in."""

    def __init__(self, cut: list[bytes]) -> None:
        self._cut = cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for block in self._cut:
            yield block


class Sdk:
    """The SDK. Its client is made once, since making it is no part of reading."""

    def __init__(self) -> None:
        self._cut: list[bytes] = []

        def answer(_: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Blocks(self._cut))

        self._client = AsyncAnthropic(api_key="k", http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(answer)))

    async def __call__(self, cut: list[bytes]) -> str:
        self._cut[:] = cut
        text = ""
        asked: Any = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}], "stream": True}
        async for event in await self._client.messages.create(**asked):
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                text += event.delta.text
        return text


def subjects(chunks: int) -> Iterator[Subject]:
    """The one interface.

    Args:
        chunks: pieces of text in a stream.
    """
    yield Subject("Anthropic, Messages", sse(_events(chunks), named=True), WORD * chunks, ours, Sdk())


def _events(chunks: int) -> list[dict[str, Any]]:
    message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": message | {"stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORD}} for _ in range(chunks)),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": chunks}},
        {"type": "message_stop"},
    ]
