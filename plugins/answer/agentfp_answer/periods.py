"""The time that a result's read covered: which instants a declaration may name."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentfp.plugin import nearest

_INSTANT = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_KEYS = ("queried", "held", "read_at")


@dataclass(frozen=True, slots=True)
class Span:
    """From one instant to another, both in it, as they were written."""

    from_: str
    to: str

    def wire(self) -> dict[str, str]:
        """As JSON data."""
        return {"from": self.from_, "to": self.to}


@dataclass(frozen=True, slots=True)
class Period:
    """What a read covered.

    Args:
        queried: the time that was asked for.
        held: the time that the source holds; ``unknown`` when it cannot say.
        read_at: when it was read.
    """

    queried: Span
    held: Span | Literal["unknown"]
    read_at: str | None = None

    def wire(self) -> dict[str, Any]:
        """As JSON data."""
        held = self.held if isinstance(self.held, str) else self.held.wire()
        return {"queried": self.queried.wire(), "held": held, **({} if self.read_at is None else {"read_at": self.read_at})}


def read_period(value: Any) -> tuple[Period | None, str | None]:
    """A period, or what is wrong with it.

    Args:
        value: a mapping with ``queried``, ``held`` and perhaps ``read_at``; ``from_`` is taken for ``from``.
    """
    if isinstance(value, Period):
        value = value.wire()
    if not isinstance(value, Mapping):
        return None, f"period is a mapping with 'queried' and 'held', got a {type(value).__name__}"
    for key in value:
        if key not in _KEYS:
            return None, f"period has no key {key!r}; {nearest(str(key), _KEYS)}"
    queried, wrong = _span(value.get("queried"), "period.queried")
    if queried is None:
        return None, wrong
    held: Any = value.get("held")
    if held != "unknown":
        held, wrong = _span(held, "period.held")
        if held is None:
            return None, f"{wrong}; where the source cannot say, write 'unknown'"
    read_at = value.get("read_at")
    if read_at is not None and instant(read_at) is None:
        return None, "period.read_at is an instant with a zone, such as 2030-01-31T09:00:00Z"
    return Period(queried, held, read_at), None


def _span(value: Any, name: str) -> tuple[Span | None, str | None]:
    if not isinstance(value, Mapping):
        return None, f"{name} is a mapping with 'from' and 'to'"
    data = {"from" if key == "from_" else key: item for key, item in value.items()}
    for key in data:
        if key not in ("from", "to"):
            return None, f"{name} has no key {key!r}; {nearest(str(key), ('from', 'to'))}"
    begins, ends = instant(data.get("from")), instant(data.get("to"))
    for key, found in (("from", begins), ("to", ends)):
        if found is None:
            return None, f"{name}.{key} is an instant with a zone, such as 2030-01-31T09:00:00Z"
    assert begins is not None
    assert ends is not None
    if begins > ends:
        return None, f"{name} ends before it begins"
    return Span(data["from"], data["to"]), None


def instant(text: Any) -> tuple[datetime.datetime, int] | None:
    """An instant as something that can be compared: the second, in UTC, and nanoseconds of it; None when it is none.

    Args:
        text: RFC 3339, with a zone; lower-case letters and a leap second are taken too.
    """
    found = _INSTANT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    day, hour, minute, second, fraction, zone = found.groups()
    leap = second == "60"
    try:
        offset = "+00:00" if zone in "Zz" else zone
        made = datetime.datetime.fromisoformat(f"{day}T{hour}:{minute}:{'59' if leap else second or '00'}{offset}")
        utc = made.astimezone(datetime.UTC) + datetime.timedelta(seconds=int(leap))
    except (ValueError, OverflowError):
        return None
    return utc, int((fraction or "").ljust(9, "0"))
