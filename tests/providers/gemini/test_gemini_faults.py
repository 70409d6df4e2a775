"""A Gemini server that is ill: each fault is a typed error or a retry that is told, and no token that was reported is lost."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from agentfp import Message
from agentfp.model import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    ModelTimeoutError,
    ProviderProtocolError,
    TextChunk,
    Usage,
)
from agentfp_gemini import GeminiModel
from tests.providers.faults import RESET, STALL, Faults, reply, sse, stream
from tests.providers.gemini.histories import part, reply_of

pytestmark = pytest.mark.anyio
EVENTS = "text/event-stream"
USED = {"promptTokenCount": 5, "candidatesTokenCount": 2}
FIRST = reply_of(part("Grüße, "), finish=None, usageMetadata=USED)
LAST = reply_of(part("Zoë 🦊"), usageMetadata={**USED, "candidatesTokenCount": 6}, responseId="r", modelVersion="v")
WHOLE = reply_of(part("Grüße, Zoë 🦊"), usageMetadata={**USED, "candidatesTokenCount": 6})
RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.02s"}


def refusal(code: int, status: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "status": status, "message": "the words of s3cret", "details": list(details)}}


def model_at(faults: Faults, **more: Any) -> GeminiModel:
    settings = {"retries": {"attempts": 3, "initial": 0.01, "longest": 0.05}, "silence_timeout": 5, **more}
    return GeminiModel("m", api_key="k3y", base_url=faults.url, **settings)


def asking(reports: list[Any] | None = None, **settings: Any) -> ModelRequest:
    report = (reports if reports is not None else []).append
    return ModelRequest(system="", messages=(Message("1", "user", "go"),), settings=ModelSettings(**settings), report=report)


async def streamed(model: GeminiModel, request: ModelRequest | None = None, shown: list[str] | None = None) -> ModelResponse:
    """The reply at a stream's end; its text is collected as it comes."""
    pieces = [] if shown is None else shown
    last: Any = None
    async for chunk in model.stream(request or asking()):
        last = chunk
        if isinstance(chunk, TextChunk):
            pieces.append(chunk.text)
    assert isinstance(last, ModelResponse)
    assert last.text == "".join(pieces)
    return last


# --- well ------------------------------------------------------------------------------------------------------------------------


async def test_a_whole_reply_and_what_was_sent_for_it(faults: Faults) -> None:
    faults.plays(reply(200, WHOLE, x_goog_request_id="q7"))
    response = await model_at(faults).complete(asking())
    assert (response.text, response.usage, response.request_id) == ("Grüße, Zoë 🦊", Usage(5, 6), "q7")
    (seen,) = faults.requests
    assert (seen.method, seen.path) == ("POST", "/models/m:generateContent")
    assert seen.headers["x-goog-api-key"] == "k3y"
    assert seen.json() == {"contents": [{"role": "user", "parts": [{"text": "go"}]}]}


async def test_a_stream_cut_anywhere_is_the_same_reply(faults: Faults) -> None:
    body = sse(FIRST, LAST) + b": a remark\n\n"
    raw = f"data: {json.dumps(FIRST, ensure_ascii=False)}\r\n\r\ndata: {json.dumps(LAST, ensure_ascii=False)}\r\n\r\n".encode()
    for text in (body, raw):
        for size in (*range(1, 24), 64, None):
            faults.plays(*stream(text, EVENTS, size=size))
            response = await streamed(model_at(faults))
            assert (response.text, response.usage, response.response_id, response.model) == ("Grüße, Zoë 🦊", Usage(5, 6), "r", "v")
    assert {seen.path for seen in faults.requests} == {"/models/m:streamGenerateContent?alt=sse"}


async def test_a_piece_is_given_out_the_moment_it_is_there(faults: Faults) -> None:
    faults.plays(*stream(sse(FIRST), EVENTS, whole=False), STALL)
    chunks = model_at(faults).stream(asking())
    with anyio.fail_after(4):
        assert await anext(chunks) == TextChunk("Grüße, ")
    await chunks.aclose()  # type: ignore[attr-defined]
    assert await anyio.to_thread.run_sync(faults.hung_up.wait, 5)


async def test_cancelling_in_the_middle_closes_the_connection(faults: Faults) -> None:
    faults.plays(*stream(sse(FIRST), EVENTS, whole=False), STALL)
    with anyio.move_on_after(0.3) as scope:
        await streamed(model_at(faults))
    assert scope.cancelled_caught
    assert await anyio.to_thread.run_sync(faults.hung_up.wait, 5)


# --- retried --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["complete", "stream"])
async def test_later_means_later(faults: Faults, way: str) -> None:
    faults.plays(reply(429, refusal(429, "RESOURCE_EXHAUSTED", RETRY_INFO)))
    faults.plays(reply(500, refusal(500, "INTERNAL")))
    faults.plays(*([reply(200, WHOLE)] if way == "complete" else stream(sse(FIRST, LAST), EVENTS)))
    reports: list[Any] = []
    model = model_at(faults)
    response = await (model.complete(asking(reports)) if way == "complete" else streamed(model, asking(reports)))
    assert response.text == "Grüße, Zoë 🦊"
    retried, again, recovered = reports
    assert (retried.stated_wait_ms, again.stated_wait_ms) == (20, None)
    assert [type(report).__name__ for report in reports] == ["Retried", "Retried", "Recovered"]
    assert "s3cret" not in f"{retried} {again} {recovered}"


