"""When things go wrong: what each refusal and each broken reply becomes, which are tried again, and that no usage is lost."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import anyio
import pytest

from agentfp.events import Recovered, Retried
from agentfp.model import (
    ContentFilterError,
    ContextTooLongError,
    Model,
    ModelAuthenticationError,
    ModelBadRequestError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelRequest,
    ModelSettings,
    ModelTimeoutError,
    ProviderProtocolError,
    TextChunk,
    Usage,
)
from agentfp_openai import explain
from tests.providers.faults import RESET, STALL, Faults, Step, reply, sse, stream
from tests.providers.openai.samples import (
    CHAT_USAGE,
    HELLO,
    chat_chunk,
    chat_reply,
    model_at,
    responses_reply,
    said,
    streamed,
)

pytestmark = pytest.mark.anyio
SSE = "text/event-stream"
SECRET = "the person's words"


def error(code: Any = None, type: str | None = None, message: str = SECRET, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": type, "param": None, "code": code, **more}}


AZURE_FILTER = error(
    "content_filter",
    param="prompt",
    status=400,
    innererror={"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"hate": {"filtered": True, "severity": "high"}}},
)
LLAMA_TOO_LONG = {"error": {"code": 400, "message": "request (6010 tokens) exceeds", "type": "exceed_context_size_error", "n_ctx": 2048}}
VLLM_TOO_LONG = {
    "object": "error",
    "message": "This model's maximum context length is 4096 tokens. However, ...",
    "type": "BadRequestError",
    "code": 400,
}
REFUSALS: list[tuple[int, Any, type[ModelError]]] = [
    (400, error("context_length_exceeded", "invalid_request_error"), ContextTooLongError),
    (400, LLAMA_TOO_LONG, ContextTooLongError),
    (400, VLLM_TOO_LONG, ContextTooLongError),
    (413, None, ContextTooLongError),
    (400, error("content_filter"), ContentFilterError),
    (400, error("content_policy_violation", "image_generation_user_error"), ContentFilterError),
    (400, AZURE_FILTER, ContentFilterError),
    (400, error("BadRequest", innererror={"code": "ResponsibleAIPolicyViolation"}), ContentFilterError),
    (400, error("invalid_prompt", "invalid_request_error"), ContentFilterError),
    (400, error("unsupported_parameter", "invalid_request_error"), ModelBadRequestError),
    (400, error(None, "invalid_request_error"), ModelBadRequestError),
    (401, error("invalid_api_key", "invalid_request_error"), ModelAuthenticationError),
    (401, {"statusCode": 401, "message": "Access denied"}, ModelAuthenticationError),
    (403, error("unsupported_country_region_territory", "request_forbidden"), ModelAuthenticationError),
    (404, error("model_not_found", "invalid_request_error"), ModelNotFoundError),
    (404, error("DeploymentNotFound"), ModelNotFoundError),
    (404, b"<html>nothing here</html>", ModelNotFoundError),
    (429, error("insufficient_quota", "insufficient_quota"), ModelRateLimitError),
    (429, error("rate_limit_exceeded", "tokens"), ModelRateLimitError),
    (429, error("429", "Throttled"), ModelRateLimitError),
    (500, error("server_error", "server_error"), ModelOverloadedError),
    (503, error(503, "unavailable_error", "Loading model"), ModelOverloadedError),
    (529, error("overloaded"), ModelOverloadedError),
    (408, None, ModelTimeoutError),
]


async def call(model: Model, streaming: bool, request: ModelRequest = HELLO) -> Any:
    return (await streamed(model, request))[2] if streaming else await model.complete(request)


async def shown(model: Model, seen: list[str]) -> None:
    """What a stream shows before it fails."""
    async for chunk in model.stream(HELLO):
        assert isinstance(chunk, TextChunk)
        seen.append(chunk.text)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("status", "data", "kind"), REFUSALS)
async def test_each_refusal_is_an_error_of_its_kind(
    faults: Faults, status: int, data: Any, kind: type[ModelError], streaming: bool
) -> None:
    for api in ("chat", "responses"):
        faults.plays(reply(status, b"" if data is None else data, x_request_id="req_1"))
        with pytest.raises(ModelError) as caught:
            await call(model_at(faults.url, api), streaming)
        got = caught.value
        assert type(got) is kind
        assert (got.provider, got.model, got.status, got.request_id) == ("openai", "m", status, "req_1")
        assert SECRET not in str(got)
        if isinstance(data, dict) and "error" in data:
            assert got.detail == data["error"]["message"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (error("server_error", "server_error"), ModelOverloadedError),
        (error("rate_limit_exceeded", "tokens"), ModelRateLimitError),
        (error("context_length_exceeded", "invalid_request_error"), ContextTooLongError),
        (error("content_filter"), ContentFilterError),
        (error(503), ModelOverloadedError),
        (error(429), ModelRateLimitError),
        (error(401), ModelAuthenticationError),
        (error(400, "BadRequestError"), ModelBadRequestError),
        (error(418), ModelBadRequestError),
        (VLLM_TOO_LONG, ContextTooLongError),
        ({"error": "broken"}, ModelConnectionError),
    ],
)
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_an_error_in_the_middle_of_a_stream(faults: Faults, api: str, data: dict[str, Any], kind: type[ModelError]) -> None:
    before = sse(chat_chunk({"content": "Hi"}, usage=CHAT_USAGE)) if api == "chat" else sse(delta("Hi"))
    faults.plays(*stream(before + sse(data), SSE, x_request_id="req_1"))
    seen: list[str] = []
    with pytest.raises(ModelError) as caught:
        await shown(model_at(faults.url, api), seen)
    assert type(caught.value) is kind
    assert seen == ["Hi"]
    assert (caught.value.provider, caught.value.model, caught.value.request_id) == ("openai", "m", "req_1")
    assert caught.value.usage == (Usage(20, 7, 16, None, 3) if api == "chat" else None)
    assert SECRET not in str(caught.value)


def delta(text: str) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text, "logprobs": []}


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_reply_that_failed_keeps_its_usage(faults: Faults, streaming: bool) -> None:
    failed = responses_reply(status="failed", error={"code": "rate_limit_exceeded", "message": SECRET})
    if streaming:
        faults.plays(*stream(sse({"type": "response.failed", "sequence_number": 1, "response": failed}), SSE))
    else:
        faults.plays(reply(200, failed))
    with pytest.raises(ModelRateLimitError) as caught:
        await call(model_at(faults.url, "responses"), streaming)
    assert caught.value.usage == Usage(20, 7, 16, 2, 3)
    assert SECRET not in str(caught.value)


async def test_an_error_event_of_the_responses_interface(faults: Faults) -> None:
    told = {"type": "error", "sequence_number": 3, "code": "server_error", "message": SECRET, "param": None}
    faults.plays(*stream(sse(("error", told)), SSE))
    with pytest.raises(ModelOverloadedError) as caught:
        await streamed(model_at(faults.url, "responses"), HELLO)
    assert caught.value.detail == SECRET


async def test_an_error_in_place_of_a_reply(faults: Faults) -> None:
    faults.plays(reply(200, error(502, message="upstream")))
    with pytest.raises(ModelOverloadedError):
        await model_at(faults.url, "chat").complete(HELLO)


async def test_a_quota_that_is_used_up_is_no_reason_to_wait(faults: Faults) -> None:
    faults.plays(reply(429, error("insufficient_quota", "insufficient_quota")))
    with pytest.raises(ModelRateLimitError, match="the quota is used up; look at the plan"):
        await model_at(faults.url, "chat").complete(HELLO)


@pytest.mark.parametrize("data", [None, [], "x", {"error": None}, {"error": []}, {"error": {"code": [1], "type": 5}}])
def test_what_says_nothing_is_left_to_the_status(data: Any) -> None:
    assert explain(400, data) is None


# --- tried again ----------------------------------------------------------------------------------------------------------------


def good(api: str, streaming: bool) -> list[Step]:
    if not streaming:
        return [reply(200, chat_reply() if api == "chat" else responses_reply(said("Hi.")))]
    end = {"type": "response.completed", "response": responses_reply(said("Hi."))}
    events = (chat_chunk({"content": "Hi."}, finish="stop"), "[DONE]") if api == "chat" else (delta("Hi."), end)
    return stream(sse(*events), SSE)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(
    "bad",
    [
        pytest.param([reply(429, error("rate_limit_exceeded"), retry_after="0")], id="429"),
        pytest.param([reply(500, error("server_error"))], id="500"),
        pytest.param([reply(503, b"<html>busy</html>", "text/html")], id="503"),
        pytest.param([RESET], id="reset"),
        pytest.param([], id="closed"),
    ],
)
async def test_what_fails_before_the_first_byte_is_tried_again(faults: Faults, api: str, streaming: bool, bad: list[Step]) -> None:
    faults.plays(*bad)
    faults.plays(*good(api, streaming))
    reported: list[Any] = []
    model = model_at(faults.url, api, retries={"attempts": 2, "initial": 0.01})
    got = await call(model, streaming, dataclasses.replace(HELLO, report=reported.append))
    assert got.text == "Hi."
    assert [type(event) for event in reported] == [Retried, Recovered]
    assert faults.requests[0].body == faults.requests[1].body


async def test_retry_after_is_waited_for_and_told(faults: Faults) -> None:
    faults.plays(reply(429, error("rate_limit_exceeded"), retry_after="7"))
    with pytest.raises(ModelRateLimitError, match="asks to wait 7 s") as caught:
        await model_at(faults.url, "chat").complete(HELLO)
    assert caught.value.retry_after == 7
    reported: list[Any] = []
    faults.plays(reply(429, error("rate_limit_exceeded"), retry_after_ms="20"))
    faults.plays(*good("chat", False))
    await model_at(faults.url, "chat", retries={"attempts": 2}).complete(dataclasses.replace(HELLO, report=reported.append))
    assert (reported[0].backoff_ms, reported[0].stated_wait_ms) == (20, 20)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("data", [error("invalid_api_key"), error("context_length_exceeded")])
async def test_what_does_not_get_better_is_not_tried_again(faults: Faults, streaming: bool, data: Any) -> None:
    faults.plays(reply(400, data))
    with pytest.raises(ModelError):
        await call(model_at(faults.url, "chat", retries={"attempts": 3}), streaming)
    assert len(faults.requests) == 1


# --- broken replies -------------------------------------------------------------------------------------------------------------

FIRST = sse(chat_chunk({"content": "Hi"}, usage=CHAT_USAGE))
BROKEN: list[Any] = [
    pytest.param(stream(b"", SSE), ModelConnectionError, id="nothing at all"),
    pytest.param(stream(FIRST, SSE), ModelConnectionError, id="ended too early"),
    pytest.param(stream(FIRST, SSE, whole=False), ModelConnectionError, id="dropped"),
    pytest.param([*stream(FIRST, SSE, whole=False), RESET], ModelConnectionError, id="reset"),
    pytest.param(stream(FIRST + sse(chat_chunk({"content": "lost"}))[:-20], SSE), ModelConnectionError, id="half an event"),
    pytest.param(stream(FIRST + b'data: {"choices": [\n\n', SSE), ProviderProtocolError, id="malformed JSON"),
    pytest.param(stream(FIRST + b"data: 5\n\n", SSE), ProviderProtocolError, id="no object"),
    pytest.param([*stream(FIRST, SSE, whole=False), STALL], ModelTimeoutError, id="stalled"),
]


@pytest.mark.parametrize(("steps", "kind"), BROKEN)
async def test_a_stream_that_breaks_is_not_tried_again_and_keeps_its_usage(
    faults: Faults, steps: list[Step], kind: type[ModelError]
) -> None:
    faults.plays(*steps)
    seen: list[str] = []
    with anyio.fail_after(5), pytest.raises(ModelError) as caught:
        await shown(model_at(faults.url, "chat", retries={"attempts": 3}, silence_timeout=0.2), seen)
    assert type(caught.value) is kind
    assert len(faults.requests) == 1
    assert (caught.value.provider, caught.value.model) == ("openai", "m")
    if seen:
        assert seen == ["Hi"]
        assert caught.value.usage == Usage(20, 7, 16, None, 3)


async def test_a_stream_that_ends_before_its_tokens_are_counted_is_broken(faults: Faults) -> None:
    faults.plays(*stream(sse(chat_chunk({"content": "Hi"}, finish="stop")), SSE))
    with pytest.raises(ModelConnectionError, match="before it was complete"):
        await streamed(model_at(faults.url, "chat"), HELLO)


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        pytest.param(stream(sse(delta("Hi")), SSE), ModelConnectionError, id="ended too early"),
        pytest.param(stream(sse(delta("Hi"), "[DONE]"), SSE), ModelConnectionError, id="done, and not completed"),
        pytest.param(stream(sse(delta("Hi")), SSE, whole=False), ModelConnectionError, id="dropped"),
        pytest.param(stream(sse(delta("Hi")) + b"data: {\n\n", SSE), ProviderProtocolError, id="malformed JSON"),
        pytest.param(stream(sse(delta("Hi"), {"type": "response.completed"}), SSE), ProviderProtocolError, id="no reply in its end"),
        pytest.param(stream(sse({"type": "response.output_text.delta", "delta": 5}), SSE), ProviderProtocolError, id="no text"),
        pytest.param([*stream(sse(delta("Hi")), SSE, whole=False), STALL], ModelTimeoutError, id="stalled"),
    ],
)
async def test_a_stream_of_events_that_breaks(faults: Faults, steps: list[Step], kind: type[ModelError]) -> None:
    faults.plays(*steps)
    with anyio.fail_after(5), pytest.raises(ModelError) as caught:
        await streamed(model_at(faults.url, "responses", silence_timeout=0.2), HELLO)
    assert type(caught.value) is kind


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        pytest.param([reply(200, b"{", "application/json")], ProviderProtocolError, id="malformed JSON"),
        pytest.param([reply(200, b"<html>welcome</html>", "text/html")], ProviderProtocolError, id="a web page"),
        pytest.param([b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"], ModelConnectionError, id="dropped"),
        pytest.param([b"no http at all\r\n\r\n"], ModelConnectionError, id="no HTTP"),
        pytest.param([STALL], ModelTimeoutError, id="stalled"),
    ],
)
async def test_a_reply_that_is_none(faults: Faults, api: str, streaming: bool, steps: list[Step], kind: type[ModelError]) -> None:
    faults.plays(*steps)
    with anyio.fail_after(5), pytest.raises(ModelError) as caught:
        await call(model_at(faults.url, api, silence_timeout=0.2), streaming)
    assert isinstance(caught.value, (kind, ProviderProtocolError) if streaming else kind)


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_call_has_a_deadline(faults: Faults, api: str) -> None:
    faults.plays(*stream(sse(chat_chunk({"content": "Hi"})), SSE, whole=False), STALL)
    request = dataclasses.replace(HELLO, settings=ModelSettings(timeout=0.2))
    with anyio.fail_after(5), pytest.raises(ModelTimeoutError, match="within its timeout"):
        await streamed(model_at(faults.url, api), request)
    assert faults.hung_up.wait(5)


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_cancelled_call_closes_its_connection(faults: Faults, streaming: bool) -> None:
    faults.plays(*(stream(FIRST, SSE, whole=False) if streaming else []), STALL)
    with anyio.move_on_after(0.2) as scope:
        await call(model_at(faults.url, "chat"), streaming)
    assert scope.cancelled_caught
    assert faults.hung_up.wait(5)


async def test_no_key_and_no_words_stand_in_an_error(faults: Faults) -> None:
    data = error("invalid_api_key", message="Incorrect API key provided: sk-secret. You can find")
    faults.plays(reply(401, data))
    with pytest.raises(ModelAuthenticationError) as caught:
        await model_at(faults.url, "chat", api_key="sk-secret").complete(HELLO)
    assert "sk-secret" not in f"{caught.value!s} {caught.value!r} {caught.value.__cause__!r}"
    assert "sk-secret" not in json.dumps(faults.requests[0].json())
