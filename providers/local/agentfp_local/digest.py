"""A tool's result as the model is shown it: short lines, and of data only what the question speaks of."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from agentfp_local.turn import parsed
from agentfp_local.wording import terms

_FIRST = re.compile(r"\b(?:first|next)\b", re.IGNORECASE)
_LAST = re.compile(r"\blast\b", re.IGNORECASE)
MOST_ITEMS = 8
"""A model of this size loses its way in longer lists."""


def digest(text: str, question: str) -> str:
    """The lines of a result that matter to a question.

    Args:
        text: the result as the tool gave it.
        question: what the person wants to know.
    """
    data = parsed(text)
    asked = terms(question)
    if isinstance(data, dict):
        return "\n".join(_lines(data, asked)) or "nothing"
    if isinstance(data, list):
        chosen = _chosen(data, question)
        items = [", ".join(_lines(item, asked, listed=True)) if isinstance(item, dict) else _plain(item) for item in chosen[:MOST_ITEMS]]
        return "\n".join(items) or "nothing"
    return text


def _chosen(items: list[Any], question: str) -> list[Any]:
    """Of a list, the items that the question names; or its first or last one where it asks for that."""
    asked = terms(question)
    named = [item for item in items if isinstance(item, dict) and any(_names(value, asked) for value in item.values())]
    if named and len(named) < len(items):
        return named
    if _FIRST.search(question):
        return items[:1]
    return items[-1:] if _LAST.search(question) else items


def _names(value: Any, asked: set[str]) -> bool:
    return isinstance(value, str) and bool(terms(value)) and terms(value) <= asked


def _lines(data: Mapping[str, Any], asked: set[str], *, listed: bool = False) -> list[str]:
    about = [key for key in data if terms(key) & asked]
    given = [key for key, value in data.items() if _names(value, asked)]
    if about:
        named = [key for key in ("name", "title") if key in data] if listed else given
        kept = [key for key in data if key in (*about, *named)]
    elif listed and "name" in data:
        kept = ["name"]
    else:
        kept = list(data)
    return [f"{key.replace('_', ' ')}: {_plain(data[key])}" for key in kept]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
