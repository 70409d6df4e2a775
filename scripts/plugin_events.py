"""Writes the section `## Events` of the README of each plugin that has events of its own: `python -m scripts.event_table` does it too."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from agentfp.plugin import Payload, Plugin
from scripts.workshop import distributions, pyproject

HEADING = "## Events\n"
INTRO = "What the plugin files, for `record.events(name)`, [sinks](../../docs/observing.md) and hooks of other plugins:"


def plugins() -> Iterator[tuple[Path, list[type[Plugin]]]]:
    """The README of each distribution, and the plugins that it brings."""
    for folder in distributions():
        targets = pyproject(folder)["project"].get("entry-points", {}).get("agentfp.plugins", {})
        yield folder / "README.md", [pkgutil.resolve_name(target) for target in targets.values()]


def pages() -> Iterator[tuple[Path, str]]:
    """The READMEs of plugins with events, as they have to be."""
    for readme, found in plugins():
        kinds = [kind for plugin in found for kind in plugin.events]
        if kinds:
            yield readme, with_section(readme.read_text(encoding="utf-8"), section(kinds))


def section(kinds: list[type[Payload]]) -> str:
    """The section: a row for each event."""
    return "\n".join([HEADING, INTRO, "", "| event | what happened |", "|---|---|", *map(_row, kinds)]) + "\n"


def _row(kind: type[Payload]) -> str:
    said = " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split()).replace("``", "`")
    return f"| `{kind.event_name}` | {said} |"


def with_section(text: str, made: str) -> str:
    """A page with the section in the place of an older one, or at its end."""
    before, found, after = text.partition(HEADING)
    if not found:
        return f"{text.rstrip()}\n\n{made}"
    rest = after.find("\n## ")
    return before + made + (after[rest:] if rest >= 0 else "")
