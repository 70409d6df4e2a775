"""Whether the requests that the page shows are those that were sent: each is rebuilt and must hash to the receipt filed with it."""

from __future__ import annotations

from typing import Any

from agentfp import AgentfpError, Record
from agentfp.events import Served
from agentfp_viewer.recording import Recording
from agentfp_viewer.thread import Thread

LARGEST = 64 << 20
"""Bytes of a file up to which the record is loaded to check it."""


def verified(recording: Recording, thread: Thread) -> dict[str, Any]:
    """What a check of all requests of a thread came to.

    Returns:
        ``bad``, the numbers of the model calls that cannot be rebuilt, and ``upto``, the last that was checked; or ``why`` none was.
    """
    if any(header.get("redaction") for header in thread.headers):
        return {"why": "this copy is masked, so requests cannot be checked"}
    if recording.size > LARGEST:
        return {"why": f"files over {LARGEST >> 20} MB are not checked here; agentfp steps FILE --call K checks one request"}
    if not thread.fold.served:
        return {"why": "there is no model call in it"}
    try:
        record = Record.from_lines(recording.record_lines())
        for step in thread.path:
            record = record.children[step]
        if record.root_id != thread.root_id:
            return {"why": "the file holds another conversation after this one"}
        return {"bad": list(record.changed_calls()), "upto": max((payload.call for payload in record.of(Served)), default=0)}
    except (AgentfpError, KeyError, OSError) as error:
        return {"why": f"the record cannot be loaded: {error}"}
