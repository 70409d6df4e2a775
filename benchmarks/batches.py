"""What an iteration costs when the model asks for three calls at once, and when tools are sync: in threads, or on the loop."""

from __future__ import annotations

import asyncio
import itertools

from benchmarks.harness import Measured, Options, machine, measure, options, pin_to_one_core, publish, slope_table
from benchmarks.turns import OwnTurn

ITERATIONS = (10, 40, 160)
SPANS = tuple(itertools.pairwise(ITERATIONS))


async def measure_all(chosen: Options) -> list[Measured]:
    """Every kind of tool, alone and in a batch of three. The slopes are per iteration, not per call."""
    found = []
    for kind, label in (("async", "async"), ("inline", "sync, on the loop"), ("thread", "sync, in threads")):
        for batch in (1, 3):
            turn = OwnTurn(kind=kind, batch=batch)
            name = f"{label}, {batch} at once" if batch > 1 else label
            calls = tuple(n * batch for n in ITERATIONS)
            found.append(per_iteration(await measure(name, turn, calls, budget=chosen.budget), batch))
    return found


def per_iteration(measured: Measured, batch: int) -> Measured:
    """The same numbers counted by iterations, where `measure` counted calls."""
    for timing in measured.timings:
        timing.n //= batch
    measured.slopes = {f"{a}-{b}": slope * batch for (a, b), slope in zip(SPANS, measured.slopes.values(), strict=True)}
    return measured


def main() -> None:
    chosen = options(__doc__)
    core = pin_to_one_core()
    found = asyncio.run(measure_all(chosen))
    data = {"machine": machine(core), "batches": [m.to_dict() for m in found]}
    publish(chosen, data, slope_table("Batches and sync tools, 5 plugins, in memory", found))


if __name__ == "__main__":
    main()
