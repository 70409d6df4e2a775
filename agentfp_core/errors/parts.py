"""What goes wrong at tools, models, plugins and records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfp_core.errors.base import AgentfpError
from agentfp_core.errors.usage import ConfigError

if TYPE_CHECKING:
    from agentfp_core.entrypoints import Entry


class ToolError(AgentfpError):
    """Raise it in a tool: the call failed, and this text is what the model reads.

    Args:
        message: words for the model.
        detail: words for the record only.
    """

    code = "ERR_TOOL"

    def __init__(self, message: str, *, detail: str | None = None) -> None:
        self.message = message
        self.detail = detail
        super().__init__(message)


class RetryTool(ToolError):
    """Raise it in a tool: the arguments were of no use, and this text tells the model how to call again."""

    code = "ERR_RETRY_TOOL"


class ToolTeardownTimeoutError(AgentfpError, TimeoutError):
    """A cleanup of a tool session did not end in time and was left behind."""

    code = "ERR_TOOL_TEARDOWN_TIMEOUT"


class ClassifierError(AgentfpError):
    """A classifier gave no answer that can be used.

    Args:
        message: what went wrong; never a key, a prompt or what was classified.
        status: the HTTP status, where there was one.
        retryable: whether asking again may help.
    """

    code = "ERR_CLASSIFIER"

    def __init__(self, message: str, *, status: int | None = None, retryable: bool = False) -> None:
        self.status = status
        self.retryable = retryable
        super().__init__(message)


class PluginError(AgentfpError):
    """A plugin failed where the run cannot go on without it."""

    code = "ERR_PLUGIN"

    def __init__(self, message: str, *, plugin: str, moment: str | None = None) -> None:
        self.plugin = plugin
        self.moment = moment
        super().__init__(message)


class PluginLoadError(PluginError):
    """What an installed distribution brings cannot be loaded. ``distribution`` and ``version`` say whose it is."""

    code = "ERR_PLUGIN_LOAD"

    def __init__(self, message: str, *, entry: Entry) -> None:
        self.distribution = entry.distribution
        self.version = entry.version
        super().__init__(message, plugin=entry.name)


class PluginDefinitionError(ConfigError):
    """A plugin class or one of its hooks is not written as the library needs it."""

    code = "ERR_PLUGIN_DEFINITION"


class RecordError(AgentfpError):
    """Base of what goes wrong with records and files of them."""

    code = "ERR_RECORD"


class RecordValueError(RecordError, ValueError):
    """A value cannot stand on the record. Names the path to it, never the value."""

    code = "ERR_RECORD_VALUE"


class UnknownEventError(RecordError, TypeError):
    """Something that is no event was emitted."""

    code = "ERR_UNKNOWN_EVENT"


class RecordFormatError(RecordError, ValueError):
    """A file or text is no record, or of a version this library does not read."""

    code = "ERR_RECORD_FORMAT"


class TranscriptError(AgentfpError, ValueError):
    """A file is no transcript that any reader knows, or one that is damaged. Names the place in it, never its content."""

    code = "ERR_TRANSCRIPT"


class CheckpointError(RecordError, TypeError):
    """A checkpoint or a pause has the wrong version, or fields are missing or of the wrong type."""

    code = "ERR_CHECKPOINT_INVALID"


class RedactedRecordError(RecordError):
    """A redacted recording was handed to something that needs the real values."""

    code = "ERR_RECORD_REDACTED"


def text_of(error: BaseException) -> str:
    """What an exception says, for the record: of a tool's own error what it says to the record only, where it says anything.

    Args:
        error: any exception, also one of the user's whose text cannot be made.
    """
    try:
        return (error.detail if isinstance(error, ToolError) else None) or str(error)
    except Exception:  # a fault in telling of a fault must not lose what it is about
        return "[no text]"
