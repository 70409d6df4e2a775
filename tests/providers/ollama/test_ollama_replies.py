"""What comes in from Ollama: replies whole and in pieces, their usage, their ends, and what is wrong with some."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp.http import error_of_data
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
    ProviderProtocolError,
    StopReason,
    TextChunk,
    ThinkingChunk,
    Usage,
)
from agentfp_ollama.errors import explaining
from agentfp_ollama.reading import Reading
from tests.providers.ollama.chats import call, check_reply, end, piece


def read(*pieces: Any, checked: bool = True) -> tuple[list[Any], ModelResponse]:
    """The chunks and the reply that these pieces give."""
    reading = Reading("ollama", "m", explaining("m"))
    chunks = []
    for item in pieces:
        if checked:
            check_reply(item)
        chunks += list(reading.feed(item))
    return chunks, reading.response(None)


def test_a_whole_reply() -> None:
    _, response = read(end("Hi."))
    assert (response.text, response.stop, response.provider_stop, response.model) == ("Hi.", StopReason.STOP, "stop", "m")
    assert response.usage == Usage(7, 3)
    assert response.thinking == ()


def test_a_reply_in_pieces() -> None:
    chunks, response = read(piece(thinking="h"), piece(thinking="m"), piece("Hi"), piece(), piece("."), end())
    assert chunks == [ThinkingChunk("h"), ThinkingChunk("m"), TextChunk("Hi"), TextChunk(".")]
    assert response.text == "Hi."
    assert [(block.text, block.provider_meta) for block in response.thinking] == [("hm", '{"ollama":"thinking"}')]


def test_calls_side_by_side() -> None:
    _, response = read(piece(tool_calls=[call(n=1), call(n=2)]), piece(tool_calls=[call("find", q="ü")]), end())
    assert response.stop is StopReason.TOOL_USE
    assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == [
        ("", "look", {"n": 1}),
        ("", "look", {"n": 2}),
        ("", "find", {"q": "ü"}),
    ]


def test_an_id_of_a_newer_server_is_taken() -> None:
    _, response = read(piece(tool_calls=[{"id": "call_1", **call(n=1)}]), end(), checked=False)
    assert response.tool_calls[0].id == "call_1"


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("stop", StopReason.STOP), ("length", StopReason.MAX_TOKENS), ("load", StopReason.UNKNOWN), ("new", StopReason.UNKNOWN)],
)
def test_ends(reason: str, stop: StopReason) -> None:
    assert read(end("x", reason))[1].stop is stop


def test_what_was_not_reported_is_unknown_and_not_none() -> None:
    bare = {"model": "m", "message": {"role": "assistant", "content": "x"}, "done": True}
    response = read(bare)[1]
    assert (response.usage, response.stop, response.provider_stop) == (Usage(), StopReason.STOP, None)
    assert read(end("x", eval_count=0))[1].usage == Usage(7, 0)
    assert read(end("x", eval_count="3", prompt_eval_count=True), checked=False)[1].usage == Usage()


@pytest.mark.parametrize("pieces", [(), (piece("x"),)])
def test_a_reply_without_an_end_broke_off(pieces: Any) -> None:
    with pytest.raises(ModelConnectionError, match="broke off before the reply was complete"):
        read(*pieces)


@pytest.mark.parametrize(
    "item",
    [
        [],
        "x",
        5,
        None,
        {},
        {"message": 5},
        {"message": {"content": 5}},
        {"message": {"thinking": []}},
        {"message": {"tool_calls": {}}},
        {"message": {"tool_calls": [5]}},
        {"message": {"tool_calls": [{"function": {}}]}},
        {"message": {"tool_calls": [{"function": {"name": "f", "arguments": [1]}}]}},
    ],
)
def test_what_is_no_reply_is_the_providers_fault(item: Any) -> None:
    with pytest.raises(ProviderProtocolError):
        read(item, checked=False)


# --- refusals --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "words", "kind", "says"),
    [
        (404, "model 'm' not found", ModelNotFoundError, "download it with `ollama pull m`"),
        (400, "registry.ollama.ai/library/m does not support tools", ModelBadRequestError, "this model calls no tools"),
        (400, '"m" does not support thinking', ModelBadRequestError, "leave thinking out"),
        (400, "the input length exceeds the context length", ContextTooLongError, "shorten the conversation"),
        (401, "unauthorized", ModelAuthenticationError, "OLLAMA_API_KEY"),
        (403, "forbidden", ModelAuthenticationError, "ollama signin"),
        (429, "slow down", ModelRateLimitError, "wait"),
        (500, "model requires more system memory (9.1 GiB) than is available (2.0 GiB)", ModelBadRequestError, "free memory"),
        (500, "an error was encountered while running the model", ModelOverloadedError, "try again later"),
        (503, "server busy, please try again", ModelOverloadedError, "try again later"),
        (0, "an error was encountered while running the model", ModelOverloadedError, "try again later"),
    ],
)
def test_each_refusal_has_a_class_and_says_what_to_do(status: int, words: str, kind: type[ModelError], says: str) -> None:
    error = error_of_data("ollama", "m", status, {"error": words}, explaining("m"))
    assert type(error) is kind
    assert says in str(error)
    assert error.detail == words


@pytest.mark.parametrize("data", [None, [], "x", {"error": None}, {"error": {"message": "No fixture matched"}}])
def test_odd_bodies_are_no_trouble(data: Any) -> None:
    assert isinstance(error_of_data("ollama", "m", 404, data, explaining("m")), ModelNotFoundError)
