"""Schemas in the strict form: where there is one it allows what the schema allows, and where there is none nothing is changed."""

from __future__ import annotations

import json
from decimal import Decimal
from enum import Enum
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from agentfp_openai.strict import strict_form


class Kind(Enum):
    A = "a"
    B = "b"


class Leaf(BaseModel):
    """A leaf."""

    name: str
    kind: Kind
    size: int = Field(ge=1, le=10)
    tag: Literal["x"]


class Tree(BaseModel):
    model_config = ConfigDict(extra="forbid")
    leaves: list[Leaf] = Field(description="All of them.")
    first: Leaf = Field(description="The first one.")
    other: Leaf | None = None
    below: list[Tree]
    price: Decimal | None


def nodes(schema: Any) -> list[dict[str, Any]]:
    """Every object schema in a schema."""
    found = []
    if isinstance(schema, dict):
        found += [schema] if schema.get("type") == "object" else []
        for value in schema.values():
            found += nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            found += nodes(value)
    return found


def test_a_model_of_pydantic() -> None:
    schema = Tree.model_json_schema()
    form = strict_form(schema | {"$defs": schema["$defs"]})
    assert form is None, "the pattern of a Decimal looks around"
    del schema["$defs"]["Tree"]["properties"]["price"]
    schema["$defs"]["Tree"]["required"].remove("price")
    form = strict_form({**schema["$defs"]["Tree"], "$defs": schema["$defs"]})
    assert form is not None
    for node in nodes(form):
        assert node["required"] == list(node["properties"])
        assert node["additionalProperties"] is False
    assert "default" not in json.dumps(form)
    assert form["properties"]["first"]["description"] == "The first one.", "no reference has words beside it, and none are lost"
    leaf = {"name": "n", "kind": "a", "size": 3, "tag": "x"}
    good = {"leaves": [leaf], "first": leaf, "other": None, "below": []}
    jsonschema.validate(good, form)
    for bad in ({**leaf, "size": 11}, {**leaf, "tag": "y"}, {**leaf, "more": 1}, {"name": "n"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**good, "first": bad}, form)


OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({**OBJECT, "required": []}, id="may be left out"),
        pytest.param({"type": "object"}, id="any object"),
        pytest.param({"type": "object", "properties": {}}, id="an object that names nothing"),
        pytest.param({**OBJECT, "additionalProperties": True}, id="open"),
        pytest.param({**OBJECT, "additionalProperties": {"type": "string"}}, id="a mapping"),
        pytest.param({**OBJECT, "properties": {"a": {}}}, id="any value"),
        pytest.param({**OBJECT, "properties": {"a": True}}, id="true"),
        pytest.param({**OBJECT, "properties": {"a": {"type": "string", "minLength": 1}}}, id="length"),
        pytest.param({**OBJECT, "properties": {"a": {"type": "string", "format": "uri"}}}, id="format"),
        pytest.param({**OBJECT, "properties": {"a": {"type": "string", "pattern": "(?=x)"}}}, id="pattern"),
        pytest.param({**OBJECT, "properties": {"a": {"type": "array", "prefixItems": [{"type": "string"}]}}}, id="tuple"),
        pytest.param({**OBJECT, "properties": {"a": {"type": "array"}}}, id="any list"),
        pytest.param({**OBJECT, "properties": {"a": {"oneOf": [{"type": "string"}]}}}, id="oneOf"),
        pytest.param({**OBJECT, "properties": {"a": {"allOf": [{"type": "string"}]}}}, id="allOf"),
        pytest.param({**OBJECT, "properties": {"a": {"$ref": "https://example.com/x"}}}, id="a reference elsewhere"),
        pytest.param({**OBJECT, "properties": {"a": {"$ref": "#/$defs/b"}}}, id="a reference to nothing"),
        pytest.param({**OBJECT, "properties": {"a": {"type": "string", "default": None}}, "required": []}, id="null is not allowed"),
        pytest.param({**OBJECT, "properties": {"a": {"type": "text"}}}, id="no type"),
        pytest.param({"type": "array", "items": OBJECT}, id="no object"),
        pytest.param({"anyOf": [OBJECT, OBJECT]}, id="a choice at the root"),
    ],
)
def test_what_has_no_strict_form(schema: dict[str, Any]) -> None:
    before = json.dumps(schema)
    assert strict_form(schema) is None
    assert json.dumps(schema) == before


def test_null_stands_for_what_is_left_out() -> None:
    form = strict_form({"type": "object", "properties": {"a": {"type": ["string", "null"], "default": None}}})
    assert form == {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"], "additionalProperties": False}


def test_too_deep_and_too_much() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(11):
        deep = {"type": "object", "properties": {"a": deep}, "required": ["a"]}
    assert strict_form(deep) is None
    assert strict_form(deep["properties"]["a"]["properties"]["a"]) is not None
    assert strict_form({**OBJECT, "properties": {"a": {"enum": list(range(1_001))}}}) is None


values = st.recursive(
    st.sampled_from([None, 0, 1, 2.5, "x", "2026-01-01", True]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
plain: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"type": "string"},
        {"type": ["string", "null"], "default": None},
        {"type": "integer", "minimum": 1, "description": "d"},
        {"enum": ["x", 1]},
        {"const": "x"},
        {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
        {"type": "string", "minLength": 2},
        {"type": "boolean", "default": True},
    ]
)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    properties = st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    required = st.sets(st.sampled_from("ab"))
    closed = st.sampled_from([{}, {"additionalProperties": False}, {"additionalProperties": True}])
    return st.builds(
        lambda p, r, c: {"type": "object", "properties": p, "required": [name for name in p if name in r], **c},
        properties,
        required,
        closed,
    )


schemas = objects(
    st.recursive(
        plain, lambda inner: objects(inner) | st.builds(lambda items: {"type": "array", "items": items, "maxItems": 2}, inner), max_leaves=4
    )
)


@given(schemas, values)
def test_the_strict_form_allows_nothing_that_the_schema_does_not(schema: dict[str, Any], value: Any) -> None:
    form = strict_form(schema)
    if form is None:
        return
    jsonschema.Draft202012Validator.check_schema(form)
    if jsonschema.Draft202012Validator(form).is_valid(value):
        assert jsonschema.Draft202012Validator(schema).is_valid(value)
    for node in nodes(form):
        assert node["required"] == list(node["properties"])
