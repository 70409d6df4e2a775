"""The streams of OpenAI's two interfaces, for `streams.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
from openai import AsyncOpenAI

from agentfp.http import SseDecoder
from agentfp.model import Message, ModelRequest, TextChunk
from agentfp_openai.chat_reply import ChatReply
from agentfp_openai.responses_reply import ResponsesReply
from benchmarks.streams import Subject, sse

REQUEST = ModelRequest(system="", messages=(Message("u", "user", "hi"),))
WORD = " word"


async def chat(cut: list[bytes]) -> str:
    decoder, reply, text = SseDecoder(), ChatReply(), ""
    for block in cut:
        for event in decoder.feed(block):
            if event.data == "[DONE]":
                break
            for chunk in reply.add(event.json()):
                text += chunk.text if isinstance(chunk, TextChunk) else ""
    return text if reply.response(REQUEST, None, None).text == text else "the reply says something else"


async def responses(cut: list[bytes]) -> str:
    decoder, reply, text = SseDecoder(), ResponsesReply(), ""
    for block in cut:
        for event in decoder.feed(block):
            for chunk in reply.add(event.json()):
                text += chunk.text if isinstance(chunk, TextChunk) else ""
    return text if reply.response(REQUEST, None, None).text == text else "the reply says something else"


class Blocks(httpx2.AsyncByteStream):
    """The body of a reply, in the blocks that it came in."""

    def __init__(self, cut: list[bytes]) -> None:
        self._cut = cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for block in self._cut:
            yield block


def client(cut: list[bytes]) -> AsyncOpenAI:
    """The SDK's client, whose transport gives the blocks without a network."""

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Blocks(cut))

    return AsyncOpenAI(api_key="k", http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(answer)))


class SdkChat:
    """The SDK over Chat Completions. Its client is made once, since making it is no part of reading."""

    def __init__(self) -> None:
        self._cut: list[bytes] = []
        self._client = client(self._cut)

    async def __call__(self, cut: list[bytes]) -> str:
        self._cut[:] = cut
        text = ""
        stream = await self._client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}], stream=True)
        async for chunk in stream:
            for choice in chunk.choices:
                text += choice.delta.content or ""
        return text


class SdkResponses(SdkChat):
    """The SDK over Responses."""

    async def __call__(self, cut: list[bytes]) -> str:
        self._cut[:] = cut
        text = ""
        stream = await self._client.responses.create(model="m", input="hi", stream=True)
        async for event in stream:
            if event.type == "response.output_text.delta":
                text += event.delta
        return text


def subjects(chunks: int) -> Iterator[Subject]:
    """Both interfaces.

    Args:
        chunks: pieces of text in a stream.
    """
    text = WORD * chunks
    yield Subject("OpenAI, Chat Completions", sse(_chat_events(chunks), end="data: [DONE]\n\n"), text, chat, SdkChat())
    yield Subject("OpenAI, Responses", sse(_responses_events(chunks), named=True), text, responses, SdkResponses())


def _chat_events(chunks: int) -> list[dict[str, Any]]:
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "service_tier": "default",
        "system_fingerprint": "fp_1",
    }

    def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            **head,
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
            "usage": None,
            "obfuscation": "aB3",
        }

    usage = {"prompt_tokens": 9, "completion_tokens": chunks, "total_tokens": chunks + 9}
    first = event({"role": "assistant", "content": "", "refusal": None})
    return [first, *(event({"content": WORD}) for _ in range(chunks)), event({}, "stop"), {**head, "choices": [], "usage": usage}]


def _responses_events(chunks: int) -> list[dict[str, Any]]:
    item = {"id": "msg_1", "type": "message", "status": "in_progress", "content": [], "role": "assistant"}
    done = item | {"status": "completed", "content": [{"type": "output_text", "annotations": [], "text": WORD * chunks}]}
    reply: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": "m", "output": []}
    reply |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "metadata": {}}
    usage: dict[str, Any] = {"input_tokens": 9, "output_tokens": chunks, "total_tokens": chunks + 9}
    usage |= {"input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    delta = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": WORD, "logprobs": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": reply},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *(delta | {"obfuscation": "aB3"} for _ in range(chunks)),
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": reply | {"status": "completed", "output": [done], "usage": usage}},
    ]
    return [event | {"sequence_number": number} for number, event in enumerate(events)]
