"""Reads of a result, as the model was served it, what a search that found nothing says of its own limits."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from agentfp_findings.events import Gap
from agentfp_findings.text import clean

ABSENT = "af_absent"
COVERAGE = "af_coverage"
_decoder = json.JSONDecoder()


class Limits(NamedTuple):
    """What a search that found nothing did not look at."""

    not_checked: tuple[Gap, ...] = ()
    cannot_cover: tuple[Gap, ...] = ()
    try_instead: str | None = None


def limits_of(text: str, *, absent: bool) -> Limits | None:
    """What a served result says of its limits; None when it found something, or does not say that it found nothing.

    Args:
        text: the result; it leads with a JSON object.
        absent: whether the tool's own result is an absence.
    """
    if not text.startswith("{") or (ABSENT not in text if absent else COVERAGE not in text):
        return None
    try:
        data, _ = _decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    outer = data.get(COVERAGE)
    inner = data.get("result") if isinstance(outer, dict) else data
    found_nothing = isinstance(inner, dict) and inner.get(ABSENT) is True and isinstance(inner.get("checked"), list)
    empty_rows = isinstance(outer, dict) and inner == []
    if not (found_nothing and absent) and not empty_rows:
        return None
    sources = [source for source in (outer, inner) if isinstance(source, dict)]
    advice = inner.get("try_instead") if isinstance(inner, dict) else None
    return Limits(
        _gaps(sources, "not_checked"), _gaps(sources, "cannot_cover"), clean(advice) if isinstance(advice, str) and advice.strip() else None
    )


def _gaps(sources: list[dict[str, Any]], name: str) -> tuple[Gap, ...]:
    found: dict[tuple[str, str | None], Gap] = {}
    for source in sources:
        items = source.get(name)
        for item in items if isinstance(items, list) else ():
            what, why = (item.get("what"), item.get("why")) if isinstance(item, dict) else (item, None)
            if isinstance(what, str) and what.strip():
                reason = clean(why) if isinstance(why, str) and why.strip() else None
                found.setdefault((what, reason), Gap(clean(what), reason))
    return tuple(found.values())
