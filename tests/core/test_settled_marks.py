"""Cache marks as providers with breakpoints take them."""

from __future__ import annotations

from typing import Literal

import pytest

from agentfp.model import CacheMark, settled_marks

Field = Literal["system", "tools", "messages"]


def settle(
    *marks: CacheMark, system: str = "Be brief.", tools: int = 2, messages: tuple[bool, ...] = (True, True, True)
) -> list[CacheMark]:
    return settled_marks(marks, system=system, tools=tools, messages=messages)


def test_they_stand_in_the_order_of_the_prompt() -> None:
    marks = CacheMark("messages", 2), CacheMark("system", 9), CacheMark("tools", 2), CacheMark("system", 4)
    assert settle(*marks) == [CacheMark("tools", 2), CacheMark("system", 4), CacheMark("system", 9), CacheMark("messages", 2)]


@pytest.mark.parametrize(("field", "upto"), [("tools", 0), ("system", 0), ("messages", 0)])
def test_a_mark_with_nothing_before_it_is_left_out(field: Field, upto: int) -> None:
    assert settle(CacheMark(field, upto)) == []
    assert settle(CacheMark(field, 5), system="  ", tools=0, messages=()) == []


def test_of_too_many_the_last_stay() -> None:
    marks = [CacheMark("messages", n) for n in range(1, 7)]
    assert settle(*marks, messages=(True,) * 6) == marks[-4:]


def test_what_stands_before_a_long_one_is_long() -> None:
    made = settle(CacheMark("tools", 1), CacheMark("system", 4, "long"), CacheMark("messages", 1))
    assert [mark.ttl for mark in made] == ["long", "long", "short"]


def test_marks_of_one_place_are_one_and_the_long_one_wins() -> None:
    assert settle(CacheMark("tools", 2, "long"), CacheMark("tools", 9)) == [CacheMark("tools", 2, "long")]


def test_a_message_that_takes_no_mark_hands_it_to_the_one_before() -> None:
    assert settle(CacheMark("messages", 3), messages=(True, False, False)) == [CacheMark("messages", 1)]
    assert settle(CacheMark("messages", 3), messages=(False, False, False)) == []
