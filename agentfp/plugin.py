"""The names for people who write plugins. A plugin imports this module and nothing of the kernel."""

from agentfp_core.answer import AnswerDraft
from agentfp_core.background import BackgroundWorker, WorkerStats
from agentfp_core.batch import Batch, CallView, ResultView
from agentfp_core.classifier import (
    Choice,
    ChoiceAnswer,
    Classifier,
    ClassifyAnswer,
    ClassifyQuestion,
    ClassifyRequest,
    ClassifyResult,
    Likelihood,
    LikelihoodAnswer,
    Score,
    ScoreAnswer,
)
from agentfp_core.configure import Registry
from agentfp_core.declarations import Declaration
from agentfp_core.draft import RequestDraft
from agentfp_core.errors import (
    AnswerRefusedError,
    ClassifierError,
    ConfigError,
    MessageDeniedError,
    PluginError,
    PolicyHaltError,
    ReservedArgumentError,
    nearest,
)
from agentfp_core.event_meta import event_meta
from agentfp_core.events.base import Content, Event, Hash, Name, Number, Payload, event, part
from agentfp_core.exported import ExportedEvent
from agentfp_core.hookspecs import PHASES, hookimpl
from agentfp_core.memos import MemoSource, memo_of, record_of
from agentfp_core.messages import History, Message, ToolCall, Usage
from agentfp_core.model import Model, ModelRequest, ModelResponse, ModelSettings, ToolSpec
from agentfp_core.plugins import Plugin
from agentfp_core.record import Record
from agentfp_core.replies import ReplyFilter
from agentfp_core.run import Run
from agentfp_core.segments import Identity, SegmentHeader
from agentfp_core.tool_context import ToolContext
from agentfp_core.tool_sources import ToolSession, ToolSource
from agentfp_core.tools import Tool, raw_tool, tool
from agentfp_core.verdicts import Allow, Approval, AskField, AskPerson, Deny, Halt, Note, Refuse, Replace, Revise, Withhold

__all__ = [
    "PHASES",
    "Allow",
    "AnswerDraft",
    "AnswerRefusedError",
    "Approval",
    "AskField",
    "AskPerson",
    "BackgroundWorker",
    "Batch",
    "CallView",
    "Choice",
    "ChoiceAnswer",
    "Classifier",
    "ClassifierError",
    "ClassifyAnswer",
    "ClassifyQuestion",
    "ClassifyRequest",
    "ClassifyResult",
    "ConfigError",
    "Content",
    "Declaration",
    "Deny",
    "Event",
    "ExportedEvent",
    "Halt",
    "Hash",
    "History",
    "Identity",
    "Likelihood",
    "LikelihoodAnswer",
    "MemoSource",
    "Message",
    "MessageDeniedError",
    "Model",
    "ModelRequest",
    "ModelResponse",
    "ModelSettings",
    "Name",
    "Note",
    "Number",
    "Payload",
    "Plugin",
    "PluginError",
    "PolicyHaltError",
    "Record",
    "Refuse",
    "Registry",
    "Replace",
    "ReplyFilter",
    "RequestDraft",
    "ReservedArgumentError",
    "ResultView",
    "Revise",
    "Run",
    "Score",
    "ScoreAnswer",
    "SegmentHeader",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolSession",
    "ToolSource",
    "ToolSpec",
    "Usage",
    "Withhold",
    "WorkerStats",
    "event",
    "event_meta",
    "hookimpl",
    "memo_of",
    "nearest",
    "part",
    "raw_tool",
    "record_of",
    "tool",
]
