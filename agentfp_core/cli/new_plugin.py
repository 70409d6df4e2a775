"""``agentfp new-plugin``: a complete distribution with a plugin of one's own."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Annotated

import typer

from agentfp_core.cli.exits import CommandError
from agentfp_core.cli.options import Json
from agentfp_core.cli.output import data, say

app = typer.Typer(add_completion=False)


@app.command()
def new_plugin(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The plugin's name, such as office-hours.", show_default=False)],
    folder: Annotated[Path | None, typer.Option(help="Where; agentfp-NAME here when left out.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Write a complete distribution with a plugin.

    The plugin has a hook, settings and an event of its own; tests and a README are there too. Overwrites nothing.
    """
    from agentfp_core.cli.init import write_new
    from agentfp_core.cli.plugin_templates import distribution
    from agentfp_core.entrypoints import PLUGINS_GROUP, installed
    from agentfp_core.sisters import PLUGINS

    plugin = _plugin_name(name)
    if plugin in PLUGINS or plugin in (found := installed(PLUGINS_GROUP).group(PLUGINS_GROUP)):
        raise CommandError(
            f"there is a plugin {plugin!r} already, of {PLUGINS.get(plugin) or found[plugin][0].origin}; choose another name"
        )
    where = folder if folder is not None else Path(f"agentfp-{plugin.replace('_', '-')}")
    files = distribution(plugin)
    write_new(where, files)
    if as_json:
        data({"folder": str(where), "files": list(files), "plugin": plugin, "distribution": f"agentfp-{plugin.replace('_', '-')}"})
        return
    for file in files:
        say(f"wrote {where / file}")
    say(f"next: cd {where} && pip install -e '.[test]' && python -m pytest && agentfp plugins show {plugin}")


def _plugin_name(name: str) -> str:
    from agentfp_core.plugins import RESERVED

    plugin = re.sub(r"^agentfp[-_]", "", name.strip().lower()).replace("-", "_").replace(" ", "_")
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*", plugin) or keyword.iskeyword(plugin):
        raise CommandError(f"{name!r} is no name for a plugin; use letters, digits and dashes, such as office-hours")
    if plugin in RESERVED or plugin in ("core", "testing"):
        raise CommandError(f"{plugin!r} is taken by the library itself; choose another name")
    return plugin
