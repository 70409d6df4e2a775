"""A streamed reply of 2,000 pieces read by our Gemini and Ollama providers and by the vendors' own SDKs, from the same server.

What counts is the client's processor time, so that it does not matter how fast the server is. Needs `google-genai` and `ollama`.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import socket
import time
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

from agentfp import Message
from agentfp.model import ModelRequest, ModelResponse
from agentfp_gemini import GeminiModel
from agentfp_ollama import OllamaModel
from benchmarks.harness import machine, options, publish, table

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the SDK's own, while it is imported
    import ollama
    from google import genai

PIECES = 2_000
WORD = "twelve chars"
USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
ASKED = ModelRequest(system="", messages=(Message("1", "user", "go"),))


def events() -> bytes:
    """The stream of a Gemini server."""
    piece = {"candidates": [{"content": {"role": "model", "parts": [{"text": WORD}]}, "index": 0}], "usageMetadata": USAGE}
    last = {"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}], "usageMetadata": USAGE}
    return b"".join(b"data: " + json.dumps(item).encode() + b"\r\n\r\n" for item in [*[piece] * PIECES, last])


def lines() -> bytes:
    """The stream of an Ollama server."""
    piece = {"model": "m", "created_at": "2026-11-30T00:00:00Z", "message": {"role": "assistant", "content": WORD}, "done": False}
    last = {
        **piece,
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 10,
        "eval_count": 10,
    }
    return b"".join(json.dumps(item).encode() + b"\n" for item in [*[piece] * PIECES, last])


def serve(listener: socket.socket) -> None:
    """Answer every request with the stream that fits its path, one request a connection."""
    replies = [(b"/api/chat", b"application/x-ndjson", lines()), (b":streamGenerateContent", b"text/event-stream", events())]
    while True:
        connection, _ = listener.accept()
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536)
            first, _, rest = head.partition(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in first.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            while len(rest) < length:
                rest += connection.recv(65536)
            kind, body = next((kind, body) for path, kind, body in replies if path in first)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: " + kind + b"\r\nconnection: close\r\n\r\n" + body)


async def ours(model: Any) -> int:
    """How many characters our provider reads."""
    async for chunk in model.stream(ASKED):
        if isinstance(chunk, ModelResponse):
            return len(chunk.text)
    raise AssertionError("the stream had no end")


async def google(client: Any) -> int:
    """How many characters Google's SDK reads."""
    read = 0
    async for chunk in await client.aio.models.generate_content_stream(model="m", contents="go"):
        read += len(chunk.text or "")
    return read


async def official_ollama(client: Any) -> int:
    """How many characters Ollama's SDK reads."""
    return sum([len(chunk.message.content or "") async for chunk in await client.chat(model="m", messages=[], stream=True)])


async def cpu_ms(read: Callable[[], Awaitable[int]], times: int) -> float:
    """The best processor time of one stream."""
    best = float("inf")
    for _ in range(times):
        begun = time.process_time()
        got = await read()
        best = min(best, time.process_time() - begun)
        assert got == PIECES * len(WORD), f"read {got} characters"
    return best * 1e3


async def measured(url: str, times: int) -> dict[str, float]:
    """Milliseconds by reader."""
    gemini = GeminiModel("m", api_key="k", base_url=url)
    theirs = genai.Client(api_key="k", http_options=genai.types.HttpOptions(base_url=url))
    local, official = OllamaModel("m", base_url=url), ollama.AsyncClient(host=url)
    readers: dict[str, Callable[[], Awaitable[int]]] = {
        "agentfp-gemini": lambda: ours(gemini),
        "google-genai": lambda: google(theirs),
        "agentfp-ollama": lambda: ours(local),
        "ollama": lambda: official_ollama(official),
    }
    return {name: await cpu_ms(read, times) for name, read in readers.items()}


def main() -> None:
    chosen = options(__doc__)
    listener = socket.create_server(("127.0.0.1", 0))
    server = multiprocessing.get_context("fork").Process(target=serve, args=(listener,), daemon=True)
    server.start()
    try:
        best = asyncio.run(measured(f"http://127.0.0.1:{listener.getsockname()[1]}", 3 if chosen.quick else 15))
    finally:
        server.terminate()
        server.join()
    rows = [
        [name, ms, best[mine] / ms]
        for mine, name in (("agentfp-gemini", "google-genai"), ("agentfp-ollama", "ollama"))
        for ms in [best[name]]
    ]
    mine = [[name, best[name], 1.0] for name in ("agentfp-gemini", "agentfp-ollama")]
    text = table(f"a stream of {PIECES} pieces: processor time, and ours over theirs", ["", "ms", "ours / theirs"], [*mine, *rows])
    publish(chosen, {"machine": machine(None), "pieces": PIECES, "ms": best}, text)


if __name__ == "__main__":
    main()
