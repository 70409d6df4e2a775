"""What a declaration lists: something that was looked at, was not, or cannot be seen; and the one set of rules for it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from agentfp_answer.errors import DeclarationRefusedError

ItemInput: TypeAlias = "str | Mapping[str, Any] | Item"
"""A text, or a mapping with ``what`` and, where there are any, ``why``, ``short`` and ``kind``."""

LISTS = ("checked", "not_checked", "cannot_cover")
MAX_ITEMS = 1_000
"""Items of one list; what a foreign declaration lists beyond is counted and left off."""
MAX_SHORT = 80
_KEYS = ("what", "why", "short", "kind")
_KINDS = ("existence", "scope")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a declaration lists.

    Args:
        what: the thing.
        why: why it was not looked at, or cannot be.
        short: a name for it in a list, of at most 80 characters.
        kind: of what was not looked at: whether things exist there at all, or how far it reaches.
    """

    what: str
    why: str | None = None
    short: str | None = None
    kind: str | None = None

    def wire(self, *, whole: bool = False) -> dict[str, str]:
        """The item as JSON data; ``short`` and ``kind`` are for people and only stand in the whole of it."""
        pairs = {"what": self.what, "why": self.why, **({"short": self.short, "kind": self.kind} if whole else {})}
        return {key: value for key, value in pairs.items() if value is not None}

    @property
    def line(self) -> str:
        """The item in words."""
        return f"{self.short or self.what} — {self.why}" if self.why else self.short or self.what


class ReadItems(NamedTuple):
    """A list as it was read.

    Args:
        items: what could be read.
        faults: what could not, in words.
        left_off: items beyond the most that one list holds.
    """

    items: tuple[Item, ...] = ()
    faults: tuple[str, ...] = ()
    left_off: int = 0


def mint_items(values: Any, name: str) -> tuple[Item, ...]:
    """The items that an author lists.

    Args:
        values: a sequence of texts and mappings; None for nothing.
        name: of the list.

    Raises:
        DeclarationRefusedError: names the list, the item and what is wrong.
    """
    if values is None:
        return ()
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, (Sequence, set, frozenset)):
        raise DeclarationRefusedError(f"{name} is a list, got a {type(values).__name__}; put it in brackets")
    if len(values) > MAX_ITEMS:
        raise DeclarationRefusedError(f"{name} holds {len(values)} items, and at most {MAX_ITEMS} can be read; name them by groups")
    made = []
    for index, value in enumerate(values):
        item, faults = _read(value, name)
        if faults or item is None:
            raise DeclarationRefusedError(f"{name}[{index}] {faults[0]}")
        made.append(item)
    return tuple(made)


def read_items(value: Any, name: str) -> ReadItems:
    """The items that a declaration from elsewhere lists; what is wrong of one is left out of it, and no limit is lost over it.

    Args:
        value: JSON data.
        name: of the list.
    """
    if value is None:
        return ReadItems()
    if not isinstance(value, list):
        return ReadItems(faults=(f"{name} is no list",))
    items: list[Item] = []
    faults: list[str] = []
    for index, entry in enumerate(value[:MAX_ITEMS]):
        item, wrong = _read(entry, name)
        faults += [f"{name}[{index}] {words}" for words in wrong]
        if item is not None:
            items.append(item)
    return ReadItems(tuple(items), tuple(faults[:MAX_ITEMS]), max(0, len(value) - MAX_ITEMS))


def _read(value: Any, name: str) -> tuple[Item | None, list[str]]:
    """One item, without what is wrong of it, and what that is."""
    if isinstance(value, Item):
        value = value.wire(whole=True)
    data = {"what": value} if isinstance(value, str) else value
    if not isinstance(data, Mapping):
        return None, [f"is a text or a mapping with 'what', got a {type(value).__name__}"]
    faults = [f"has an unknown key {key!r}; the keys are {', '.join(_KEYS)}" for key in data if key not in _KEYS]
    what = data.get("what")
    if not isinstance(what, str) or not what.strip():
        return None, [*faults, "says nothing of what it is; give 'what'"]
    why, short, kind = data.get("why"), data.get("short"), data.get("kind")
    if why is not None and (not isinstance(why, str) or not why.strip()):
        faults.append("has a blank 'why'; say why, or leave it out")
        why = None
    elif why is None and name == "cannot_cover":
        faults.append("needs 'why': what can never be seen needs a reason")
    wrong = None if short is None else _short_fault(short, what)
    if wrong is not None:
        faults.append(wrong)
        short = None
    if kind is not None and (name == "checked" or kind not in _KINDS):
        faults.append(f"'kind' is {' or '.join(map(repr, _KINDS))}, and not for what was checked")
        kind = None
    return Item(what.strip(), why if why is None else why.strip(), short, kind), faults


def _short_fault(short: Any, what: str) -> str | None:
    if not isinstance(short, str) or not short.strip():
        return "has a blank 'short'; name it, or leave it out"
    if len(short) > MAX_SHORT or len(short) > len(what):
        return f"has a 'short' of {len(short)} characters; it is at most {MAX_SHORT}, and no longer than 'what'"
    if any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in short):
        return "has a 'short' with a line break or another character that is not seen"
    return None


def merged(lists: Iterable[Iterable[Item]]) -> tuple[Item, ...]:
    """Several lists as one; what is said twice, with the same reason, stands where it was said first."""
    found: dict[tuple[str, str | None], Item] = {}
    for items in lists:
        for item in items:
            found.setdefault((item.what, item.why), item)
    return tuple(found.values())
