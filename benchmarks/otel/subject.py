"""What each subject's script ends with: the same turn without and with tracing, round after round, and what the difference comes to.

Measured is the time that the process computes, with its threads, for spans are made and batches exported in some; and that of the event
loop's own thread, which is what a run waits for. A busy machine does not change them much.
Standard library only, since the peers' environments run it too.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from benchmarks.harness import Turn, checked, pin_to_one_core

NS = (20, 120)
"""An iteration costs the difference of the two runs over that of their lengths, so that what a run costs once falls out."""


Samples = dict[str, dict[int, list[tuple[float, float]]]]
"""By way and length, for each round: microseconds of the process, and of the loop's thread."""


async def _rounds(turns: Mapping[str, Turn], budget: float, least: int) -> Samples:
    samples: Samples = {name: {n: [] for n in NS} for name in turns}
    for turn in turns.values():
        for n in NS:
            await checked(turn, n)
    begun = time.perf_counter()
    while min(len(samples[name][NS[0]]) for name in turns) < least or time.perf_counter() - begun < budget:
        for name, turn in turns.items():
            for n in NS:
                gc.collect()
                start, own = time.process_time(), time.thread_time()
                await turn.run(n)
                samples[name][n].append(((time.process_time() - start) * 1e6, (time.thread_time() - own) * 1e6))
    return samples


def _iteration(samples: Mapping[int, Sequence[tuple[float, float]]], which: int) -> float:
    small, large = (statistics.median([sample[which] for sample in samples[n]]) for n in NS)
    return (large - small) / (NS[1] - NS[0])


def report(name: str, turns: Mapping[str, Turn], spans: Callable[[], int], argv: Sequence[str] | None = None) -> None:
    """Measure a subject and print what came out as one line of JSON.

    Args:
        name: of the subject.
        turns: `off` first, then ways of tracing.
        spans: how many spans were exported up to now.
        argv: arguments of the command line.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", type=float, default=6.0, help="seconds to spend on the rounds")
    parser.add_argument("--least", type=int, default=7, help="rounds at least")
    given, _ = parser.parse_known_args(argv)
    pin_to_one_core()
    samples = asyncio.run(_rounds(turns, given.budget, given.least))
    per = {way: _iteration(times, 0) for way, times in samples.items()}
    loop = {way: _iteration(times, 1) for way, times in samples.items()}
    rounds = min(len(times[NS[0]]) for times in samples.values())
    data = {"name": name, "us_per_iteration": per, "us_of_the_loop": loop, "rounds": rounds, "spans": spans()}
    sys.stdout.write(json.dumps(data) + "\n")
