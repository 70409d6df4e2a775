"""What the page is told of a recording, as JSON data: the overview, and what changed since it asked last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentfp_viewer.recording import Recording
from agentfp_viewer.thread import Thread

PAGE = 5_000
"""Rows, messages and requests that one answer holds at most."""


def overview(recording: Recording, thread: Thread) -> dict[str, Any]:
    """All about a thread that is not a list."""
    fold, headers = thread.fold, thread.headers
    first = headers[0] if headers else {}
    ended = fold.status is not None
    return {
        "file": recording.path.name,
        "size": recording.size,
        "thread": thread.key,
        "root_id": thread.root_id,
        "run_id": thread.leg,
        "legs": len(headers),
        "events": len(thread),
        "started_ns": str(first.get("started_ns", "")),
        "agent": fold.agent,
        "session": first.get("session_id"),
        "identity": first.get("identity"),
        "redacted": list(dict.fromkeys(str(name) for header in headers for name in header.get("redaction") or ())),
        "untimed": not fold.timed,
        "origin": first.get("origin"),
        "question": fold.question,
        "status": fold.status if ended else "open",
        "idle_s": recording.idle_s,
        "pending": fold.pending,
        "models": fold.models,
        "plugins": fold.plugins,
        "problems": [*recording.told(), *fold.problems],
        "ms": round(fold.now, 3),
        "tokens": fold.tokens,
        "usd": None if fold.usd is None else str(fold.usd),
        "unpriced": fold.unpriced,
        "model_calls": len(fold.served),
        "tool_calls": len(fold.calls),
        "turns": max((row["t"] for row in reversed(fold.rows[-50:])), default=0),
        "threads": [_thread(one) for one in recording.threads.values()],
        "others": recording.others,
        "notes": recording.notes,
    }


def _thread(thread: Thread) -> dict[str, Any]:
    return {"key": thread.key, "path": list(thread.path), "question": thread.fold.question, "agent": thread.fold.agent}


def changes(recording: Recording, thread: Thread, since: Mapping[str, int]) -> dict[str, Any]:
    """What is new in a thread.

    Args:
        recording: the file.
        thread: the thread.
        since: what the page has: ``rev`` of the rows, and how many rows, messages, blobs and requests.

    Returns:
        the overview and the news; ``more`` when there is more to be asked for at once.
    """
    fold = thread.fold
    known, rev = since.get("rows", 0), since.get("rev", 0)
    fresh = fold.rows[known : known + PAGE]
    older = [row for row in fold.rows[:known] if row["rev"] > rev] if rev < fold.rev else []
    messages = fold.messages[since.get("messages", 0) :][: 2 * PAGE]
    blobs = fold.blobs[since.get("blobs", 0) :][: 2 * PAGE]
    served = fold.served[since.get("served", 0) :][:PAGE]
    more = (
        known + len(fresh) < len(fold.rows)
        or since.get("messages", 0) + len(messages) < len(fold.messages)
        or since.get("blobs", 0) + len(blobs) < len(fold.blobs)
        or since.get("served", 0) + len(served) < len(fold.served)
    )
    return {
        "generation": recording.generation,
        "rev": rev if more else fold.rev,
        "more": more,
        "overview": overview(recording, thread),
        "rows": [*older, *fresh],
        "messages": messages,
        "blobs": blobs,
        "served": served,
        "withdrawn": fold.withdrawn,
        "answers": fold.answers,
        "calls": {call_id: call for call_id, call in fold.calls.items() if fold.rows[call["row"]]["rev"] > rev},
    }
