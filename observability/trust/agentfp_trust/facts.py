"""Facts: what is kept of an event, checked field by field. Nothing is cut or mended: an event that does not fit is counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

Wrong: TypeAlias = Literal["invalid", "oversized"]
LONGEST_TEXT = 512
"""UTF-16 units of a text."""
LONGEST_PATH = 32
"""Calls that lead to a nested run."""
LARGEST_FACT = 8192
"""UTF-8 bytes of a fact as JSON."""
LARGEST_NUMBER = 2**53 - 1
"""What every reader of JSON reads as it is."""


class UnfitError(Exception):
    """An event makes no fact.

    Args:
        wrong: how it is counted.
    """

    def __init__(self, wrong: Wrong) -> None:
        self.wrong: Wrong = wrong
        super().__init__(wrong)


def _text(value: Any) -> str:
    if type(value) is not str or not value:
        raise UnfitError("invalid")
    if len(value.encode("utf-16-le", "surrogatepass")) // 2 > LONGEST_TEXT:
        raise UnfitError("oversized")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= LARGEST_NUMBER:
        raise UnfitError("invalid")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise UnfitError("invalid")
    return value


def _one_of(*names: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if _text(value) not in names:
            raise UnfitError("invalid")
        return str(value)

    return check


def _path(value: Any) -> list[str]:
    if type(value) not in (list, tuple):
        raise UnfitError("invalid")
    if len(value) > LONGEST_PATH:
        raise UnfitError("oversized")
    return [_text(each) for each in value]


Check: TypeAlias = Callable[[Any], Any]
KEPT: Mapping[str, tuple[Mapping[str, Check], Mapping[str, Check]]] = {
    "agentfp.hook.verdict": (
        {"moment": _text, "phase": _text, "plugin": _text, "verdict": _text},
        {"rule": _text},
    ),
    "agentfp.permission.check": (
        {"capability": _text, "result": _one_of("allow", "deny", "halt")},
        {"target": _text, "policy_rule_id": _text, "phase": _text, "checker": _text, "role": _text, "again": _flag},
    ),
    "agentfp.permission.halt": ({"target": _text}, {"checker": _text, "policy_rule_id": _text}),
    "agentfp.credential.requested": ({"service": _text}, {"mode": _text, "via": _text}),
    "agentfp.credential.acquired": ({"service": _text, "kind": _text}, {"via": _text}),
    "agentfp.credential.authorization_required": ({"service": _text}, {"via": _text}),
    "agentfp.credential.failed": ({"service": _text}, {"error_class": _text, "reason": _text, "via": _text}),
    "agentfp.approval.decided": ({"tool": _text, "approved": _flag}, {"arguments_changed": _flag}),
    "agentfp.artifacts.refused": ({"op": _text, "reason": _text}, {}),
}
"""By event: the fields that must be there, and those that may be. No other is kept: no words, arguments, results, reasons, people."""
WITH_ITERATION = frozenset({"agentfp.hook.verdict", "agentfp.permission.halt"})
"""Events that belong to a model call."""


def fact_of(name: str, data: Mapping[str, Any], origin: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of an event.

    Args:
        name: of the event, one of ``KEPT``.
        data: its fields.
        origin: where it comes from: ``run_id``, ``root_id``, ``ts_ns``, ``seq``, ``turn``, ``iteration``, perhaps ``call_id``, ``path``.

    Raises:
        UnfitError: it makes no fact.
    """
    must, may = KEPT[name]
    fact: dict[str, Any] = {"type": name}
    for key, check in must.items():
        fact[key] = check(data.get(key))
    for key, check in may.items():
        if data.get(key) is not None:
            fact[key] = check(data[key])
    made: dict[str, Any] = {"run_id": _text(origin.get("run_id")), "root_id": _text(origin.get("root_id"))}
    for key in ("ts_ns", "seq", "turn", "iteration"):
        number = origin.get(key)
        if key == "ts_ns":  # nanoseconds of today are above what every reader reads as it is
            number = number // 1_000_000 if type(number) is int else number
            key = "wall_clock_ms"
        made[key] = _count(number)
    if name in WITH_ITERATION and made["iteration"] < 1 and data.get("moment") in ("before_tool", "after_result"):
        raise UnfitError("invalid")
    if origin.get("call_id") is not None:
        made["call_id"] = _text(origin["call_id"])
    if origin.get("path"):
        made["path"] = _path(origin["path"])
    fact["origin"] = made
    if len(json.dumps(fact, ensure_ascii=False).encode("utf-8", "surrogatepass")) > LARGEST_FACT:
        raise UnfitError("oversized")
    return fact
