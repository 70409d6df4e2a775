"""The items of what a result declares, and what can be wrong with one."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from agentfp_results.wire import ITEM_KEYS, KINDS, SHORT_CHARS


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
