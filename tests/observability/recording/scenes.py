"""Agents whose runs are recorded in these tests, and what is read of their recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from agentfp import Agent, Record, tool
from agentfp.testing import ScriptedModel, call
from agentfp_recording import Recording


@tool
def look(switch: str) -> str:
    """Look at a switch."""
    return f"{switch} is up"


@tool(approval=True)
def shut(port: int) -> str:
    """Shut a port."""
    return f"port {port} is shut"


@tool
def breaks() -> str:
    """Break."""
    raise OSError("out of order")


def agent_of(
    folder: Path, *script: Any, tools: list[Any] | None = None, settings: dict[str, Any] | None = None, **more: Any
) -> Agent[Any, Any]:
    """An agent that is recorded, and looks before it answers unless a script says otherwise."""
    plugin = Recording(folder=folder, **(settings or {}))
    steps = script or (call("look", switch="A"), "A is up.")
    return Agent(ScriptedModel(list(steps)), tools=tools or [look, shut, breaks], plugins=[plugin, *more.pop("plugins", ())], **more)


def plugin_of(agent: Agent[Any, Any]) -> Recording:
    found = agent.plugin_set.by_name["recording"]
    assert isinstance(found, Recording)
    return found


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, which another thread brings about."""
    with anyio.fail_after(20):
        while not is_so():  # noqa: ASYNC110 - a thread cannot set an event of this loop
            await anyio.sleep(0.01)


def the_file(folder: Path) -> Path:
    """The one recording of a folder."""
    (path,) = folder.rglob("*.jsonl")
    return path


def same_record(a: Record, b: Record) -> bool:
    """Whether two records hold the same events, headers and nested records."""
    same = list(a) == list(b) and a.headers == b.headers and a.children.keys() == b.children.keys()
    return same and all(same_record(a.children[key], b.children[key]) for key in a.children)
