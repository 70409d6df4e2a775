"""Facts about a tool that travel in its ``_meta``: inert declarations only, each checked where it comes in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

NAMESPACE = "agentfp/facts"
"""The key of ``_meta`` under which they stand."""


def _text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 200


def _texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) <= 200 and all(_text(item) for item in value)


def _named_texts(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and len(value) <= 200
        and all(_text(key) and (_text(item) or _texts(item)) for key, item in value.items())
    )


def _ceiling(value: Any) -> bool:
    number = value.get("max_chars") if isinstance(value, Mapping) else value
    narrow = value.get("narrow_by", []) if isinstance(value, Mapping) else []
    return isinstance(number, int) and not isinstance(number, bool) and number > 0 and _texts(narrow)


FACTS: Mapping[str, Callable[[Any], bool]] = {
    "arguments_from": _named_texts,
    "result_kind": _text,
    "result_columns": lambda value: _texts(value) or _named_texts(value),
    "owner": _text,
    "result_class": _text,
    "result_ceiling": _ceiling,
    "composed_of": _texts,
    "gates": _texts,
}
"""What may travel, and how each must look. Nothing here opens anything: a fact may only describe or restrict."""


def read(meta: Any) -> tuple[dict[str, Any], list[str]]:
    """The facts in a tool's ``_meta``.

    Args:
        meta: whatever a server sent there.

    Returns:
        The facts, and the names of those that were dropped because they do not look as they must. Never raises.
    """
    given = meta.get(NAMESPACE) if isinstance(meta, Mapping) else None
    if not isinstance(given, Mapping):
        return {}, [] if given is None else [NAMESPACE]
    kept: dict[str, Any] = {}
    dropped: list[str] = []
    for name, value in given.items():
        check = FACTS.get(name) if isinstance(name, str) else None
        if check is not None and check(value):
            kept[name] = value
        else:
            dropped.append(str(name)[:80])
    return kept, dropped


def write(metadata: Mapping[str, Any], result_ceiling: Any) -> dict[str, Any] | None:
    """The ``_meta`` of a served tool; None where there is nothing to tell.

    Args:
        metadata: the tool's metadata.
        result_ceiling: the tool's ceiling, or None.
    """
    facts = {name: metadata[name] for name, check in FACTS.items() if name in metadata and check(metadata[name])}
    if result_ceiling is not None:
        facts["result_ceiling"] = {"max_chars": result_ceiling.max_chars, "narrow_by": list(result_ceiling.narrow_by)}
    return {NAMESPACE: facts} if facts else None
