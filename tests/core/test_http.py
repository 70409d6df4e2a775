"""HTTP to providers, against a server on loopback: replies, refusals, retries, broken and stalled connections, cancelling."""

from __future__ import annotations

import datetime
import gc
import json
from typing import Any

import anyio
import anyio.abc
import pytest

from agentfp import (
    ConfigError,
    ContentFilterError,
    ContextTooLongError,
    ModelAuthenticationError,
    ModelBadRequestError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelTimeoutError,
    ProviderProtocolError,
)
from agentfp.http import HttpOptions, HttpRequest, ModelHttp, NdjsonDecoder, RetryPolicy, SseDecoder, retry_after
from agentfp.model import ModelRequest, ModelSettings
from tests.core.loopback import Loopback, chunked, drop, loopback, reply, stall

pytestmark = pytest.mark.anyio
ONCE = HttpOptions(retries=RetryPolicy(attempts=1))
QUICK = HttpOptions(retries=RetryPolicy(initial=0.01, longest=0.05), silence_timeout=0.3)


def http(url: str, options: HttpOptions = ONCE, **more: Any) -> ModelHttp:
    return ModelHttp(provider="acme", model="m", base_url=url, options=options, **more)


def request(reports: list[Any] | None = None, **settings: Any) -> ModelRequest:
    return ModelRequest(system="", messages=(), settings=ModelSettings(**settings), report=(reports if reports is not None else []).append)


async def drained(model: ModelHttp, into: list[str] | None = None, wanted: ModelRequest | None = None) -> None:
    """Read a stream of events to its end."""
    async with model.open("/x", {}, wanted) as stream:
        async for event in stream.read(SseDecoder()):
            (into if into is not None else []).append(event.data)


async def closed(server: Loopback, times: int) -> None:
    """Wait until the server has seen clients go away."""
    with anyio.fail_after(2):
        while server.closed < times:  # noqa: ASYNC110  # the server of the test has nothing to wait for
            await anyio.sleep(0.01)


# --- replies ---------------------------------------------------------------------------------------------------------------------


async def test_a_reply_comes_back_with_its_request_id_and_the_body_went_out_as_json() -> None:
    async with loopback(reply(b'{"ok": 1}', x_request_id="req_7")) as server:
        got = await http(server.url + "/v1/").post("/chat", {"text": "grün"}, beta_header="on")
        assert (got.status, got.json(), got.request_id) == (200, {"ok": 1}, "req_7")
    (seen,) = server.seen
    assert seen.line == "POST /v1/chat HTTP/1.1"
    assert json.loads(seen.body) == {"text": "grün"}
    assert (seen.headers["content-type"], seen.headers["beta-header"]) == ("application/json", "on")


async def test_each_attempt_is_authorised_anew_over_the_bytes_that_are_sent() -> None:
    signed: list[HttpRequest] = []

    def sign(attempt: HttpRequest) -> dict[str, str]:
        signed.append(attempt)
        return {"authorization": f"key-{len(signed)}"}

    async with loopback(reply(status="503 Busy"), reply()) as server:
        await http(server.url, QUICK, authorize=sign).post("/x", {"a": 1})
    assert [seen.headers["authorization"] for seen in server.seen] == ["key-1", "key-2"]
    assert signed[0].body == server.seen[0].body
    assert signed[0].url == f"{server.url}/x"
    assert "key" not in repr(signed[0])


async def test_a_reply_in_pieces_is_read_by_a_decoder() -> None:
    async with loopback(chunked([b"data: a\n\nda", b"ta: b\n\n"]), chunked([b'{"n": 1}\n{"n"', b": 2}"], "application/x-ndjson")) as server:
        client = http(server.url)
        async with client.open("/s", {}) as stream:
            assert [event.data async for event in stream.read(SseDecoder())] == ["a", "b"]
        async with client.open("/n", {}, accept="application/x-ndjson") as stream:
            assert [item async for item in stream.read(NdjsonDecoder())] == [{"n": 1}, {"n": 2}]
    assert server.seen[0].headers["accept"] == "text/event-stream"


