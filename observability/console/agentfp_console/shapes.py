"""An event as the sinks write it, and which events they write."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import pydantic

from agentfp.events import CATALOG
from agentfp.plugin import ExportedEvent, Plugin, Registry, nearest

LIBRARY = "agentfp."
ALWAYS = ("agentfp.error.", "agentfp.plugin.failed", "agentfp.cost.limit_hit", "agentfp.run.cancelled")


class Chosen(Plugin.Settings):
    """Settings that choose events.

    Args:
        content: whether what people, models and tools wrote is written too. Off by default.
        domains: the domains to write, such as ``tool`` and ``cost``; empty for all.
        skip: domains to leave out.
        events: names of events to write, besides the domains.
        sample_rate: the share of conversations that are written, from 0 to 1; a conversation is written whole or not at all, but for what
            went wrong in it, which always is.
    """

    content: bool = False
    domains: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    sample_rate: float = pydantic.Field(default=1.0, ge=0, le=1)

    def takes(self, event: ExportedEvent) -> bool:
        """Whether an event's conversation is written, or it is of those that always are."""
        if self.sample_rate >= 1 or event.name.startswith(ALWAYS):
            return True
        return int(hashlib.sha256(event.header.root_id.encode()).hexdigest()[:8], 16) / 2**32 < self.sample_rate

    def wants(self, name: str) -> bool:
        """Whether events of a name are written."""
        if name in self.events:
            return True
        domain = domain_of(name)
        if domain in self.skip:
            return False
        return domain in self.domains if self.domains else not self.events


def domain_of(name: str) -> str:
    """``tool`` of ``agentfp.tool.ended``; all but the last word of an application's or another plugin's name."""
    return name.split(".")[1] if name.startswith(LIBRARY) else name.rpartition(".")[0]


def check(settings: Chosen, agent: Registry, plugin: str, kinds: Collection[str]) -> None:
    """Report domains and names of the library that there are not.

    Args:
        settings: what was chosen.
        agent: takes the problems.
        plugin: whose settings they are.
        kinds: names of the events of the plugins that are on.
    """
    names = {*CATALOG, *kinds}
    domains = {domain_of(name) for name in names}
    for field in ("domains", "skip"):
        for word in getattr(settings, field):
            if word not in domains and "." not in word:
                agent.problem(f"plugin {plugin!r}: {field} has {word!r}, and there are no such events; {nearest(word, domains)}")
    for name in settings.events:
        if name.startswith(LIBRARY) and name not in names:
            agent.problem(f"plugin {plugin!r}: events has {name!r}, and there is no such event; {nearest(name, names)}")
