"""Checks the arguments of a call against its tool, and words for the model what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pydantic_core
from pydantic_core import ErrorDetails, ValidationError

from agentfp_core import jsontext
from agentfp_core.errors import ToolError, nearest
from agentfp_core.events.tool import ArgumentIssue
from agentfp_core.raw_arguments import MAX_ISSUES, NOT_ACCEPTED, RawChecker, brief, json_type, path_text

if TYPE_CHECKING:
    from agentfp_core.tools import Tool


class Validated(NamedTuple):
    """Arguments that fit.

    Args:
        arguments: the converted values by parameter, defaults filled in; of a raw tool, the parsed object.
    """

    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Invalid:
    """Arguments that do not fit.

    Args:
        issues: what is wrong, at most ten; names paths, expectations and received types, never values.
        message: the same in words for the model.
    """

    issues: tuple[ArgumentIssue, ...]
    message: str


def validate(tool: Tool[..., Any], arguments_json: str) -> Validated | Invalid:
    """Check and convert the arguments of a call.

    Args:
        tool: the tool that is called.
        arguments_json: what the model wrote; anything at all.

    Returns:
        The arguments, ready for ``tool.invoke``, or what is wrong with them. Never raises.
    """
    checker = tool.checker
    if type(checker) is RawChecker:
        return _validate_raw(tool, checker, arguments_json)
    try:
        arguments = checker.validate_json(arguments_json, strict=True)
    except Exception as error:
        try:
            return _second_look(tool, arguments_json, error)
        except Exception:  # a validator of the tool's own broke; the call ends invalid and the run goes on
            return _uncheckable()
    if ("NaN" in arguments_json or "Infinity" in arguments_json) and isinstance(parsed := _parse(arguments_json), Invalid):
        return parsed
    return Validated(arguments)


# --- tools with a signature -------------------------------------------------------------------------------------------------


def _second_look(tool: Tool[..., Any], text: str, error: Exception) -> Validated | Invalid:
    """Forgive what only looks wrong; word the rest."""
    data = _parse(text)
    if isinstance(data, Invalid):
        return data
    if data is None:
        data = {}
    if not isinstance(data, dict):
        return _no_object(data)
    try:
        return _forgive(tool, data, error)
    except ValidationError as last:
        return _invalid_of(tool, data, last.errors(include_url=False))
    except ToolError as spoken:
        return Invalid((ArgumentIssue("", "arguments that the tool accepts", "object"),), f"{spoken.message}\n{_ENDING}")


def _forgive(tool: Tool[..., Any], data: dict[str, Any], error: Exception) -> Validated:
    """Check again with what JSON cannot say otherwise put right.

    Raises:
        ValidationError: something is really wrong.
    """
    if not isinstance(error, ValidationError):
        raise error
    errors = error.errors(include_url=False)
    if not errors[0]["loc"] or _repair_integers(data, errors):
        try:
            return Validated(tool.checker.validate_json(pydantic_core.to_json(data), strict=True))
        except ValidationError as again:
            error, errors = again, again.errors(include_url=False)
    if all(map(_is_conversion, errors)):
        return Validated(tool.checker.validate_json(pydantic_core.to_json(data), strict=False))
    raise error


_ENDING = "The call did not run. Correct the arguments and call again."


def _parse(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return jsontext.parse(text)
    except (ValueError, TypeError) as error:
        where = "nested too deeply" if "recursion" in str(error) or "nested" in str(error) else "not JSON"
        line = f"the arguments are {where}; write one JSON object, without NaN or Infinity"
        return Invalid((ArgumentIssue("", "a JSON object", "malformed text"),), f"{line}\n{_ENDING}")


def _uncheckable() -> Invalid:
    return Invalid((ArgumentIssue("", "arguments that can be checked", "object"),), f"the arguments could not be checked\n{_ENDING}")


def _no_object(data: Any) -> Invalid:
    got = json_type(data)
    return Invalid((ArgumentIssue("", "object", got),), f"the arguments must be one JSON object, got {got}\n{_ENDING}")


_PLACES_OF_INTEGERS = frozenset({"int_type", "literal_error", "enum", "int_from_float"})


def _repair_integers(data: dict[str, Any], errors: list[ErrorDetails]) -> bool:
    """Write ``5.0`` as ``5`` where an integer is wanted: in JSON they are the same number."""
    repaired = False
    for item in errors:
        value = item["input"]
        if item["type"] in _PLACES_OF_INTEGERS and type(value) is float and value.is_integer():
            steps = _steps(data, item["loc"])
            if steps:
                holder = _at(data, steps[:-1])
                if holder[steps[-1]] == value:
                    holder[steps[-1]] = int(value)
                    repaired = True
    return repaired


_FROM_TEXT = frozenset(
    {"date_type", "datetime_type", "time_type", "time_delta_type", "bytes_type", "uuid_type", "url_type", "is_instance_of"}
)
_FROM_ARRAY = frozenset({"tuple_type", "set_type", "frozen_set_type"})


def _is_conversion(item: ErrorDetails) -> bool:
    """Whether JSON has no other way to write the value.

    After a validator that runs ``before``, pydantic forgets that the input is JSON and wants a date, not its text.
    """
    kind, value = item["type"], item["input"]
    return (kind in _FROM_TEXT and isinstance(value, str)) or (kind in _FROM_ARRAY and isinstance(value, list))


def _steps(data: Any, loc: tuple[int | str, ...]) -> list[int | str]:
    """The steps of a location that lead through the data; the rest are names of union members and validators."""
    steps: list[int | str] = []
    for step in loc:
        if (isinstance(data, dict) and step in data) or (isinstance(data, list) and isinstance(step, int) and 0 <= step < len(data)):
            data = data[step]  # type: ignore[index,unused-ignore]
            steps.append(step)
    return steps


def _at(data: Any, steps: list[int | str]) -> Any:
    for step in steps:
        data = data[step]
    return data


# --- words ------------------------------------------------------------------------------------------------------------------


def _invalid_of(tool: Tool[..., Any], data: dict[str, Any], errors: list[ErrorDetails]) -> Invalid:
    real = [item for item in errors if not _is_conversion(item)] or errors
    merged: dict[tuple[str, str], list[str]] = {}
    for item in real:
        steps = _steps(data, item["loc"])
        got = json_type(item["input"])
        if item["type"] == "missing":
            steps.append(item["loc"][-1])
            got = "missing"
        hidden = bool(steps) and steps[0] in tool.redact
        expected = _expected(item, hidden=hidden)
        wishes = merged.setdefault((path_text(steps), got), [])
        if expected not in wishes:
            wishes.append(expected)
    issues = [ArgumentIssue(path, " or ".join(wishes), got) for (path, got), wishes in merged.items()]
    return _invalid(tool, issues)


def _invalid(tool: Tool[..., Any], issues: list[ArgumentIssue]) -> Invalid:
    kept = tuple(issues[:MAX_ISSUES])
    lines = [_line(issue, tool) for issue in kept]
    if len(issues) > MAX_ISSUES:
        lines.append("There are more of these.")
    return Invalid(kept, "\n".join((*lines, _ENDING)))


def _line(issue: ArgumentIssue, tool: Tool[..., Any]) -> str:
    if issue.got == "missing":
        return f"{issue.path!r} is required but missing"
    if issue.expected == NOT_ACCEPTED:
        known = nearest(issue.path, tool.parameters) if "." not in issue.path and "[" not in issue.path else ""
        return f"{issue.path!r} is not accepted{'; ' + known if known else ''}"
    if not issue.path:
        return f"the arguments: expected {issue.expected}, got {issue.got}"
    return f"{issue.path!r}: expected {issue.expected}, got {issue.got}"


_EXPECTED = {
    "missing": "required",
    "extra_forbidden": NOT_ACCEPTED,
    "unexpected_keyword_argument": NOT_ACCEPTED,
    "int_type": "integer",
    "int_parsing": "integer",
    "int_from_float": "integer",
    "float_type": "number",
    "float_parsing": "number",
    "finite_number": "a finite number",
    "decimal_type": "number or decimal text",
    "decimal_parsing": "number or decimal text",
    "bool_type": "boolean",
    "string_type": "string",
    "string_sub_type": "string",
    "none_required": "null",
    "list_type": "array",
    "tuple_type": "array",
    "set_type": "array",
    "frozen_set_type": "array",
    "iterable_type": "array",
    "dict_type": "object",
    "mapping_type": "object",
    "model_type": "object",
    "model_attributes_type": "object",
    "dataclass_type": "object",
    "date_type": "a date (YYYY-MM-DD)",
    "date_parsing": "a date (YYYY-MM-DD)",
    "date_from_datetime_parsing": "a date (YYYY-MM-DD)",
    "date_from_datetime_inexact": "a date (YYYY-MM-DD)",
    "datetime_type": "a date and time (ISO 8601)",
    "datetime_parsing": "a date and time (ISO 8601)",
    "datetime_from_date_parsing": "a date and time (ISO 8601)",
    "time_type": "a time (ISO 8601)",
    "time_parsing": "a time (ISO 8601)",
    "time_delta_type": "a duration (ISO 8601)",
    "time_delta_parsing": "a duration (ISO 8601)",
    "uuid_type": "a UUID",
    "uuid_parsing": "a UUID",
    "url_type": "a URL",
    "url_parsing": "a URL",
    "bytes_type": "string",
    "path_type": "string",
}
_RULES = {
    "greater_than": ("a value > {}", "gt"),
    "greater_than_equal": ("a value >= {}", "ge"),
    "less_than": ("a value < {}", "lt"),
    "less_than_equal": ("a value <= {}", "le"),
    "multiple_of": ("a multiple of {}", "multiple_of"),
    "string_too_short": ("at least {} characters", "min_length"),
    "string_too_long": ("at most {} characters", "max_length"),
    "string_pattern_mismatch": ("text that matches {}", "pattern"),
    "too_short": ("at least {} items", "min_length"),
    "too_long": ("at most {} items", "max_length"),
    "literal_error": ("{}", "expected"),
    "enum": ("{}", "expected"),
    "union_tag_invalid": ("an object with one of the tags {}", "expected_tags"),
    "is_instance_of": ("a {}", "class"),
}


def _expected(item: ErrorDetails, *, hidden: bool) -> str:
    """What an error asks for, in words that hold nothing of what was received."""
    kind, context = item["type"], item.get("ctx", {})
    if kind in _EXPECTED:
        return _EXPECTED[kind]
    if kind in _RULES:
        template, key = _RULES[kind]
        return template.format(brief(str(context.get(key, "a given value")), 300 if key == "expected" else 80))
    if kind in ("value_error", "assertion_error") and not hidden and "error" in context:
        return brief(f"a value that passes its check ({context['error']})", 200)
    return f"a valid value ({kind.replace('_', ' ')})"


# --- tools with a raw schema ----------------------------------------------------------------------------------------------------


def _validate_raw(tool: Tool[..., Any], checker: RawChecker, text: str) -> Validated | Invalid:
    data = _parse(text)
    if data is None:
        data = {}
    if isinstance(data, Invalid):
        return data
    if not isinstance(data, dict):
        return _no_object(data)
    issues = checker.issues(data, tool.redact)
    return _invalid(tool, issues) if issues else Validated(data)
