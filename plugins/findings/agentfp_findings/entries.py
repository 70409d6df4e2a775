"""The ledger's entries as they are served, each encoded once, when its row comes."""

from __future__ import annotations

import json
from typing import Any

from agentfp_findings.events import Assertion, Contingent, StandingDeclared, UnsettledByAbsence
from agentfp_findings.sections import Section, closing
from agentfp_findings.text import CLIP, clipped, line


class Entries:
    """Sections of lines, in the order in which results were first named."""

    __slots__ = ("_whole", "contingent", "facts", "next_steps", "open", "ruled_out", "unsettled")

    def __init__(self) -> None:
        self.facts, self.ruled_out, self.open, self.next_steps = Section(), Section(), Section(), Section()
        self.contingent, self.unsettled = Section(), Section()
        self._whole = (0, "", 0)

    def whole(self) -> tuple[str, int]:
        """All sections, each as long as one may be, and their bytes; made anew only when an entry came or went."""
        named = (
            ("facts", self.facts),
            ("limitations", self.ruled_out),
            ("evidence_refs", self.open),
            ("next_steps", self.next_steps),
            ("contingent", self.contingent),
            ("unsettled_by_absence", self.unsettled),
        )
        changes = sum([section.changes for _, section in named])
        if changes != self._whole[0]:
            texts: list[str] = []
            size = 0
            for name, section in named:
                if section.count:
                    head = section.head()
                    ending = closing(section.count - head.lines)
                    size += len(name) + 2 + head.size + len(ending)
                    texts += ("\n", name, ":", head.text, ending)
            self._whole = (changes, "".join(texts)[1:], size)
        return self._whole[1:]

    def put(self, rank: int, call_id: str, row: StandingDeclared, tested: str | None) -> None:
        """Enter a standing.

        Args:
            rank: the result's place among those that were named.
            call_id: the id that was named.
            row: the standing.
            tested: the proposition that was declared on the judged call.
        """
        about = {} if row.tool is None else {"tool": row.tool}
        ends = {} if tested is None else {"tested": tested}  # clipped on its row
        if row.standing == "fact":
            source: dict[str, Any] = {"from": [row.provenance], **({"unknown_id": True} if row.unknown_id else {})}
            self.facts.put(rank, tuple([line({**_stated(a), **source}) for a in row.assertions]) or (line(source),))
        elif row.standing == "ruled-out":
            said = {} if row.line is None else {"line": clipped(row.line)}
            self.ruled_out.put(rank, (line({"ruled_out": call_id, **about, **said, **ends}),))
        elif row.standing == "open":
            settles = {} if row.settles is None else {"settles": clipped(row.settles)}
            head = {"open": call_id, **about}
            lines = tuple([line({**head, **_stated(a), **settles, **ends}) for a in row.assertions])
            self.open.put(rank, lines or (line({**head, **settles, **ends}),))
            if row.settles is not None:
                self.next_steps.put(rank, (line({"do": clipped(row.settles), "to_settle": call_id}),))

    def drop(self, rank: int) -> None:
        """Take out what was entered for a result."""
        for section in (self.facts, self.ruled_out, self.open, self.next_steps):
            section.drop(rank)

    def put_contingent(self, seq: int, on: str, row: Contingent) -> None:
        """Enter a value that rests on set-aside results; ``on`` is a call's id, or ``answer``."""
        carriers = [[carrier.call_id, carrier.standing] for carrier in row.carriers]
        self.contingent.put(seq, (line({"used": row.value, "on": on, "carriers": carriers}),))

    def put_unsettled(self, rank: int, row: UnsettledByAbsence) -> None:
        """Enter that a result was ruled out on weak ground."""
        shown: dict[str, Any] = {"id": row.result, **({} if row.tool is None else {"tool": row.tool})}
        for name, gaps in (("not_checked", row.not_checked), ("cannot_cover", row.cannot_cover)):
            if gaps:
                shown[name] = [{"what": gap.what, **({} if gap.why is None else {"why": gap.why})} for gap in gaps]
        if row.try_instead is not None:
            shown["try_instead"] = row.try_instead
        self.unsettled.drop(rank)
        self.unsettled.put(rank, (line(shown),))


def _stated(assertion: Assertion) -> dict[str, Any]:
    try:
        value = json.loads(assertion.value)
    except ValueError:  # a masked copy
        value = assertion.value
    if isinstance(value, str):
        value = clipped(value)
    elif len(assertion.value) > CLIP:
        value = {"clipped_json_chars": len(assertion.value)}
    return {"s": f"{assertion.kind}/{assertion.id}", "p": assertion.predicate, "v": value}
