"""The names for people who read transcripts of other frameworks, judge them, or record their runs."""

from agentfp_core.errors import PluginLoadError, TranscriptError
from agentfp_core.recorder import RunRecorder
from agentfp_core.transcript_parts import installed_judges, installed_readers, make_judge, read_transcripts
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
    "PluginLoadError",
    "RunRecorder",
    "Severity",
    "Transcript",
    "TranscriptError",
    "TranscriptJudge",
    "TranscriptReader",
    "ValueSource",
    "ValueVerdict",
    "installed_judges",
    "installed_readers",
    "make_judge",
    "read_transcripts",
]
