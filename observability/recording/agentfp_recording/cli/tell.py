"""``agentfp tell FILE``: what happened in a run, in sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from agentfp.commands import Json, data, say
from agentfp_recording.cli.opening import opened
from agentfp_recording.commentary import tell as told

app = typer.Typer(add_completion=False)


@app.command()
def tell(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A recording, a saved record or a journal; a folder for its newest.", show_default=False)
    ],
    voice: Annotated[
        Literal["third", "first"], typer.Option("--voice", help="Who tells it: somebody who watches, or the agent.")
    ] = "third",
    name: Annotated[str | None, typer.Option("--name", help="What the agent is called.", show_default="its own name")] = None,
    as_json: Json = False,
) -> None:
    """Tell what happened in a run, in sentences."""
    lines = told(opened(file), voice, name)
    if as_json:
        for line in lines:
            data(line, lines=True)
        return
    for line in lines:
        say(line)
