"""JSON schemas as Gemini reads them: the same meaning, written with what it understands, or refused by name.

``parametersJsonSchema`` and ``responseJsonSchema`` take JSON Schema, with these limits: a ``$ref`` leads into ``$defs`` and has nothing
but a description and a default beside it; there is no ``const``, ``allOf``, ``not``, ``if`` and the like. Keywords that only narrow a
value further (``pattern``, ``minLength``, ...) may be read past by the model; they go out as they are, and the arguments of a call are
checked against the whole schema when they come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

MAX_NODES = 20_000
"""What a converted schema may hold. One that refers to itself in clever ways would grow without end."""

_HOPELESS = ("$dynamicRef", "$recursiveRef", "not", "if", "then", "else", "dependentSchemas", "patternProperties", "unevaluatedProperties")
_DROPPED = ("$schema", "$id", "$comment", "$anchor", "$defs", "definitions")
_BESIDE_REF = ("description", "default")
_REMARKS = (*_BESIDE_REF, *_DROPPED, "title", "examples", "deprecated", "readOnly", "writeOnly")
_MANY = ("anyOf", "oneOf", "prefixItems")
_ONE = ("items", "additionalProperties", "contains", "propertyNames")


class SchemaError(ValueError):
    """A schema holds a keyword that Gemini has nothing for.

    Args:
        keyword: the keyword.
        path: where it stands.
        why: what is wrong with it, where that is more than its being there.
    """

    def __init__(self, keyword: str, path: str, why: str = "") -> None:
        self.keyword = keyword
        self.path = path
        super().__init__(f"{keyword!r} at {path!r}{why}")


def converted(schema: Mapping[str, Any]) -> Schema:
    """A schema as Gemini reads it.

    Args:
        schema: JSON schema. It is not changed.

    Raises:
        SchemaError: it cannot be said to Gemini; names the keyword and its place.
    """
    try:
        return _Converter(schema).run()
    except RecursionError as error:
        raise SchemaError("nesting", "#", " is too deep") from error


class _Converter:
    """Walks one schema. What references lead to is moved to ``$defs``, each place once."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._names: dict[str, str] = {}  # of a definition, by the reference to it
        self._waiting: list[str] = []
        self._open: list[str] = []
        self._nodes = 0

    def run(self) -> Schema:
        made: Schema = self._schema(self._root, "#")
        defs: Schema = {}
        while self._waiting:
            reference = self._waiting.pop()
            defs[self._names[reference]] = self._schema(self._target(reference), reference)
        if defs:
            made["$defs"] = dict(sorted(defs.items()))
        return made

    def _schema(self, schema: Any, path: str) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise SchemaError("$ref", path, f" makes it larger than {MAX_NODES} schemas")
        if schema is True:
            return {}
        if not isinstance(schema, Mapping):
            raise SchemaError("false", path)
        schema = self._merged(schema, path)
        if "$ref" in schema:
            return self._referring(schema, path)
        made: Schema = {}
        for key, value in schema.items():
            self._keyword(made, key, value, path)
        return made

    def _keyword(self, made: Schema, key: str, value: Any, path: str) -> None:
        here = f"{path}/{key}"
        if key in _HOPELESS:
            if not (key == "unevaluatedProperties" and isinstance(value, bool)):  # a Boolean is what additionalProperties says
                raise SchemaError(key, path)
        elif key in _DROPPED:
            return
        elif key == "const":
            if not isinstance(value, (str, int, float)):
                raise SchemaError(key, path, " is neither a text nor a number")
            made[key if isinstance(value, bool) else "enum"] = value if isinstance(value, bool) else [value]
        elif key in _MANY:
            made[key] = [self._schema(item, f"{here}/{index}") for index, item in enumerate(value)]
        elif key == "properties":
            made[key] = {name: self._schema(item, f"{here}/{name}") for name, item in value.items()}
        elif key == "items" and isinstance(value, list):  # the tuples of older drafts
            made["prefixItems"] = [self._schema(item, f"{here}/{index}") for index, item in enumerate(value)]
        elif key in _ONE and not isinstance(value, bool):
            made[key] = self._schema(value, here)
        else:
            made[key] = value

    # --- references ---

    def _referring(self, schema: Mapping[str, Any], path: str) -> Schema:
        """A schema with a reference; where more than remarks stands beside it, what it leads to is written out in its place."""
        reference = schema["$ref"]
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        if all(key in _REMARKS for key in beside):
            return {"$ref": self._reference(reference, path), **{key: beside[key] for key in _BESIDE_REF if key in beside}}
        if reference in self._open:
            raise SchemaError("$ref", path, " leads to itself and has more beside it")
        self._open.append(reference)
        made: Schema = self._schema({**self._resolved(schema, path), **beside}, path)
        self._open.pop()
        return made

    def _reference(self, reference: Any, path: str) -> str:
        """The reference to write for one that was read."""
        self._target(reference, path)
        if reference not in self._names:
            name = reference.rsplit("/", 1)[-1].replace("#", "root")
            taken = set(self._names.values())
            self._names[reference] = next(n for n in _numbered(name) if n not in taken)
            self._waiting.append(reference)
        return f"#/$defs/{self._names[reference]}"

    def _target(self, reference: Any, path: str = "#") -> Any:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise SchemaError("$ref", path, " leads out of the schema")
        found: Any = self._root
        for step in reference.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and step in found:
                found = found[step]
            elif isinstance(found, list) and step.isdigit() and int(step) < len(found):
                found = found[int(step)]
            else:
                raise SchemaError("$ref", path, " leads nowhere")
        return found

    def _resolved(self, schema: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """What a reference leads to, for one that has more beside it than Gemini lets stand there."""
        seen: set[str] = set()
        found: Any = schema
        while isinstance(found, Mapping) and "$ref" in found:
            if found["$ref"] in seen:
                raise SchemaError("$ref", path, " leads to itself")
            seen.add(found["$ref"])
            found = self._merged(self._target(found["$ref"], path), path)
        if not isinstance(found, Mapping):
            raise SchemaError("$ref", path, " leads to no schema")
        return found

    # --- allOf ---

    def _merged(self, schema: Any, path: str) -> Any:
        """A schema without ``allOf``: its members laid over one another, where they do not get into each other's way."""
        if not isinstance(schema, Mapping) or "allOf" not in schema:
            return schema
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        members = schema["allOf"]
        if len(members) == 1 and isinstance(members[0], Mapping) and set(members[0]) == {"$ref"} and not {"$ref"} & set(rest):
            return {**members[0], **rest}
        for member in members:
            plain = self._resolved(member, path) if isinstance(member, Mapping) and "$ref" in member else self._merged(member, path)
            if not isinstance(plain, Mapping):
                raise SchemaError("allOf", path)
            _lay_over(rest, plain, path)
        return rest


def _lay_over(under: Schema, over: Mapping[str, Any], path: str) -> None:
    for key, value in over.items():
        if key not in under:
            under[key] = value
        elif key == "properties" and not _clash(under[key], value):
            under[key] = {**under[key], **value}
        elif key == "required":
            under[key] = list(dict.fromkeys([*under[key], *value]))
        elif key in ("title", "description"):
            continue  # the outer one speaks
        elif under[key] != value:
            raise SchemaError("allOf", path, f" has members that differ in {key!r}")


def _clash(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return any(one[name] != other[name] for name in one.keys() & other.keys())


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}_{number}"
        number += 1
