"""The catalog of the kernel's events: one module a domain, one payload class a name."""

from __future__ import annotations

from types import MappingProxyType

from agentfp_core.events import agent, context, cost, error, hook, message, pause, stream, tool
from agentfp_core.events.base import Payload

DOMAINS = (agent, context, cost, error, hook, message, pause, stream, tool)

CATALOG: MappingProxyType[str, type[Payload]] = MappingProxyType(
    {
        value.event_name: value
        for module in DOMAINS
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Payload) and value.event_name
    }
)
"""Every event of the kernel by name."""
