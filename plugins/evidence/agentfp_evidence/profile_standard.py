"""The standard profile."""

from __future__ import annotations

import dataclasses
from typing import Any

from agentfp_evidence.index import EvidenceIndex
from agentfp_evidence.options import EvidenceOptions
from agentfp_evidence.profile_lexical import judge_lexical
from agentfp_evidence.report import EvidenceReport


def judge_standard(
    index: EvidenceIndex, text: str, options: EvidenceOptions, *, output_type: Any = None, is_data: bool = False
) -> EvidenceReport:
    """Judge an answer by the standard profile."""
    report = judge_lexical(index, text, options)
    return dataclasses.replace(report, profile=options.profile, is_data=is_data)
