"""Every error the library raises, in one hierarchy, split by who can act on it.

Messages say what happened, to what, and what to do now. They never hold a prompt, an argument value or a secret.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from agentfp_core.checkpoint import Checkpoint
    from agentfp_core.entrypoints import Entry
    from agentfp_core.pause import Pause


def nearest(word: str, known: Iterable[str]) -> str:
    """Words for an error message that name what is accepted, the likely meant one first.

    Args:
        word: what was given.
        known: the accepted names.

    Returns:
        A clause such as ``did you mean 'port'? Accepted: 'host', 'port'``.
    """
    names = sorted(set(known))
    close = difflib.get_close_matches(word, names, n=1)
    accepted = ", ".join(repr(name) for name in names[:30]) or "nothing"
    return f"did you mean {close[0]!r}? Accepted: {accepted}" if close else f"Accepted: {accepted}"


class AgentfpError(Exception):
    """Base of every error of the library."""

    code: ClassVar[str] = "ERR_AGENTFP"


# --- mistakes of the developer, found while building or calling ---------------------------------------------------


class UsageError(AgentfpError):
    """The library was called in a way that cannot work; nothing ran and nothing was billed."""

    code = "ERR_USAGE"


class ConfigError(UsageError, ValueError):
    """A setting or a combination of settings is refused. ``problems`` lists every one of them."""

    code = "ERR_CONFIG"

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        if len(self.problems) == 1:
            text = self.problems[0]
        else:
            listed = "\n".join(f"  {index}. {problem}" for index, problem in enumerate(self.problems, 1))
            text = f"{len(self.problems)} problems:\n{listed}"
        super().__init__(text)


class LimitsError(ConfigError):
    """A limit has a value that cannot be a limit."""

    code = "ERR_LIMITS"


class ToolNameError(ConfigError):
    """A tool's name cannot stand on the wire, or two tools claim the same one."""

    code = "ERR_TOOL_NAME"


class ToolSchemaError(ConfigError):
    """No argument schema can be made of a tool's signature."""

    code = "ERR_TOOL_SCHEMA"


class ReservedArgumentError(ConfigError):
    """A tool uses an argument name that a plugin reserves."""

    code = "ERR_RESERVED_ARGUMENT"


class InvalidRunInputError(UsageError, TypeError):
    """The message handed to a run is not one. ``received`` describes its type, never its value."""

    code = "ERR_INVALID_RUN_INPUT"

    def __init__(self, runner: str, received: str) -> None:
        self.runner = runner
        self.received = received
        super().__init__(f"{runner} takes a non-empty text (or a list of parts) as its message, got {received}")


class UnknownOptionError(UsageError, TypeError):
    """An option that no plugin and no part of the kernel knows."""

    code = "ERR_UNKNOWN_OPTION"


class RunningLoopError(UsageError, RuntimeError):
    """A ``*_sync`` method was called inside a running event loop."""

    code = "ERR_RUNNING_LOOP"

    def __init__(self, method: str, instead: str) -> None:
        super().__init__(f"{method} cannot be called inside a running event loop; use `{instead}` there")


class CapabilityMissingError(UsageError, AttributeError):
    """A tool asked its context for something that only a plugin provides, and that plugin is not on."""

    code = "ERR_CAPABILITY_MISSING"


# --- refusals before a run: nothing changed -------------------------------------------------------------------------


class RefusedError(AgentfpError):
    """A run or a resume was refused before anything happened."""

    code = "ERR_REFUSED"


class RunInFlightError(RefusedError):
    """A conversation (or an exclusive agent) already has a live run."""

    code = "ERR_RUN_IN_FLIGHT"

    def __init__(self, agent_id: str, active_run_id: str) -> None:
        self.agent_id = agent_id
        self.active_run_id = active_run_id
        super().__init__(
            f"run {active_run_id!r} of agent {agent_id!r} is still going on in this conversation; await it, or start another conversation"
        )


class PendingQuestionError(RefusedError):
    """The conversation waits for an answer to a question and takes no new message before."""

    code = "ERR_PENDING_QUESTION"

    def __init__(self, *, tool_name: str | None = None, tool_call_id: str | None = None, question: str | None = None) -> None:
        self.tool_name = tool_name
        self.tool_call_id = tool_call_id
        self.question = question
        about = f" about {tool_name!r}" if tool_name else ""
        super().__init__(f"this conversation waits for an answer{about}; resume it, or call abandon() first")


class NoConversationError(RefusedError):
    """There is nothing to go on with."""

    code = "ERR_NO_CONVERSATION"

    def __init__(self, reason: Literal["never-run", "last-run-unfinished", "input-denied", "nothing-pending"]) -> None:
        self.reason = reason
        super().__init__(f"there is no conversation to go on with ({reason}); send a message first")


