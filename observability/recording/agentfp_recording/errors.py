"""What can go wrong with recordings."""

from __future__ import annotations

from agentfp import RecordError


class RecordingError(RecordError):
    """Events did not make it into a recording."""

    code = "ERR_RECORDING"


class UnsafeRecordingIdError(RecordingError, ValueError):
    """An id cannot be part of a file's name. It is not made fit, for two ids must never share a file."""

    code = "ERR_UNSAFE_RECORDING_ID"
