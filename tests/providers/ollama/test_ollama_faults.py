"""An Ollama server that is ill: each fault is a typed error or a retry that is told, and nothing hangs."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentfp import Message
from agentfp.model import (
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
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
from agentfp_ollama import OllamaModel
from tests.providers.faults import RESET, STALL, Faults, reply, stream
from tests.providers.ollama.chats import LINES, call, end, ndjson, piece

pytestmark = pytest.mark.anyio
FIRST, LAST = piece("Grüße, "), end("Zoë 🦊")


def model_at(faults: Faults, **more: Any) -> OllamaModel:
    settings = {"retries": {"attempts": 3, "initial": 0.01, "longest": 0.05}, "silence_timeout": 5, **more}
    return OllamaModel("m", base_url=faults.url, **settings)


def asking(reports: list[Any] | None = None, **settings: Any) -> ModelRequest:
    report = (reports if reports is not None else []).append
    return ModelRequest(system="", messages=(Message("1", "user", "go"),), settings=ModelSettings(**settings), report=report)


async def streamed(model: OllamaModel, request: ModelRequest | None = None, shown: list[str] | None = None) -> ModelResponse:
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
    faults.plays(reply(200, end("Grüße")))
    response = await model_at(faults).complete(asking())
    assert (response.text, response.usage) == ("Grüße", Usage(7, 3))
    (seen,) = faults.requests
    assert (seen.method, seen.path) == ("POST", "/api/chat")
    assert "authorization" not in seen.headers
    assert seen.json() == {"model": "m", "messages": [{"role": "user", "content": "go"}], "stream": False}


async def test_a_stream_cut_anywhere_is_the_same_reply(faults: Faults) -> None:
    body = ndjson(FIRST, piece(tool_calls=[call(n=1)]), LAST)
    for text in (body, body.replace(b"\n", b"\r\n"), body[:-1]):
        for size in (*range(1, 20), 64, None):
            faults.plays(*stream(text, LINES, size=size))
            response = await streamed(model_at(faults))
            assert (response.text, response.usage, response.tool_calls[0].arguments) == ("Grüße, Zoë 🦊", Usage(7, 3), {"n": 1})
    assert all(seen.json()["stream"] is True for seen in faults.requests)


async def test_a_piece_is_given_out_the_moment_it_is_there(faults: Faults) -> None:
    faults.plays(*stream(ndjson(FIRST), LINES, whole=False), STALL)
    chunks = model_at(faults).stream(asking())
    with anyio.fail_after(4):
        assert await anext(chunks) == TextChunk("Grüße, ")
    await chunks.aclose()  # type: ignore[attr-defined]
    assert await anyio.to_thread.run_sync(faults.hung_up.wait, 5)


async def test_cancelling_in_the_middle_closes_the_connection(faults: Faults) -> None:
    faults.plays(*stream(ndjson(FIRST), LINES, whole=False), STALL)
    with anyio.move_on_after(0.3) as scope:
        await streamed(model_at(faults))
    assert scope.cancelled_caught
    assert await anyio.to_thread.run_sync(faults.hung_up.wait, 5)


# --- retried --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["complete", "stream"])
async def test_later_means_later(faults: Faults, way: str) -> None:
    faults.plays(reply(429, {"error": "the words of s3cret"}, retry_after="0.02"))
    faults.plays(reply(503, {"error": "server busy, please try again"}))
    faults.plays(*([reply(200, LAST)] if way == "complete" else stream(ndjson(LAST), LINES)))
    reports: list[Any] = []
    model = model_at(faults)
    response = await (model.complete(asking(reports)) if way == "complete" else streamed(model, asking(reports)))
    assert response.text == "Zoë 🦊"
    retried, again, recovered = reports
    assert [type(report).__name__ for report in reports] == ["Retried", "Retried", "Recovered"]
    assert (retried.stated_wait_ms, again.stated_wait_ms) == (20, None)
    assert "s3cret" not in f"{retried}{again}{recovered}"


async def test_a_limit_that_stays_is_told_with_its_wait(faults: Faults) -> None:
    for _ in range(3):
        faults.plays(reply(429, {"error": "x"}, retry_after="7"))
    with pytest.raises(ModelRateLimitError) as caught:
        await model_at(faults).complete(asking())
    assert (caught.value.retry_after, caught.value.status) == (7, 429)


async def test_a_connection_that_is_dropped_before_the_reply(faults: Faults) -> None:
    faults.plays(RESET)
    faults.plays(*stream(ndjson(FIRST, LAST), LINES))
    assert (await streamed(model_at(faults))).text == "Grüße, Zoë 🦊"


async def test_a_model_that_is_not_there_is_not_asked_for_again(faults: Faults) -> None:
    faults.plays(reply(404, {"error": "model 'm' not found"}))
    with pytest.raises(ModelNotFoundError, match="download it with `ollama pull m`"):
        await streamed(model_at(faults))


async def test_a_server_that_does_not_run() -> None:
    with Faults() as gone:
        url = gone.url
    with pytest.raises(ModelConnectionError, match=f"nothing answers at {url}: start the server with `ollama serve`"):
        await OllamaModel("m", base_url=url, retries=1).complete(asking())


# --- broken --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ((*stream(ndjson(FIRST), LINES, whole=False), RESET), ModelConnectionError),
        (tuple(stream(ndjson(FIRST), LINES, whole=False)), ModelConnectionError),
        (tuple(stream(ndjson(FIRST), LINES)), ModelConnectionError),
        (tuple(stream(ndjson(FIRST) + ndjson(LAST)[:-9], LINES)), ProviderProtocolError),
        (tuple(stream(ndjson(FIRST) + b"{\n", LINES)), ProviderProtocolError),
        (tuple(stream(ndjson(FIRST, [1]), LINES)), ProviderProtocolError),
        (tuple(stream(ndjson(FIRST, {"error": "the words of s3cret"}), LINES)), ModelOverloadedError),
    ],
    ids=["reset", "dropped", "no end", "half a line", "no JSON", "no object", "error"],
)
async def test_what_breaks_after_text_is_a_typed_error(faults: Faults, script: Any, kind: type[ModelError]) -> None:
    faults.plays(*script)
    shown: list[str] = []
    with pytest.raises(kind) as caught:
        await streamed(model_at(faults), shown=shown)
    assert shown == ["Grüße, "]
    assert (caught.value.provider, caught.value.model, caught.value.usage) == ("ollama", "m", None)
    assert len(faults.requests) == 1  # text was shown, so nothing is asked again
    assert "s3cret" not in str(caught.value)


async def test_what_breaks_after_the_end_took_nothing_away(faults: Faults) -> None:
    faults.plays(*stream(ndjson(FIRST, LAST), LINES, whole=False), RESET)
    assert (await streamed(model_at(faults))).usage == Usage(7, 3)


async def test_an_error_behind_the_end_keeps_the_tokens(faults: Faults) -> None:
    faults.plays(*stream(ndjson(FIRST, LAST, {"error": "x"}), LINES))
    with pytest.raises(ModelOverloadedError) as caught:
        await streamed(model_at(faults))
    assert caught.value.usage == Usage(7, 3)


async def test_a_stall_ends(faults: Faults) -> None:
    faults.plays(*stream(ndjson(FIRST), LINES, whole=False), STALL)
    with anyio.fail_after(5), pytest.raises(ModelTimeoutError, match="nothing was heard"):
        await streamed(model_at(faults, silence_timeout=0.2))


async def test_a_call_that_takes_too_long_ends(faults: Faults) -> None:
    faults.plays(STALL)
    with anyio.fail_after(5), pytest.raises(ModelTimeoutError):
        await model_at(faults).complete(asking(timeout=0.3))


@pytest.mark.parametrize("kind", ["application/json", "text/html", "text/event-stream"])
async def test_a_stream_of_another_type_is_refused(faults: Faults, kind: str) -> None:
    faults.plays(*stream(ndjson(FIRST, LAST), kind))
    with pytest.raises(ProviderProtocolError, match="must answer with 'application/x-ndjson'"):
        await streamed(model_at(faults))


@pytest.mark.parametrize("body", [b"", b"{", b"<html>", b"[]", b'"x"', b"{}", b"\xff"])
async def test_a_whole_reply_that_is_none(faults: Faults, body: bytes) -> None:
    faults.plays(reply(200, body))
    with pytest.raises(ProviderProtocolError) as caught:
        await model_at(faults).complete(asking())
    assert (caught.value.provider, caught.value.model) == ("ollama", "m")
