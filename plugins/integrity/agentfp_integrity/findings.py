"""What a check finds: its kind, what it is about, and the ceiling of what can be concluded from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Seam: TypeAlias = Literal["write", "compose", "wire", "choice", "claim"]
Disposition: TypeAlias = Literal["checked-pass", "checked-fail", "not-applicable", "unreachable"]
Subject: TypeAlias = tuple[str, str]
"""Kind and id of a thing."""

CHECKS: tuple[tuple[str, Seam], ...] = (
    ("invariant-violation", "wire"),
    ("dangling-reference", "compose"),
    ("unsupported-argument", "choice"),
    ("empty-lookup", "write"),
    ("column-type-mismatch", "write"),
    ("missing-column", "write"),
    ("unsupported-claim", "claim"),
    ("prior-turn-evidence", "claim"),
)
"""Every check and the moment that it looks at: a result, a request, the request's body, a choice of the model, the answer."""

CEILINGS: Mapping[str, str] = {
    "invariant-violation": "it shows that what was composed and what was sent differ, not which of them is right",
    "dangling-reference": "it shows that results are no longer in the request, not that the model needs them",
    "unsupported-argument": "it shows that the words stand nowhere in the request; a value may be right and stand nowhere",
    "empty-lookup": "an empty result may be true; this is a place to look, not a verdict",
    "column-type-mismatch": "it judges types and never what a value means: 0.0 where 0.0078 was due passes",
    "missing-column": "it judges whether a column is there, never what it should hold",
    "unsupported-claim": "it shows that the answer and the latest result differ, not which of them is right",
    "prior-turn-evidence": "a look back that was meant cannot be told from a stale answer",
}
"""What can be concluded from a finding of each kind, and no more."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Something that a finding stands on.

    Args:
        provenance: who says so: a call, a tool, the model.
        value: what, clipped; it may quote arguments.
        stratum: ``asserted`` now, or ``quoted`` from before.
    """

    provenance: str
    value: str | None = None
    stratum: Literal["asserted", "quoted"] = "asserted"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found.

    Args:
        kind: the check.
        seam: the moment that it looked at.
        subjects: what it is about.
        predicate: what of it.
        message: one sentence that a person can act on; it does not say who is right.
        witnesses: what it stands on.
        advisory: it is a place to look, and no fault.
        seq: the event; -1 before it is filed.
        call_id: the call that it is about.
    """

    kind: str
    seam: Seam
    subjects: tuple[Subject, ...]
    predicate: str | None
    message: str
    witnesses: tuple[Witness, ...] = ()
    advisory: bool = False
    seq: int = -1
    call_id: str | None = None

    @property
    def ceiling(self) -> str:
        """What can be concluded from it."""
        return CEILINGS.get(self.kind, "")

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two findings of a turn the same one; a place to look does not hide a fault at the same place."""
        return self.kind, self.seam, tuple(sorted(self.subjects)), self.predicate, self.advisory

    def __str__(self) -> str:
        return self.message


def clipped(value: object, most: int = 80) -> str:
    """A value in short."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"
