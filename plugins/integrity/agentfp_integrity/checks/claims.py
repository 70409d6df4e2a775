"""Claims of an answer that do not hold, as the plugin that checks them puts them on the record."""

from __future__ import annotations

from typing import Any, NamedTuple

from agentfp_integrity.findings import CEILINGS, Disposition, Finding, Witness, clipped

KIND = "unsupported-claim"
_KNOWN: tuple[Disposition, ...] = ("checked-pass", "checked-fail", "not-applicable", "unreachable")


class ClaimRow(NamedTuple):
    """What a claim came to."""

    field: str
    disposition: str
    advisory: bool = False
    entity: str | None = None
    stated: Any = None
    known: Any = None


def judge(row: ClaimRow) -> tuple[Disposition, Finding | None]:
    """What a row about a claim says, and what is found of it."""
    disposition: Disposition = next((known for known in _KNOWN if known == row.disposition), "unreachable")
    if disposition != "checked-fail" and not row.advisory:
        return disposition, None
    if row.advisory:
        message = f"The answer says that it does not know {row.field!r}, and a result states it; {CEILINGS[KIND]}."
    else:
        message = f"The answer's {row.field!r} is not what the latest result states; {CEILINGS[KIND]}."
    witnesses = (Witness("answer", clipped(str(row.stated))), Witness("result", clipped(str(row.known))))
    subjects = (("entity", row.entity or ""), ("field", row.field))
    return disposition, Finding(KIND, "claim", subjects, row.field, message, witnesses, advisory=row.advisory)
