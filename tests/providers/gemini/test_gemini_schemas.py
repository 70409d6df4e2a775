"""JSON schemas as Gemini reads them: the same values fit, or the keyword that stands in the way is named."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from agentfp_gemini.schemas import SchemaError, converted
from tests.providers.gemini.oracle import types

PLAIN = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "required": ["a"], "additionalProperties": False}


class Leaf(BaseModel):
    name: Annotated[str, Field(min_length=1, pattern="^[a-z]+$")]
    kind: Literal["a", "b"] = "a"


class Tree(BaseModel):
    leaf: Leaf = Field(description="the one")
    more: list[Leaf] = []
    below: Tree | None = None
    by_name: dict[str, Leaf] = {}
    one: Literal["only"] = "only"


def test_a_plain_schema_goes_out_as_it_is() -> None:
    assert converted(PLAIN) == PLAIN
    made = types.FunctionDeclaration.model_validate({"name": "t", "parametersJsonSchema": converted(PLAIN)})
    assert made.parameters_json_schema == PLAIN


def test_a_models_schema_keeps_its_meaning() -> None:
    schema = Tree.model_json_schema()
    made = converted(schema)
    assert set(made["$defs"]) == {"Leaf", "Tree"}
    good = Tree(leaf=Leaf(name="x"), below=Tree(leaf=Leaf(name="y"))).model_dump()
    bad = {**good, "below": {"leaf": {"name": 5}}}
    for validator in (schema, made):
        jsonschema.validate(good, validator)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, validator)


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({"const": "x"}, {"enum": ["x"]}),
        ({"const": True}, {"const": True}),
        ({"properties": {"a": True}}, {"properties": {"a": {}}}),
        ({"$schema": "x", "$id": "y", "type": "object"}, {"type": "object"}),
        ({"items": [{"type": "string"}]}, {"prefixItems": [{"type": "string"}]}),
        (
            {"allOf": [{"$ref": "#/$defs/A"}], "description": "d", "$defs": {"A": {}}},
            {"$ref": "#/$defs/A", "description": "d", "$defs": {"A": {}}},
        ),
        (
            {"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}], "title": "T"},
            {"properties": {"a": {}, "b": {}}, "required": ["a", "b"], "title": "T"},
        ),
        (
            {"items": {"$ref": "#/definitions/A"}, "definitions": {"A": {"type": "null"}}},
            {"items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"type": "null"}}},
        ),
        (
            {"properties": {"h": {"type": "object"}, "i": {"items": {"$ref": "#/properties/h"}}}},
            {"properties": {"h": {"type": "object"}, "i": {"items": {"$ref": "#/$defs/h"}}}, "$defs": {"h": {"type": "object"}}},
        ),
        (
            {"items": {"$ref": "#/$defs/A", "minLength": 2}, "$defs": {"A": {"type": "string"}}},
            {"items": {"type": "string", "minLength": 2}},
        ),
        (
            {"items": {"$ref": "#/$defs/A", "title": "T", "default": 1}, "$defs": {"A": {}}},
            {"items": {"$ref": "#/$defs/A", "default": 1}, "$defs": {"A": {}}},
        ),
        (
            {"properties": {"below": {"$ref": "#"}}},
            {"properties": {"below": {"$ref": "#/$defs/root"}}, "$defs": {"root": {"properties": {"below": {"$ref": "#/$defs/root"}}}}},
        ),
        (
            {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/b/A"}], "$defs": {"A": {"type": "null"}, "b": {"A": {"type": "string"}}}},
            {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A_2"}], "$defs": {"A": {"type": "null"}, "A_2": {"type": "string"}}},
        ),
    ],
)
def test_what_is_written_otherwise(schema: dict[str, Any], made: dict[str, Any]) -> None:
    before = repr(schema)
    assert converted(schema) == made
    assert repr(schema) == before


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"properties": {"a": {"not": {}}}}, "'not' at '#/properties/a'"),
        ({"patternProperties": {"^x": {}}}, "'patternProperties' at '#'"),
        ({"items": {"$ref": "https://example.org/s.json"}}, "'$ref' at '#/items' leads out of the schema"),
        ({"items": {"$ref": "#/$defs/Gone"}}, "'$ref' at '#/items' leads nowhere"),
        ({"properties": {"a": False}}, "'false' at '#/properties/a'"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "'allOf' at '#' has members that differ in 'type'"),
        ({"const": {"a": 1}}, "'const' at '#' is neither a text nor a number"),
        ({"$ref": "#/$defs/A", "minimum": 1, "$defs": {"A": {"$ref": "#/$defs/A"}}}, "'$ref' at '#' leads to itself"),
        (
            {"items": {"$ref": "#/$defs/A", "minimum": 1}, "$defs": {"A": {"items": {"$ref": "#/$defs/A", "minimum": 1}}}},
            "leads to itself and has more",
        ),
    ],
)
def test_what_cannot_be_said_is_refused_by_name_and_place(schema: dict[str, Any], says: str) -> None:
    with pytest.raises(SchemaError) as caught:
        converted(schema)
    assert says in str(caught.value)


def test_a_schema_that_would_grow_without_end_is_refused() -> None:
    defs = {f"D{n}": {"properties": {s: {"$ref": f"#/$defs/D{n + 1}", "minProperties": n} for s in "ab"}} for n in range(20)}
    with pytest.raises(SchemaError, match="larger than"):
        converted({"$ref": "#/$defs/D0", "minProperties": 0, "$defs": {**defs, "D20": {}}})


def test_a_schema_that_is_nested_without_end_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(2_000):
        schema = {"items": schema}
    with pytest.raises(SchemaError, match="too deep"):
        converted(schema)


_leaf = st.sampled_from(
    [{"type": "integer"}, {"type": "string"}, {"const": "x"}, {"enum": [1, 2]}, {"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]
)
_schema = st.recursive(
    _leaf,
    lambda inner: st.one_of(
        st.builds(lambda item: {"type": "array", "items": item}, inner),
        st.builds(lambda a, b: {"type": "object", "properties": {"a": a, "b": b}, "required": ["a"]}, inner, inner),
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
        st.builds(lambda a: {"allOf": [a]}, inner),
    ),
    max_leaves=5,
)
_value = st.recursive(
    st.sampled_from([1, 2, "x", "y", None, True]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=150)
@given(_schema, st.lists(_value, max_size=8))
def test_the_same_values_fit_before_and_after(schema: dict[str, Any], values: list[Any]) -> None:
    defs = {"A": {"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}}}, "B": {"type": "array", "items": {"$ref": "#/$defs/A"}}}
    before = {"type": "object", "properties": {"v": schema}, "$defs": defs}
    after = converted(before)
    for value in values:
        first, second = (jsonschema.Draft202012Validator(one).is_valid({"v": value}) for one in (before, after))
        assert first == second