class ConversationMismatchError(RefusedError):
    """The conversation belongs to an agent with another explicit name."""

    code = "ERR_CONVERSATION_MISMATCH"

    def __init__(self, stored_agent_id: str, agent_id: str) -> None:
        self.stored_agent_id = stored_agent_id
        self.agent_id = agent_id
        super().__init__(
            f"the conversation is of agent {stored_agent_id!r}, this agent is {agent_id!r}; continue it with the agent it is of"
        )


class ResumeIdentityConflictError(RefusedError):
    """A pause is resumed for somebody else than the person it was made for. Names neither."""

    code = "ERR_SESSION_OWNERSHIP_CONFLICT"

    def __init__(self) -> None:
        super().__init__("the identity given does not match the one this pause was made for; resume it for that person only")


class DecisionRequiredError(RefusedError):
    """An approval was answered with something that is no decision."""

    code = "ERR_DECISION_REQUIRED"

    def __init__(self, tool_name: str | None, received: str) -> None:
        self.tool_name = tool_name
        self.received = received
        super().__init__(f"{tool_name!r} waits for approve(...) or reject(...), got {received}")


class StaleDecisionError(RefusedError):
    """The question pinned one version of a thing and the answer names another."""

    code = "ERR_STALE_DECISION"

    def __init__(self, asked: str, answered: str) -> None:
        self.asked = asked
        self.answered = answered
        super().__init__(f"the question was about {asked!r}, the answer is about {answered!r}; ask again")


class PauseAnswerRequiredError(RefusedError):
    """A question for a value was resumed without any answer."""

    code = "ERR_PAUSE_ANSWER_REQUIRED"

    def __init__(self, tool_name: str | None, tool_call_id: str | None) -> None:
        self.tool_name = tool_name
        self.tool_call_id = tool_call_id
        super().__init__(f"the pause of {tool_name!r} (call {tool_call_id!r}) has open questions; pass an answer for each")


class InputRequestError(RefusedError, ValueError):
    """An answer names an unknown question or does not fit it; the question stays open."""

    code = "ERR_INPUT_REQUEST_INVALID"


class PauseExpiredError(RefusedError):
    """The pause was answered too late."""

    code = "ERR_PAUSE_EXPIRED"

    def __init__(self, expired_at: str) -> None:
        self.expired_at = expired_at
        super().__init__(f"this pause could be answered until {expired_at}; start a new run")


class PauseConsumedError(RefusedError):
    """The pause was resumed before, or is being resumed now."""

    code = "ERR_PAUSE_CONSUMED"

    def __init__(self, pause_id: str) -> None:
        self.pause_id = pause_id
        super().__init__(f"pause {pause_id!r} was answered already; a pause can be resumed once")


class PauseToolMissingError(RefusedError):
    """The tool that a pause waits on does not exist on the resuming agent. Nothing was run or dropped."""

    code = "ERR_PAUSE_TOOL_MISSING"

    def __init__(self, tool_name: str, seq: int, known: Iterable[str]) -> None:
        self.tool_name = tool_name
        self.seq = seq
        super().__init__(
            f"the pause waits on tool {tool_name!r} (event {seq} of its record), which this agent does not have; "
            f"{nearest(tool_name, known)}"
        )


class PausePluginMissingError(RefusedError):
    """A plugin that asked the person is not on the resuming agent. Nothing was run or dropped."""

    code = "ERR_PAUSE_PLUGIN_MISSING"

    def __init__(self, plugin: str) -> None:
        self.plugin = plugin
        super().__init__(f"plugin {plugin!r} asked a question of this pause and is not on for this agent; switch it on and resume again")


class ResumeRedactionError(RefusedError):
    """The paused run was redacted under patterns that this agent does not hold."""

    code = "ERR_RESUME_REDACTION"

    def __init__(self, missing: Sequence[str]) -> None:
        self.missing = tuple(missing)
        super().__init__(f"the paused run was redacted by {', '.join(map(repr, missing))}, which this agent's policy lacks; add it")


# --- ends of a run ----------------------------------------------------------------------------------------------------


class RunError(AgentfpError):
    """Base of the ways in which a run ends without an answer."""

    code = "ERR_RUN"


class RunCheckpointError(RunError):
    """A run failed after at least one finished iteration; ``checkpoint`` goes on from there, ``__cause__`` says why."""

    code = "ERR_RUN_CHECKPOINT"

    def __init__(self, cause: BaseException, checkpoint: Checkpoint, *, iteration: int, phase: str, stage: str | None) -> None:
        self.checkpoint = checkpoint
        self.iteration = iteration
        self.phase = phase
        self.stage = stage
        self.resumable = can_resume(cause)
        advice = "pass this error to agent.resume_on_error(...)" if self.resumable else "going on from it would fail the same way"
        at = f" ({stage})" if stage else ""
        super().__init__(f"the run failed in iteration {iteration}, phase {phase}{at}, with {type(cause).__name__}; {advice}")


