"""The ways in which a run ends without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfp_core.errors.base import AgentfpError

if TYPE_CHECKING:
    from agentfp_core.checkpoint import Checkpoint
    from agentfp_core.pause import Pause


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
