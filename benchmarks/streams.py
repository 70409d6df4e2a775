"""Reading a reply of 2,000 chunks: a provider of agentfp beside the official SDK, from the same bytes, in one process.

Both read the raw stream in blocks of 4 KiB as a socket gives them, and hand every piece of text to the caller; no network is in it. The SDK
is used as its guide says, its client with a transport that gives the blocks.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.harness import WrongRun, machine, options, pin_to_one_core, publish, table

CHUNKS = 2_000
BLOCK = 4_096
Reader = Callable[[list[bytes]], Awaitable[str]]
"""Reads the blocks of a stream to its end and gives the text that was shown."""


@dataclass(frozen=True)
class Subject:
    """One interface of a provider.

    Args:
        name: of the interface.
        body: what the provider sends.
        text: what it says.
        ours: reads it with agentfp.
        sdk: reads it with the official SDK.
    """

    name: str
    body: bytes
    text: str
    ours: Reader
    sdk: Reader


def subjects() -> Iterator[Subject]:
    """The interfaces that are measured; a further provider adds its own here."""
    from benchmarks import streams_anthropic, streams_bedrock, streams_openai

    yield from streams_openai.subjects(CHUNKS)
    yield from streams_anthropic.subjects(CHUNKS)
    yield from streams_bedrock.subjects(CHUNKS)


def blocks(body: bytes) -> list[bytes]:
    return [body[i : i + BLOCK] for i in range(0, len(body), BLOCK)]


async def timed(reader: Reader, subject: Subject, repeats: int) -> float:
    """Milliseconds for the whole stream, the median."""
    cut = blocks(subject.body)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        text = await reader(cut)
        times.append((time.perf_counter() - start) * 1e3)
        if text != subject.text:
            msg = f"{subject.name}: the text that was read is not the one that was sent"
            raise WrongRun(msg)
    return statistics.median(times)


async def measure(subject: Subject, rounds: int, repeats: int) -> dict[str, Any]:
    """Both readers in turn, so that a noisy moment falls on both alike."""
    ours, sdk = [], []
    for _ in range(rounds):
        ours.append(await timed(subject.ours, subject, repeats))
        sdk.append(await timed(subject.sdk, subject, repeats))
    ratios = [a / b for a, b in zip(ours, sdk, strict=True)]
    return {
        "name": subject.name,
        "bytes": len(subject.body),
        "ours_ms": statistics.median(ours),
        "sdk_ms": statistics.median(sdk),
        "ratio": statistics.median(ratios),
    }


def sse(events: list[dict[str, Any]], *, named: bool = False, end: str = "") -> bytes:
    """Server-sent events of JSON data, with their type as the event's name where the provider does that."""
    return "".join((f"event: {e['type']}\n" if named else "") + f"data: {json.dumps(e)}\n\n" for e in events).encode() + end.encode()


async def main() -> None:
    chosen = options(__doc__)
    core = pin_to_one_core()
    rounds, repeats = (3, 3) if chosen.quick else (9, 5)
    gc.collect()
    gc.freeze()
    rows = [await measure(subject, rounds, repeats) for subject in subjects()]
    shown = [[row["name"], row["bytes"] // 1024, row["ours_ms"], row["sdk_ms"], row["ratio"]] for row in rows]
    title = f"Reading a stream of {CHUNKS:,} chunks"
    text = table(title, ["", "KiB", "agentfp ms", "official SDK ms", "ratio"], shown)
    publish(chosen, {"machine": machine(core), "chunks": CHUNKS, "streams": rows}, text)


if __name__ == "__main__":
    asyncio.run(main())
