"""The peers of the providers' tests work as those tests take for granted."""

from __future__ import annotations

import httpx
import pytest

from tests.providers.aimock import Aimock


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
