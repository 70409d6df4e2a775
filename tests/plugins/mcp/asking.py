"""What these tests ask of agents and look at afterwards."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, RunResult
from agentfp.testing import ScriptedModel, call
from agentfp_mcp import McpServer

ERAS = ("2026-07-28", "2025-11-25")

_LEFT = "Exception ignored in. <async_generator object (EventSource|Response|PoolByteStream|HTTP11)"
HTTP_ON_TRIO = pytest.mark.filterwarnings(
    f"ignore:{_LEFT}:pytest.PytestUnraisableExceptionWarning", "ignore:Async generator 'http(x|core)2:ResourceWarning"
)
"""httpx2 closes a response that it gave up and leaves the generators over it to the collector, of which trio warns."""


async def ask(source: Any, *steps: Any, model: Any = None, **call_options: Any) -> RunResult[Any]:
    """A run of an agent with the tools of one server, over a script."""
    agent = Agent(model or ScriptedModel([*steps, "Done."]), tools=[source])
    return await agent.run("Go", **call_options)


def texts(result: RunResult[Any]) -> list[str]:
    """What the model read of each call, in order."""
    return [message.text for message in result.history if message.role == "tool"]


def outcomes(result: RunResult[Any]) -> list[str | None]:
    return [called.outcome for called in result.calls]


def errors(result: RunResult[Any]) -> list[str | None]:
    return [called.error for called in result.calls]


def children() -> set[int]:
    """Processes of ours that live."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.add(int(folder.name))
    return found


def lives(pid: str) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


__all__ = ["ERAS", "HTTP_ON_TRIO", "McpServer", "ScriptedModel", "ask", "call", "children", "errors", "lives", "outcomes", "texts"]
