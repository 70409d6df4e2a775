"""The time that passed between two moments: of the lines around, of the results, or one of those and now."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Sequence

from agentfp_evidence.numbers import Number
from agentfp_evidence.scan import Mention
from agentfp_evidence.sources import Source
from agentfp_evidence.verdict import Verdict

_STAMP = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?:T|\s|, )\s?(\d{2}):(\d{2})(?::(\d{2}))?(?!\d)")
_MOST_STAMPS = 40
_LINES_BEFORE = 2
_FEW_GAPS = 4
_FIRST = 2
_DAY = 86_400


class Stamps:
    """The moments to the minute that a conversation names; a facet of the evidence."""

    def __init__(self) -> None:
        self._pending: list[Source] = []
        self.served: dict[datetime.datetime, None] = {}
        self.given: dict[datetime.datetime, None] = {}

    def add(self, source: Source) -> None:
        """Note a source; it is read when first asked for."""
        self._pending.append(source)

    def read(self) -> None:
        """Read what came since."""
        for source in self._pending:
            held = self.given if source.ground == "given" else self.served
            for match in _STAMP.finditer(source.text):
                if len(held) > _MOST_STAMPS:
                    break
                try:
                    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
                    held.setdefault(datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC))
                except ValueError:
                    continue
        self._pending.clear()


def _seconds(clock: tuple[int, int, int | None]) -> float:
    return 3600.0 * clock[0] + 60 * clock[1] + (clock[2] or 0)


def find_elapsed(stamps: Stamps, text: str, number: Number, sure: Sequence[Mention]) -> Verdict | None:
    """A length of time between moments, where there are so few of them that this is no accident.

    Args:
        stamps: the moments that the conversation names.
        text: the answer, folded.
        number: so many seconds, minutes or hours.
        sure: the moments of the answer that are grounded.
    """
    if number.unit is None or number.unit.name not in ("s", "min", "h"):
        return None
    factor = float(number.unit.factor)
    first = number.start
    for _ in range(_LINES_BEFORE + 1):
        first = text.rfind("\n", 0, max(0, first - 1))
        if first < 0:
            break
    last = text.find("\n", number.end)
    near = [m for m in sure if first < m.start and (last < 0 or m.start < last)]
    clocks = list(dict.fromkeys(m.moments[-1].clock for m in near if m.moments[-1].clock is not None))
    seconds = [3600 * h + 60 * m + (s or 0) for h, m, s in clocks if number.unit.name != "s" or s is not None]
    stamps.read()
    moments = [*stamps.served, *stamps.given] if len(stamps.served) <= _MOST_STAMPS else []
    said = {(h, m) for h, m, _ in clocks}
    line = text.rfind("\n", 0, number.start) + 1
    own = [m.moments[-1].clock for m in near if line <= m.start < number.start and m.moments[-1].clock is not None]
    first_said = [m.moments[0].clock for m in sure if m.start < line and m.moments[0].clock is not None][:_FIRST]
    meant = [s for s in moments if (s.hour, s.minute) in said or s in stamps.given]
    rings: list[list[float]] = [
        [float((b - a) % _DAY) for a, b in itertools.permutations(seconds, 2)],
        [abs(_seconds(a) - _seconds(b)) for a in own[-1:] for b in first_said],  # a list of when things came, and when they should have
        [abs((b - a).total_seconds()) for a, b in itertools.combinations(meant, 2)],
        [abs((b - a).total_seconds()) for a, b in itertools.pairwise(sorted(stamps.served))] if moments else [],
    ]
    for gaps in rings:
        sizes = {gap / factor for gap in gaps if number.value / 2 <= gap / factor <= 2 * number.value}
        hit = next((s for s in sizes if s >= number.value > s - 1 or abs(s - number.value) <= 0.5), None)
        if hit is not None and len(sizes) <= max(2, min(_FEW_GAPS, number.value / 6)):
            return Verdict("supported", "duration", f"{number.readings[0]} = {hit:.4g} {number.unit.name} between two moments")
    return None
