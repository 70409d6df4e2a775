"""A text that comes in pieces is masked as if all that is kept back were searched anew with each piece."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp_core.redaction import PLACEHOLDER, SecretMask
from agentfp_core.stream_mask import StreamMask

FEW = 'ab"\\\n/é'
SECRETS = st.sets(st.text(FEW, min_size=1, max_size=12), min_size=1, max_size=3)
WRITERS = (
    str,
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(json.dumps(text, ensure_ascii=False))[1:-1],
    lambda text: json.dumps(json.dumps(json.dumps(json.dumps(json.dumps(text)))))[1:-1],
    lambda text: repr(text)[1:-1],
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: text.encode().hex(),
)


class Naive:
    """What `StreamMask` does, by searching all that is kept back with each piece."""

    def __init__(self, mask: SecretMask) -> None:
        self._mask = mask
        self._kept = ""

    def feed(self, text: str) -> str:
        known = self._mask.mask_text(self._kept + text)
        at = min((len(known) - self._begun(form, known) for form in self._mask.forms()), default=len(known))
        self._kept = known[at:]
        return known[:at]

    def finish(self) -> str:
        rest, self._kept = self._kept, ""
        return rest

    @staticmethod
    def _begun(form: str, text: str) -> int:
        return next((n for n in range(len(form) - 1, 0, -1) if text.endswith(form[:n])), 0)


@st.composite
def streams(draw: st.DrawFn) -> tuple[set[str], list[str]]:
    """Secrets, and pieces of a text in which they and parts of them stand in many forms."""
    secrets = draw(SECRETS)
    written = st.builds(lambda secret, write: write(secret), st.sampled_from(sorted(secrets)), st.sampled_from(WRITERS))
    begun = st.builds(lambda text, n: text[:n], written, st.integers(0, 40))
    text = "".join(draw(st.lists(st.one_of(written, begun, st.text(FEW, max_size=6)), min_size=1, max_size=6)))
    pieces = []
    while text:
        n = draw(st.integers(1, 9) | st.integers(1, 60))
        pieces.append(text[:n])
        text = text[n:]
    return secrets, pieces


@given(streams())
def test_each_piece_gives_what_a_search_of_the_whole_would(case: tuple[set[str], list[str]]) -> None:
    secrets, pieces = case
    stream, naive = StreamMask(SecretMask(secrets)), Naive(SecretMask(secrets))
    for piece in pieces:
        assert stream.feed(piece) == naive.feed(piece)
    assert stream.finish() == naive.finish()


@given(streams(), st.text(FEW, min_size=4, max_size=12))
def test_a_value_that_comes_to_be_known_later_is_masked_from_then_on(case: tuple[set[str], list[str]], later: str) -> None:
    secrets, pieces = case
    stream, naive = StreamMask(SecretMask(secrets)), Naive(SecretMask(secrets))
    for number, piece in enumerate([*pieces, later]):
        if number == len(pieces) // 2:
            secrets.add(later)
        assert stream.feed(piece) == naive.feed(piece)
    assert stream.finish() == naive.finish()


def pieces_of(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


@pytest.mark.parametrize("form", ["plain", "json", "json in json", "repr", "base64", "hex"])
@pytest.mark.parametrize("size", [1, 7, 5_000])
def test_a_long_value_is_masked_whole_in_whatever_pieces(form: str, size: int) -> None:
    secret = "\n".join(f'line "{n}" of a key' for n in range(400)) + "\n"
    once = json.dumps(secret)[1:-1]
    written = {
        "plain": secret,
        "json": once,
        "json in json": json.dumps(once)[1:-1],
        "repr": repr(secret)[1:-1],
        "base64": base64.b64encode(secret.encode()).decode(),
        "hex": secret.encode().hex(),
    }
    stream = StreamMask(SecretMask({secret}))
    shown = "".join(map(stream.feed, pieces_of(f"before {written[form]} after", size))) + stream.finish()
    assert shown.startswith(f"before {PLACEHOLDER}")
    assert shown.endswith(" after")
    assert len(shown) <= len(f"before {PLACEHOLDER}== after")


def test_what_only_began_like_a_value_is_shown_at_last() -> None:
    secret = "ab" * 3_000 + "c"
    stream = StreamMask(SecretMask({secret}))
    text = "ab" * 2_999 + "x" + "ab" * 2_000
    assert "".join(map(stream.feed, pieces_of(text, 3))) + stream.finish() == text
