"""The project's other distributions by what they bring, so that a hint names only what there is to install."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

from agentfp_core.errors import nearest

PLUGINS: Mapping[str, str] = {
    name: f"agentfp-{name}"
    for name in (
        "agentcore",
        "answer",
        "artifacts",
        "audit",
        "cloudwatch",
        "cost",
        "credentials",
        "evidence",
        "findings",
        "inputs",
        "integrity",
        "otel",
        "permissions",
        "recording",
        "results",
        "trust",
        "xray",
    )
} | {"event_file": "agentfp-console", "event_log": "agentfp-console", "status_line": "agentfp-console"}
"""Distributions by the plugin that they bring."""
PROVIDERS: Mapping[str, str] = {name: f"agentfp-{name}" for name in ("anthropic", "bedrock", "gemini", "local", "ollama", "openai")} | {
    "openai-chat": "agentfp-openai",
    "openai-responses": "agentfp-openai",
}
"""Distributions by the provider of models that they bring."""
LIKELY = 0.75
"""How near a name must be to one that is not installed: a wrong guess here has somebody install something."""


def to_install(plugin: str) -> str:
    """Words for how a plugin gets installed.

    Args:
        plugin: its name.
    """
    return f"pip install {PLUGINS[plugin]}" if plugin in PLUGINS else "install what brings it"


def what_to_do(name: str, known: Collection[str], sisters: Mapping[str, str]) -> str:
    """Words for a name that nothing installed has.

    Args:
        name: the name.
        known: what is installed.
        sisters: what the project's other distributions bring.

    Returns:
        What to install, or the name that was likely meant, and what is accepted.
    """
    if name in sisters:
        return f"pip install {sisters[name]}"
    accepted = nearest(name, known)
    if difflib.get_close_matches(name, known, n=1):
        return accepted
    if meant := difflib.get_close_matches(name, sisters, n=1, cutoff=LIKELY):
        return f"did you mean {meant[0]!r}? pip install {sisters[meant[0]]}"
    return f"{accepted}. What brings it is not installed; by custom that is called agentfp-{name.replace('_', '-')}"
