"""What can be wrong with what an author declares of a result."""

from __future__ import annotations

from agentfp import AgentfpError


class EnvelopeError(AgentfpError, ValueError):
    """What a tool declares of its result cannot be declared so. Raised where the author wrote it; in a tool, it fails the call."""

    code = "ERR_RESULT_ENVELOPE"
