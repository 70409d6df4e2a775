"""What a peer's script ends with: measure its turn and print the numbers as one line of JSON. Standard library only."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.harness import Turn, measure, measure_concurrent, peak_rss_mib, pin_to_one_core

NS = (1, 10, 40, 160)


# The collector stays on: people run with it, and frameworks differ in what they give it to do.
async def _numbers(name: str, turn: Turn, budget: float, least: int) -> dict[str, Any]:
    measured = await measure(name, turn, NS, budget=budget, least=least, collector=True)
    sequential = peak_rss_mib()
    return {**measured.to_dict(), "peak_rss_mib": sequential, "concurrent_ms": await measure_concurrent(turn, reps=3)}


def report(name: str, turn: Turn, argv: Sequence[str] | None = None) -> None:
    """Measure a subject and print what came out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", type=float, default=3.0, help="seconds to spend on the rounds")
    parser.add_argument("--least", type=int, default=3, help="rounds at least")
    given, _ = parser.parse_known_args(argv)
    pin_to_one_core()
    sys.stdout.write(json.dumps(asyncio.run(_numbers(name, turn, given.budget, given.least))) + "\n")
