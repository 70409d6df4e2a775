"""What comes in from Gemini: replies whole and in pieces, their usage, their ends, and what is wrong with some."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp.model import (
    ContentFilterError,
    ModelConnectionError,
    ModelError,
    ModelOverloadedError,
    ModelResponse,
    ProviderProtocolError,
    StopReason,
    TextChunk,
    ThinkingChunk,
    Usage,
)
from agentfp_gemini.reading import Reading
from tests.providers.gemini.histories import SIGNATURE, call, part, reply_of
from tests.providers.gemini.oracle import check_reply

USAGE = {"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 3, "thoughtsTokenCount": 5, "totalTokenCount": 18}


def read(*pieces: Any, checked: bool = True) -> tuple[list[Any], ModelResponse]:
    """The chunks and the reply that these pieces give."""
    reading = Reading("gemini", "m")
    chunks = []
    for piece in pieces:
        if checked:
            check_reply(piece)
        chunks += list(reading.feed(piece))
    return chunks, reading.response("req")


def test_a_whole_reply() -> None:
    _, response = read(reply_of(part("hm", thought=True), part("Hi."), usageMetadata=USAGE, responseId="r1", modelVersion="gemini-x-001"))
    assert (response.text, response.stop, response.provider_stop) == ("Hi.", StopReason.STOP, "STOP")
    assert (response.response_id, response.model, response.request_id) == ("r1", "gemini-x-001", "req")
    assert response.usage == Usage(input=10, output=8, cache_read=4, cache_write=None, thinking=5)
    assert [(block.text, block.signature) for block in response.thinking] == [("hm", None)]


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        ({}, Usage()),
        ({"promptTokenCount": 1}, Usage(input=1)),
        ({"promptTokenCount": 1, "toolUsePromptTokenCount": 2}, Usage(input=3)),
        ({"candidatesTokenCount": 0}, Usage(output=0)),
        ({"thoughtsTokenCount": 7}, Usage(output=7, thinking=7)),
        ({"candidatesTokenCount": 2, "thoughtsTokenCount": 0}, Usage(output=2, thinking=0)),
        ({"cachedContentTokenCount": 0}, Usage(cache_read=0)),
    ],
)
def test_what_was_not_reported_is_unknown_and_not_none(reported: dict[str, int], usage: Usage) -> None:
    assert read(reply_of(part("x"), usageMetadata=reported))[1].usage == usage


def test_odd_counts_are_unknown() -> None:
    odd = {"promptTokenCount": "5", "candidatesTokenCount": -1, "thoughtsTokenCount": True, "cachedContentTokenCount": 2.5}
    assert read(reply_of(part("x"), usageMetadata=odd), checked=False)[1].usage == Usage()


def test_the_last_counts_of_a_stream_hold() -> None:
    first = reply_of(
        part("a"), finish=None, usageMetadata={"promptTokenCount": 10, "candidatesTokenCount": 1, "cachedContentTokenCount": 4}
    )
    last = reply_of(part("b"), usageMetadata={"promptTokenCount": 10, "candidatesTokenCount": 2})
    assert read(first, last, {"usageMetadata": {"thoughtsTokenCount": 1}})[1].usage == Usage(10, 3, 4, None, 1)


def test_calls_side_by_side() -> None:
    _, response = read(reply_of(call(id="a", signature=SIGNATURE), call("find")))
    assert response.stop is StopReason.TOOL_USE
    assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == [("a", "look", {"n": 1}), ("", "find", {"n": 1})]
    assert response.tool_calls[1].provider_meta is None


def test_a_call_without_arguments() -> None:
    assert (
        read({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}, "finishReason": "STOP"}]})[1].tool_calls[0].arguments
        == {}
    )


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("STOP", StopReason.STOP),
        ("MAX_TOKENS", StopReason.MAX_TOKENS),
        ("CONTINUATION", StopReason.MAX_TOKENS),
        ("SAFETY", StopReason.CONTENT_FILTER),
        ("RECITATION", StopReason.CONTENT_FILTER),
        ("MODEL_ARMOR", StopReason.CONTENT_FILTER),
        ("OTHER", StopReason.UNKNOWN),
        ("MALFORMED_FUNCTION_CALL", StopReason.UNKNOWN),
    ],
)
def test_ends_of_a_reply_that_says_something(finish: str, stop: StopReason) -> None:
    _, response = read(reply_of(part("half"), finish=finish))
    assert (response.stop, response.provider_stop, response.text) == (stop, finish, "half")


def test_an_end_that_nobody_knows_yet() -> None:
    assert read(reply_of(part("x"), finish="WHATEVER_COMES"), checked=False)[1].stop is StopReason.UNKNOWN


@pytest.mark.parametrize(
    ("finish", "kind", "says"),
    [
        ("SAFETY", ContentFilterError, "held the reply back (SAFETY)"),
        ("PROHIBITED_CONTENT", ContentFilterError, "PROHIBITED_CONTENT"),
        ("MALFORMED_FUNCTION_CALL", ModelError, "wrote something that is no reply (MALFORMED_FUNCTION_CALL): try again"),
        ("UNEXPECTED_TOOL_CALL", ModelError, "UNEXPECTED_TOOL_CALL"),
    ],
)
def test_ends_of_a_reply_that_says_nothing(finish: str, kind: type[ModelError], says: str) -> None:
    with pytest.raises(kind) as caught:
        read({"candidates": [{"finishReason": finish}], "usageMetadata": USAGE})
    assert says in str(caught.value)


def test_a_reply_that_ran_out_of_tokens_while_it_was_thinking_is_an_empty_one() -> None:
    assert read({"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]})[1].stop is StopReason.MAX_TOKENS


def test_a_request_that_is_refused() -> None:
    with pytest.raises(ContentFilterError, match=r"refused the request \(PROHIBITED_CONTENT\)"):
        read({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}})


@pytest.mark.parametrize("pieces", [(), ({},), ({"candidates": []},), (reply_of(part("x"), finish=None),)])
def test_a_reply_without_an_end_broke_off(pieces: Any) -> None:
    with pytest.raises(ModelConnectionError, match="broke off before the reply was complete"):
        read(*pieces)


def test_an_error_in_the_middle() -> None:
    error = {"error": {"code": 503, "message": "s3cret words", "status": "UNAVAILABLE"}}
    with pytest.raises(ModelOverloadedError, match="UNAVAILABLE") as caught:
        read(reply_of(part("x"), finish=None), error, checked=False)
    assert "s3cret" not in str(caught.value)
    assert caught.value.detail == "s3cret words"


@pytest.mark.parametrize(
    "piece",
    [
        [],
        "x",
        5,
        None,
        {"candidates": {}},
        {"candidates": [5]},
        {"candidates": [{"content": {"parts": "x"}}]},
        {"candidates": [{"content": {"parts": [5]}}]},
        {"candidates": [{"content": {"parts": [{"text": 5}]}}]},
        {"candidates": [{"content": {"parts": [{"text": "x", "thoughtSignature": 5}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": 5}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"args": {}}}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": [1]}}]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "partialArgs": []}}]}}]},
    ],
)
def test_what_is_no_reply_is_the_providers_fault(piece: Any) -> None:
    with pytest.raises(ProviderProtocolError):
        read(piece, checked=False)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.text(st.characters(exclude_categories=["Cs"]), max_size=4)), max_size=8))
def test_the_pieces_joined_are_the_reply(pieces: list[tuple[bool, str]]) -> None:
    made = [reply_of(part(text, **({"thought": True} if thought else {})), finish=None) for thought, text in pieces]
    chunks, response = read(*made, reply_of(part("")))
    assert "".join(c.text for c in chunks if isinstance(c, TextChunk)) == response.text
    assert "".join(c.text for c in chunks if isinstance(c, ThinkingChunk)) == "".join(block.text for block in response.thinking)
    assert all(chunk.text for chunk in chunks)
