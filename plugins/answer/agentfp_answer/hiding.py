"""Whether masking may have changed what a reader makes of a result. A masked copy is not guessed at; it says what was kept out.

The placeholder stands in a text or breaks the JSON around it: a text that still parses holds it in strings only. So all that has to be
looked at are the keys, and the values of those keys that a reader reads.
"""

from __future__ import annotations

from typing import Any

from agentfp_answer.envelopes import parse
from agentfp_answer.items import LISTS
from agentfp_answer.raw import PLACEHOLDER, masked
from agentfp_answer.wire import COVERAGE, ENVELOPES, MARKERS, MAX_DEPTH, SEMANTICS

_READ = frozenset({*MARKERS, *LISTS, "result", "looked_for", "clarify", "facts", "series", "edges", "note", "period"})


def hidden(content: str, private: str | None, *, rows_at: str | None = None) -> bool:
    """Whether a result of a masked copy may have read otherwise before.

    Args:
        content: the tool's own result.
        private: what stands beside it.
        rows_at: a key that holds its rows.
    """
    read = _READ if rows_at is None else _READ | {rows_at}
    return (PLACEHOLDER in content and _text(content, read)) or (private is not None and PLACEHOLDER in private and _beside(private))


def _text(content: str, read: frozenset[str]) -> bool:
    head = content.lstrip()
    if head[:1] not in ("[", "{"):
        return head.startswith(PLACEHOLDER)
    data = parse(content)
    return data is None or _changed(data, read)


def _beside(private: str) -> bool:
    data = parse(private)
    if not isinstance(data, dict) or any(PLACEHOLDER in key for key in data):
        return not isinstance(data, (list, int, float))
    return masked(data.get(ENVELOPES))


def _changed(data: Any, read: frozenset[str]) -> bool:
    for _ in range(MAX_DEPTH):
        if not isinstance(data, dict):
            return False
        if SEMANTICS in data:
            return masked(data)
        if any(PLACEHOLDER in key or (key in read and _lost(value)) for key, value in data.items()):
            return True
        own = data.get(COVERAGE)
        if not isinstance(own, dict):
            return False
        if any(PLACEHOLDER in key or (key in read and _lost(value)) for key, value in own.items()):
            return True
        data = data.get("result")
    return False


def _lost(value: Any) -> bool:
    """Whether a value that is read is masked, or an item of a list has lost a key."""
    if isinstance(value, str):
        return PLACEHOLDER in value
    return isinstance(value, list) and any(isinstance(item, dict) and any(PLACEHOLDER in key for key in item) for item in value)
