"""An event as a log event: one JSON object, of the form {"type", "payload", "meta"}."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentfp.plugin import ExportedEvent, event_meta
from agentfp_cloudwatch.limits import LogLine

DROPPED = "agentfp.cloudwatch.dropped"
CONFIGURED = "agentfp.agent.run_configured"


def line_of(event: ExportedEvent, more: Mapping[str, Any], *, content: bool, max_bytes: int) -> LogLine:
    """The log event of an event, at the time when it happened.

    Args:
        event: the event.
        more: further fields of ``meta``.
        content: whether content is sent, which the first event of a run says.
        max_bytes: a larger one has a short payload instead.
    """
    meta = {**event_meta(event), **more}
    if event.name == CONFIGURED:
        meta["content"] = content
    try:
        message = _json(event.name, dict(event.data), meta)
    except (TypeError, ValueError, RecursionError):  # one field of one event must not cost the others
        message = _json(event.name, {"unserialisable": True}, meta)
    size = len(message.encode())
    if size > max_bytes:
        message = _json(event.name, {"oversize": True, "bytes": size}, meta)
    if len(message.encode()) > max_bytes:  # names that somebody else made up
        message = _json(event.name[:256], {"oversize": True, "bytes": size}, {"seq": event.seq, "ts_ns": event.ts_ns})
    return LogLine(event.ts_ns // 1_000_000, message)


def dropped_line(count: int, ts_ns: int) -> LogLine:
    """A log event that says how many events are missing before it."""
    return LogLine(ts_ns // 1_000_000, _json(DROPPED, {"count": count}, {"ts_ns": ts_ns}))


def _json(name: str, payload: Any, meta: Any) -> str:
    made = json.dumps({"type": name, "payload": payload, "meta": meta}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return made.encode("utf-8", "replace").decode()
