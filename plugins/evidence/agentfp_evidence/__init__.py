"""Says of every value in an agent's answer where it came from: a tool's result, the person, or nowhere."""

from agentfp_evidence.deciding import acting_values, checked_event, decide
from agentfp_evidence.errors import UnsupportedValuesError
from agentfp_evidence.events import Action, EvidenceChecked, JudgedRow, MisattachedRow, ToolRow
from agentfp_evidence.gate import Evidence
from agentfp_evidence.index import EvidenceIndex
from agentfp_evidence.judging import judge, judge_with
from agentfp_evidence.options import EvidenceOptions, Profile, Shape
from agentfp_evidence.report import EvidenceReport, EvidenceValue, Misattachment, ToolNote
from agentfp_evidence.revision import RecoveryContext, instruction, revision_note

__all__ = [
    "Action",
    "Evidence",
    "EvidenceChecked",
    "EvidenceIndex",
    "EvidenceOptions",
    "EvidenceReport",
    "EvidenceValue",
    "JudgedRow",
    "MisattachedRow",
    "Misattachment",
    "Profile",
    "RecoveryContext",
    "Shape",
    "ToolNote",
    "ToolRow",
    "UnsupportedValuesError",
    "acting_values",
    "checked_event",
    "decide",
    "instruction",
    "judge",
    "judge_with",
    "revision_note",
]
