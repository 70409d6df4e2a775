"""The tools that were composed, and those that stand in the request's body."""

from __future__ import annotations

from collections.abc import Collection

from agentfp_integrity.findings import Finding, Witness

KIND = "invariant-violation"


def judge(composed: Collection[str], stated: Collection[str]) -> list[Finding]:
    """Where the two differ: one finding for what is in the body and was not composed, one for the other way round.

    Args:
        composed: names of the tools of the request.
        stated: names that the model's adapter reads back from the body; none is a statement too.
    """
    extra, missing = sorted(set(stated) - set(composed)), sorted(set(composed) - set(stated))
    found = []
    for predicate, names, what in (
        ("extra", extra, "stand in the body of the request and were not composed"),
        ("missing", missing, "were composed and do not stand in the body of the request"),
    ):
        if names:
            message = f"Tools {', '.join(map(repr, names))} {what}; it went out."
            found.append(Finding(KIND, "wire", tuple(("tool", name) for name in names), predicate, message, (Witness("adapter"),)))
    return found
