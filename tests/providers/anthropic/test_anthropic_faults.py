"""Refusals and broken replies of the Messages API: a typed error or a stated retry, never a hang, never a lost usage."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentfp.events import Retried
from agentfp.model import (
    ContentFilterError,
    ContextTooLongError,
    ModelAuthenticationError,
    ModelBadRequestError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelRequest,
    ModelResponse,
    ModelTimeoutError,
    ProviderProtocolError,
    TextChunk,
    Usage,
)
from agentfp_anthropic import AnthropicModel
from tests.providers.anthropic.messages_wire import event
from tests.providers.anthropic.sending import DONE, request
from tests.providers.faults import RESET, STALL, Faults, Step, reply, stream

pytestmark = pytest.mark.anyio
BEGUN = (
    event({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 30, "output_tokens": 1}}})
    + event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    + event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Once"}})
)
REST = event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}) + event(
    {"type": "message_stop"}
)
SSE = "text/event-stream"


def refusal(kind: str, message: str = "no") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def model(faults: Faults, **settings: Any) -> AnthropicModel:
    return AnthropicModel("m", base_url=faults.url, **{"retries": 1, "silence_timeout": 0.3, **settings})


async def failure(
    faults: Faults, *steps: Step, stream: bool = True, wish: ModelRequest | None = None, **settings: Any
) -> tuple[ModelError, str]:
    """The error of a call, and the text that was shown before."""
    faults.plays(*steps)
    shown: list[str] = []

    async def asked() -> None:
        if not stream:
            await model(faults, **settings).complete(wish or request())
        async for chunk in model(faults, **settings).stream(wish or request()):
            shown.extend([chunk.text] if isinstance(chunk, TextChunk) else [])

    with anyio.fail_after(10), pytest.raises(ModelError) as caught:
        await asked()
    assert (caught.value.provider, caught.value.model) == ("anthropic", "m")
    return caught.value, "".join(shown)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "kind", "message", "error", "says"),
    [
        (400, "invalid_request_error", "messages: bad", ModelBadRequestError, "sending it again does not help"),
        (400, "invalid_request_error", "prompt is too long: 9 > 8", ContextTooLongError, "shorten the conversation"),
        (400, "invalid_request_error", "Output blocked by content filtering policy", ContentFilterError, "change what is asked"),
        (400, "invalid_request_error", "Your credit balance is too low", ModelRateLimitError, "no credit left"),
        (400, "invalid_request_error", "The block is bound to a different conversation", ModelBadRequestError, "on_changed_history"),
        (401, "authentication_error", "invalid x-api-key", ModelAuthenticationError, "check the key"),
        (402, "billing_error", "pay", ModelRateLimitError, "no credit left"),
        (403, "permission_error", "no", ModelAuthenticationError, "check the key"),
        (404, "not_found_error", "model: m", ModelNotFoundError, "check the model's name"),
        (413, "request_too_large", "big", ContextTooLongError, "shorten the conversation"),
        (429, "rate_limit_error", "slow", ModelRateLimitError, "asks to wait 7 s"),
        (500, "api_error", "oops", ModelOverloadedError, "try again later"),
        (504, "timeout_error", "slow", ModelTimeoutError, "try again later"),
        (529, "overloaded_error", "busy", ModelOverloadedError, "fall back on another model"),
    ],
)
async def test_refusals(faults: Faults, stream: bool, status: int, kind: str, message: str, error: type[ModelError], says: str) -> None:
    headers: dict[str, Any] = {"request_id": "req_1"} | ({"retry_after": "7"} if status == 429 else {})
    caught, _ = await failure(faults, reply(status, refusal(kind, message), **headers), stream=stream)
    assert type(caught) is error
    assert says in str(caught)
    assert kind in str(caught)
    assert message not in str(caught), "the provider's words may quote the request"
    assert (caught.status, caught.request_id, caught.detail) == (status, "req_1", message)
    assert caught.retry_after == (7 if status == 429 else None)


async def test_a_stated_wait_is_kept_to_and_reported(faults: Faults) -> None:
    faults.plays(reply(429, refusal("rate_limit_error"), retry_after="0"))
    faults.plays(reply(529, refusal("overloaded_error")))
    faults.plays(reply(200, DONE))
    filed: list[Any] = []
    response = await model(faults, retries={"attempts": 3, "initial": 0.0}).complete(request(report=filed.append))
    assert response.text == "Done."
    assert [(item.attempt, item.stated_wait_ms) for item in filed if isinstance(item, Retried)] == [(1, 0), (2, None)]


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("overloaded_error", ModelOverloadedError),
        ("rate_limit_error", ModelRateLimitError),
        ("api_error", ModelOverloadedError),
        ("invalid_request_error", ModelBadRequestError),
        ("brand_new_error", ModelOverloadedError),
    ],
)
async def test_an_error_in_the_middle_of_a_stream_is_typed_and_knows_the_usage(faults: Faults, kind: str, error: type[ModelError]) -> None:
    caught, shown = await failure(faults, *stream(BEGUN + event(refusal(kind)), SSE, request_id="req_5"), retries=3)
    assert type(caught) is error
    assert (caught.usage, caught.request_id, shown) == (Usage(30, 1), "req_5", "Once")
    assert len(faults.requests) == 1, "a stream of which text was shown is not tried again"


@pytest.mark.parametrize(
    ("steps", "error", "usage", "text"),
    [
        ([RESET], ModelConnectionError, None, ""),
        ([*stream(b"", SSE), RESET], ModelConnectionError, None, ""),
        ([*stream(BEGUN, SSE, whole=False), RESET], ModelConnectionError, Usage(30, 1), "Once"),
        ([*stream(BEGUN, SSE, whole=False)], ModelConnectionError, Usage(30, 1), "Once"),
        ([*stream(BEGUN, SSE)], ModelConnectionError, Usage(30, 1), "Once"),
        ([*stream(BEGUN + REST[:-20], SSE)], ModelConnectionError, Usage(30, 2), "Once"),
        ([*stream(BEGUN, SSE, whole=False), STALL], ModelTimeoutError, Usage(30, 1), "Once"),
        ([STALL], ModelTimeoutError, None, ""),
        ([*stream(BEGUN + b"data: {oops\n\n", SSE)], ProviderProtocolError, Usage(30, 1), "Once"),
        ([reply(200, DONE)], ProviderProtocolError, None, ""),
        ([reply(200, "<html>Welcome</html>", "text/html")], ProviderProtocolError, None, ""),
    ],
    ids=[
        "dropped-at-once", "nothing", "dropped-after-text", "closed-after-text", "ended-after-text", "half-an-event", "stalled-after-text",
        "stalled", "malformed-json", "whole-reply", "wrong-type",
    ],
)  # fmt: skip
async def test_broken_streams(faults: Faults, steps: list[Step], error: type[ModelError], usage: Usage | None, text: str) -> None:
    caught, shown = await failure(faults, *steps)
    assert type(caught) is error
    assert (caught.usage, shown) == (usage, text)


@pytest.mark.parametrize("body", [b'{"content": [', b"[]", b"null", b""])
async def test_broken_whole_replies(faults: Faults, body: bytes) -> None:
    caught, _ = await failure(faults, reply(200, body), stream=False)
    assert isinstance(caught, ProviderProtocolError)


@pytest.mark.parametrize("size", [*range(1, 40), 100, 1000])
async def test_chunks_of_every_size_give_the_same(faults: Faults, size: int) -> None:
    faults.plays(*stream(BEGUN.replace(b"Once", "Önce 🌧".encode()) + REST, SSE, size=size))
    chunks = [chunk async for chunk in model(faults).stream(request())]
    assert chunks[0] == TextChunk("Önce 🌧")
    assert isinstance(chunks[-1], ModelResponse)
    assert (chunks[-1].text, chunks[-1].usage) == ("Önce 🌧", Usage(30, 2))


async def test_pieces_come_when_they_are_there_and_leaving_closes_the_connection(faults: Faults) -> None:
    faults.plays(*stream(BEGUN, SSE, whole=False), STALL)
    with anyio.fail_after(10):
        chunks = model(faults, silence_timeout=60).stream(request())
        assert await anext(chunks) == TextChunk("Once"), "though the stream goes on"
        await chunks.aclose()
        assert await anyio.to_thread.run_sync(faults.hung_up.wait, 5)


async def test_a_reply_whose_connection_stays_open_after_the_end_is_whole(faults: Faults) -> None:
    faults.plays(*stream(BEGUN + REST, SSE, whole=False), STALL)
    with anyio.fail_after(10):
        chunks = [chunk async for chunk in model(faults, silence_timeout=60).stream(request())]
    assert isinstance(chunks[-1], ModelResponse)


async def test_nothing_secret_stands_in_an_error(faults: Faults) -> None:
    wish = request(system="my private prompt")
    steps = reply(400, refusal("invalid_request_error", "my private prompt s3cret-key"))
    caught, _ = await failure(faults, steps, wish=wish, api_key="s3cret-key")
    assert "s3cret-key" not in f"{caught} {caught!r}"
    assert "private" not in f"{caught} {caught!r}"
