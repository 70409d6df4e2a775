"""What an iteration weighs: live bytes and objects of a finished run, bytes of its file beyond content, and a very long run."""

from __future__ import annotations

import asyncio
import gc
import time
import tracemalloc
from pathlib import Path

from benchmarks.harness import Options, checked, machine, options, peak_rss_mib, pin_to_one_core, publish, table
from benchmarks.turns import OwnTurn, journal_folder

LONG_RUN = 2_000
NS = (40, 160, 1000)


def content_bytes(n: int) -> int:
    """Bytes of what the model and the tools said in a run, each said once: arguments, results, the two ends."""
    return sum(len(f'{{"x":{x}}}') + len(f"value {x}") for x in range(n)) + len("hi") + len("done")


async def live_bytes(turn: OwnTurn, n: int) -> int:
    """Bytes that a finished run's result keeps alive."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = await turn.result(n)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    del result
    return after - before


async def tracked_objects(turn: OwnTurn, n: int) -> int:
    """Objects that a finished run's result adds to what the collector must walk."""
    gc.collect()
    before = len(gc.get_objects())
    result = await turn.result(n)
    gc.collect()
    after = len(gc.get_objects())
    del result
    return after - before


async def file_bytes(turn: OwnTurn, n: int, folder: Path) -> int:
    """Size of a run's journal beyond content."""
    path = folder / f"{n}.journal"
    await turn.result(n, path)
    return path.stat().st_size - content_bytes(n)


async def weigh(chosen: Options) -> tuple[list[list[object]], float]:
    """Rows of (what, an iteration of 40-160, of 160-1,000), and the long run's microseconds an iteration."""
    turn = OwnTurn()
    ns = NS[:2] if chosen.quick else NS
    for n in ns:
        await checked(turn, n)
    with journal_folder() as folder:
        sizes: dict[str, list[int]] = {
            "live bytes": [await live_bytes(turn, n) for n in ns],
            "objects the collector walks": [await tracked_objects(turn, n) for n in ns],
            "journal bytes beyond content": [await file_bytes(turn, n, Path(folder)) for n in ns],
        }
    rows: list[list[object]] = []
    for what, values in sizes.items():
        steps = [(values[i + 1] - values[i]) / (ns[i + 1] - ns[i]) for i in range(len(ns) - 1)]
        rows.append([what, *steps, *[float("nan")] * (len(NS) - 1 - len(steps))])
    start = time.perf_counter()
    await checked(turn, LONG_RUN)
    return rows, (time.perf_counter() - start) * 1e6 / LONG_RUN


def main() -> None:
    chosen = options(__doc__)
    core = pin_to_one_core()
    rows, long_us = asyncio.run(weigh(chosen))
    data = {
        "machine": machine(core),
        "memory": [{"what": row[0], "40-160": row[1], "160-1000": row[2]} for row in rows],
        "long_run": {"iterations": LONG_RUN, "us_per_iteration": long_us},
        "peak_rss_mib": peak_rss_mib(),
    }
    text = table("An iteration weighs (budget: 3,000 bytes of file beyond content)", ["", "40-160", "160-1000"], rows)
    publish(chosen, data, f"{text}\n{LONG_RUN:,} iterations in one run: {long_us:.0f} us an iteration; peak {peak_rss_mib():.0f} MiB")


if __name__ == "__main__":
    main()
