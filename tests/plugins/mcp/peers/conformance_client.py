"""A client for the official conformance suite: an agent that calls each tool of the server it is given once, as a scenario asks for it."""

from __future__ import annotations

import sys
from typing import Any

import anyio

from agentfp import Agent
from agentfp.testing import AutoModel
from agentfp_mcp import Elicitation, mcp


def accept(question: Elicitation) -> dict[str, Any]:
    """Agrees, and leaves everything at its default."""
    return {}


async def main(address: str) -> None:
    source = mcp(url=address, elicit=accept, era="2025-11-25", timeout=20)
    result = await Agent(AutoModel(), tools=[source]).run("Go")
    print(result.calls)


if __name__ == "__main__":
    anyio.run(main, sys.argv[-1])
