"""A known fault for each check: the very function that looks at a run must find it, else its silence says nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentfp_integrity.checks import arguments, claims, columns, lookups, references, turns, wire
from agentfp_integrity.declaring import Column
from agentfp_integrity.ledger import Ledger


def _arguments() -> bool:
    found = arguments.judge(
        "canary",
        "canary",
        {"job": "from nowhere"},
        offered=frozenset(),
        ground=lambda _: None,
        own=lambda _: False,
        external=lambda _: None,
    )
    return bool(found.findings)


def _lookups() -> bool:
    return lookups.is_empty("success", "[]") is True and bool(lookups.judge("canary", "canary", {"job": "carried"}, lambda _: ["source"]))


def _column(kind: str) -> bool:
    found = columns.judge("canary", "canary", {"n": Column("number"), "gone": Column("string")}, [{"n": "1240"}])
    return any(finding.kind == kind for finding in found)


CANARIES: Mapping[tuple[str, str], Callable[[], bool]] = {
    ("invariant-violation", "wire"): lambda: len(wire.judge(["a"], ["b"])) == 2,
    ("dangling-reference", "compose"): lambda: references.judge("canary", ["source"], {"source": 1}, {}) is not None,
    ("unsupported-argument", "choice"): _arguments,
    ("empty-lookup", "write"): _lookups,
    ("column-type-mismatch", "write"): lambda: _column(columns.MISMATCH),
    ("missing-column", "write"): lambda: _column(columns.MISSING),
    ("unsupported-claim", "claim"): lambda: claims.judge(claims.ClaimRow("f", "checked-fail"))[1] is not None,
    ("prior-turn-evidence", "claim"): lambda: turns.judge(turns.Grounded(3, 0, 2, 1, 1, False))[1] is not None,
}
"""By check and moment, whether it finds its fault."""


def release(ledger: Ledger) -> None:
    """Give every check its known fault; those that pass it over are kept.

    Args:
        ledger: of the leg.
    """
    for key, caught in CANARIES.items():
        ledger.counts[key].synthetic += 1
        try:
            alive = caught()
        except Exception:  # a check that raises over its canary is dead too
            alive = False
        if not alive:
            ledger.missed.append(key)