async def test_connections_are_used_again_and_twenty_calls_at_once_do_not_mix() -> None:
    async def echo(stream: anyio.abc.SocketStream) -> None:
        await reply(server.seen[-1].body)(stream)

    async with loopback(echo) as server:
        client, got = http(server.url), {}

        async def one(number: int) -> None:
            got[number] = (await client.post("/x", {"n": number})).json()["n"]

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(one, number)
    assert got == {number: number for number in range(20)}


# --- refusals --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ModelBadRequestError),
        (401, ModelAuthenticationError),
        (403, ModelAuthenticationError),
        (404, ModelNotFoundError),
        (413, ContextTooLongError),
        (422, ModelBadRequestError),
        (429, ModelRateLimitError),
        (500, ModelOverloadedError),
        (503, ModelOverloadedError),
        (529, ModelOverloadedError),
        (307, ModelConnectionError),
    ],
)
async def test_a_refusal_is_a_typed_error_with_facts_and_without_anything_secret(status: int, kind: type[ModelError]) -> None:
    body = json.dumps(
        {"error": {"message": "Wrong key sk-SECRET for PROMPT", "type": "some_error", "code": "some_code", "param": "PROMPT x"}}
    )
    async with loopback(reply(body.encode(), status=f"{status} Words", x_request_id="req_9", retry_after="3")) as server:
        with pytest.raises(ModelError) as caught:
            await http(server.url).post("/x", {"p": "PROMPT"})
    error = caught.value
    assert type(error) is kind
    assert (error.provider, error.model, error.status, error.request_id, error.retry_after) == ("acme", "m", status, "req_9", 3.0)
    assert "some_error" in str(error)
    assert "some_code" in str(error)
    assert "SECRET" not in str(error) + repr(error)
    assert "PROMPT" not in str(error) + repr(error)
    assert error.detail == "Wrong key sk-SECRET for PROMPT"


async def test_a_provider_tells_its_own_codes_apart() -> None:
    def explain(status: int, data: Any) -> type[ModelError] | None:
        return ContentFilterError if data and data["error"]["code"] == "filtered" else None

    async with loopback(reply(b'{"error": {"code": "filtered"}}', status="400 No"), reply(b"<html>", status="400 No")) as server:
        with pytest.raises(ContentFilterError):
            await http(server.url, explain=explain).post("/x", {})
        with pytest.raises(ModelBadRequestError):
            await http(server.url, explain=explain).post("/x", {})


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_what_a_provider_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)) == seconds


# --- retries ---------------------------------------------------------------------------------------------------------------------


async def test_a_busy_provider_is_asked_again_and_the_wait_is_reported() -> None:
    reports: list[Any] = []
    async with loopback(reply(status="429 Slow", retry_after="0.02"), reply(status="500 Oops"), reply(b'{"n": 3}')) as server:
        got = await http(server.url, QUICK).post("/x", {}, request(reports))
    assert got.json() == {"n": 3}
    first, second, recovered = reports
    assert (first.attempt, first.max_attempts, first.backoff_ms, first.stated_wait_ms, first.reason) == (
        1,
        3,
        20,
        20,
        "ERR_MODEL_RATE_LIMIT",
    )
    assert (second.attempt, second.stated_wait_ms, second.reason) == (2, None, "ERR_MODEL_OVERLOADED")
    assert recovered.attempt == 3


async def test_a_stated_wait_is_kept_to_as_far_as_the_policy_allows_and_no_further() -> None:
    reports: list[Any] = []
    async with loopback(reply(status="429 Slow", retry_after="3600"), reply()) as server:
        await http(server.url, QUICK).post("/x", {}, request(reports))
    assert (reports[0].backoff_ms, reports[0].stated_wait_ms) == (50, 3_600_000)


