"""Says of every value in an agent's answer where it came from: a tool's result, the person, or nowhere."""

from agentfp_evidence.index import EvidenceIndex
from agentfp_evidence.judging import judge, judge_with
from agentfp_evidence.options import EvidenceOptions, Profile, Shape
from agentfp_evidence.report import EvidenceReport, EvidenceValue, Misattachment, ToolNote

__all__ = [
    "EvidenceIndex",
    "EvidenceOptions",
    "EvidenceReport",
    "EvidenceValue",
    "Misattachment",
    "Profile",
    "Shape",
    "ToolNote",
    "judge",
    "judge_with",
]
