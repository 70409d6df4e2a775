"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

ConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="The config file; the next agentfp.toml here or above when left out.", show_default=False),
]
AgentName: TypeAlias = Annotated[
    str | None,
    typer.Option("--agent", "-a", help="Which agent of the file; the one called agent when left out.", show_default=False),
]
Overlay: TypeAlias = Annotated[
    str | None,
    typer.Option("--env", "-e", help="Which overlay of the file; what AGENTFP_ENV names when left out.", show_default=False),
]
ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", "-m", help="Another model: provider:name, or an alias of the file.", show_default=False),
]
DepsPath: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--deps", help="Import path of what makes deps: a function (sync, async, a context manager) or an object.", show_default=False
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