async def test_no_attempt_is_made_that_would_come_after_the_deadline() -> None:
    async with loopback(reply(status="429 Slow", retry_after="5")) as server:
        with pytest.raises(ModelRateLimitError) as caught:
            await http(server.url, HttpOptions()).post("/x", {}, request(timeout=0.5))
    assert len(server.seen) == 1
    assert caught.value.retry_after == 5.0


@pytest.mark.parametrize("status", ["400 No", "401 No", "404 No", "408 No", "422 No"])
async def test_other_refusals_are_not_asked_again(status: str) -> None:
    async with loopback(reply(status=status)) as server:
        with pytest.raises(ModelError):
            await http(server.url, QUICK).post("/x", {})
    assert len(server.seen) == 1


async def test_a_dropped_connection_is_tried_again_before_a_reply_and_never_after_its_first_byte() -> None:
    async with loopback(drop, drop, reply(b'{"n": 3}')) as server:
        assert (await http(server.url, QUICK).post("/x", {})).json() == {"n": 3}
    assert len(server.seen) == 3
    async with loopback(drop, chunked([b"data: a\n\n"], drop=True)) as server:
        got: list[str] = []
        with pytest.raises(ModelConnectionError):
            await drained(http(server.url, QUICK), got)
        assert (got, len(server.seen)) == (["a"], 2)


# --- silence, deadlines, cancelling ----------------------------------------------------------------------------------------------


async def test_silence_is_an_error_before_the_reply_and_inside_it() -> None:
    options = HttpOptions(retries=RetryPolicy(attempts=1), silence_timeout=0.1)
    async with loopback(stall) as server:
        with pytest.raises(ModelTimeoutError, match=r"0\.1 s"):
            await http(server.url, options).post("/x", {})
    async with loopback(chunked([b"data: a\n\n"], stall=True)) as server:
        with pytest.raises(ModelTimeoutError, match="broke off"):
            await drained(http(server.url, options))


async def test_the_timeout_of_a_call_bounds_all_of_it() -> None:
    async with loopback(stall, chunked([b"data: a\n\n"], stall=True)) as server:
        client = http(server.url)
        with pytest.raises(ModelTimeoutError, match="timeout setting"):
            await client.post("/x", {}, request(timeout=0.1))
        with pytest.raises(ModelTimeoutError, match="timeout setting"):
            await drained(client, wanted=request(timeout=0.1))


async def test_cancelling_a_call_closes_its_connection_and_the_next_call_is_served() -> None:
    async with loopback(chunked([b"data: a\n\n"], stall=True), stall, reply(b'{"n": 2}')) as server:
        client = http(server.url)
        for path in ("/stream", "/whole"):
            with anyio.move_on_after(0.2) as scope:
                if path == "/whole":
                    await client.post(path, {})
                await drained(client)
            assert scope.cancelled_caught
        await closed(server, 2)
        with anyio.fail_after(2):
            assert (await client.post("/x", {})).json() == {"n": 2}


async def test_leaving_a_stream_early_closes_its_connection() -> None:
    async with loopback(chunked([b"data: a\n\n"], stall=True)) as server:
        async with http(server.url).open("/x", {}) as stream:
            events = stream.read(SseDecoder())
            assert (await anext(events)).data == "a"
        await closed(server, 1)


# --- what cannot be --------------------------------------------------------------------------------------------------------------


async def test_a_wrong_media_type_is_named() -> None:
    async with loopback(reply(b"<html>SECRET", content_type="text/html; charset=utf-8")) as server:
        with pytest.raises(ProviderProtocolError, match="'text/event-stream', got 'text/html'"):
            async with http(server.url).open("/x", {}):
                pass


async def test_a_reply_that_is_too_long_is_not_read_on() -> None:
    async with loopback(reply(b"x" * 5000)) as server:
        with pytest.raises(ProviderProtocolError, match="1000 bytes"):
            await http(server.url, HttpOptions(max_reply_bytes=1000)).post("/x", {})


