"""The findings ledger: the model says what each tool result is to it, on the record, and requests are built from that."""

from agentfp_findings.events import (
    Assertion,
    Carrier,
    ConflictFound,
    Contingent,
    Declared,
    FrameSkipped,
    Gap,
    Judged,
    JudgeFailed,
    Malformed,
    Probability,
    StandingDeclared,
    UnsettledByAbsence,
)
from agentfp_findings.plugin import Findings
from agentfp_findings.rows import Conflict, LedgerFold, Row, fold_ledger

__all__ = [
    "Assertion",
    "Carrier",
    "Conflict",
    "ConflictFound",
    "Contingent",
    "Declared",
    "Findings",
    "FrameSkipped",
    "Gap",
    "JudgeFailed",
    "Judged",
    "LedgerFold",
    "Malformed",
    "Probability",
    "Row",
    "StandingDeclared",
    "UnsettledByAbsence",
    "fold_ledger",
]
