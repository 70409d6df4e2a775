"""The standard profile: every value of an answer, judged rung by rung."""

from __future__ import annotations

import re
from typing import Any

from agentfp_evidence.fold import fold
from agentfp_evidence.index import EvidenceIndex
from agentfp_evidence.judged_text import JudgedText, Ladder
from agentfp_evidence.options import EvidenceOptions
from agentfp_evidence.report import EvidenceReport


def judge_standard(
    index: EvidenceIndex, answer: str, options: EvidenceOptions, *, output_type: Any = None, is_data: bool = False
) -> EvidenceReport:
    """Judge an answer by the standard profile.

    Args:
        index: the evidence.
        answer: the answer's text.
        options: shapes, exemptions and strictness.
        output_type: the type of a typed answer.
        is_data: the text is JSON that was made of data.
    """
    ladder = Ladder(index, options)
    values = JudgedText(ladder, fold(answer), answer).values()
    return EvidenceReport(
        answer=answer,
        profile=options.profile,
        values=tuple(sorted(values, key=lambda v: (v.start, v.end))),
        tools=tuple(index.tools),
        calls=index.calls,
        results=index.results,
        truncated=ladder.table.truncated,
        is_data=is_data,
    )
