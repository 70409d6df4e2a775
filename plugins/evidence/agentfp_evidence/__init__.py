"""Says of every value in an agent's answer where it came from: a tool's result, the person, or nowhere."""

from agentfp_evidence.errors import UnsupportedValuesError
from agentfp_evidence.events import EvidenceChecked, JudgedRow, MisattachedRow, ToolRow
from agentfp_evidence.gate import Evidence
from agentfp_evidence.index import EvidenceIndex
from agentfp_evidence.judging import judge, judge_with
from agentfp_evidence.options import EvidenceOptions, Profile, Shape
from agentfp_evidence.report import EvidenceReport, EvidenceValue, Misattachment, ToolNote
from agentfp_evidence.revision import RecoveryContext

__all__ = [
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
    "judge",
    "judge_with",
]
