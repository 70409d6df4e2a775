"""Which values an argument may take: those that the person named, or that stand in a result under the argument's name.

The schema of a tool is narrowed to these values before the model decodes a call. So it invents no argument, and where nothing
fits, there is no call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from agentfp.model import ToolSpec
from agentfp_local.turn import Turn
from agentfp_local.wording import coordinated, numbers, spans, terms

_CODES = frozenset(("code", "cod", "iata", "icao", "isin", "symbol", "ticker"))
_CODE = re.compile(r"[A-Z0-9][A-Z0-9._/-]*")
_ROLES = {"from": ("from", "origin", "source", "start"), "to": ("to", "destination", "target", "end", "into")}


@dataclass(frozen=True, slots=True)
class Filling:
    """How a tool's arguments may be filled.

    Args:
        schemas: the narrowed schema of each call; several for one question about several things.
        complete: whether every argument that must be there has a value to take.
        exact: arguments for which the question names a value of a stated form: a pattern, a code, one of a list.
    """

    schemas: tuple[dict[str, Any], ...]
    complete: bool
    exact: int = 0


def filling(tool: ToolSpec, turn: Turn) -> Filling:
    """Narrow a tool's schema to what was said.

    Args:
        tool: the tool.
        turn: the present turn.
    """
    schema = tool.parameters
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return Filling((schema,), complete=True)
    required = [name for name in schema.get("required", ()) if name in properties]
    said = _Said(turn, tool, properties)
    kept: dict[str, Any] = {}
    complete = True
    for name in properties:
        wanted = name in required or said.mentions(name)
        if not wanted:
            continue
        narrowed = said.narrow(name, _resolved(properties[name], schema))
        if narrowed is not None:
            kept[name] = narrowed
        elif name in required:
            kept[name] = properties[name]
            complete = False
    narrowed_schema = {**schema, "properties": kept, "required": list(kept), "additionalProperties": False}
    return Filling(tuple(_one_each(narrowed_schema, kept, turn.question)), complete, said.exact)


def _one_each(schema: dict[str, Any], kept: dict[str, Any], question: str) -> list[dict[str, Any]]:
    """A call for each thing where one argument may take several that the question lists."""
    if len(kept) == 1:
        (name, narrowed), *_ = kept.items()
        values = narrowed.get("enum", ())
        if all(isinstance(value, str) for value in values) and coordinated(question, list(values)):
            return [{**schema, "properties": {name: {**narrowed, "enum": [value]}}} for value in values]
    return [schema]


class _Said:
    """What was said that may be an argument of one tool."""

    def __init__(self, turn: Turn, tool: ToolSpec, properties: dict[str, Any]) -> None:
        self._turn = turn
        self._question = turn.question
        self._terms = terms(turn.question)
        self._tool_terms = terms(tool.name) | {term for name in properties for term in terms(name)}
        texts = [name for name, schema in properties.items() if _kind(schema) == "string" and "enum" not in schema]
        self._texts = [name for name in texts if name in tool.parameters.get("required", ())] or texts
        self.exact = 0
        self._spans = spans(turn.question, self._tool_terms)

    def mentions(self, name: str) -> bool:
        """Whether the question speaks of an argument that may be left out."""
        return bool(terms(name) & self._terms)

    def narrow(self, name: str, schema: dict[str, Any]) -> dict[str, Any] | None:
        """The schema with the values that an argument may take; None when nothing fits."""
        told = [value for value in self._turn.values(name, past=False) if _fits(value, schema)]
        if not told and not self._spans:  # `What is its elevation?`
            told = [value for value in self._turn.values(name, past=True) if _fits(value, schema)]
        if told:
            return {**schema, "enum": list(dict.fromkeys(told))[:8]}
        if "enum" in schema:
            named = [value for value in schema["enum"] if terms(str(value)) and terms(str(value)) <= self._terms]
            self.exact += bool(named)
            return {**schema, "enum": named or schema["enum"]}
        kind = _kind(schema)
        if kind in ("integer", "number"):
            found = [value for text in numbers(self._question) if _fits(value := _number(text), schema)]
            return {**schema, "enum": found} if found else None
        if kind == "string":
            values = self._named(name, schema)
            return {**schema, "enum": values} if values else None
        if kind == "array" and _kind(schema.get("items", {})) == "string":
            return {"const": self._spans} if self._spans else None
        return schema

    def _named(self, name: str, schema: dict[str, Any]) -> list[str]:
        """Texts that the person named and that fit; in the question, else in what was said before."""
        code = "pattern" not in schema and bool((terms(name) | terms(str(schema.get("description", "")))) & _CODES)
        for text, found in [(self._question, self._spans), *((said, spans(said, self._tool_terms)) for said in self._turn.earlier)]:
            if code:
                found = [word for span in found for word in span.split() if _CODE.fullmatch(word)]
            fitting = [span for span in found if _fits(span, schema)]
            if fitting:
                self.exact += (code or "pattern" in schema) and text is self._question
                return self._share(name, fitting, text)
        return []

    def _share(self, name: str, found: list[str], text: str) -> list[str]:
        """Of several texts for several arguments, the one that is this argument's."""
        if len(self._texts) < 2 or len(found) < 2 or name not in self._texts:
            return found
        for word, names in _ROLES.items():
            if name.lower().split("_")[0] in names:
                named = [span for span in found if re.search(rf"\b{word}\s+{re.escape(span)}", text, re.IGNORECASE)]
                if named:
                    return named
        return [found[min(self._texts.index(name), len(found) - 1)]]


def _kind(schema: Any) -> str | None:
    """The type of a value; of one that may be null, the other type."""
    if not isinstance(schema, dict):
        return None
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), None)
    for branch in schema.get("anyOf", ()) if kind is None else ():
        if _kind(branch) not in (None, "null"):
            return _kind(branch)
    return kind if isinstance(kind, str) else None


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value keeps to what a schema says of it alone."""
    kind = _kind(schema)
    if isinstance(value, str):
        pattern = schema.get("pattern")
        length = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        return kind == "string" and length and (pattern is None or _matches(pattern, value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    whole = isinstance(value, int) or kind == "number"
    return kind in ("integer", "number") and whole and schema.get("minimum", value) <= value <= schema.get("maximum", value)


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:  # JSON Schema's expressions are those of JavaScript
        return True


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _resolved(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """A schema with its reference followed."""
    steps = 0
    while isinstance(schema, dict) and isinstance(reference := schema.get("$ref"), str) and reference.startswith("#/") and steps < 10:
        found: Any = root
        for step in reference[2:].split("/"):
            found = found.get(step, {}) if isinstance(found, dict) else {}
        schema, steps = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}, steps + 1
    return schema if isinstance(schema, dict) else {}
