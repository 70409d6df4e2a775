"""Ids and names of calls made to fit a provider: unchanged where they do, apart where they were apart, the same each time."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from agentfp.model import fitting_id, fitting_name

PLAIN = re.compile(r"[a-zA-Z0-9_-]+")


@given(st.text(), st.integers(40, 128))
def test_any_id_fits_and_fits_the_same_way_each_time(call_id: str, longest: int) -> None:
    made = fitting_id(call_id, longest=longest)
    assert PLAIN.fullmatch(made)
    assert len(made) <= longest
    assert made == fitting_id(call_id, longest=longest) == fitting_id(made, longest=longest)


@given(st.lists(st.text("a./_", min_size=0, max_size=4) | st.text("x", min_size=38, max_size=44), min_size=2, unique=True))
def test_ids_stay_apart(ids: list[str]) -> None:
    assert len({fitting_id(one, longest=40) for one in ids}) == len(ids)
    assert len({fitting_id(one, longest=40, any_letters=True) for one in ids}) == len(ids)


def test_what_fits_is_left_as_it_is() -> None:
    assert fitting_id("call_1-A") == "call_1-A"
    assert fitting_id("functions.look:0", any_letters=True) == "functions.look:0"
    assert fitting_name("look_it-up") == "look_it-up"
    assert (fitting_name("a b!"), fitting_name(""), fitting_name("x" * 99)) == ("a_b_", "_", "x" * 64)
