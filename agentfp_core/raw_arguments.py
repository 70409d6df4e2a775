"""Checks arguments against a JSON schema that came from elsewhere; what is broken in the schema never rejects a call."""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agentfp_core import jsontext
from agentfp_core.events.tool import ArgumentIssue

MAX_ISSUES = 10
NOT_ACCEPTED = "no such argument"
_LONGEST_MATCHED = 10_000

JSON_NAMES: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    list: "array",
    dict: "object",
}


def json_type(value: Any) -> str:
    """The JSON word for what a value is."""
    return JSON_NAMES.get(type(value), "value")


def path_text(steps: Sequence[int | str]) -> str:
    """Steps through JSON data as text: ``rows[2].id``."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{brief(step)}" if text else brief(step)
    return text


def brief(text: str, limit: int = 80) -> str:
    """The text, cut to a limit."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


class RawChecker:
    """The compiled check of one schema.

    Args:
        schema_json: the schema. It is compiled at the first call, for most tools of a server are never called.
    """

    __slots__ = ("_schema_json", "_validator")

    def __init__(self, schema_json: str) -> None:
        self._schema_json = schema_json
        self._validator: Any = None

    def issues(self, data: dict[str, Any], redact: tuple[str, ...] = ()) -> list[ArgumentIssue]:
        """What is wrong with arguments, one more than the limit at most.

        Args:
            data: the parsed arguments.
            redact: arguments whose rules are not described.
        """
        if self._validator is None:
            self._validator = _compile(jsontext.parse(self._schema_json))
        found: dict[tuple[str, str], ArgumentIssue] = {}
        # A schema from elsewhere may nest deeper than its checker can follow; what was found until then still counts.
        with contextlib.suppress(Exception):
            for error in itertools.islice(self._validator.iter_errors(data), 10 * MAX_ISSUES):
                issue = _issue_of(error, redact)
                found.setdefault((issue.path, issue.expected), issue)
                if len(found) > MAX_ISSUES:
                    break
        return list(found.values())


def _compile(schema: Any) -> Any:
    """A validator in which a keyword that fails is passed over, and that fetches nothing from the network."""
    from jsonschema import Draft202012Validator, validators
    from referencing import Registry

    keywords = dict(Draft202012Validator.VALIDATORS)
    keywords["required"] = _required
    keywords["pattern"] = _bounded(keywords["pattern"])
    keywords["additionalProperties"] = _no_extras(keywords["additionalProperties"])
    inside = threading.local()
    wrapped = {word: _whole(check, inside) if word in _JUDGING else _forgiving(check, inside) for word, check in keywords.items()}
    forgiving = validators.extend(Draft202012Validator, wrapped)  # type: ignore[no-untyped-call]
    return forgiving(schema, registry=Registry())


_Check = Callable[..., Iterator[Any] | None]


_JUDGING = frozenset({"oneOf", "not", "if", "contains", "unevaluatedItems", "unevaluatedProperties"})
"""Keywords that reject because something inside of them accepts; a fault inside passes over the whole of them."""


def _forgiving(check: _Check, inside: threading.local) -> _Check:
    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        try:
            yield from check(validator, value, instance, schema) or ()
        except RecursionError:
            raise
        except Exception:
            if getattr(inside, "depth", 0):
                raise

    return run


def _whole(check: _Check, inside: threading.local) -> _Check:
    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        depth = getattr(inside, "depth", 0)
        inside.depth = depth + 1
        try:
            errors = list(check(validator, value, instance, schema) or ())
        except RecursionError:
            raise
        except Exception:
            if depth:
                raise
            return
        finally:
            inside.depth = depth
        yield from errors

    return run


def _required(_validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, dict) and isinstance(value, list):
        for name in value:
            if isinstance(name, str) and name not in instance:
                yield ValidationError("missing", path=[name], validator="required")


def _bounded(check: _Check) -> _Check:
    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and len(instance) <= _LONGEST_MATCHED:
            yield from check(validator, value, instance, schema) or ()

    return run


def _no_extras(check: _Check) -> _Check:
    from jsonschema import ValidationError

    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if value is not False:
            yield from check(validator, value, instance, schema) or ()
        elif isinstance(instance, dict) and "properties" in schema:
            patterns = list(schema.get("patternProperties", ()))
            for name, item in instance.items():
                if name not in schema["properties"] and not any(re.search(pattern, name) for pattern in patterns):
                    yield ValidationError("extra", path=[name], validator="additionalProperties", instance=item)

    return run


def _issue_of(error: Any, redact: tuple[str, ...]) -> ArgumentIssue:
    steps = list(error.absolute_path)
    path = path_text(steps)
    if error.validator == "required":
        return ArgumentIssue(path, "required", "missing")
    got = json_type(error.instance)
    if error.validator == "additionalProperties":
        return ArgumentIssue(path, NOT_ACCEPTED, got)
    if steps and steps[0] in redact:
        return ArgumentIssue(path, f"a valid value ({error.validator})", got)
    return ArgumentIssue(path, _expected(error), got)


_RULES = {
    "minimum": "a value >= {}",
    "maximum": "a value <= {}",
    "exclusiveMinimum": "a value > {}",
    "exclusiveMaximum": "a value < {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "text that matches {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "const": "{}",
}


def _expected(error: Any) -> str:
    """What the schema asks for, with the parameter's own description where a rule of a text's shape is broken."""
    word, value = error.validator, error.validator_value
    if word == "type":
        return " or ".join(map(str, value)) if isinstance(value, list) else str(value)
    if word == "enum":
        return brief("one of " + ", ".join(repr(item) for item in value), 300)
    if word in ("anyOf", "oneOf"):
        types = [str(inner.validator_value) for inner in error.context or () if inner.validator == "type" and not inner.path]
        return " or ".join(dict.fromkeys(types)) if types else "one of the forms of its schema"
    if word not in _RULES:
        return f"a valid value ({word})"
    text = _RULES[word].format(brief(str(value)))
    described = error.schema.get("description") if isinstance(error.schema, dict) else None
    if word in ("pattern", "minLength", "maxLength") and isinstance(described, str):
        text += f" ({brief(described)})"
    return text
