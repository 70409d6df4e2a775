"""A well-behaved server made with the official SDK: both eras, progress, changes of its tools, questions, cancellation."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel

server: Any = MCPServer("modern")
LOG = Path(sys.argv[2]) if len(sys.argv) > 2 else None


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def variable(name: str) -> str:
    """A variable of the environment."""
    return os.environ.get(name, "(not there)")


@server.tool()
async def slow(context: Context) -> str:
    """Takes its time."""
    await context.report_progress(1, 3, "begun")
    try:
        await anyio.sleep(3_600)
    except BaseException:
        if LOG is not None:
            LOG.write_text("cancelled")
        raise
    return "done"


@server.tool()
async def steps(context: Context) -> str:
    """Reports."""
    for number in range(1, 4):
        await context.report_progress(number, 3, f"step {number}")
    return "done"


@server.tool()
async def grow(context: Context) -> str:
    """Gives the server one more tool."""

    @server.tool()
    def grown() -> str:
        """Was not there before."""
        return "grown ran"

    await context.session.send_tool_list_changed()  # the older protocol
    await context.notify_tools_changed()  # the newer one, on a stream of its own: the answer must not overtake it
    await anyio.sleep(0.3)
    return "grown"


class Room(BaseModel):
    room: str
    floor: int = 2


def ask_room() -> Elicit[Room]:
    return Elicit("Which room?", Room)


@server.tool()
async def book(room: Annotated[ElicitationResult[Room], Resolve(ask_room)]) -> str:
    """Book a room."""
    data = getattr(room, "data", None)
    return "nothing booked" if data is None else f"booked {data.room} on floor {data.floor}"


@server.resource("memo://today")
def memo() -> str:
    """Of today."""
    return "buy milk"


if __name__ == "__main__":
    server.run()
