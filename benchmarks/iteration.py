"""What one iteration of the kernel costs: one async tool, five plugins in all five moments, in memory and with a journal."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks.harness import Measured, Options, machine, measure, options, pin_to_one_core, publish, slope_table
from benchmarks.turns import OwnTurn, journal_folder


async def measure_all(chosen: Options) -> list[Measured]:
    """Every subject, with the collector off and on."""
    found: list[Measured] = []
    with journal_folder() as folder:
        subjects = {
            "in memory, 5 plugins": OwnTurn(),
            "with journal, 5 plugins": OwnTurn(journal=Path(folder)),
            "in memory, no plugin": OwnTurn(plugins=0),
        }
        for name, turn in subjects.items():
            found += [await measure(name, turn, chosen.ns, budget=chosen.budget, collector=on) for on in (False, True)]
    return found


def main() -> None:
    chosen = options(__doc__)
    core = pin_to_one_core()
    found = asyncio.run(measure_all(chosen))
    data = {"machine": machine(core), "iteration": [m.to_dict() for m in found]}
    title = "One iteration (budget: 60 us in memory, 80 with the journal; growth 1.05 with the collector off, 1.25 on)"
    publish(chosen, data, slope_table(title, found))


if __name__ == "__main__":
    main()
