"""The event types of plugins by the plugins' names, for reading records of runs that had them on."""

from __future__ import annotations

from collections.abc import Iterable

from agentfp_core.entrypoints import PLUGINS_GROUP, installed, load, the_one
from agentfp_core.errors import PluginLoadError
from agentfp_core.events.base import Payload
from agentfp_core.plugins import Plugin


def event_types(plugins: Iterable[str]) -> tuple[type[Payload], ...]:
    """The event types of plugins that are installed; those of others are left out.

    Args:
        plugins: names, as a record has them.
    """
    entries = installed().group(PLUGINS_GROUP)
    found: dict[str, type[Payload]] = {}
    for name in plugins:
        if name not in entries:
            continue
        try:
            made = load(the_one(name, entries[name]))
        except PluginLoadError:  # its events are shown by their names
            continue
        if isinstance(made, type) and issubclass(made, Plugin):
            found.update((kind.event_name, kind) for kind in made.events)
    return tuple(found.values())
