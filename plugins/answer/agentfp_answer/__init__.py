"""What an answer rests on: what was looked at and what was not, claims against facts, and one standing a person can act on."""

from agentfp_answer.artifact_reads import ArtifactReads, Resolved
from agentfp_answer.assessing import assess
from agentfp_answer.claims import ClaimSpec
from agentfp_answer.errors import AnswerValidationError, DeclarationRefusedError
from agentfp_answer.events import AnswerArmed, AnswerAssessed, AnswerValidated, ClaimChecked, CoverageDeclared, NestedAssessed
from agentfp_answer.items import Item
from agentfp_answer.minting import absent, coverage, described_result
from agentfp_answer.periods import Period
from agentfp_answer.plugin import Answer
from agentfp_answer.reading import Reading
from agentfp_answer.reports import (
    AnswerCoverage,
    Assessment,
    AssumedValue,
    Check,
    CheckReport,
    ClaimReport,
    CoveredPeriod,
    Reason,
    ValidationReport,
    Witness,
)
from agentfp_answer.validating import AnswerValidation, ValidationLimits

__all__ = [
    "Answer",
    "AnswerArmed",
    "AnswerAssessed",
    "AnswerCoverage",
    "AnswerValidated",
    "AnswerValidation",
    "AnswerValidationError",
    "ArtifactReads",
    "Assessment",
    "AssumedValue",
    "Check",
    "CheckReport",
    "ClaimChecked",
    "ClaimReport",
    "ClaimSpec",
    "CoverageDeclared",
    "CoveredPeriod",
    "DeclarationRefusedError",
    "Item",
    "NestedAssessed",
    "Period",
    "Reading",
    "Reason",
    "Resolved",
    "ValidationLimits",
    "ValidationReport",
    "Witness",
    "absent",
    "assess",
    "coverage",
    "described_result",
]
