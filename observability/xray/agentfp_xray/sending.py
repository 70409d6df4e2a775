"""Sends documents to X-Ray, within its limits; tries again what it did not process, and says what is lost."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from agentfp import AgentfpError
from agentfp_xray.retries import code_of, patiently


class XRayError(AgentfpError):
    """Segments are lost; the words say why, and hold nothing of them."""

    code: ClassVar[str] = "ERR_XRAY"


class Sender:
    """Sends documents.

    Args:
        client: makes boto3's client, once, when there is something to send.
        failed: is handed each error and the number of documents that it cost.
        sleep: waits between tries.
    """

    def __init__(
        self, client: Callable[[], Any], failed: Callable[[Exception, int], None], sleep: Callable[[float], Any] = time.sleep
    ) -> None:
        self._make_client = client
        self._client: Any = None
        self._pid = os.getpid()
        self._failed = failed
        self._sleep = sleep

    def put(self, documents: list[str]) -> int:
        """Send documents in one call, and once more those that were not processed.

        Returns:
            How many are lost; each loss was reported.
        """
        left, words = self._once(documents)
        if words is None and left:
            left, words = self._once(left)
            words = words or "were not processed, twice"
        return self._lose(len(left), words) if left and words else 0

    def _once(self, documents: list[str]) -> tuple[list[str], str | None]:
        """What was not processed, and why nothing more is to be tried."""
        try:
            reply = self._call(documents)
        except Exception as error:  # whatever it is, the next batch may do better
            return documents, f"were not taken ({code_of(error) or type(error).__name__})"
        refused = unprocessed(reply, documents)
        return (documents, "got an answer that is none of the service") if refused is None else (refused, None)

    def _call(self, documents: list[str]) -> Any:
        if self._client is None or os.getpid() != self._pid:  # a process that was forked off has connections of its own
            self._pid, self._client = os.getpid(), self._make_client()
        return patiently(lambda: self._client.put_trace_segments(TraceSegmentDocuments=documents), self._sleep)

    def _lose(self, count: int, why: str) -> int:
        self._failed(XRayError(f"{count} segments {why}"), count)
        return count


def unprocessed(reply: Any, documents: list[str]) -> list[str] | None:
    """The documents of a call that the service says it did not process.

    Args:
        reply: the answer to PutTraceSegments.
        documents: of the call.

    Returns:
        Them, or None for an answer that cannot be one. One that is refused without a known id may be any: as many count from the end.
    """
    if not isinstance(reply, Mapping):
        return None
    refused = reply.get("UnprocessedTraceSegments") or []
    if not isinstance(refused, list) or not all(isinstance(one, Mapping) for one in refused):
        return None
    if not refused:
        return []
    ids = {one.get("Id") for one in refused}
    found = [document for document in documents if json.loads(document)["id"] in ids]
    missing = min(len(refused), len(documents)) - len(found)
    if missing > 0:
        others = [document for document in documents if document not in found]
        found += others[-missing:]
    return found
