"""What a tool returns to say what its result covers: ``absent``, ``coverage`` and ``described_result``.

What is wrong is refused here, at the author's line.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from agentfp import ToolReturn
from agentfp_results.errors import EnvelopeError
from agentfp_results.held import read_declared
from agentfp_results.semantics import check_semantics, not_covered
from agentfp_results.wire import ABSENT, ABSENT_NOTE, COVERAGE, COVERAGE_NOTE, ITEM_KEYS, KINDS, SEMANTICS, SEMANTICS_NOTE, SHORT_CHARS

Item: TypeAlias = "str | Mapping[str, Any]"
UNSET: Any = object()


def absent(
    what: str,
    checked: Sequence[Item],
    not_checked: Sequence[Item] = (),
    cannot_cover: Sequence[Item] = (),
    try_instead: str | None = None,
    try_instead_tool: Mapping[str, Any] | None = None,
    period: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> ToolReturn:
    """A result for "there is nothing of this where I looked".

    Args:
        what: what was looked for.
        checked: where it was looked for; one place at least, for what was not looked for is not absent.
        not_checked: where it was not looked for, though it could have been.
        cannot_cover: what this tool can never see, each with a ``why``.
        try_instead: advice in words.
        try_instead_tool: ``{"tool": name, "why": words}``.
        period: ``{"queried": {"from", "to"}, "held": {"from", "to"} or "unknown", "read_at"}``, instants with a zone.
        provenance: where it was looked, as data.

    Raises:
        EnvelopeError: it cannot be declared so; says what is wrong.
    """
    if not isinstance(what, str) or not what.strip():
        raise _refused("absent needs `what` was looked for")
    data: dict[str, Any] = {ABSENT: True, "outcome": "nothing_found", "looked_for": what}
    data["checked"] = _items("checked", checked)
    if not data["checked"]:
        raise _refused("absent needs one place in `checked`; where nothing was looked for, nothing is absent: raise an error")
    data |= _lists(not_checked, cannot_cover)
    data["retry_returns_the_same"] = True
    if isinstance(try_instead, Mapping):
        raise _refused("try_instead takes words; pass a tool as try_instead_tool={'tool': name}")
    if try_instead is not None:
        data["try_instead"] = _words("try_instead", try_instead)
    if try_instead_tool is not None:
        data["try_instead_tool"] = _tool(try_instead_tool)
    data |= _common(period, provenance)
    return ToolReturn({**data, "note": ABSENT_NOTE}, outcome="absent")


def coverage(
    result: Any,
    checked: Sequence[Item] = (),
    not_checked: Sequence[Item] = (),
    cannot_cover: Sequence[Item] = (),
    period: Mapping[str, Any] | None = None,
) -> Any:
    """A result with what it covers.

    Args:
        result: the result itself; an ``absent(...)`` too.
        checked: what was looked at.
        not_checked: what was not looked at, though it could have been.
        cannot_cover: what this tool can never see, each with a ``why``.
        period: as of :func:`absent`.

    Raises:
        EnvelopeError: it cannot be declared so; says what is wrong.
    """
    said: dict[str, Any] = {}
    if known := _items("checked", checked):
        said["checked"] = known
    said |= _lists(not_checked, cannot_cover)
    if not said and period is None:
        raise _refused("coverage needs something in `checked`, `not_checked` or `cannot_cover`")
    said |= _common(period, None)
    inner = result.content if isinstance(result, ToolReturn) else result
    data = {COVERAGE: {**said, "note": COVERAGE_NOTE}, "result": inner}
    if isinstance(result, ToolReturn):
        return ToolReturn(data, result.private, result.parts, result.outcome)
    return data


def described_result(
    facts: Sequence[Mapping[str, Any]] | None = None,
    series: Sequence[Mapping[str, Any]] | None = None,
    edges: Sequence[Mapping[str, Any]] | None = None,
    grain: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    period: Mapping[str, Any] | None = None,
    coverage: Mapping[str, Any] | None = None,
    clarify: Any = UNSET,
    render: Any = None,
) -> dict[str, Any]:
    """A result whose values say what they are.

    Args:
        facts: one mapping for each entity: ``{"entity": ..., field: value, ...}``.
        series: points: ``{"t": ..., "entity": ..., "metric": ..., "value": ...}``.
        edges: ``{"from": ..., "to": ..., "kind": ...}``.
        grain: of a series, how it was made: ``{"interval": ..., "aggregation": ..., "is_counter": ...}``.
        provenance: ``{"measured_at": ..., "source": ...}``, needed for facts and series.
        period: as of :func:`absent`.
        coverage: ``{"checked": [...], "not_checked": [...], "cannot_cover": [...]}``.
        clarify: a question that the data leaves open; None says that there is none.
        render: how an application shows it; the model does not read it.

    Raises:
        EnvelopeError: it cannot be declared so; says what is wrong.
    """
    data: dict[str, Any] = {SEMANTICS: True}
    given = {"series": series, "facts": facts, "edges": edges, "grain": grain, "provenance": provenance}
    data |= {name: value for name, value in given.items() if value is not None}
    if clarify is not UNSET:
        data["clarify"] = clarify
    wrong = check_semantics(data)
    if wrong is not None:
        raise _refused(wrong)
    if coverage is not None:
        if not isinstance(coverage, Mapping) or any(key not in ("checked", "not_checked", "cannot_cover") for key in coverage):
            raise _refused("coverage of a described result has the keys checked, not_checked and cannot_cover")
        said = {"checked": found} if (found := _items("checked", coverage.get("checked", ()))) else {}
        said |= _lists(coverage.get("not_checked", ()), coverage.get("cannot_cover", ()))
        data["coverage"] = said
        if gaps := not_covered(said):
            data["not_covered"] = gaps
    if render is not None:
        data["render"] = render
    data |= _common(period, None)
    return {**data, "note": SEMANTICS_NOTE}


# --- the parts --------------------------------------------------------------------------------------------------------------


def _lists(not_checked: Any, cannot_cover: Any) -> dict[str, Any]:
    said = {}
    for name, items in (("not_checked", not_checked), ("cannot_cover", cannot_cover)):
        if found := _items(name, items):
            said[name] = found
    return said


def _items(name: str, given: Any) -> list[Any]:
    if given is None:
        return []
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Sequence):
        raise _refused(f"{name} takes a list of items, got a {type(given).__name__}")
    items = []
    for item in given:
        wrong = wrong_item(name, item)
        if wrong is not None:
            raise _refused(wrong)
        items.append(item if isinstance(item, str) else {key: value for key, value in item.items() if value is not None})
    return items


def wrong_item(name: str, item: Any) -> str | None:
    """What is wrong with an item of a list; None for nothing."""
    if isinstance(item, str):
        if not item.strip():
            return f"an item of {name} is blank"
        return f"an item of {name} needs `why` it can never be seen: {{'what': ..., 'why': ...}}" if name == "cannot_cover" else None
    if not isinstance(item, Mapping) or any(key not in ITEM_KEYS for key in item):
        return f"an item of {name} is words, or a mapping with the keys {', '.join(ITEM_KEYS)}"
    what, why, short, kind = (item.get(key) for key in ITEM_KEYS)
    if not isinstance(what, str) or not what.strip():
        return f"an item of {name} needs `what` it is about"
    if why is not None and (not isinstance(why, str) or not why.strip()):
        return f"an item of {name} has a blank `why`; leave it out"
    if name == "cannot_cover" and why is None:
        return f"an item of {name} needs `why` it can never be seen"
    if short is not None and (not isinstance(short, str) or not _one_plain_line(short) or len(short) > min(SHORT_CHARS, len(what))):
        return f"`short` of an item of {name} is one plain line of at most {SHORT_CHARS} characters, and no longer than `what`"
    if kind is not None and (name == "checked" or kind not in KINDS):
        return f"`kind` of an item of {name} is {' or '.join(KINDS)}, and not for `checked`"
    return None


def _one_plain_line(text: str) -> bool:
    return bool(text.strip()) and not any(unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") for char in text)


def _common(period: Any, provenance: Any) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if period is not None:
        declared, wrong = read_declared(period)
        if declared is None:
            raise _refused(wrong)
        said["period"] = dict(period)
    if provenance is not None:
        if not isinstance(provenance, Mapping):
            raise _refused(f"provenance takes a mapping, got a {type(provenance).__name__}")
        said["provenance"] = dict(provenance)
    return said


def _words(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _refused(f"{name} takes words; leave it out where there are none")
    return value


def _tool(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or any(key not in ("tool", "why") for key in given):
        raise _refused("try_instead_tool takes one mapping with the keys tool and why")
    if not isinstance(given.get("tool"), str) or not given["tool"].strip():
        raise _refused("try_instead_tool needs the name of a `tool`")
    return {"tool": given["tool"], **({"why": _words("why", given["why"])} if given.get("why") is not None else {})}


def _refused(words: str) -> EnvelopeError:
    return EnvelopeError(f"refused: {words}")
