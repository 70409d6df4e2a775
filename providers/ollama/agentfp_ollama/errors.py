"""What an Ollama server's errors mean. It has no codes: a status, and a sentence in ``error``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentfp.http import Explain, Explained
from agentfp.model import (
    ContextTooLongError,
    ModelAuthenticationError,
    ModelBadRequestError,
    ModelError,
    ModelNotFoundError,
    ModelOverloadedError,
)

_MEANINGS: tuple[tuple[str, type[ModelError], str | None], ...] = (
    ("does not support tools", ModelBadRequestError, "this model calls no tools; take one that does (ollama.com/search?c=tools)"),
    ("does not support thinking", ModelBadRequestError, "this model does not think; leave thinking out, or take one that does"),
    ("does not support", ModelBadRequestError, None),
    ("exceeds the context length", ContextTooLongError, None),
    ("exceeds the available context", ContextTooLongError, None),
    ("requires more system memory", ModelBadRequestError, "free memory on the server, or take a smaller model"),
    ("server busy", ModelOverloadedError, None),
)
"""Words of an error, what they mean, and what to do where that is not what one does anyway."""


def explaining(model: str) -> Explain:
    """Tells the errors of calls of one model apart.

    Args:
        model: its name.
    """

    def explain(status: int, data: Any) -> type[ModelError] | Explained | None:
        said = data.get("error") if isinstance(data, Mapping) else None
        words = said if isinstance(said, str) else ""
        for part, kind, advice in _MEANINGS:
            if part in words:
                return Explained(kind, advice)
        if status == 404:
            return Explained(ModelNotFoundError, f"download it with `ollama pull {model}`, or check base_url")
        if status in (401, 403):
            return Explained(ModelAuthenticationError, "set OLLAMA_API_KEY or pass api_key; for models of the cloud: ollama signin")
        return None if status else ModelOverloadedError

    return explain
