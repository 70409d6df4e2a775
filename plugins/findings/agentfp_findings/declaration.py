"""Reads what the model declares, in a call or in an answer: each field by itself, nothing coerced and nothing filled in."""

from __future__ import annotations

from typing import Any, NamedTuple

from agentfp_findings.events import Assertion
from agentfp_findings.text import canonical, clean
from agentfp_findings.words import BASES, EXPECTS, KEY, STANDINGS

_FIELDS: tuple[tuple[str, tuple[str, ...] | None], ...] = (("basis", BASES), ("expect", EXPECTS), ("proposition", None), ("predicts", None))
_NOTHING = [None] * len(_FIELDS)
_SAID: tuple[tuple[str, Any], ...] = (("sought", bool), ("settles", str), ("line", str), ("assertions", list))


class Verdict(NamedTuple):
    """What one earlier result is said to be."""

    tool_call_id: str
    standing: str
    sought: bool | None = None
    settles: str | None = None
    line: str | None = None
    assertions: tuple[Assertion, ...] = ()


class Declaration(NamedTuple):
    """What could be read of a ``_findings`` object."""

    basis: str | None = None
    expect: str | None = None
    proposition: str | None = None
    predicts: str | None = None
    previous: tuple[Verdict, ...] = ()


def read_declaration(value: Any) -> tuple[Declaration | None, int]:
    """Read a declaration.

    Args:
        value: the JSON data under ``_findings``.

    Returns:
        What could be read of it, None for nothing; and how many parts could not.
    """
    if not isinstance(value, dict):
        return None, 1
    wrong = 0
    fields: list[str | None] = []
    for name, words in _FIELDS:
        found = value.get(name)
        if isinstance(found, str) and (words is None or found in words):
            fields.append(found if words is not None else clean(found))
        else:
            fields.append(None)
            wrong += name in value
    previous: list[Verdict] = []
    items = value.get("previous", ())
    if isinstance(items, list):
        for item in items:
            verdict, missed = _verdict(item)
            wrong += missed
            if verdict is not None:
                previous.append(verdict)
    else:
        wrong += "previous" in value
    if not previous and fields == _NOTHING:
        return None, wrong
    basis, expect, proposition, predicts = fields
    return Declaration(basis, expect, proposition, predicts, tuple(previous)), wrong


def _verdict(item: Any) -> tuple[Verdict | None, int]:
    call_id, standing = (item.get("tool_call_id"), item.get("standing")) if isinstance(item, dict) else (None, None)
    if not isinstance(call_id, str) or not isinstance(standing, str) or standing not in STANDINGS:
        return None, 1
    wrong = 0
    said: dict[str, Any] = {}
    for name, kind in _SAID:
        if name in item:
            found: Any = item[name]
            if isinstance(found, kind):
                said[name] = clean(found) if kind is str else found
            else:
                wrong += 1
    assertions: list[Assertion] = []
    for one in said.pop("assertions", ()):
        assertion = _assertion(one)
        if assertion is None:
            wrong += 1
        elif standing != "noise":
            assertions.append(assertion)
    return Verdict(clean(call_id), standing, said.get("sought"), said.get("settles"), said.get("line"), tuple(assertions)), wrong


def _assertion(item: Any) -> Assertion | None:
    subject = item.get("subject") if isinstance(item, dict) else None
    if not isinstance(subject, dict) or "value" not in item:
        return None
    kind, subject_id, predicate = subject.get("kind"), subject.get("id"), item.get("predicate")
    if not (isinstance(kind, str) and isinstance(subject_id, str) and isinstance(predicate, str)):
        return None
    try:
        value = canonical(item["value"])
    except (ValueError, RecursionError):  # a number or a depth that is none of JSON's
        return None
    return Assertion(clean(kind), clean(subject_id), clean(predicate), value)


def may_declare(text: str) -> bool:
    """Whether a declaration may stand in a JSON text; its key may be written with escapes."""
    return KEY in text or "\\u" in text


def split(arguments: dict[str, Any]) -> tuple[dict[str, Any], Declaration | None, int]:
    """Take a declaration out of a call's arguments.

    Args:
        arguments: the arguments as the model wrote them.

    Returns:
        The arguments for the tool (the same object when they hold no declaration), what could be read, how much could not.
    """
    if KEY not in arguments:
        return arguments, None, 0
    declaration, malformed = read_declaration(arguments[KEY])
    return {name: value for name, value in arguments.items() if name != KEY}, declaration, malformed
