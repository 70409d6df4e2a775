"""``agentfp trust``: the decisions in a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from agentfp.commands import CommandError, Json, data, note, recording_in, table

app = typer.Typer(add_completion=False)
_ORIGIN = ("run_id", "root_id", "wall_clock_ms", "seq", "turn", "iteration", "call_id", "path")


@app.command()
def trust(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A recording; a folder for its newest.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Show who decided what at the security boundaries of a recorded run: verdicts, permissions, credentials, approvals."""
    from agentfp import AgentfpError
    from agentfp_trust.plugin import Trust

    file = recording_in(path)
    try:
        snapshot = Trust.of(file)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror or error}") from error
    except (AgentfpError, ValueError) as error:
        raise CommandError(f"{file}: {error}") from error
    if as_json:
        data(snapshot)
        return
    found = snapshot["data"]
    table(("seq", "turn", "call", "fact", "what"), [_row(fact) for fact in found["facts"]])
    lost = {name: count for name, count in found["counters"].items() if name in ("evicted", "invalid", "oversized") and count}
    if lost:
        note("not shown: " + ", ".join(f"{count} {name}" for name, count in lost.items()), "yellow")


def _row(fact: dict[str, Any]) -> tuple[str, ...]:
    origin = fact["origin"]
    what = ", ".join(f"{name} {value}" for name, value in fact.items() if name not in ("type", "origin", "number"))
    return (str(origin["seq"]), str(origin["turn"]), origin.get("call_id", ""), fact["type"].removeprefix("agentfp."), what)
