"""``agentfp init``: a small working project."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from agentfp_core.cli.exits import CommandError
from agentfp_core.cli.options import Json
from agentfp_core.cli.output import data, note, say

app = typer.Typer(add_completion=False)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where; made if it is not there.")] = Path(),
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="provider:name; what is installed when left out.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a small working project.

    That is agentfp.toml, a module with tools, and a test. Overwrites nothing.
    """
    from agentfp_core.cli.subject import NO_PROVIDER
    from agentfp_core.cli.templates import project
    from agentfp_core.entrypoints import MODELS_GROUP, installed

    if model is not None and re.fullmatch(r"[A-Za-z][\w.-]*(?::[^\s\"'\\]+)?", model) is None:
        raise CommandError(f"--model {model!r} names no model; write provider:name")
    providers = sorted(installed(MODELS_GROUP).group(MODELS_GROUP))
    chosen = model or ("local" if "local" in providers or not providers else providers[0])
    files = project(chosen)
    write_new(folder, files)
    missing = chosen.partition(":")[0] not in providers
    hint = _install_hint(chosen, NO_PROVIDER, any_provider=bool(providers)) if missing else _not_ready(chosen)
    if as_json:
        data({"folder": str(folder), "files": list(files), "model": chosen, "install": hint})
        return
    for name in files:
        say(f"wrote {folder / name}")
    if hint is not None:
        note(hint, "yellow")
    there = "" if folder == Path() else f"cd {folder} && "
    ask = 'agentfp run "What is on the desk, and what is due first?"'
    say(f"next: {there}{ask if hint is None else 'python -m pytest; after that, ' + ask}")


def _install_hint(model: str, nothing: str, *, any_provider: bool) -> str:
    provider = model.partition(":")[0]
    return f'the provider {provider!r} is not installed: pip install "agentfp[{provider}]"' if any_provider else nothing


def _not_ready(model: str) -> str | None:
    """What an installed model lacks: weights, or a key."""
    from agentfp_core.model import check_ready, resolve_model

    try:
        check_ready(resolve_model(model))
    except Exception as error:  # the provider's own code
        return str(error)
    return None


def write_new(folder: Path, files: dict[str, str]) -> None:
    """Write files that are not there yet.

    Args:
        folder: made if it is not there.
        files: their content by relative path.

    Raises:
        CommandError: one of them is there; nothing was written.
    """
    there = [name for name in files if os.path.lexists(folder / name)]  # a link that leads nowhere is there, too
    if there:
        raise CommandError(
            f"{', '.join(str(folder / name) for name in there)} {'is' if len(there) == 1 else 'are'} there already; nothing was written"
        )
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
