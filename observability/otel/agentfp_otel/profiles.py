"""Attributes that backends read under names of their own, beside the conventions' ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentfp_otel import names

KINDS: Mapping[str, Mapping[str, str]] = {
    "openinference": {"agent": "AGENT", "iteration": "CHAIN", "chat": "LLM", "tool": "TOOL", "check": "EVALUATOR"},
    "langfuse": {"agent": "agent", "iteration": "span", "chat": "generation", "tool": "tool", "check": "evaluator"},
    "langsmith": {"agent": "chain", "iteration": "chain", "chat": "llm", "tool": "tool", "check": "chain"},
}
KIND_KEYS: Mapping[str, str] = {
    "openinference": "openinference.span.kind",
    "langfuse": "langfuse.observation.type",
    "langsmith": "langsmith.span.kind",
}
SAME: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "openinference": {
        names.REQUEST_MODEL: ("llm.model_name",),
        names.PROVIDER: ("llm.provider",),
        names.INPUT_TOKENS: ("llm.token_count.prompt",),
        names.OUTPUT_TOKENS: ("llm.token_count.completion",),
        names.TOKENS_READ[0]: ("llm.token_count.prompt_details.cache_read",),
        names.CACHE_WRITE: ("llm.token_count.prompt_details.cache_write",),
        names.TOKENS_THINKING[0]: ("llm.token_count.completion_details.reasoning",),
        names.TOOL: ("tool.name",),
        names.TOOL_ARGUMENTS: ("input.value",),
        names.TOOL_RESULT: ("output.value",),
        names.INPUT_MESSAGES: ("input.value",),
        names.OUTPUT_MESSAGES: ("output.value",),
        names.CONVERSATION: ("session.id",),
        names.AGENT: ("agent.name",),
        "agentfp.principal.id": ("user.id",),
    },
    "langfuse": {
        names.CONVERSATION: ("langfuse.session.id",),
        "agentfp.principal.id": ("langfuse.user.id",),
        names.INPUT_MESSAGES: ("langfuse.observation.input",),
        names.OUTPUT_MESSAGES: ("langfuse.observation.output",),
        names.TOOL_ARGUMENTS: ("langfuse.observation.input",),
        names.TOOL_RESULT: ("langfuse.observation.output",),
    },
    "agentcore": {names.CONVERSATION: ("session.id",)},
    "langsmith": {names.CONVERSATION: ("langsmith.trace.session_id", "langsmith.metadata.thread_id")},
}
ONLY: Mapping[str, tuple[str, ...]] = {
    "llm.model_name": ("chat",),
    "llm.provider": ("chat",),
    "llm.token_count.prompt": ("chat",),
    "llm.token_count.completion": ("chat",),
}
"""Attributes of some kinds of span only: a backend that adds up tokens would count those of the turn twice."""


class Profiles:
    """The attribute sets that are on.

    Args:
        chosen: their names.
    """

    def __init__(self, chosen: Iterable[str]) -> None:
        self._chosen = tuple(chosen)

    def __bool__(self) -> bool:
        return bool(self._chosen)

    def add(self, kind: str, attributes: dict[str, Any]) -> dict[str, Any]:
        """The attributes, with those of the profiles beside them.

        Args:
            kind: of span: agent, iteration, chat, tool, check.
            attributes: under the conventions' names.
        """
        if not self._chosen:
            return attributes
        added: dict[str, Any] = {}
        for profile in self._chosen:
            if profile in KIND_KEYS:
                added[KIND_KEYS[profile]] = KINDS[profile][kind]
            for key, others in SAME[profile].items():
                if key in attributes:
                    added.update({other: attributes[key] for other in others if kind in ONLY.get(other, (kind,))})
        return {**attributes, **added}
