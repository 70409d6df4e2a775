"""Declarations are read field by field: what cannot be read is dropped and counted, and nothing is filled in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp_findings.declaration import Declaration, read_declaration, split
from tests.plugins.findings.ledgers import judged, states


@pytest.mark.parametrize(
    ("value", "read", "malformed"),
    [
        (None, None, 1),
        ([], None, 1),
        ({}, None, 0),
        ({"else": 1}, None, 0),
        ({"basis": "sure"}, None, 1),
        ({"basis": "Direct"}, None, 1),
        ({"basis": None}, None, 1),
        ({"basis": "direct"}, Declaration("direct"), 0),
        ({"basis": "direct", "expect": 3, "proposition": 4, "predicts": None}, Declaration("direct"), 3),
        ({"expect": "high", "proposition": "p"}, Declaration(None, "high", "p"), 0),
        ({"previous": {}}, None, 1),
        ({"previous": [1, {}, {"tool_call_id": 1, "standing": "fact"}, judged("c1", "maybe"), {"standing": "fact"}]}, None, 5),
        ({"basis": "direct", "proposition": "\ud800x"}, Declaration("direct", None, "\ufffdx"), 0),
    ],
)
def test_top_level_fields(value: Any, read: Declaration | None, malformed: int) -> None:
    assert read_declaration(value) == (read, malformed)


def test_the_fields_of_a_standing() -> None:
    item = judged("c1", "fact", sought="yes", settles=1, line=2, assertions={})
    declaration, malformed = read_declaration({"previous": [item, judged("c2", "open", sought=False, settles="s", line="l")]})
    assert malformed == 4
    assert declaration is not None
    first, second = declaration.previous
    assert (first.sought, first.settles, first.line, first.assertions) == (None, None, None, ())
    assert (second.sought, second.settles, second.line) == (False, "s", "l")


def test_assertions() -> None:
    good, null = states("door", "d12", "lock", {"b": 1, "a": [2]}), states("door", "d12", "seen", None)
    bad: list[Any] = [1, {}, {"subject": 1, "predicate": "p", "value": 1}, {"subject": {"kind": "k"}, "predicate": "p", "value": 1}]
    bad += [{"subject": {"kind": "k", "id": 1}, "predicate": "p", "value": 1}, {"subject": {"kind": "k", "id": "i"}, "predicate": "p"}]
    declaration, malformed = read_declaration({"previous": [judged("c1", "fact", assertions=[good, *bad, null])]})
    assert malformed == 6
    assert declaration is not None
    assert [(a.kind, a.id, a.predicate, a.value) for a in declaration.previous[0].assertions] == [
        ("door", "d12", "lock", '{"a":[2],"b":1}'),
        ("door", "d12", "seen", "null"),
    ]
    noise, _ = read_declaration({"previous": [judged("c1", "noise", assertions=[good])]})
    assert noise is not None
    assert noise.previous[0].assertions == ()


def test_arguments_without_a_declaration_are_the_same_object() -> None:
    arguments = {"q": "x", "nested": {"_findings": 1}}
    assert split(arguments)[0] is arguments
    assert split({"q": "x", "_findings": {"basis": "direct"}}) == ({"q": "x"}, Declaration("direct"), 0)
    assert split({"_findings": "x"}) == ({}, None, 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["basis", "previous", "tool_call_id", "standing", "assertions", "subject", "kind", "id", "predicate", "value"]),
            inner | st.sampled_from(["direct", "fact", "noise"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_anything_can_be_read(value: Any) -> None:
    declaration, malformed = read_declaration(value)
    assert malformed >= 0
    assert declaration is None or declaration.basis in (None, "direct", "exploratory")


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_a_number_that_is_none_of_jsons_is_no_value(value: float) -> None:
    assertion = {"subject": {"kind": "door", "id": "d12"}, "predicate": "height", "value": [value]}
    found, wrong = read_declaration({"previous": [{"tool_call_id": "c1", "standing": "fact", "assertions": [assertion]}]})
    assert found is not None
    assert (found.previous[0].assertions, wrong) == ((), 1)
