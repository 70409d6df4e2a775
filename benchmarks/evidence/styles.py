"""How values are written in English, German and French."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

MONTHS = {
    "en": ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"],
    "de": ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"],
    "fr": ["janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"],
}
LANGUAGES = tuple(MONTHS)
FORMATS = ("plain", "markdown", "json")


@dataclass(frozen=True)
class Value:
    """A value in an answer.

    Args:
        text: as written.
        kind: its class in the bench.
        raw: the value behind it.
        unit: the unit that it is written with.
        key: field that it comes from.
        entity: row that it belongs to, where it belongs to one.
    """

    text: str
    kind: str
    raw: object
    unit: str = ""
    key: str = ""
    entity: str = ""


def number(value: float, language: str, decimals: int = 0) -> str:
    """A number with the marks of a language."""
    text = f"{value:,.{decimals}f}"
    if language == "en":
        return text
    group = "." if language == "de" else "\u202f"
    return text.replace(",", "\0").replace(".", ",").replace("\0", group)


def with_unit(text: str, unit: str, language: str) -> str:
    """A number and its unit in the order of a language."""
    if unit in ("$", "€", "£"):
        return f"{unit}{text}" if language == "en" else f"{text} {unit}"
    if unit == "%":
        return f"{text}%" if language == "en" else f"{text} %"
    return f"{text} {unit}" if unit else text


def date(value: datetime.date, language: str) -> str:
    """A date in prose."""
    month = MONTHS[language][value.month - 1]
    if language == "en":
        return f"{month} {value.day}, {value.year}"
    return f"{value.day}. {month} {value.year}" if language == "de" else f"{value.day} {month} {value.year}"


def clock(hour: int, minute: int, language: str) -> str:
    """A clock time."""
    if language == "en":
        return f"{(hour - 1) % 12 + 1}:{minute:02} {'AM' if hour < 12 else 'PM'}"
    return f"{hour:02}:{minute:02} Uhr" if language == "de" else f"{hour}h{minute:02}"
