"""The settings of the plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pydantic

from agentfp.plugin import Plugin
from agentfp_xray.limits import MAX_DOCUMENTS, MAX_NAME


class XRaySettings(Plugin.Settings):
    """What is traced, and where it goes.

    Args:
        service_name: the name of the root of each trace.
        sample_rate: the share of runs that is traced, from 0 to 1; a run is traced whole or not at all.
        region: of AWS; boto3's own when left out.
        endpoint_url: of the service, where it is not AWS's own.
        max_batch: segment documents of a call.
        batch_seconds: how long the first document of a batch waits for others.
        max_queue: documents that may wait; beyond it the oldest is dropped and counted.
        flush_seconds: the most that ``flush`` and ``close`` wait.
        on_error: is handed a failure and the number of documents it cost, on the thread that sends.
        client: a boto3 client of ``xray`` of your own.
    """

    service_name: str = pydantic.Field(default="agentfp", min_length=1, max_length=MAX_NAME)
    sample_rate: float = pydantic.Field(default=1.0, ge=0, le=1)
    region: str | None = None
    endpoint_url: str | None = None
    max_batch: int = pydantic.Field(default=25, ge=1, le=MAX_DOCUMENTS)
    batch_seconds: float = pydantic.Field(default=1.0, ge=0, allow_inf_nan=False)
    max_queue: int = pydantic.Field(default=10_000, ge=1)
    flush_seconds: float = pydantic.Field(default=5.0, gt=0, allow_inf_nan=False)
    on_error: Callable[[Exception, int], Any] | None = None
    client: Any = None
