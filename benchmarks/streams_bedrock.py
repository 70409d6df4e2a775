"""The stream of Bedrock's ConverseStream, for `streams.py`. Amazon's client reads it without an event loop."""

from __future__ import annotations

import binascii
import json
import struct
from collections.abc import Iterator
from typing import Any

import botocore.session
from botocore.awsrequest import AWSResponse

from agentfp.model import TextChunk
from agentfp_bedrock.frames import FrameDecoder
from agentfp_bedrock.replies import ReplyReader
from benchmarks.streams import Subject

WORD = " word"


async def ours(cut: list[bytes]) -> str:
    decoder, reply, text = FrameDecoder(), ReplyReader("m", None), ""
    for block in cut:
        for frame in decoder.feed(block):
            chunk = reply.take(frame)
            text += chunk.text if isinstance(chunk, TextChunk) else ""
    return text if reply.done and reply.response().text == text else "the reply says something else"


class Raw:
    """The body of a reply, as Amazon's client takes it from its HTTP library."""

    def __init__(self, cut: list[bytes]) -> None:
        self._cut = cut

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield from self._cut

    def close(self) -> None:
        """There is nothing to close."""


class Sdk:
    """Amazon's client. It is made once, since making it is no part of reading."""

    def __init__(self) -> None:
        self._cut: list[bytes] = []
        make: Any = botocore.session.Session().create_client
        keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s"}
        self._client = make("bedrock-runtime", region_name="us-east-1", endpoint_url="http://127.0.0.1:1", **keys)
        self._client.meta.events.register("before-send.bedrock-runtime.ConverseStream", self._answer)

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        headers: Any = {"content-type": "application/vnd.amazon.eventstream"}
        raw: Any = Raw(self._cut)
        return AWSResponse(request.url, 200, headers, raw)

    async def __call__(self, cut: list[bytes]) -> str:
        self._cut[:] = cut
        text = ""
        reply = self._client.converse_stream(modelId="m", messages=[{"role": "user", "content": [{"text": "hi"}]}])
        for event in reply["stream"]:
            if "contentBlockDelta" in event:
                text += event["contentBlockDelta"]["delta"]["text"]
        return text


def subjects(chunks: int) -> Iterator[Subject]:
    """The one interface.

    Args:
        chunks: pieces of text in a stream.
    """
    yield Subject("Bedrock, ConverseStream", b"".join(_frames(chunks)), WORD * chunks, ours, Sdk())


def _frames(chunks: int) -> Iterator[bytes]:
    yield _frame("messageStart", {"role": "assistant"})
    piece = _frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": WORD}, "p": "abcdefghijkl"})
    for _ in range(chunks):
        yield piece
    yield _frame("contentBlockStop", {"contentBlockIndex": 0})
    yield _frame("messageStop", {"stopReason": "end_turn"})
    usage = {"inputTokens": 9, "outputTokens": chunks, "totalTokens": chunks + 9}
    yield _frame("metadata", {"usage": usage, "metrics": {"latencyMs": 1}})


def _frame(name: str, data: Any) -> bytes:
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    named = b"".join(bytes([len(k)]) + k.encode() + b"\x07" + struct.pack(">H", len(v)) + v.encode() for k, v in headers.items())
    payload = json.dumps(data).encode()
    prelude = struct.pack(">II", 16 + len(named) + len(payload), len(named))
    whole = prelude + struct.pack(">I", binascii.crc32(prelude)) + named + payload
    return whole + struct.pack(">I", binascii.crc32(whole))
