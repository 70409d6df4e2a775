"""Where an event belongs, as a flat mapping: what sinks write beside the payload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentfp_core.exported import ExportedEvent


def event_meta(event: ExportedEvent) -> dict[str, Any]:
    """Where an event belongs, as JSON data; what does not apply is left out.

    Args:
        event: as a sink gets it.
    """
    header = event.header
    identity = header.identity
    made: dict[str, Any] = {
        "run_id": header.run_id,
        "record_id": header.root_id,
        "seq": event.seq,
        "ts_ns": event.ts_ns,
        "offset_ns": event.offset_ns,
        "turn": event.turn,
        "iteration": event.iteration,
        "source": event.source,
    }
    optional = {
        "call_id": event.call_id,
        "agent": header.agent_id,
        "path": list(header.path) or None,
        "session_id": header.session_id,
        "correlation_id": header.correlation_id,
        "trace_id": header.trace_id,
        "resumed_from": header.resumed_from,
        "principal": None if identity is None else identity.principal,
        "tenant": None if identity is None else identity.tenant,
    }
    made.update({key: value for key, value in optional.items() if value is not None})
    return made
