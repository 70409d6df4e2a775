"""Schemas whose objects are closed, for providers that take no others."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pydantic
import pytest

from agentfp.model import closed_schema


class Port(pydantic.BaseModel):
    """A port."""

    number: Annotated[int, pydantic.Field(ge=1, description="Its number.")]
    state: Literal["up", "down"] = "up"


class Report(pydantic.BaseModel):
    ports: Annotated[list[Port], pydantic.Field(min_length=2)]
    note: str | None = None


class Tree(pydantic.BaseModel):
    name: str
    children: list["Tree"]  # noqa: UP037 (it is not defined yet)


def objects(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, dict):
        inner = [found for value in schema.values() for found in objects(value)]
        return [schema, *inner] if "properties" in schema and schema.get("type") == "object" else inner
    return [found for value in schema for found in objects(value)] if isinstance(schema, list) else []


@pytest.mark.parametrize("kind", [Port, Report, Tree])
def test_all_objects_are_closed(kind: type[pydantic.BaseModel]) -> None:
    made = closed_schema(kind.model_json_schema())
    assert made is not None
    assert objects(made)
    assert all(found["additionalProperties"] is False for found in objects(made))


def test_limits_are_said_in_the_description() -> None:
    made = closed_schema(Report.model_json_schema())
    assert made is not None
    assert made["properties"]["ports"]["description"] == "{minItems: 2}"
    assert made["$defs"]["Port"]["properties"]["number"] == {
        "type": "integer",
        "title": "Number",
        "description": "Its number.\n\n{minimum: 1}",
    }


def test_what_needs_no_change_is_the_same() -> None:
    schema = {"type": "array", "items": {"type": "string", "format": "date", "enum": ["a"]}, "minItems": 1}
    assert closed_schema(schema) == schema
    assert closed_schema({"oneOf": [{"type": "string"}, {"$ref": "#/x"}]}) == {"anyOf": [{"type": "string"}, {"$ref": "#/x"}]}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "array", "items": {"type": "object", "properties": {"a": {}}, "additionalProperties": True}},
    ],
)
def test_free_keys_have_no_closed_schema(schema: dict[str, Any]) -> None:
    assert closed_schema(schema) is None
