"""What can go wrong with recordings."""

from __future__ import annotations

from agentfp import AgentfpError, RecordError


class RecordingError(RecordError):
    """Events did not make it into a recording, or a file is none that can be read."""

    code = "ERR_RECORDING"


class UnsafeRecordingIdError(RecordingError, ValueError):
    """An id cannot be part of a file's name. It is not made fit, for two ids must never share a file."""

    code = "ERR_UNSAFE_RECORDING_ID"


__all__ = ["AgentfpError", "RecordingError", "UnsafeRecordingIdError"]
