"""The settings of the plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pydantic

from agentfp.plugin import Plugin
from agentfp_cloudwatch.limits import EVENT_OVERHEAD, MAX_BATCH_BYTES, MAX_BATCH_EVENTS, MAX_EVENT_BYTES


class CloudWatchSettings(Plugin.Settings):
    """Where log events go, and how.

    Args:
        log_group: an existing log group; it is never made.
        log_stream: made when it is missing; ``agentfp/{host}/{pid}-{start in ms}`` when left out, one for each process.
        region: of AWS; boto3's own when left out.
        endpoint_url: of the service, where it is not AWS's own.
        content: whether what people, models and tools wrote is sent too. Off by default.
        max_batch_events: log events of a call.
        max_batch_bytes: bytes of a call.
        max_event_bytes: an event that is larger is replaced by a short one that says so.
        batch_seconds: how long the first event of a batch waits for others.
        max_queue: events that may wait; beyond it the oldest is dropped and counted.
        flush_seconds: the most that ``flush`` and ``close`` wait.
        on_error: is handed a failure and the number of events it cost, on the thread that sends.
        client: a boto3 client of ``logs`` of your own.
    """

    log_group: str = pydantic.Field(min_length=1, max_length=512, pattern=r"^[.\-_/#A-Za-z0-9]+$")
    log_stream: str | None = pydantic.Field(default=None, min_length=1, max_length=512, pattern=r"^[^:*]*$")
    region: str | None = None
    endpoint_url: str | None = None
    content: bool = False
    max_batch_events: int = pydantic.Field(default=100, ge=1, le=MAX_BATCH_EVENTS)
    max_batch_bytes: int = pydantic.Field(default=10_240, ge=1024, le=MAX_BATCH_BYTES)
    max_event_bytes: int = pydantic.Field(default=262_144, ge=4096, le=MAX_EVENT_BYTES - EVENT_OVERHEAD)
    batch_seconds: float = pydantic.Field(default=1.0, ge=0, allow_inf_nan=False)
    max_queue: int = pydantic.Field(default=10_000, ge=1)
    flush_seconds: float = pydantic.Field(default=5.0, gt=0, allow_inf_nan=False)
    on_error: Callable[[Exception, int], Any] | None = None
    client: Any = None
