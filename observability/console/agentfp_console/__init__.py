"""What an agent does, as it does it: a status line, structured logs, a file of JSON lines."""

from agentfp_console.event_file import EventFile
from agentfp_console.event_log import EventLog
from agentfp_console.reading import EventReader, read_events
from agentfp_console.status_line import StatusLine
from agentfp_console.thinking import Status, ThinkingState

__all__ = [
    "EventFile",
    "EventLog",
    "EventReader",
    "Status",
    "StatusLine",
    "ThinkingState",
    "read_events",
]
