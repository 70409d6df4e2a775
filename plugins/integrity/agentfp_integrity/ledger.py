"""What each check did with each thing that it met, in one leg of a run."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentfp_integrity.events import DispositionRow
from agentfp_integrity.findings import CHECKS, Disposition


@dataclass
class Counts:
    """What one check did."""

    passed: int = 0
    failed: int = 0
    not_applicable: int = 0
    unreachable: int = 0
    synthetic: int = 0
    last_fired_ms: int | None = None

    @property
    def filed(self) -> int:
        """How many things it met; canaries are none."""
        return self.passed + self.failed + self.not_applicable + self.unreachable


@dataclass
class Ledger:
    """The counts of a leg.

    Args:
        leg: its run id.
        armed: the checks that are switched on.
        judged: the last request that was looked at.
    """

    leg: str
    armed: set[tuple[str, str]]
    judged: int = 0
    counts: dict[tuple[str, str], Counts] = field(default_factory=dict)
    missed: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for key in CHECKS:
            self.counts[key] = Counts(not_applicable=0 if key in self.armed else 1)

    def arm(self, check: str, seam: str) -> None:
        """Switch a check on that only turns out to be wanted while the run goes on."""
        if (check, seam) not in self.armed:
            self.armed.add((check, seam))
            self.counts[check, seam].not_applicable -= 1

    def note(self, check: str, seam: str, disposition: Disposition, *, at_ms: int = 0) -> None:
        """File one disposition.

        Args:
            check: the check.
            seam: where it looked.
            disposition: what came of it.
            at_ms: the time, milliseconds since 1970, for a finding.
        """
        counts = self.counts[check, seam]
        if disposition == "checked-pass":
            counts.passed += 1
        elif disposition == "checked-fail":
            counts.failed += 1
            counts.last_fired_ms = at_ms
        elif disposition == "not-applicable":
            counts.not_applicable += 1
        else:
            counts.unreachable += 1

    def rows(self) -> tuple[DispositionRow, ...]:
        """The ledger, every check in it."""
        return tuple(
            [
                DispositionRow(check, seam, c.passed + c.failed, c.failed, c.not_applicable, c.unreachable, c.synthetic, c.last_fired_ms)
                for (check, seam), c in self.counts.items()
            ]
        )

    def dead(self) -> tuple[str, str] | None:
        """A check that cannot be relied on: it missed its canary, or met things and said nothing of any."""
        if self.missed:
            return self.missed[0]
        return next((key for key, counts in self.counts.items() if not counts.filed), None)
