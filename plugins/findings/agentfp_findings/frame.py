"""The ledger as it is served: a pure function of the ledger and of constants, never longer than its ceiling, with whole entries only.

It is served in parts, so that what is written on the record for each call is only the part that changed: what results came to
changes now and then, what is noise and what is not judged yet with nearly every call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from agentfp_findings.ledger import Ledger
from agentfp_findings.sections import MOST_ENTRIES, MOST_IDS, closing, ids_line, size_of
from agentfp_findings.text import line
from agentfp_findings.words import ASK, HEADER

LAYOUT = ("facts", "limitations", "evidence_refs", "next_steps", "contingent", "unsettled_by_absence")
IDS = ("noise", "undeclared")
_HEADER_SIZE, _ASK_SIZE = size_of(HEADER), size_of(ASK)
_BETWEEN = len("\n\n") * 2


class Frame(NamedTuple):
    """The ledger as it is served, after its constant header; no texts when there is nothing to serve.

    Args:
        standings: what results came to.
        ids: what is noise, and what is not judged yet.
        too_long: bytes of the fixed words, when not even they fit.
    """

    standings: str = ""
    ids: str = ""
    too_long: int | None = None

    @property
    def whole(self) -> str:
        """All of it in one, the header included."""
        return "\n\n".join([HEADER, *[text for text in (self.standings, self.ids) if text]]) if self.standings or self.ids else ""


NOTHING = Frame()


class _Part(NamedTuple):
    """Entries that are admitted together; two of them may share a section."""

    section: str
    lines: Iterable[str]
    total: int


def frame(ledger: Ledger, *, most: int, ask: bool) -> Frame:
    """Write the ledger down for a request.

    Args:
        ledger: the ledger.
        most: the ceiling, in bytes of UTF-8.
        ask: whether the paragraph on how to answer is at its end.
    """
    if not ledger.current:
        return NOTHING
    ending = ASK if ask else ""
    left = most - _HEADER_SIZE - _BETWEEN - (_ASK_SIZE if ask else 0)
    if left < 0:
        return Frame(too_long=most - left)
    standings, ids = _whole(ledger, left) or _cut(ledger, left)
    return Frame(standings + ending if ending else standings, ids)


def _whole(ledger: Ledger, left: int) -> tuple[str, str] | None:
    """All sections, each as long as one may be; None when that is too long. Most of it is at hand from the call before."""
    if ledger.conflicts:
        return None
    text, size = ledger.entries.whole()
    texts = []
    if ledger.noise:
        texts.append(f"noise:\n{ledger.noise.line()}{closing(len(ledger.noise) - MOST_IDS)}")
    if ledger.undeclared:
        texts.append(f"undeclared:\n{ids_line(ledger.undeclared)}{closing(len(ledger.undeclared) - MOST_IDS)}")
    ids = "\n".join(texts)
    return (text, ids) if size + size_of(ids) + 1 <= left else None


def _cut(ledger: Ledger, left: int) -> tuple[str, str]:
    """As much of the sections as there is room for, the most important entries first."""
    parts = [part for part in _parts(ledger) if part.total]
    totals: dict[str, int] = {}
    for part in parts:
        totals[part.section] = totals.get(part.section, 0) + part.total
    served: dict[str, list[str]] = {}
    for section, total in totals.items():  # names and closing lines come first, and fit under the lowest ceiling that can be set
        served[section] = []
        left -= len(section) + 2 + len(closing(total))
    for part in parts:
        left = _admit(part, served[part.section], left)
    return _sections(served, totals, LAYOUT)[1:], _sections(served, totals, IDS)[1:]


def _parts(ledger: Ledger) -> Iterator[_Part]:
    """All there is to serve, the most important first."""
    yield _Part("limitations", _conflicts(ledger), len(ledger.conflicts))
    yield _Part("facts", ledger.entries.facts, ledger.entries.facts.count)
    yield _Part("contingent", ledger.entries.contingent, ledger.entries.contingent.count)
    yield _Part("unsettled_by_absence", ledger.entries.unsettled, ledger.entries.unsettled.count)
    yield _Part("limitations", ledger.entries.ruled_out, ledger.entries.ruled_out.count)
    yield _Part("evidence_refs", ledger.entries.open, ledger.entries.open.count)
    yield _Part("next_steps", ledger.entries.next_steps, ledger.entries.next_steps.count)
    yield _Part("undeclared", [ids_line(ledger.undeclared)], len(ledger.undeclared))
    yield _Part("noise", [ledger.noise.line()], len(ledger.noise))


def _conflicts(ledger: Ledger) -> Iterator[str]:
    for key in ledger.conflicts:
        kind, subject, predicate = key
        witnesses = ledger.conflicts.witnesses(key)
        sources = [ledger.current[call_id].provenance for call_id in witnesses[:MOST_IDS]]
        more = {"more": len(witnesses) - MOST_IDS} if len(witnesses) > MOST_IDS else {}
        yield line({"conflict": f"{kind}/{subject} · {predicate}", "from": sources, **more})


def _admit(part: _Part, admitted: list[str], left: int) -> int:
    """Take in a part's lines until one does not fit; gives the bytes that are left."""
    for text in part.lines:
        size = size_of(text) + 1
        if size > left or len(admitted) >= MOST_ENTRIES:
            break
        admitted.append(text)
        left -= size
    return left


def _sections(served: dict[str, list[str]], totals: dict[str, int], names: Iterable[str]) -> str:
    texts = []
    for name in names:
        if name in served:
            lines = served[name]
            shown = min(totals[name], MOST_IDS) if name in IDS and lines else len(lines)
            texts.append("\n".join([f"\n{name}:", *lines]) + closing(totals[name] - shown))
    return "".join(texts)


def offer_line(ids: list[str], left_off: int) -> str:
    """The ids that may be named, for schemas that do not list them.

    Args:
        ids: as JSON texts.
        left_off: how many older ones there are.
    """
    if not ids:
        return ""
    more = f" {left_off} older ones are not listed." if left_off else ""
    return f"Results that `previous` can name, the newest first: [{','.join(ids)}].{more}"
