"""Checks of what a run is served and does, each with the ceiling of what it shows and a word on whether it looked."""

from agentfp_integrity.assertions import Assertion, Claim, Conflict, conflicts_of, known, not_applicable, unknown
from agentfp_integrity.declaring import declares
from agentfp_integrity.errors import CheckerDeadError
from agentfp_integrity.events import DispositionFiled, DispositionRow, ExternalGroundUsed, FindingFiled, SubjectRow, WitnessRow
from agentfp_integrity.findings import CEILINGS, CHECKS, Finding, Witness
from agentfp_integrity.plugin import Integrity
from agentfp_integrity.reports import CheckReport
from agentfp_integrity.settings import ExternalGround

__all__ = [
    "CEILINGS",
    "CHECKS",
    "Assertion",
    "CheckReport",
    "CheckerDeadError",
    "Claim",
    "Conflict",
    "DispositionFiled",
    "DispositionRow",
    "ExternalGround",
    "ExternalGroundUsed",
    "Finding",
    "FindingFiled",
    "Integrity",
    "SubjectRow",
    "Witness",
    "WitnessRow",
    "conflicts_of",
    "declares",
    "known",
    "not_applicable",
    "unknown",
]
