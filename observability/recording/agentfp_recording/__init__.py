"""Recordings of an agent's runs: streamed to files, sealed with a checksum, looked back on, told in words, compared."""

from agentfp_recording.commentary import UNKNOWN, Commentator, commentary, narrate, tell
from agentfp_recording.diff import Change, Difference, diff
from agentfp_recording.errors import RecordingError, UnsafeRecordingIdError
from agentfp_recording.plugin import Recording
from agentfp_recording.reading import Gap, Leg, Part, RecordingFile, Verification, open_recording
from agentfp_recording.saving import pack_recording, save_recording
from agentfp_recording.travel import Stop, TimeTravel, state_at
from agentfp_recording.writer import RecordingStats

__all__ = [
    "UNKNOWN",
    "Change",
    "Commentator",
    "Difference",
    "Gap",
    "Leg",
    "Part",
    "Recording",
    "RecordingError",
    "RecordingFile",
    "RecordingStats",
    "Stop",
    "TimeTravel",
    "UnsafeRecordingIdError",
    "Verification",
    "commentary",
    "diff",
    "narrate",
    "open_recording",
    "pack_recording",
    "save_recording",
    "state_at",
    "tell",
]
