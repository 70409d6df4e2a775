"""How long a hundred runs of ten iterations take at once, on one agent and one loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks.harness import machine, measure_concurrent, options, peak_rss_mib, pin_to_one_core, publish, table
from benchmarks.turns import OwnTurn, journal_folder


async def measure_all(reps: int) -> dict[str, float]:
    """Milliseconds by subject."""
    with journal_folder() as folder:
        return {
            "in memory, 5 plugins": await measure_concurrent(OwnTurn(), reps=reps),
            "with journal, 5 plugins": await measure_concurrent(OwnTurn(journal=Path(folder)), reps=reps),
        }


def main() -> None:
    chosen = options(__doc__)
    core = pin_to_one_core()
    walls = asyncio.run(measure_all(2 if chosen.quick else 15))
    data = {"machine": machine(core), "concurrency_ms": walls, "peak_rss_mib": peak_rss_mib()}
    rows = [[name, wall, wall * 1e3 / 1000] for name, wall in walls.items()]
    publish(chosen, data, table("100 runs x 10 iterations at once (budget: 100 ms)", ["", "ms", "us/iter"], rows))


if __name__ == "__main__":
    main()
