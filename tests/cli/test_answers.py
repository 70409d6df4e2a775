"""What a person types, as the answer to a question."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import Question, approve, reject
from agentfp_core.cli.answers import answer_of

INTEGER = {"type": "integer"}
TEXT = {"type": "string"}


def question(kind: Any, schema: dict[str, Any] | None = None) -> Question:
    return Question("q_1", kind, "?", schema=schema)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("approve", approve(by="ann")),
        (" Yes ", approve(by="ann")),
        ("reject", reject(by="ann")),
        ("no: too early: wait", reject("too early: wait", by="ann")),
        ('{"approved": true, "args": {"port": 4}}', {"approved": True, "args": {"port": 4}, "by": "ann"}),
    ],
)
def test_decisions(text: str, answer: Any) -> None:
    assert answer_of(question("decision"), text, by="ann") == answer


@pytest.mark.parametrize("text", ["", "perhaps", "{}", '{"approved": "yes"}', "approved by all"])
def test_what_is_no_decision(text: str) -> None:
    with pytest.raises(ValueError, match="a decision is approve, reject"):
        answer_of(question("decision"), text)


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (None, "007", "007"),
        (None, '{"a": 1}', '{"a": 1}'),
        (TEXT, "42", "42"),
        (TEXT, '"quoted"', '"quoted"'),
        (INTEGER, "42", 42),
        (INTEGER, "many", "many"),
        ({"type": "boolean"}, "true", True),
        ({"enum": ["red", "blue"]}, "red", "red"),
        ({"enum": ["red", "blue"]}, '"red"', "red"),
        ({"type": "array", "items": INTEGER}, "[1, 2]", [1, 2]),
        ({"type": ["string", "integer"]}, "42", 42),
        ({"type": "nonsense"}, "x", "x"),
    ],
)
def test_values(schema: dict[str, Any] | None, text: str, value: Any) -> None:
    assert answer_of(question("value", schema), text) == value


def test_an_acknowledgement_is_one_whatever_is_typed() -> None:
    assert answer_of(question("acknowledge"), "") is True