class RunTimeoutError(RunError, TimeoutError):
    """The run did not end within its time. ``checkpoint`` holds what it had done."""

    code = "ERR_RUN_TIMEOUT"

    def __init__(self, seconds: float, checkpoint: Checkpoint) -> None:
        self.seconds = seconds
        self.checkpoint = checkpoint
        super().__init__(f"the run did not end within {seconds:g} s; pass a longer timeout, or go on from error.checkpoint")


class RunPausedError(RunError):
    """An answer was read of a run that waits for a person. ``pause`` is what to resume."""

    code = "ERR_RUN_PAUSED"

    def __init__(self, pause: Pause) -> None:
        self.pause = pause
        super().__init__("the run is paused and has no answer yet; show result.pause.questions and resume")


class AnswerRefusedError(RunError):
    """An answer, a message or a call was refused by a plugin, and with it the run."""

    code = "ERR_ANSWER_REFUSED"

    def __init__(self, reason: str, *, plugin: str | None = None) -> None:
        self.reason = reason
        self.plugin = plugin
        super().__init__(reason)


class MessageDeniedError(AnswerRefusedError):
    """The person's message was not admitted."""

    code = "ERR_MESSAGE_DENIED"


class PolicyHaltError(AnswerRefusedError):
    """A plugin stopped the whole run over one call."""

    code = "ERR_POLICY_HALT"

    def __init__(self, reason: str, *, plugin: str | None = None, tell_model: str | None = None, tool_call_id: str | None = None) -> None:
        self.tell_model = tell_model
        self.tool_call_id = tool_call_id
        super().__init__(reason, plugin=plugin)


class OutputSchemaError(RunError, ValueError):
    """No answer of the run fits the output type. ``raw_output`` is the last one, and ``detail`` what the validator says of it.

    Both are for the program and stand not in the text of the error, which goes to logs.
    """

    code = "ERR_OUTPUT_SCHEMA"

    def __init__(self, raw_output: str, stage: str, detail: str) -> None:
        self.raw_output = raw_output
        self.stage = stage
        self.detail = detail
        super().__init__(f"the answer does not fit the output type ({stage}); error.detail says why")


class NoAnswerError(RunError):
    """The run stopped early and there is no answer text to read."""

    code = "ERR_NO_ANSWER"


def can_resume(error: BaseException) -> bool:
    """Whether going on from a checkpoint can help after this error.

    Args:
        error: the cause of a failed run.

    Returns:
        False for a context that is too long, for credentials and for malformed requests (status 400, 401, 403, 404,
        422); True for everything else.
    """
    status = getattr(error, "status", getattr(error, "status_code", None))
    if status in (400, 401, 403, 404, 422):
        return False
    name = type(error).__name__.lower()
    return not any(word in name for word in ("authentication", "permissiondenied", "credential", "contextwindow", "contexttoolong"))


# --- tools --------------------------------------------------------------------------------------------------------------


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


# --- models ---------------------------------------------------------------------------------------------------------------


class ModelError(AgentfpError):
    """Base of what goes wrong at a model."""

    code = "ERR_MODEL"


class ModelNotFoundError(ModelError, UsageError):
    """No installed provider knows the model's name."""

    code = "ERR_MODEL_NOT_FOUND"


class ModelFeatureError(ModelError, UsageError):
    """A request wishes for something the model does not have; it was not sent."""

    code = "ERR_MODEL_FEATURE"


class ProviderProtocolError(ModelError):
    """A model's reply is not of the shape that the protocol states."""

    code = "ERR_PROVIDER_PROTOCOL"


class StreamChunkError(ProviderProtocolError, TypeError):
    """A model streamed something that is no chunk."""

    code = "ERR_STREAM_CHUNK"


# --- plugins -----------------------------------------------------------------------------------------------------------------


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


# --- the record ----------------------------------------------------------------------------------------------------------------


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


def describe_type(value: Any) -> str:
    """Describe what a value is without saying what it holds.

    Args:
        value: anything.

    Returns:
        Words such as ``a str``, ``None`` or ``a dict with keys 'a', 'b'`` (at most six keys).
    """
    if value is None:
        return "None"
    if isinstance(value, str):
        if not value:
            return "an empty message"
        return "a str" if value.strip() else "a whitespace-only message"
    if isinstance(value, dict):
        keys = ", ".join(repr(key) for key in list(value)[:6])
        return f"a dict with keys {keys}" if keys else "an empty dict"
    name = type(value).__name__
    return f"an empty {name}" if isinstance(value, (list, tuple)) and not value else f"a {name}"
