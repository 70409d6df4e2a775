"""Servers over HTTP: both protocols, throttling, headers for each request, bounded answers, faults that end one call and no session."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from mcp.server import MCPServer

from agentfp import Agent
from agentfp.testing import ScriptedModel, call
from agentfp_mcp import McpError, McpStartError, mcp
from tests.plugins.mcp.asking import ERAS, HTTP_ON_TRIO, ask, errors, outcomes, texts

pytestmark = [
    pytest.mark.anyio,
    HTTP_ON_TRIO,
]
Web = Callable[[Any], str]


class Front:
    """Stands before a server: sees every request, and answers in its place where a test says so."""

    def __init__(self) -> None:
        made: Any = MCPServer("behind")

        @made.tool()
        def echo(text: str) -> str:
            """Echo."""
            return text

        @made.tool()
        def large() -> str:
            """Large."""
            return "x" * 300_000

        self.app = made.streamable_http_app()
        self.seen: list[dict[str, str]] = []
        self.queries: list[str] = []
        self.calls = 0
        self.times: list[float] = []
        self.on_call: list[tuple[int, dict[str, str], bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self.seen.append({key.decode(): value.decode() for key, value in scope["headers"]})
        self.queries.append(scope["query_string"].decode())
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if b'"tools/call"' in body:
            self.calls += 1
            self.times.append(time.monotonic())
            if self.on_call:
                status, headers, text = self.on_call.pop(0)
                raw = [(key.encode(), value.encode()) for key, value in headers.items()]
                await send({"type": "http.response.start", "status": status, "headers": raw})
                await send({"type": "http.response.body", "body": text})
                return
        given = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def again() -> Any:
            return next(given, None) or await receive()

        await self.app(scope, again, send)


@pytest.fixture
def front() -> Front:
    return Front()


@pytest.fixture
def other() -> Front:
    return Front()


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_over_http(web: Web, front: Front, era: Any) -> None:
    result = await ask(mcp(url=f"{web(front)}/mcp", era=era), call("echo", text="hello"))
    assert texts(result) == ["hello"]


async def test_throttled_twice_is_one_result_later(web: Web, front: Front) -> None:
    front.on_call = [(429, {"retry-after": "0.2"}, b""), (429, {}, b"")]
    result = await ask(mcp(url=f"{web(front)}/mcp"), call("echo", text="hello"))
    assert texts(result) == ["hello"]
    assert front.calls == 3
    assert front.times[1] - front.times[0] >= 0.2


async def test_throttled_for_ever_is_given_up(web: Web, front: Front) -> None:
    front.on_call = [(429, {"retry-after": "0"}, b"")] * 5
    result = await ask(mcp(url=f"{web(front)}/mcp"), call("echo", text="hello"))
    assert outcomes(result) == ["failure"]
    assert front.calls == 3
    assert "HTTP 429" in texts(result)[0]


@pytest.mark.parametrize("wait", ["60", "Fri, 31 Dec 2100 23:59:59 GMT"])
async def test_a_wait_that_is_too_long_is_not_waited(web: Web, front: Front, wait: str) -> None:
    front.on_call = [(429, {"retry-after": wait}, b"")]
    result = await ask(mcp(url=f"{web(front)}/mcp"), call("echo", text="hello"))
    assert outcomes(result) == ["failure"]
    assert front.calls == 1


async def test_throttling_may_be_taken_as_it_is(web: Web, front: Front) -> None:
    front.on_call = [(429, {}, b"")]
    await ask(mcp(url=f"{web(front)}/mcp", retry_on_throttle=False), call("echo", text="hello"))
    assert front.calls == 1


async def test_other_errors_are_not_tried_again_and_end_one_call_only(web: Web, front: Front) -> None:
    front.on_call = [(503, {}, b"down, secret-payload")]
    result = await ask(mcp(url=f"{web(front)}/mcp"), call("echo", text="one"), call("echo", text="two"))
    assert outcomes(result) == ["failure", "success"]
    assert texts(result)[0] == "echo of 127.0.0.1 failed: it answered HTTP 503"
    assert front.calls == 2


async def test_an_answer_that_is_too_long(web: Web, front: Front) -> None:
    source = mcp(url=f"{web(front)}/mcp", max_message_bytes=100_000)
    result = await ask(source, call("large"), call("echo", text="two"))
    assert outcomes(result) == ["failure", "success"]
    front.on_call = [(200, {"content-type": "application/json"}, b'{"jsonrpc": "2.0", "id": 1, "result": "' + b"x" * 200_000)]
    result = await ask(source, call("echo", text="one"))
    assert "an answer of more than 100000 bytes" in str(errors(result)[0])


async def test_an_answer_that_is_none(web: Web, front: Front) -> None:
    front.on_call = [(200, {"content-type": "text/html"}, b"<p>secret-payload"), (200, {"content-encoding": "gzip"}, b"")]
    result = await ask(mcp(url=f"{web(front)}/mcp"), call("echo", text="one"), call("echo", text="two"), call("echo", text="three"))
    assert outcomes(result) == ["failure", "failure", "success"]
    assert "secret-payload" not in str(texts(result))


async def test_credentials_that_are_refused(web: Web) -> None:
    async def locked(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    with pytest.raises(McpStartError) as caught:
        await ask(mcp(url=f"{web(locked)}/mcp", headers={"authorization": "Bearer of-nobody-123"}))
    assert "HTTP 401; pass credentials with headers= or auth=" in str(caught.value.detail)
    assert "of-nobody-123" not in str(caught.value.detail)


# --- headers and secrets --------------------------------------------------------------------------------------------------


async def test_headers_are_made_anew_for_each_request_and_win(web: Web, front: Front) -> None:
    count = 0

    async def vend() -> dict[str, str]:
        nonlocal count
        count += 1
        return {"authorization": f"Bearer number {count}"}

    source = mcp(url=f"{web(front)}/mcp", headers={"Authorization": "Bearer fixed", "x-team": "blue"}, auth=vend)
    assert texts(await ask(source, call("echo", text="hello"))) == ["hello"]
    # Requests that are under way at once may come in in another order than their headers were made.
    assert sorted(seen["authorization"] for seen in front.seen) == [f"Bearer number {n}" for n in range(1, count + 1)]
    assert {seen["x-team"] for seen in front.seen} == {"blue"}


async def test_headers_that_cannot_be_made(web: Web, front: Front) -> None:
    def vend() -> dict[str, str]:
        raise RuntimeError("vault says secret-payload")

    with pytest.raises(McpError) as caught:
        await ask(mcp(url=f"{web(front)}/mcp", auth=vend))
    assert "headers for a request could not be made (RuntimeError)" in str(caught.value.detail)
    assert front.seen == []


async def test_a_request_may_be_signed(web: Web, front: Front) -> None:
    class Signed(httpx2.Auth):
        def auth_flow(self, request: httpx2.Request) -> Any:
            request.headers["x-signature"] = str(len(request.content))
            yield request

    assert texts(await ask(mcp(url=f"{web(front)}/mcp", auth=Signed()), call("echo", text="hello"))) == ["hello"]
    assert all(int(seen["x-signature"]) >= 0 for seen in front.seen)


async def test_a_flow_of_authorization_tells_others_nothing(web: Web, front: Front, other: Front) -> None:
    elsewhere = web(other)

    class Asks(httpx2.Auth):
        def auth_flow(self, request: httpx2.Request) -> Any:
            yield httpx2.Request("GET", f"{elsewhere}/token")
            yield request

    source = mcp(url=f"{web(front)}/mcp?api_key=key-0123456789", headers={"x-team": "blue"}, auth=Asks())
    assert texts(await ask(source, call("echo", text="hello"))) == ["hello"]
    assert set(front.queries) == {"api_key=key-0123456789"}
    assert set(other.queries) == {""}
    assert not any("x-team" in seen for seen in other.seen)


async def test_secrets_show_nowhere(web: Web, front: Front, caplog: pytest.LogCaptureFixture) -> None:
    token, key = "Bearer tok-0123456789", "key-0123456789"
    source = mcp(url=f"{web(front)}/mcp?api_key={key}", headers={"authorization": token})
    shown: list[str] = []
    with caplog.at_level(logging.INFO):
        agent = Agent(ScriptedModel([call("echo", text=f"my {token}"), "Done."]), tools=[source])
        result = await agent.run("Go", on_event=lambda event: shown.append(str(event)))
    assert texts(result) == [f"my {token}"]
    assert set(front.queries) == {f"api_key={key}"}
    for text in (repr(source), repr(source.settings), repr(agent), caplog.text, *shown):
        assert token not in text
        assert key not in text


async def test_sessions_are_ended_at_the_server(web: Web, front: Front) -> None:
    methods: list[str] = []
    inner = front.app

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        methods.append(scope.get("method", ""))
        await inner(scope, receive, send)

    front.app = watched
    await ask(mcp(url=f"{web(front)}/mcp", era="2025-11-25"), call("echo", text="hello"))
    assert methods[-1] == "DELETE"
    assert json.dumps(methods).count("POST") >= 4
