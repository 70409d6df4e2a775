"""Reads the transcripts of other frameworks' agents, and judges the answers in them through the command ``agentfp check``.

Each name is loaded when it is first used: the help of the command line imports this package, and should not wait for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentfp_transcripts.checking import Check, Finding, answers_of
    from agentfp_transcripts.problems import Problem
    from agentfp_transcripts.registry import READERS, Readers
    from agentfp_transcripts.sources import read, read_data

_HOMES = {
    "READERS": "registry",
    "Check": "checking",
    "Finding": "checking",
    "Problem": "problems",
    "Readers": "registry",
    "answers_of": "checking",
    "read": "sources",
    "read_data": "sources",
}

__all__ = ["READERS", "Check", "Finding", "Problem", "Readers", "answers_of", "read", "read_data"]


def __getattr__(name: str) -> Any:
    """Load a name from its home and keep it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'agentfp_transcripts' has no attribute {name!r}")
    value = getattr(import_module(f"agentfp_transcripts.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