async def test_a_limit_that_stays_is_told_with_its_wait(faults: Faults) -> None:
    for _ in range(3):
        faults.plays(reply(429, refusal(429, "RESOURCE_EXHAUSTED"), retry_after="7"))
    with pytest.raises(ModelRateLimitError) as caught:
        await model_at(faults).complete(asking())
    error = caught.value
    assert (error.retry_after, error.status, error.provider, error.model) == (7, 429, "gemini", "m")
    assert "k3y" not in f"{error}{error!r}"


async def test_a_connection_that_is_dropped_before_the_reply(faults: Faults) -> None:
    faults.plays(RESET)
    faults.plays(reply(200, WHOLE))
    assert (await model_at(faults).complete(asking())).text == "Grüße, Zoë 🦊"


async def test_a_bad_key_is_not_tried_again(faults: Faults) -> None:
    faults.plays(reply(400, refusal(400, "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"})))
    with pytest.raises(ModelAuthenticationError):
        await model_at(faults).complete(asking())


# --- broken --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ((*stream(sse(FIRST), EVENTS, whole=False), RESET), ModelConnectionError),
        (tuple(stream(sse(FIRST), EVENTS, whole=False)), ModelConnectionError),
        (tuple(stream(sse(FIRST), EVENTS)), ModelConnectionError),
        (tuple(stream(sse(FIRST) + sse(LAST)[:-9], EVENTS)), ModelConnectionError),
        (tuple(stream(sse(FIRST) + sse(LAST)[:-2], EVENTS)), ModelConnectionError),
        (tuple(stream(sse(FIRST) + b"data: {\n\n", EVENTS)), ProviderProtocolError),
        (tuple(stream(sse(FIRST) + b"data: [1]\n\n", EVENTS)), ProviderProtocolError),
        (tuple(stream(sse(FIRST) + sse(refusal(503, "UNAVAILABLE")), EVENTS)), ModelOverloadedError),
        (tuple(stream(sse(FIRST) + sse(refusal(429, "RESOURCE_EXHAUSTED", RETRY_INFO)), EVENTS)), ModelRateLimitError),
    ],
    ids=["reset", "dropped", "no end", "half an event", "an event without its end", "no JSON", "no object", "error", "limit"],
)
async def test_what_breaks_after_text_keeps_the_tokens_that_were_reported(faults: Faults, script: Any, kind: type[ModelError]) -> None:
    faults.plays(*script)
    shown: list[str] = []
    with pytest.raises(kind) as caught:
        await streamed(model_at(faults), shown=shown)
    error = caught.value
    assert shown == ["Grüße, "]
    assert (error.usage, error.provider, error.model) == (Usage(5, 2), "gemini", "m")
    assert len(faults.requests) == 1  # text was shown, so nothing is asked again
    assert "s3cret" not in str(error)


async def test_what_breaks_after_the_end_took_nothing_away(faults: Faults) -> None:
    faults.plays(*stream(sse(FIRST, LAST), EVENTS, whole=False), RESET)
    assert (await streamed(model_at(faults))).usage == Usage(5, 6)


async def test_a_stall_ends(faults: Faults) -> None:
    faults.plays(*stream(sse(FIRST), EVENTS, whole=False), STALL)
    with anyio.fail_after(5), pytest.raises(ModelTimeoutError, match="nothing was heard") as caught:
        await streamed(model_at(faults, silence_timeout=0.2))
    assert caught.value.usage == Usage(5, 2)


async def test_a_call_that_takes_too_long_ends(faults: Faults) -> None:
    faults.plays(*stream(sse(FIRST), EVENTS, whole=False), STALL)
    with anyio.fail_after(5), pytest.raises(ModelTimeoutError) as caught:
        await streamed(model_at(faults), asking(timeout=0.3))
    assert caught.value.usage == Usage(5, 2)


@pytest.mark.parametrize("kind", ["application/json", "text/html", ""])
async def test_a_stream_of_another_type_is_refused(faults: Faults, kind: str) -> None:
    faults.plays(*stream(json.dumps([FIRST, LAST]).encode(), kind))
    with pytest.raises(ProviderProtocolError, match="must answer with 'text/event-stream'"):
        await streamed(model_at(faults))


@pytest.mark.parametrize("body", [b"", b"{", b"<html>", b"[]", b'"x"', b"\xff"])
async def test_a_whole_reply_that_is_none(faults: Faults, body: bytes) -> None:
    faults.plays(reply(200, body))
    with pytest.raises(ProviderProtocolError) as caught:
        await model_at(faults).complete(asking())
    assert (caught.value.provider, caught.value.model) == ("gemini", "m")


async def test_a_reply_that_is_no_good_is_billed(faults: Faults) -> None:
    faults.plays(reply(200, {"candidates": [{"finishReason": "SAFETY"}], "usageMetadata": USED}))
    with pytest.raises(ModelError) as caught:
        await model_at(faults).complete(asking())
    assert caught.value.usage == Usage(5, 2)


async def test_calls_at_once_do_not_mix(faults: Faults) -> None:
    for number in range(12):
        faults.plays(*stream(sse(reply_of(part(str(number)), usageMetadata={"promptTokenCount": number})), EVENTS))
    model, seen = model_at(faults), []

    async def one() -> None:
        response = await streamed(model)
        seen.append((response.text, response.usage.input))

    async with anyio.create_task_group() as tasks:
        for _ in range(12):
            tasks.start_soon(one)
    assert sorted(seen) == sorted((str(number), number) for number in range(12))
