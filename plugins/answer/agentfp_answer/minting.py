"""What a tool's author returns: `absent`, `coverage` and `described_result`. What is wrong is refused at the author's line.

What a model reads of them stands in the result; what is for people and checks alone goes beside it, where no model reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentfp import ToolReturn
from agentfp_answer.errors import DeclarationRefusedError
from agentfp_answer.items import LISTS, Item, ItemInput, mint_items
from agentfp_answer.periods import Period, read_period
from agentfp_answer.semantics import faults_of
from agentfp_answer.wire import (
    ABSENCE_NOTE,
    ABSENT,
    COVERAGE,
    COVERAGE_NOTE,
    ENVELOPES,
    MAX_DEPTH,
    PRIVATE,
    SEMANTICS,
    SEMANTICS_NOTE,
    Minted,
    served_semantics,
)


class _Unset:
    """Nothing was given; None is a value of its own."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()


def absent(
    what: str,
    *,
    checked: Sequence[ItemInput],
    not_checked: Sequence[ItemInput] = (),
    cannot_cover: Sequence[ItemInput] = (),
    try_instead: str | None = None,
    try_instead_tool: Mapping[str, str] | str | None = None,
    period: Mapping[str, Any] | Period | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> ToolReturn:
    """A tool's result: it looked, and there is nothing. Say where it looked, for an absence is only as wide as the search.

    Args:
        what: what was looked for.
        checked: where; at least one place.
        not_checked: where it was not looked for, though it could be.
        cannot_cover: what this tool can never see, each with ``why``.
        try_instead: advice for the model, in words.
        try_instead_tool: a tool that may find it: its name, or ``{"tool": name, "why": reason}``.
        period: the time that the search covered: ``{"queried": {"from", "to"}, "held": {"from", "to"} | "unknown"}``.
        provenance: what the search read, such as ``{"source": ..., "measured_at": ...}``.

    Returns:
        what the tool returns; the call's outcome is ``absent``.

    Raises:
        DeclarationRefusedError: names what is wrong.
    """
    if not isinstance(what, str) or not what.strip():
        raise DeclarationRefusedError("absent() needs 'what': the words for what was looked for")
    lists = _lists(checked, not_checked, cannot_cover)
    if not lists["checked"]:
        raise DeclarationRefusedError("absent() needs what was checked; where nothing was looked at, raise an error: that is no absence")
    data: dict[str, Any] = {ABSENT: True, "outcome": "nothing_found", "looked_for": what.strip()}
    tail: dict[str, Any] = {"retry_returns_the_same": True}
    if try_instead is not None:
        if not isinstance(try_instead, str) or not try_instead.strip():
            raise DeclarationRefusedError("try_instead is advice in words; for a tool, use try_instead_tool")
        tail["try_instead"] = try_instead
    if try_instead_tool is not None:
        tail["try_instead_tool"] = _tool(try_instead_tool)
    tail |= _period(period) | _provenance(provenance)
    return _made(data, lists, tail | {"note": ABSENCE_NOTE}, outcome="absent")


def coverage(
    result: Any,
    *,
    checked: Sequence[ItemInput] = (),
    not_checked: Sequence[ItemInput] = (),
    cannot_cover: Sequence[ItemInput] = (),
    period: Mapping[str, Any] | Period | None = None,
) -> ToolReturn:
    """A tool's result with what it covers, and what it does not.

    Args:
        result: the result: any value, or what :func:`absent` and :func:`described_result` give.
        checked: what was looked at.
        not_checked: what was not looked at, though it could be.
        cannot_cover: what this tool can never see, each with ``why``.
        period: the time that the read covered, as in :func:`absent`.

    Returns:
        what the tool returns.

    Raises:
        DeclarationRefusedError: names what is wrong.
    """
    lists = _lists(checked, not_checked, cannot_cover)
    if period is None and not any(lists.values()):
        raise DeclarationRefusedError("coverage() needs one of checked, not_checked, cannot_cover and period")
    tail = _period(period) | {"note": COVERAGE_NOTE}
    own = {COVERAGE: {**_wire(lists), **tail}}
    whole = {COVERAGE: {**_wire(lists, whole=True), **tail}}
    inner = result if isinstance(result, ToolReturn) else ToolReturn(result)
    held, private = _split(inner)
    envelopes = [whole, *(held or _declared(inner.content))]
    return ToolReturn({**own, "result": inner.content}, _beside(envelopes, private), inner.parts, inner.outcome)


def described_result(
    *,
    facts: Sequence[Mapping[str, Any]] | None = None,
    series: Sequence[Mapping[str, Any]] | None = None,
    edges: Sequence[Mapping[str, Any]] | None = None,
    grain: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    period: Mapping[str, Any] | Period | None = None,
    coverage: Mapping[str, Sequence[ItemInput]] | None = None,
    clarify: Any = UNSET,
    render: Any = None,
) -> ToolReturn:
    """A tool's result as facts that claims of an answer can be held against.

    Args:
        facts: one mapping a fact: ``entity``, and what is so of it.
        series: points: ``t``, ``entity``, ``metric``, ``value``.
        edges: ``from``, ``to``, ``kind``.
        grain: what one point stands for, such as ``{"interval": "5m", "aggregation": "mean"}``.
        provenance: ``measured_at`` and ``source``, both needed with facts and series; ``age_seconds``.
        period: the time that the read covered, as in :func:`absent`.
        coverage: ``checked``, ``not_checked`` and ``cannot_cover``.
        clarify: what must be asked before this can be read; None says that nothing is ambiguous.
        render: how a screen shows it; no model reads it.

    Returns:
        what the tool returns.

    Raises:
        DeclarationRefusedError: names everything that is wrong.
    """
    given = {"facts": facts, "series": series, "edges": edges, "grain": grain, "provenance": provenance}
    data: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if not isinstance(clarify, _Unset):
        data["clarify"] = clarify
    if render is not None:
        data["render"] = render
    faults = faults_of(data)
    if faults:
        raise DeclarationRefusedError("described_result(): " + "; ".join(f"{fault.words} ({fault.code})" for fault in faults))
    data |= _period(period)
    if coverage is not None:
        unknown = [name for name in coverage if name not in LISTS]
        if unknown:
            raise DeclarationRefusedError(f"coverage has no list {unknown[0]!r}; the lists are {', '.join(LISTS)}")
        data["coverage"] = _wire(_lists(*(coverage.get(name) for name in LISTS)), whole=True)
    whole = {SEMANTICS: True, **data, "note": SEMANTICS_NOTE}
    return ToolReturn(served_semantics(whole), _beside([whole], None))


# --- parts ---


def _lists(*values: Any) -> dict[str, tuple[Item, ...]]:
    return {name: mint_items(value, name) for name, value in zip(LISTS, values, strict=True)}


def _wire(lists: Mapping[str, tuple[Item, ...]], *, whole: bool = False) -> dict[str, Any]:
    return {name: [item.wire(whole=whole) for item in items] for name, items in lists.items() if items}


def _made(head: dict[str, Any], lists: dict[str, tuple[Item, ...]], tail: dict[str, Any], *, outcome: Any) -> ToolReturn:
    served = {**head, **_wire(lists), **tail}
    whole = {**head, **_wire(lists, whole=True), **tail}
    return ToolReturn(served, _beside([whole], None), outcome=outcome)


def _period(period: Any) -> dict[str, Any]:
    if period is None:
        return {}
    made, wrong = read_period(period)
    if made is None:
        raise DeclarationRefusedError(str(wrong))
    return {"period": made.wire()}


def _provenance(provenance: Any) -> dict[str, Any]:
    if provenance is None:
        return {}
    if not isinstance(provenance, Mapping):
        raise DeclarationRefusedError(f"provenance is a mapping, got a {type(provenance).__name__}")
    return {"provenance": dict(provenance)}


def _tool(value: Any) -> dict[str, str]:
    data = {"tool": value} if isinstance(value, str) else value
    if not isinstance(data, Mapping) or any(key not in ("tool", "why") for key in data):
        raise DeclarationRefusedError("try_instead_tool is one tool's name, or a mapping with 'tool' and 'why'")
    if any(not isinstance(item, str) or not item.strip() for item in data.values()) or "tool" not in data:
        raise DeclarationRefusedError("try_instead_tool names no tool; give its name, or leave it out")
    return dict(data)


def _beside(envelopes: list[Mapping[str, Any]], private: Any) -> Minted:
    made = Minted({ENVELOPES: envelopes})
    if private is not None:
        made[PRIVATE] = private
    return made


def _split(result: ToolReturn) -> tuple[list[Mapping[str, Any]], Any]:
    """What stands beside a result: what was declared of it already, and what else the application put there."""
    if isinstance(result.private, Minted):
        return list(result.private[ENVELOPES]), result.private.get(PRIVATE)
    return [], result.private


def _declared(content: Any) -> list[Mapping[str, Any]]:
    """The declarations in a result that holds them itself, from the outermost on."""
    found: list[Mapping[str, Any]] = []
    while isinstance(content, Mapping) and len(found) < MAX_DEPTH:
        if content.get(ABSENT) is True:
            return [*found, content]
        if not isinstance(content.get(COVERAGE), Mapping):
            break
        found.append({COVERAGE: content[COVERAGE]})
        content = content.get("result")
    return found
