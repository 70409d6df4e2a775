"""Streams taken apart: the same for every way of cutting them, and never half an event."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp import ProviderProtocolError
from agentfp.http import NdjsonDecoder, ServerSentEvent, SseDecoder, parse_json


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(ends)]


def read(decoder: Any, chunks: list[bytes]) -> list[Any]:
    items = [item for chunk in chunks for item in decoder.feed(chunk)]
    return [*items, *decoder.finish()]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: one\n\n", [("message", "one")]),
        (b"data:one\n\n", [("message", "one")]),
        (b"data:  two spaces\n\n", [("message", " two spaces")]),
        (b"event: delta\ndata: x\n\n", [("delta", "x")]),
        (b"data: a\ndata: b\n\n", [("message", "a\nb")]),
        (b": a comment\n\ndata: x\n\n", [("message", "x")]),
        (b"id: 7\nretry: 10\ndata: x\n\n", [("message", "x")]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [("message", "a"), ("message", "b"), ("message", "c")]),
        (b"\xef\xbb\xbfdata: bom\n\n", [("message", "bom")]),
        (b"data\n\n", [("message", "")]),
        (b"event: only\n\ndata: x\n\n", [("message", "x")]),
        (b"data: whole\n\ndata: half", [("message", "whole")]),
        (b"data: whole\n\ndata: no empty line\n", [("message", "whole")]),
        ("data: größe ✓ 😀\n\n".encode(), [("message", "größe ✓ 😀")]),
        (b"data: x\x0by\x0cz\x1c\xc2\x85\n\n", [("message", "x\x0by\x0cz\x1c\x85")]),
        (b"", []),
    ],
)
def test_events_are_read_as_the_standard_says_at_every_chunk_size(stream: bytes, events: list[tuple[str, str]]) -> None:
    wanted = [ServerSentEvent(kind, data) for kind, data in events]
    for size in range(1, len(stream) + 2):
        chunks = [stream[i : i + size] for i in range(0, len(stream), size)]
        assert read(SseDecoder(), chunks) == wanted, size


LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)


@given(st.lists(st.tuples(st.sampled_from(["", "delta", "done"]), st.lists(LINES, min_size=1, max_size=3)), max_size=6), st.data())
def test_any_cut_and_any_line_end_gives_the_events_that_were_sent(events: list[tuple[str, list[str]]], data: st.DataObject) -> None:
    stream = b""
    for kind, lines in events:
        end = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
        stream += (b"event: " + kind.encode() + end if kind else b"") + b"".join(b"data: " + line.encode() + end for line in lines) + end
    chunks = cut(stream, data.draw(st.lists(st.integers(0, max(len(stream), 1)), max_size=8)))
    assert read(SseDecoder(), chunks) == [ServerSentEvent(kind or "message", "\n".join(lines)) for kind, lines in events]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3), max_leaves=6
)


@given(st.lists(JSON, max_size=6), st.booleans(), st.data())
def test_lines_of_json_survive_any_cut(values: list[Any], ended: bool, data: st.DataObject) -> None:
    stream = b"\n".join(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") for value in values) + (b"\n" if ended else b"")
    wanted = [json.loads(line) for line in stream.split(b"\n") if line]
    chunks = cut(stream, data.draw(st.lists(st.integers(0, max(len(stream), 1)), max_size=8)))
    assert read(NdjsonDecoder(), chunks) == wanted


@pytest.mark.parametrize("text", ["{", "nope", '{"a": SECRET}', ""])
def test_what_is_no_json_is_said_without_showing_it(text: str) -> None:
    with pytest.raises(ProviderProtocolError) as caught:
        parse_json(text)
    assert "SECRET" not in str(caught.value)
    assert str(len(text)) in str(caught.value)
    with pytest.raises(ProviderProtocolError):
        read(NdjsonDecoder(), [b'{"a": 1}\n{"b": \n'])


def test_a_line_that_never_ends_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfp_core.sse.MAX_EVENT_BYTES", 1000)
    with pytest.raises(ProviderProtocolError, match="1000 bytes"):
        read(SseDecoder(), [b"data: " + b"x" * 100] * 20)
    with pytest.raises(ProviderProtocolError, match="1000 bytes"):
        read(SseDecoder(), [b"data: " + b"x" * 100 + b"\n"] * 20)
