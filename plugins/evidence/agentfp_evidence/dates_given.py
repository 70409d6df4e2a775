"""Other spellings of the dates and clock times that a person wrote, for the lexical level."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator

_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d{1,2})-(\d{1,2})(?![\d-])", re.ASCII)
_TWELVE = re.compile(r"(?<![\w:.])(\d{1,2})(?::(\d{2}))?\s?([ap])\.?m\b", re.ASCII | re.IGNORECASE)
_CLOCK = re.compile(r"(?<![\w:.])(\d{1,2}):(\d{2})(?![\w:]|\.\d)(?!\s?[ap]\.?m\b)", re.ASCII | re.IGNORECASE)


def spellings(text: str) -> Iterator[str]:
    """Normalised tokens that say the same as the dates and times in a text.

    Args:
        text: what the person or the application wrote. Dates with slashes are not interpreted, durations give nothing.
    """
    for match in _ISO.finditer(text):
        year, month, day = (int(part) for part in match.groups())
        try:
            datetime.date(year, month, day)
        except ValueError:
            continue
        yield from (str(year), str(month), str(day))
    for match in _TWELVE.finditer(text):
        hour, minute, pm = int(match[1]), int(match[2] or 0), match[3].lower() == "p"
        if 1 <= hour <= 12 and minute < 60:
            yield from _clock(hour % 12 + 12 * pm, minute)
    for match in _CLOCK.finditer(text):
        hour, minute = int(match[1]), int(match[2])
        if hour < 24 and minute < 60:
            yield from _clock(hour, minute)


def _clock(hour: int, minute: int) -> Iterator[str]:
    """Of 08:40 in the evening, ``08:40`` is not a spelling: a padded hour is read in 24 hours."""
    twelve, half = (hour - 1) % 12 + 1, "am" if hour < 12 else "pm"
    yield from (f"{hour:02}:{minute:02}", f"{hour}:{minute:02}", f"{twelve}:{minute:02}", f"{twelve}:{minute:02}{half}")
    if minute == 0:
        yield f"{twelve}{half}"
