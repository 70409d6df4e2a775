"""The names for people who read transcripts of other frameworks or judge them."""

from agentfp_core.errors import TranscriptError
from agentfp_core.transcripts import (
    JudgedValue,
    Judgement,
    Severity,
    Transcript,
    TranscriptJudge,
    TranscriptReader,
    ValueSource,
    ValueVerdict,
)

__all__ = [
    "JudgedValue",
    "Judgement",
    "Severity",
    "Transcript",
    "TranscriptError",
    "TranscriptJudge",
    "TranscriptReader",
    "ValueSource",
    "ValueVerdict",
]
