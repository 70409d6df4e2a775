"""Refusals and broken replies of Converse: a typed error or a stated retry, never a hang, never a lost usage."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentfp.events import Retried
from agentfp.model import (
    ContextTooLongError,
    ModelAuthenticationError,
    ModelBadRequestError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelResponse,
    ModelTimeoutError,
    ProviderProtocolError,
    TextChunk,
    Usage,
)
from tests.providers.bedrock.converse_wire import STREAM, event, exception, frame
from tests.providers.bedrock.conversing import DONE, NAME, model, request
from tests.providers.faults import RESET, STALL, Faults, Step, reply, stream

pytestmark = pytest.mark.anyio
BEGUN = event("messageStart", {"role": "assistant"}) + event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Once"}})
STOP = event("messageStop", {"stopReason": "end_turn"})
COUNTED = event("metadata", {"usage": {"inputTokens": 30, "outputTokens": 2, "totalTokens": 32}})


async def failure(faults: Faults, *steps: Step, stream: bool = True, **settings: Any) -> tuple[ModelError, str]:
    """The error of a call, and the text that was shown before."""
    faults.plays(*steps)
    shown: list[str] = []
    asking = model(faults, **{"retries": 1, "silence_timeout": 0.3, **settings})

    async def asked() -> None:
        if not stream:
            await asking.complete(request())
        async for chunk in asking.stream(request()):
            shown.extend([chunk.text] if isinstance(chunk, TextChunk) else [])

    with anyio.fail_after(10), pytest.raises(ModelError) as caught:
        await asked()
    assert (caught.value.provider, caught.value.model) == ("bedrock", NAME)
    return caught.value, "".join(shown)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "kind", "message", "error", "says"),
    [
        (400, "ValidationException", "bad", ModelBadRequestError, "sending it again does not help"),
        (400, "ValidationException", "Input is too long for requested model.", ContextTooLongError, "shorten the conversation"),
        (400, "ValidationException", "with on-demand throughput isn't supported", ModelBadRequestError, "'global.'"),
        (403, "AccessDeniedException", "no", ModelAuthenticationError, "check the credentials of AWS"),
        (403, "ExpiredTokenException", "no", ModelAuthenticationError, "check the credentials of AWS"),
        (404, "ResourceNotFoundException", "no", ModelNotFoundError, "check the model's name"),
        (408, "ModelTimeoutException", "slow", ModelTimeoutError, "try again later"),
        (424, "ModelErrorException", "oops", ModelOverloadedError, "try again later"),
        (429, "ThrottlingException", "slow", ModelRateLimitError, "asks to wait 7 s"),
        (500, "InternalServerException", "oops", ModelOverloadedError, "try again later"),
        (503, "ServiceUnavailableException", "busy", ModelOverloadedError, "fall back on another model"),
    ],
)
async def test_refusals(faults: Faults, stream: bool, status: int, kind: str, message: str, error: type[ModelError], says: str) -> None:
    headers: dict[str, Any] = {"x_amzn_requestid": "req-1", "x_amzn_errortype": kind} | ({"retry_after": "7"} if status == 429 else {})
    caught, _ = await failure(faults, reply(status, {"message": message}, **headers), stream=stream)
    assert type(caught) is error
    assert says in str(caught)
    assert len(message) < 5 or message not in str(caught), "the provider's words may quote the request"
    assert (caught.status, caught.request_id, caught.detail) == (status, "req-1", message)
    assert caught.retry_after == (7 if status == 429 else None)


async def test_a_stated_wait_is_kept_to_and_reported(faults: Faults) -> None:
    faults.plays(reply(429, {"message": "slow"}, retry_after="0"))
    faults.plays(reply(503, {"message": "busy"}))
    faults.plays(reply(200, DONE))
    filed: list[Any] = []
    response = await model(faults, retries={"attempts": 3, "initial": 0.0}).complete(request(report=filed.append))
    assert response.text == "Done."
    assert [(item.attempt, item.stated_wait_ms) for item in filed if isinstance(item, Retried)] == [(1, 0), (2, None)]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("throttlingException", ModelRateLimitError),
        ("modelStreamErrorException", ModelOverloadedError),
        ("validationException", ModelBadRequestError),
        ("internalServerException", ModelOverloadedError),
        ("serviceUnavailableException", ModelOverloadedError),
        ("brandNewException", ModelOverloadedError),
    ],
)
async def test_an_exception_in_the_middle_of_a_stream_is_typed_and_knows_the_usage(
    faults: Faults, name: str, error: type[ModelError]
) -> None:
    body = BEGUN + COUNTED + exception(name, "secret words")
    caught, shown = await failure(faults, *stream(body, STREAM, x_amzn_requestid="req-5"), retries=3)
    assert type(caught) is error
    assert name in str(caught)
    assert "secret words" not in str(caught)
    assert (caught.usage, caught.request_id, caught.detail, shown) == (Usage(30, 2), "req-5", "secret words", "Once")
    assert len(faults.requests) == 1, "a stream of which text was shown is not tried again"


async def test_an_error_frame_is_typed(faults: Faults) -> None:
    broken = frame({":message-type": "error", ":error-code": "InternalFailure", ":error-message": "oops"}, b"")
    caught, _ = await failure(faults, *stream(BEGUN + broken, STREAM))
    assert type(caught) is ModelOverloadedError
    assert "InternalFailure" in str(caught)


def spoilt(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("steps", "error", "usage", "text"),
    [
        ([RESET], ModelConnectionError, None, ""),
        ([*stream(b"", STREAM), RESET], ModelConnectionError, None, ""),
        ([*stream(BEGUN, STREAM, whole=False), RESET], ModelConnectionError, None, "Once"),
        ([*stream(BEGUN, STREAM)], ModelConnectionError, None, "Once"),
        ([*stream(BEGUN + STOP, STREAM)], ModelConnectionError, None, "Once"),
        ([*stream(BEGUN + COUNTED + STOP[:-3], STREAM)], ModelConnectionError, Usage(30, 2), "Once"),
        ([*stream(BEGUN + COUNTED + spoilt(STOP, len(STOP) - 1), STREAM)], ProviderProtocolError, Usage(30, 2), "Once"),
        ([*stream(BEGUN + COUNTED + spoilt(STOP, 9), STREAM)], ProviderProtocolError, Usage(30, 2), "Once"),
        ([*stream(BEGUN + COUNTED + spoilt(STOP, 2), STREAM)], ProviderProtocolError, Usage(30, 2), "Once"),
        ([*stream(BEGUN, STREAM, whole=False), STALL], ModelTimeoutError, None, "Once"),
        ([STALL], ModelTimeoutError, None, ""),
        ([*stream(BEGUN + COUNTED + frame({":event-type": "messageStop"}, b"{oops"), STREAM)], ProviderProtocolError, Usage(30, 2), "Once"),
        ([*stream(b"data: {}\n\n" * 4, STREAM)], ProviderProtocolError, None, ""),
        ([reply(200, DONE)], ProviderProtocolError, None, ""),
    ],
    ids=[
        "dropped-at-once", "nothing", "dropped-after-text", "ended-after-text", "ended-before-the-usage", "half-a-frame", "bad-sum",
        "bad-sum-of-the-lengths", "bad-length", "stalled-after-text", "stalled", "malformed-json", "no-frames", "wrong-type",
    ],
)  # fmt: skip
async def test_broken_streams(faults: Faults, steps: list[Step], error: type[ModelError], usage: Usage | None, text: str) -> None:
    caught, shown = await failure(faults, *steps)
    assert type(caught) is error
    assert (caught.usage, shown) == (usage, text)


@pytest.mark.parametrize("body", [b'{"output": {', b"[]", b"null", b""])
async def test_broken_whole_replies(faults: Faults, body: bytes) -> None:
    caught, _ = await failure(faults, reply(200, body), stream=False)
    assert isinstance(caught, ProviderProtocolError)


@pytest.mark.parametrize("size", [*range(1, 40), 100, 1000])
async def test_chunks_of_every_size_give_the_same(faults: Faults, size: int) -> None:
    said = event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Önce 🌧"}})
    faults.plays(*stream(said + STOP + COUNTED, STREAM, size=size))
    chunks = [chunk async for chunk in model(faults).stream(request())]
    assert chunks[0] == TextChunk("Önce 🌧")
    assert isinstance(chunks[-1], ModelResponse)
    assert (chunks[-1].text, chunks[-1].usage) == ("Önce 🌧", Usage(30, 2))


async def test_pieces_come_when_they_are_there_and_leaving_closes_the_connection(faults: Faults) -> None:
    faults.plays(*stream(BEGUN, STREAM, whole=False), STALL)
    with anyio.fail_after(10):
        chunks = model(faults, silence_timeout=60).stream(request())
        assert await anext(chunks) == TextChunk("Once"), "though the stream goes on"
        await chunks.aclose()
        assert await anyio.to_thread.run_sync(faults.hung_up.wait, 5)
