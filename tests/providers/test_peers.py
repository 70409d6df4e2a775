"""The peers of the providers' tests work as those tests take for granted."""

from __future__ import annotations

import httpx
import pytest

from tests.providers.aimock import Aimock
from tests.providers.faults import RESET, STALL, Faults, reply, sse, stream


def ask(url: str, text: str) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(f"{url}/v1/chat/completions", json=body, trust_env=False)


def test_aimock_answers_what_it_is_told_and_keeps_what_it_was_sent(aimock: Aimock) -> None:
    aimock.answers({"match": {"userMessage": "hello"}, "response": {"content": "Hi."}})
    assert ask(aimock.url, "hello").json()["choices"][0]["message"]["content"] == "Hi."
    assert ask(aimock.url, "other").status_code == 404
    assert [body["messages"][0]["content"] for body in aimock.bodies()] == ["hello", "other"]


@pytest.mark.parametrize("again", [1, 2])
def test_aimock_is_empty_for_each_test(aimock: Aimock, again: int) -> None:
    assert aimock.journal() == []
    assert ask(aimock.url, "hello").status_code == 404
    aimock.answers({"match": {"userMessage": "hello"}, "response": {"content": "Hi."}})


def test_aimock_fails_when_it_is_told_to(aimock: Aimock) -> None:
    aimock.answers({"match": {}, "response": {"content": "Hi."}})
    aimock.chaos(rateLimitRate=1)
    reply = ask(aimock.url, "hello")
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "1")


@pytest.mark.real_model
def test_the_real_model_says_something_and_counts_tokens(llama: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Say hello"}], "max_tokens": 4, "temperature": 0}
    said = httpx.post(f"{llama}/v1/chat/completions", json=body, trust_env=False, timeout=60).json()
    assert said["choices"][0]["message"]["content"]
    assert said["usage"]["completion_tokens"] == 4


def test_scripts_are_played_in_order(faults: Faults) -> None:
    faults.plays(reply(429, {"error": {}}, retry_after="1"))
    faults.plays(*stream(sse({"a": 1}, "[DONE]"), "text/event-stream", size=3))
    first = ask(faults.url, "one")
    assert (first.status_code, first.headers["retry-after"]) == (429, "1")
    with httpx.stream("POST", faults.url, json={}, trust_env=False) as second:
        pieces = list(second.iter_bytes())
    assert b"".join(pieces) == b'data: {"a": 1}\n\ndata: [DONE]\n\n'
    assert {len(piece) for piece in pieces[:-1]} == {3}
    assert faults.requests[0].json()["messages"][0]["content"] == "one"


def test_a_dropped_connection_and_one_that_says_no_more(faults: Faults) -> None:
    faults.plays(RESET)
    faults.plays(*stream(b"half", "text/plain", whole=False))
    faults.plays(*stream(b"half", "text/plain", whole=False), STALL)
    with pytest.raises(httpx.TransportError):
        ask(faults.url, "one")
    with pytest.raises(httpx.RemoteProtocolError):
        ask(faults.url, "two")
    assert not faults.hung_up.is_set()
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(faults.url, json={}, trust_env=False, timeout=0.1)
    assert faults.hung_up.wait(5)
