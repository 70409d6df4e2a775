"""The names for people who write a provider."""

from agentfp_core.errors import ModelError, ModelFeatureError, ModelNotFoundError, ProviderProtocolError
from agentfp_core.messages import DocumentPart, ImagePart, Message, StopReason, ThinkingBlock, ToolCall, Usage
from agentfp_core.model import (
    CacheMark,
    Model,
    ModelChunk,
    ModelFeatures,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    ModelWrapper,
    Prices,
    TextChunk,
    ThinkingChunk,
    ToolSpec,
    resolve_model,
)

__all__ = [
    "CacheMark",
    "DocumentPart",
    "ImagePart",
    "Message",
    "Model",
    "ModelChunk",
    "ModelError",
    "ModelFeatureError",
    "ModelFeatures",
    "ModelNotFoundError",
    "ModelRequest",
    "ModelResponse",
    "ModelSettings",
    "ModelWrapper",
    "Prices",
    "ProviderProtocolError",
    "StopReason",
    "TextChunk",
    "ThinkingBlock",
    "ThinkingChunk",
    "ToolCall",
    "ToolSpec",
    "Usage",
    "resolve_model",
]
