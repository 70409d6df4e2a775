"""Checking the arguments of a call: what fits, what is forgiven, what the model is told, and that nothing ever raises."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import uuid
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BeforeValidator, Field

from agentfp_core.arguments import Invalid, Validated, validate
from agentfp_core.errors import RetryTool
from agentfp_core.events.tool import ArgumentIssue
from agentfp_core.tools import Tool, raw_tool, tool


class Row(pydantic.BaseModel):
    id: int
    note: str = ""


class Dated(pydantic.BaseModel):
    day: datetime.date
    n: int = 0

    @pydantic.model_validator(mode="before")
    @classmethod
    def look(cls, value: Any) -> Any:
        return value


@dataclasses.dataclass
class Point:
    x: int


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


def _tool(hint: Any, default: Any = ...) -> Tool[..., Any]:
    def f(n: Any = default) -> None: ...

    f.__annotations__["n"] = hint
    if default is ...:
        f.__defaults__ = None
    return Tool.of(f)


def _good(made: Tool[..., Any], text: str) -> dict[str, Any]:
    checked = validate(made, text)
    assert isinstance(checked, Validated), checked
    return checked.arguments


def _bad(made: Tool[..., Any], text: str) -> Invalid:
    checked = validate(made, text)
    assert isinstance(checked, Invalid), checked
    return checked


@tool
def two(n: int, rows: list[Row], title: str = "t", price: float = 1.0) -> None: ...


# --- what fits --------------------------------------------------------------------------------------------------------------


def test_values_come_converted_and_defaults_filled() -> None:
    assert _good(two, '{"n": 1, "rows": [{"id": 2}]}') == {"n": 1, "rows": [Row(id=2)], "title": "t", "price": 1.0}


ID = uuid.UUID(int=7)


@pytest.mark.parametrize(
    ("hint", "value", "wanted"),
    [
        (datetime.datetime, "2024-05-01T10:00:00", datetime.datetime(2024, 5, 1, 10)),  # noqa: DTZ001
        (datetime.date, "2024-05-01", datetime.date(2024, 5, 1)),
        (datetime.timedelta, "PT5S", datetime.timedelta(seconds=5)),
        (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
        (decimal.Decimal, 2, decimal.Decimal(2)),
        (uuid.UUID, str(ID), ID),
        (Colour, "red", Colour.RED),
        (bytes, "hi", b"hi"),
        (Point, {"x": 1}, Point(1)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (set[int], [1], {1}),
        (Literal["a"], "a", "a"),
        (float, 5, 5.0),
        (int | str, "5", "5"),
        (int, 2**70, 2**70),
        (Any, {"a": [1.5]}, {"a": [1.5]}),
    ],
)
def test_what_json_can_say_is_taken(hint: Any, value: Any, wanted: Any) -> None:
    got = _good(_tool(hint), json.dumps({"n": value}))["n"]
    assert got == wanted
    assert type(got) is type(wanted)


@pytest.mark.parametrize(
    ("hint", "text", "wanted"),
    [
        (int, "5.0", 5),
        (Annotated[int, Field(ge=1)], "5.0", 5),
        (list[int], "[1.0, 2]", [1, 2]),
        (int | str, "5.0", 5),
        (int | None, "5.0", 5),
        (dict[str, int], '{"a": 5.0}', {"a": 5}),
        (Row, '{"id": 5.0}', Row(id=5)),
        (Level, "1.0", Level.LOW),
        (Literal[1, 2], "2.0", 2),
    ],
)
def test_an_integral_float_is_an_integer(hint: Any, text: str, wanted: Any) -> None:
    got = _good(_tool(hint), f'{{"n": {text}}}')["n"]
    assert got == wanted
    assert type(got) is type(wanted)


def test_an_integral_float_stays_a_float_where_one_is_wanted() -> None:
    assert type(_good(_tool(float), '{"n": 5.0}')["n"]) is float
    assert type(_good(_tool(int | float), '{"n": 5.0}')["n"]) is float


def test_values_behind_a_before_validator_are_converted_too() -> None:
    assert _good(_tool(Dated), '{"n": {"day": "2024-05-01"}}')["n"] == Dated(day=datetime.date(2024, 5, 1))
    same: Any = BeforeValidator(lambda value: value)
    assert _good(_tool(Annotated[tuple[int, ...], same]), '{"n": [1]}')["n"] == (1,)
    broken = _bad(_tool(Dated), '{"n": {"day": "2024-05-01", "n": "5"}}')
    assert broken.issues == (ArgumentIssue("n.n", "integer", "string"),)


@pytest.mark.parametrize("text", ["", "  ", "null", "{}"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    assert _good(_tool(int, 3), text) == {"n": 3}
    assert _good(raw_tool("r", "", None, print), text) == {}


def test_the_last_of_duplicate_keys_counts() -> None:
    assert _good(_tool(int), '{"n": "x", "n": 2}') == {"n": 2}


# --- what does not fit ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "value", "expected", "got"),
    [
        (int, "5", "integer", "string"),
        (int, True, "integer", "boolean"),
        (int, 1.5, "integer", "number"),
        (int, None, "integer", "null"),
        (float, True, "number", "boolean"),
        (float, "1.5", "number", "string"),
        (bool, 1, "boolean", "integer"),
        (str, 5, "string", "integer"),
        (list[int], {}, "array", "object"),
        (Row, [], "object", "array"),
        (Point, 1, "object", "integer"),
        (int | str, [], "integer or string", "array"),
        (Literal["a", "b"], "c", "'a' or 'b'", "string"),
        (Colour, "blue", "'red'", "string"),
        (Annotated[int, Field(ge=1)], 0, "a value >= 1", "integer"),
        (Annotated[str, Field(max_length=2)], "abc", "at most 2 characters", "string"),
        (Annotated[str, Field(pattern="^a$")], "zzz", "text that matches ^a$", "string"),
        (Annotated[list[int], Field(min_length=1)], [], "at least 1 items", "array"),
        (datetime.date, "soon", "a date (YYYY-MM-DD)", "string"),
        (datetime.datetime, 5, "a date and time (ISO 8601)", "integer"),
        (decimal.Decimal, True, "number or decimal text", "boolean"),
        (uuid.UUID, "x", "a UUID", "string"),
    ],
)
def test_wrong_values_are_named_by_type(hint: Any, value: Any, expected: str, got: str) -> None:
    found = _bad(_tool(hint), json.dumps({"n": value}))
    assert found.issues == (ArgumentIssue("n", expected, got),)
    assert found.message.splitlines()[0] == f"'n': expected {expected}, got {got}"


def test_paths_missing_and_extra() -> None:
    found = _bad(two, '{"rows": [{"id": 1}, {"id": 1}, {"id": "SECRET"}], "titel": 3}')
    lines = found.message.splitlines()
    assert "'n' is required but missing" in lines
    assert "'rows[2].id': expected integer, got string" in lines
    assert any(line.startswith("'titel' is not accepted; did you mean 'title'?") for line in lines)
    assert lines[-1] == "The call did not run. Correct the arguments and call again."
    assert "SECRET" not in repr(found)


def test_at_most_ten_issues() -> None:
    found = _bad(_tool(list[int]), json.dumps({"n": ["x"] * 50}))
    assert len(found.issues) == 10
    assert sum("expected integer" in line for line in found.message.splitlines()) == 10
    assert "There are more of these." in found.message


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


def _speaks(value: int) -> int:
    raise RetryTool("use another number")


def _breaks(value: int) -> int:
    raise ZeroDivisionError("SECRET")


class _Unsayable(ValueError):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def _unsayable(value: int) -> int:
    raise _Unsayable


def test_words_of_a_validator() -> None:
    even = _tool(Annotated[int, AfterValidator(_even)])
    assert "must be even" in _bad(even, '{"n": 3}').message
    assert "must be even" not in _bad(Tool.of(even, redact=("n",)), '{"n": 3}').message
    assert _bad(_tool(Annotated[int, AfterValidator(_speaks)]), '{"n": 3}').message.startswith("use another number")
    broken = _bad(_tool(Annotated[int, AfterValidator(_breaks)]), '{"n": 3}')
    assert "SECRET" not in repr(broken)
    assert "could not be checked" in broken.message
    assert _bad(_tool(Annotated[int, AfterValidator(_unsayable)]), '{"n": 3}').issues


DEEP = '{"n": ' + "[" * 10_000 + "]" * 10_000 + "}"


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[1]", "3", '"x"', '{"n": NaN}', '{"n": Infinity}', '{"n": -Infinity}', '{"n": 1e400}'),
        *('{"n": "\\ud800"}', '{"n": "\ud800"}', DEEP, '{"n": ' + "9" * 5_000 + "}", '{"n": 1}\x00', "{'n': 1}"),
    ],
)
def test_malformed_text_is_invalid(text: str) -> None:
    found = _bad(_tool(float), text)
    assert len(found.issues) == 1
    assert found.message.endswith("Correct the arguments and call again.")


@pytest.mark.parametrize("text", ['{"n": NaN}', '{"n": [Infinity]}', DEEP, "[1]", "{", '{"n": "\ud800"}'])
def test_malformed_text_is_invalid_for_any_and_for_raw_tools(text: str) -> None:
    _bad(_tool(Any), text)
    _bad(raw_tool("r", "", None, print), text)


def test_the_word_nan_in_a_text_is_no_number() -> None:
    assert _good(_tool(str), '{"n": "NaN or Infinity"}') == {"n": "NaN or Infinity"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
RAW = raw_tool("r", "", {"properties": {"n": {"type": "integer"}, "rows": {"type": "array", "items": {"required": ["id"]}}}}, print)


@given(st.text() | JSON.map(json.dumps) | st.fixed_dictionaries({"n": JSON, "rows": JSON}).map(json.dumps))
def test_validating_never_raises(text: str) -> None:
    for made in (two, RAW, _tool(Dated | int | None)):
        checked = validate(made, text)
        assert isinstance(checked, (Validated, Invalid))
        if isinstance(checked, Invalid):
            assert 1 <= len(checked.issues) <= 10
            assert checked.message.endswith("call again.")


@given(st.integers() | st.booleans() | st.text() | st.floats(allow_nan=False, allow_infinity=False) | st.none())
def test_only_integers_pass_for_an_integer(value: Any) -> None:
    checked = validate(_INT, json.dumps({"n": value}))
    fits = not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    assert isinstance(checked, Validated) == fits
    if isinstance(checked, Validated):
        assert checked.arguments == {"n": value}
        assert type(checked.arguments["n"]) is int


_INT = _tool(int)


# --- raw schemas ------------------------------------------------------------------------------------------------------------


def _raw(schema: dict[str, Any]) -> Tool[..., Any]:
    return raw_tool("r", "", schema, print)


@pytest.mark.parametrize(
    ("schema", "value", "line"),
    [
        ({"type": "integer"}, "5", "'n': expected integer, got string"),
        ({"type": "integer"}, True, "'n': expected integer, got boolean"),
        ({"type": "integer"}, 1.5, "'n': expected integer, got number"),
        ({"type": ["integer", "null"]}, "x", "'n': expected integer or null, got string"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", "'n': expected integer or null, got string"),
        ({"enum": [1, "a"]}, True, "'n': expected one of 1, 'a', got boolean"),
        ({"minimum": 3}, 1, "'n': expected a value >= 3, got integer"),
        ({"required": ["b"]}, {}, "'n.b' is required but missing"),
        ({"items": {"properties": {"id": {"type": "integer"}}}}, [{}, {"id": "x"}], "'n[1].id': expected integer, got string"),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"z": 1}, "'n.z' is not accepted"),
        ({"pattern": "^a+$", "description": "Letters a."}, "zz", "'n': expected text that matches ^a+$ (Letters a.), got string"),
        ({"minLength": 3}, "zz", "'n': expected at least 3 characters, got string"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 3, "'n': expected one of the forms of its schema, got integer"),
    ],
)
def test_raw_schemas_are_enforced(schema: dict[str, Any], value: Any, line: str) -> None:
    found = _bad(_raw({"properties": {"n": schema}}), json.dumps({"n": value}))
    assert found.message.splitlines()[0] == line


def test_raw_required_at_the_top() -> None:
    assert _bad(_raw({"required": ["b"]}), '{"a": 1}').message.splitlines()[0] == "'b' is required but missing"


@pytest.mark.parametrize("value", [1, 1.0, 1e3])
def test_raw_integral_floats_pass(value: float) -> None:
    assert _good(_raw({"properties": {"n": {"type": "integer"}}}), json.dumps({"n": value})) == {"n": value}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "quantity"},
        {"pattern": "("},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.invalid/schema"},
        {"$ref": "#/properties/n"},
        {"allOf": [{"$ref": "#/properties/n"}, {"$ref": "#/properties/n"}]},
        {"minimum": "low"},
        {"enum": 3},
        {"required": "x"},
        {"properties": 4},
        {"type": 7},
        {"futureKeyword": {"a": 1}},
    ],
)
def test_a_broken_schema_never_rejects(schema: dict[str, Any]) -> None:
    for value in ("text", 5, {"a": 1}):
        assert _good(_raw({"properties": {"n": schema}}), json.dumps({"n": value})) == {"n": value}


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"pattern": "("}},
        {"not": {"not": {"not": {"pattern": "("}}}},
        {"oneOf": [{"pattern": "("}, {"pattern": "("}]},
        {"if": {"pattern": "("}, "then": {"type": "integer"}},
    ],
)
def test_a_broken_keyword_inside_a_negation_does_not_reject(schema: dict[str, Any]) -> None:
    assert _good(_raw({"properties": {"n": schema}}), '{"n": "text"}') == {"n": "text"}


def test_what_is_sound_beside_a_broken_keyword_is_enforced() -> None:
    assert _bad(_raw({"properties": {"n": {"pattern": "(", "minLength": 9}}}), '{"n": "x"}').issues[0].expected == "at least 9 characters"


def test_patterns_are_not_run_on_very_long_texts() -> None:
    made = _raw({"properties": {"n": {"pattern": "^(a+)+$"}}})
    assert isinstance(validate(made, json.dumps({"n": "a" * 20_000 + "b"})), Validated)


def test_raw_issues_are_at_most_ten_and_name_no_values() -> None:
    made = _raw({"properties": {"n": {"items": {"type": "integer"}}}})
    found = _bad(made, json.dumps({"n": ["SECRET"] * 30}))
    assert len(found.issues) == 10
    assert "SECRET" not in repr(found)


def test_rules_of_redacted_raw_arguments_are_not_described() -> None:
    made = Tool.of(_raw({"properties": {"n": {"pattern": "^k-", "description": "The key."}}}), redact=("n",))
    assert "The key" not in _bad(made, '{"n": "x"}').message


@given(JSON.filter(lambda value: isinstance(value, dict)), JSON)
def test_any_schema_at_all_is_survived(schema: Any, value: Any) -> None:
    checked = validate(_raw({"properties": {"n": schema}}), json.dumps({"n": value}))
    assert isinstance(checked, (Validated, Invalid))
