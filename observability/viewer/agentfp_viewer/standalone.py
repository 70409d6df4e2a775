"""Writes a recording as one page that needs nothing else: no server, no network."""

from __future__ import annotations

import base64
import contextlib
import gzip
import html
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import pydantic_core

from agentfp_viewer.bundle import data_block, head, tail
from agentfp_viewer.receipts import verified
from agentfp_viewer.recording import Recording
from agentfp_viewer.thread import Thread
from agentfp_viewer.views import PAGE, changes

CHUNK = 512 * 1024
"""Bytes of events that the page unpacks at once."""


def write_page(recording: Recording, path: Path) -> None:
    """Write the page; it appears whole or not at all.

    Args:
        recording: what to write.
        path: the file; replaced if it is there.

    Raises:
        OSError: it cannot be written.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as page, tempfile.TemporaryFile("w+", encoding="ascii") as body:
            threads = {key: _write_thread(recording, thread, f"t{n}", body) for n, (key, thread) in enumerate(recording.threads.items())}
            boot = {"mode": "file", "folder": False, "name": recording.path.name, "first": next(iter(threads)), "threads": threads}
            page.write(head(f"{recording.path.name} · agentfp view", boot, connect=False))
            body.seek(0)
            while part := body.read(1 << 20):
                page.write(part)
            page.write(tail())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _write_thread(recording: Recording, thread: Thread, id: str, body: IO[str]) -> dict[str, Any]:
    """Write a thread's outline and its events in packed blocks; gives what finds them again."""
    body.write(_packed(f"{id}-outline", _outline(recording, thread)))
    firsts: list[int] = []
    for number, events in enumerate(_chunks(recording, thread)):
        firsts.append(events[0]["seq"])
        body.write(_packed(f"{id}-{number}", events))
    return {"id": id, "firsts": firsts, "receipts": verified(recording, thread)}


def _outline(recording: Recording, thread: Thread) -> dict[str, Any]:
    """All that is told of a thread in pieces, in one."""
    whole = changes(recording, thread, {})
    news = whole
    while news["more"]:
        since = {"rev": thread.fold.rev, "rows": len(whole["rows"]), "messages": len(whole["messages"])}
        news = changes(recording, thread, {**since, "blobs": len(whole["blobs"]), "served": len(whole["served"])})
        for name in ("rows", "messages", "blobs", "served"):
            whole[name] = [*whole[name], *news[name]]
        assert len(news["rows"]) <= PAGE
    return {**whole, "rev": thread.fold.rev, "more": False, "calls": thread.fold.calls}


def _chunks(recording: Recording, thread: Thread) -> Iterator[list[Mapping[str, Any]]]:
    first = 0
    while first < len(thread):
        size, last = 0, first
        while last < len(thread) and (last == first or size + thread.sizes[last] <= CHUNK):
            size += thread.sizes[last]
            last += 1
        yield list(recording.events(thread, range(first, last), limit=size + 1))
        first = last


def _packed(id: str, data: Any) -> str:
    """A block of the page that holds JSON data, packed: in base64 nothing can end the block."""
    packed = base64.b64encode(gzip.compress(pydantic_core.to_json(data, inf_nan_mode="null"), 6, mtime=0)).decode("ascii")
    return data_block(html.escape(id), packed)
