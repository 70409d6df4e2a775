"""The names under which things stand on spans and metrics: one table for each version of the conventions.

The constants of the ``opentelemetry-semantic-conventions`` package are not used: its GenAI part is deprecated in favour of a repository
that has no Python package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
COMPACTED = "gen_ai.conversation.compacted"
OUTPUT_TYPE = "gen_ai.output.type"
FINISH_REASONS = "gen_ai.response.finish_reasons"
RESPONSE_ID = "gen_ai.response.id"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
TOOL = "gen_ai.tool.name"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
INSTRUCTIONS = "gen_ai.system_instructions"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"
ERROR_TYPE = "error.type"

TOKENS_READ = ("gen_ai.usage.cache_read.input_tokens",)
TOKENS_THINKING = ("gen_ai.usage.reasoning.output_tokens",)
CACHE_WRITE = "gen_ai.usage.cache_write.input_tokens"
CACHE_CREATION = "gen_ai.usage.cache_creation.input_tokens"


@dataclass(frozen=True)
class Conventions:
    """One version of the conventions, as far as versions differ.

    Args:
        name: as in the setting ``semconv``.
        cache_write: keys of the tokens that were written to a cache.
        agent_ids: whether a span of an agent carries its id.
        latest_metrics: whether metrics have the names of the GenAI repository.
    """

    name: str
    cache_write: tuple[str, ...]
    agent_ids: bool
    latest_metrics: bool

    def usage(self) -> dict[str, tuple[str, ...]]:
        """The keys for each count of tokens that an event may hold."""
        return {
            "input_tokens": (INPUT_TOKENS,),
            "output_tokens": (OUTPUT_TOKENS,),
            "cache_read_tokens": TOKENS_READ,
            "cache_write_tokens": self.cache_write,
            "thinking_tokens": TOKENS_THINKING,
        }


CONVENTIONS: Mapping[str, Conventions] = {
    "genai_latest": Conventions("genai_latest", (CACHE_WRITE,), agent_ids=False, latest_metrics=True),
    "core_1_41": Conventions("core_1_41", (CACHE_CREATION,), agent_ids=True, latest_metrics=False),
    "both_cache_keys": Conventions("both_cache_keys", (CACHE_WRITE, CACHE_CREATION), agent_ids=False, latest_metrics=True),
}


def conventions(name: str) -> Conventions:
    """The conventions of a setting; the environment's opt-in to the newest ones wins.

    Args:
        name: as in the setting ``semconv``.
    """
    opted = os.environ.get("OTEL_SEMCONV_STABILITY_OPT_IN", "").split(",")
    return CONVENTIONS["genai_latest" if "gen_ai_latest_experimental" in [word.strip() for word in opted] else name]


PROVIDERS: Mapping[str, str] = {
    "bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "azure-openai": "azure.ai.openai",
    "gemini": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "xai": "x_ai",
}


def provider(name: str) -> str:
    """A provider under its well-known name; one that has none keeps its own."""
    return PROVIDERS.get(name, name)


FINISH: Mapping[str, str] = {
    "stop": "stop",
    "tool_use": "tool_call",
    "max_tokens": "length",
    "context_window": "length",
    "refusal": "content_filter",
    "content_filter": "content_filter",
    "unknown": "error",
}


@dataclass(frozen=True)
class SpanNames:
    """How spans are called.

    Args:
        legacy: the short names.
    """

    legacy: bool

    def agent(self, name: str) -> str:
        """Of a turn."""
        return name if self.legacy else f"invoke_agent {name}"

    def iteration(self, number: int) -> str:
        """Of a model call with its tool calls."""
        return f"iteration:{number}" if self.legacy else f"iteration {number}"

    def chat(self, model: str, operation: str = "chat") -> str:
        """Of a model call."""
        return "llm" if self.legacy else f"{operation} {model}"

    def tool(self, name: str | None) -> str:
        """Of a tool call; None for a name that no tool has."""
        shown = name or "unknown"
        return f"tool:{shown}" if self.legacy else f"execute_tool {shown}"
