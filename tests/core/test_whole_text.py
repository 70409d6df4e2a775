"""Characters that were cut in two come out whole, wherever the cuts are."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from agentfp.http import SseDecoder, WholeText, parse_json, without_surrogates


def halves(text: str) -> list[str]:
    """A text as the units of UTF-16, each of them a text."""
    raw = text.encode("utf-16-le")
    return [raw[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(raw), 2)]


@given(st.text(st.characters(codec="utf-8")), st.lists(st.integers(1, 3), min_size=1))
def test_any_cuts_give_the_text(text: str, sizes: list[int]) -> None:
    units, pieces, place = halves(text), [], 0
    for turn in range(len(units)):
        size = sizes[turn % len(sizes)]
        pieces.append("".join(units[place : place + size]))
        place += size
    reading = WholeText()
    shown = [reading.feed(piece) for piece in pieces]
    assert "".join([*shown, reading.finish()]) == text
    for piece in shown:
        piece.encode()


@given(st.text())
def test_any_text_can_be_encoded_after(text: str) -> None:
    without_surrogates(text).encode()
    reading = WholeText()
    (reading.feed(text) + reading.finish()).encode()


def test_halves_come_through_the_readers() -> None:
    first, second = halves("👋")
    body = "".join(f"data: {json.dumps({'text': piece})}\n\n" for piece in ("a" + first, second + "b")).encode()
    reading = WholeText()
    events = [event.json()["text"] for event in SseDecoder().feed(body)]
    assert reading.feed(events[0]) + reading.feed(events[1]) + reading.finish() == "a👋b"
    assert parse_json(b'"\\ud83d"') == "\ud83d"
