"""Refusals before a run or a resume: nothing changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from agentfp_core.errors.base import AgentfpError, nearest


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

    def __init__(self, reason: Literal["nothing-pending"]) -> None:
        self.reason = reason
        super().__init__(f"there is nothing to go on with ({reason}): no question is open and no run broke off; send a message")


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
