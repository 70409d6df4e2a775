"""An agent framework whose answers can be checked: the names for people who build agents.

Each name is loaded when it is first used, so that importing the package costs what is needed of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentfp_core.admission import UserMessage
    from agentfp_core.agent import Agent
    from agentfp_core.asks import ask_human, request_input
    from agentfp_core.called import Called, calls_of
    from agentfp_core.checkpoint import Checkpoint
    from agentfp_core.clock import Clock, Ids
    from agentfp_core.config import Config, load_config
    from agentfp_core.conversation import Conversation
    from agentfp_core.conversations import ConversationIndex, MemoryIndex
    from agentfp_core.defaults import configure
    from agentfp_core.delivery import DeliveryOptions
    from agentfp_core.errors import (
        AgentfpError,
        AnswerRefusedError,
        CapabilityMissingError,
        CheckpointError,
        ConfigError,
        ConversationMismatchError,
        DecisionRequiredError,
        InputRequestError,
        InvalidRunInputError,
        LimitsError,
        MessageDeniedError,
        ModelError,
        ModelFeatureError,
        ModelNotFoundError,
        NoAnswerError,
        NoConversationError,
        OutputSchemaError,
        PauseAnswerRequiredError,
        PauseConsumedError,
        PauseExpiredError,
        PausePluginMissingError,
        PauseToolMissingError,
        PendingQuestionError,
        PluginDefinitionError,
        PluginError,
        PluginLoadError,
        PolicyHaltError,
        ProviderProtocolError,
        RecordError,
        RecordFormatError,
        RecordValueError,
        RedactedRecordError,
        RefusedError,
        ReservedArgumentError,
        ResumeIdentityConflictError,
        ResumeRedactionError,
        RetryTool,
        RunCheckpointError,
        RunError,
        RunInFlightError,
        RunningLoopError,
        RunPausedError,
        RunTimeoutError,
        StaleDecisionError,
        StreamChunkError,
        ToolError,
        ToolNameError,
        ToolSchemaError,
        ToolTeardownTimeoutError,
        UnknownEventError,
        UnknownOptionError,
        UsageError,
        can_resume,
    )
    from agentfp_core.journal import Journal
    from agentfp_core.limits import Limits
    from agentfp_core.llm_call import LLMCall
    from agentfp_core.messages import DocumentPart, History, ImagePart, Message, StopReason, ThinkingBlock, ToolCall, Usage
    from agentfp_core.model import ModelSettings, Prices
    from agentfp_core.pause import Pause, Question
    from agentfp_core.record import Record
    from agentfp_core.redaction import RedactionPolicy, conversation_redaction
    from agentfp_core.result import ContractUnmet, RunResult, StoppedEarly, StoppedEarlyError
    from agentfp_core.results import ToolReturn
    from agentfp_core.run import Run
    from agentfp_core.segments import Identity
    from agentfp_core.streaming import RunStream
    from agentfp_core.tool_context import ToolContext
    from agentfp_core.tools import ResultCeiling, Tool, raw_tool, tool
    from agentfp_core.verdicts import Approval, AskField, approve, reject

_HOMES = {
    "agentfp_core.admission": ("UserMessage",),
    "agentfp_core.agent": ("Agent",),
    "agentfp_core.asks": ("ask_human", "request_input"),
    "agentfp_core.called": ("Called", "calls_of"),
    "agentfp_core.checkpoint": ("Checkpoint",),
    "agentfp_core.clock": ("Clock", "Ids"),
    "agentfp_core.config": ("Config", "load_config"),
    "agentfp_core.conversation": ("Conversation",),
    "agentfp_core.conversations": ("ConversationIndex", "MemoryIndex"),
    "agentfp_core.defaults": ("configure",),
    "agentfp_core.delivery": ("DeliveryOptions",),
    "agentfp_core.errors": (
        "AgentfpError",
        "AnswerRefusedError",
        "CapabilityMissingError",
        "CheckpointError",
        "ConfigError",
        "ConversationMismatchError",
        "DecisionRequiredError",
        "InputRequestError",
        "InvalidRunInputError",
        "LimitsError",
        "MessageDeniedError",
        "ModelError",
        "ModelFeatureError",
        "ModelNotFoundError",
        "NoAnswerError",
        "NoConversationError",
        "OutputSchemaError",
        "PauseAnswerRequiredError",
        "PauseConsumedError",
        "PauseExpiredError",
        "PausePluginMissingError",
        "PauseToolMissingError",
        "PendingQuestionError",
        "PluginDefinitionError",
        "PluginError",
        "PluginLoadError",
        "PolicyHaltError",
        "ProviderProtocolError",
        "RecordError",
        "RecordFormatError",
        "RecordValueError",
        "RedactedRecordError",
        "RefusedError",
        "ReservedArgumentError",
        "ResumeIdentityConflictError",
        "ResumeRedactionError",
        "RetryTool",
        "RunCheckpointError",
        "RunError",
        "RunInFlightError",
        "RunPausedError",
        "RunTimeoutError",
        "RunningLoopError",
        "StaleDecisionError",
        "StreamChunkError",
        "ToolError",
        "ToolNameError",
        "ToolSchemaError",
        "ToolTeardownTimeoutError",
        "UnknownEventError",
        "UnknownOptionError",
        "UsageError",
        "can_resume",
    ),
    "agentfp_core.journal": ("Journal",),
    "agentfp_core.limits": ("Limits",),
    "agentfp_core.llm_call": ("LLMCall",),
    "agentfp_core.messages": ("DocumentPart", "History", "ImagePart", "Message", "StopReason", "ThinkingBlock", "ToolCall", "Usage"),
    "agentfp_core.model": ("ModelSettings", "Prices"),
    "agentfp_core.pause": ("Pause", "Question"),
    "agentfp_core.record": ("Record",),
    "agentfp_core.redaction": ("RedactionPolicy", "conversation_redaction"),
    "agentfp_core.result": ("ContractUnmet", "RunResult", "StoppedEarly", "StoppedEarlyError"),
    "agentfp_core.results": ("ToolReturn",),
    "agentfp_core.run": ("Run",),
    "agentfp_core.segments": ("Identity",),
    "agentfp_core.streaming": ("RunStream",),
    "agentfp_core.tool_context": ("ToolContext",),
    "agentfp_core.tools": ("ResultCeiling", "Tool", "raw_tool", "tool"),
    "agentfp_core.verdicts": ("Approval", "AskField", "approve", "reject"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "AgentfpError",
    "AnswerRefusedError",
    "Approval",
    "AskField",
    "Called",
    "CapabilityMissingError",
    "Checkpoint",
    "CheckpointError",
    "Clock",
    "Config",
    "ConfigError",
    "ContractUnmet",
    "Conversation",
    "ConversationIndex",
    "ConversationMismatchError",
    "DecisionRequiredError",
    "DeliveryOptions",
    "DocumentPart",
    "History",
    "Identity",
    "Ids",
    "ImagePart",
    "InputRequestError",
    "InvalidRunInputError",
    "Journal",
    "LLMCall",
    "Limits",
    "LimitsError",
    "MemoryIndex",
    "Message",
    "MessageDeniedError",
    "ModelError",
    "ModelFeatureError",
    "ModelNotFoundError",
    "ModelSettings",
    "NoAnswerError",
    "NoConversationError",
    "OutputSchemaError",
    "Pause",
    "PauseAnswerRequiredError",
    "PauseConsumedError",
    "PauseExpiredError",
    "PausePluginMissingError",
    "PauseToolMissingError",
    "PendingQuestionError",
    "PluginDefinitionError",
    "PluginError",
    "PluginLoadError",
    "PolicyHaltError",
    "Prices",
    "ProviderProtocolError",
    "Question",
    "Record",
    "RecordError",
    "RecordFormatError",
    "RecordValueError",
    "RedactedRecordError",
    "RedactionPolicy",
    "RefusedError",
    "ReservedArgumentError",
    "ResultCeiling",
    "ResumeIdentityConflictError",
    "ResumeRedactionError",
    "RetryTool",
    "Run",
    "RunCheckpointError",
    "RunError",
    "RunInFlightError",
    "RunPausedError",
    "RunResult",
    "RunStream",
    "RunTimeoutError",
    "RunningLoopError",
    "StaleDecisionError",
    "StopReason",
    "StoppedEarly",
    "StoppedEarlyError",
    "StreamChunkError",
    "ThinkingBlock",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolNameError",
    "ToolReturn",
    "ToolSchemaError",
    "ToolTeardownTimeoutError",
    "UnknownEventError",
    "UnknownOptionError",
    "Usage",
    "UsageError",
    "UserMessage",
    "approve",
    "ask_human",
    "calls_of",
    "can_resume",
    "configure",
    "conversation_redaction",
    "load_config",
    "raw_tool",
    "reject",
    "request_input",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Load a name from its home and keep it."""
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'agentfp' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