async def test_nobody_there_says_what_to_look_at() -> None:
    async with loopback(reply()) as server:
        url = server.url
    with pytest.raises(ModelConnectionError, match="is the server up"):
        await http(url).post("/x", {})


@pytest.mark.parametrize("url", ["", "localhost:80", "ftp://host", "http://", "https://user:SECRET@host", "http://[", 7])
def test_a_base_url_that_cannot_be_one_is_refused_at_once(url: Any) -> None:
    with pytest.raises(ConfigError, match="base_url of 'acme'") as caught:
        http(url)
    assert "SECRET" not in str(caught.value)


async def test_a_key_that_cannot_stand_in_a_header_is_refused_without_showing_it() -> None:
    async with loopback(reply()) as server:
        for key in ("SECRET\nx: y", "SECRET-ü-\u2026"):
            with pytest.raises((ConfigError, ModelConnectionError)) as caught:
                await http(server.url, authorize=lambda _, key=key: {"authorization": key}).post("/x", {})
            assert "SECRET" not in str(caught.value)
            assert caught.value.__cause__ is None or "SECRET" not in str(caught.value.__cause__)


async def test_a_proxy_that_cannot_be_used_is_refused_without_its_password() -> None:
    with pytest.raises(ConfigError, match="proxy") as caught:
        await http("http://127.0.0.1:1", HttpOptions(proxy="nope://user:SECRET@host")).post("/x", {})
    assert "SECRET" not in str(caught.value)


def test_a_policy_that_cannot_be_one_names_all_that_is_wrong() -> None:
    with pytest.raises(ConfigError) as caught:
        RetryPolicy(attempts=0, initial=-1, factor=0.5)
    assert len(caught.value.problems) == 3


# --- event loops -----------------------------------------------------------------------------------------------------------------


def test_one_model_serves_event_loops_one_after_the_other_and_leaves_nothing_open(anyio_backend: str) -> None:
    answered = 0

    async def once() -> None:
        nonlocal answered
        async with loopback(reply(b'{"n": 1}')) as server:
            model = http(server.url)
            await model.post("/x", {})
            await http(server.url).post("/x", {})  # another model of the same server
            answered += len(server.seen)

    for _ in range(3):
        anyio.run(once, backend=anyio_backend)
    gc.collect()  # a connection that nobody closed would warn here, which is an error
    assert answered == 6


async def test_models_of_one_server_share_their_connections() -> None:
    connections: set[int] = set()

    async def count(stream: anyio.abc.SocketStream) -> None:
        connections.add(id(stream))
        await reply()(stream)

    async with loopback(count) as server:
        for _ in range(3):
            await http(server.url).post("/x", {})
    assert len(connections) == 1


async def test_a_stream_that_is_left_with_pieces_unread_leaves_nothing_open() -> None:
    async def at_once(stream: anyio.abc.SocketStream) -> None:
        events = b"".join(b"9\r\ndata: %d\n\n\r\n" % number for number in range(5))
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" + events)
        await stream.receive()

    async with loopback(at_once) as server, http(server.url).open("/x", {}) as stream:
        async for _ in stream.read(SseDecoder()):
            break
    gc.collect()  # trio warns of generators that nobody ended, which is an error


async def test_a_request_that_cannot_be_written_leaves_nothing_open() -> None:
    async def hang_up(stream: anyio.abc.SocketStream) -> None:
        await stream.aclose()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, hang_up)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        with pytest.raises(ModelConnectionError):
            await http(f"http://127.0.0.1:{port}").post("/x", b" " * 8_000_000)
        tasks.cancel_scope.cancel()
    gc.collect()


async def test_an_empty_proxy_is_none_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with loopback(reply()) as server:
        with pytest.raises(ModelConnectionError):
            await http(server.url, HttpOptions(retries=RetryPolicy(attempts=1), keepalive=29)).post("/x", {})
        assert (await http(server.url, HttpOptions(proxy="")).post("/x", {})).status == 200
