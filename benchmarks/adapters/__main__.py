"""What the gate adds to a model call of other frameworks: `python -m benchmarks.adapters [--quick] [--json PATH]`.

A run goes on from a history of 20 messages with results of a few kilobytes, makes one tool call after the other, and answers. It is
timed with the gate and without it, in turns, in processor time, for the gate waits for nothing; what it adds is shared out over the
model calls. ``first`` is what a run with one
model call pays, which reads the whole history; ``further`` what each further call of a run pays, which reads what is new.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from agentfp_evidence import judge
from benchmarks.adapters.frameworks import FRAMEWORKS, history_of
from benchmarks.harness import machine, options, pin_to_one_core, publish, table

MESSAGES, CALLS = 20, 10


async def timed(run: Callable[[], Awaitable[Any]]) -> float:
    began = time.process_time()
    await run()
    return (time.process_time() - began) * 1000


async def added(make: Any, calls: int, repeats: int, wish: str) -> float:
    """Milliseconds that the gate adds to a run with so many tool calls: the median of pairs."""
    plain, gated = make(calls, None), make(calls, wish)
    await plain(), await gated()
    pairs = [(await timed(plain), await timed(gated)) for _ in range(repeats)]
    return statistics.median(with_gate - without for without, with_gate in pairs)


async def main_async(repeats: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name, make in FRAMEWORKS.items():
        first = await added(make, 0, repeats, "revise")
        whole = await added(make, CALLS, repeats, "revise")
        found[name] = {"first_ms": first, "further_ms": (whole - first) / CALLS, "mean_ms": whole / (CALLS + 1)}
    return found


def from_scratch(repeats: int) -> float:
    """What one judgement costs that reads the history anew, for comparison."""
    messages, answer = history_of(MESSAGES), "host-3 has 41,203 IOPS."
    times = []
    for _ in range(repeats):
        began = time.process_time()
        judge(answer, messages)
        times.append((time.process_time() - began) * 1000)
    return statistics.median(times)


def main() -> None:
    given = options(__doc__ or "")
    core = pin_to_one_core()
    repeats = 5 if given.quick else 40
    found = asyncio.run(main_async(repeats))
    alone = from_scratch(repeats)
    size = sum(len(json.dumps(message)) for message in history_of(MESSAGES))
    rows = [[name, row["first_ms"], row["further_ms"], row["mean_ms"]] for name, row in found.items()]
    history = f"history of {MESSAGES} messages, {size / 1000:.0f} kB"
    title = f"Milliseconds that the gate adds to a model call; {history}; one judgement from scratch: {alone:.2f} ms"
    headers = ["", "first call", "further call", f"mean of {CALLS + 1}"]
    publish(
        given, {"machine": machine(core), "from_scratch_ms": alone, "history_bytes": size, "adapters": found}, table(title, headers, rows)
    )


if __name__ == "__main__":
    main()
