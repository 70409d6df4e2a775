"""Puts the evidence gate into agents of other frameworks, and records their runs.

Each framework has a module of its own, which alone imports it: :mod:`agentfp_adapters.pydantic_ai`,
:mod:`agentfp_adapters.openai_agents` and :mod:`agentfp_adapters.langchain`.
"""

from agentfp_adapters.policy import GatePolicy, Recording
from agentfp_adapters.versions import AdapterVersionError

__all__ = ["AdapterVersionError", "GatePolicy", "Recording"]
