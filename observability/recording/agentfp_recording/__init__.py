"""Recordings of an agent's runs: streamed to files, sealed with a checksum, looked back on, told in words, compared."""

from agentfp_recording.errors import RecordingError, UnsafeRecordingIdError
from agentfp_recording.plugin import Recording
from agentfp_recording.writer import RecordingStats

__all__ = ["Recording", "RecordingError", "RecordingStats", "UnsafeRecordingIdError"]
