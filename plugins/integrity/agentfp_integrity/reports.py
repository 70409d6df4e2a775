"""What people read of the ledger."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check did in a turn.

    Args:
        check: the check.
        seam: the moment that it looks at.
        checked: things that it looked at.
        findings: those of them at which it found something.
        not_applicable: things that were out of its scope; one for a check that is not switched on.
        unreachable: things with nothing to compare them with.
        synthetic: known faults that it was given; none of them counts above.
        last_fired_ms: when it last found something, milliseconds since 1970.
    """

    check: str
    seam: str
    checked: int = 0
    findings: int = 0
    not_applicable: int = 0
    unreachable: int = 0
    synthetic: int = 0
    last_fired_ms: int | None = None
