"""The measuring harness: medians of runs with N tool calls, slopes between them, the collector, memory, one core, tables.

Standard library only, since the peers' environments run it too.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

NS = (10, 40, 160, 1000)
CONCURRENT_RUNS = 100
CONCURRENT_ITERATIONS = 10


class Turn(Protocol):
    """An agent turn that can be measured.

    `calls` grows by one with each tool call that really ran; `run(n)` makes the turn with n of them and gives the answer.
    """

    calls: int

    async def run(self, n: int) -> str:
        """Make the turn."""
        ...


@dataclass
class Timing:
    """Times of runs with the same N, microseconds."""

    n: int
    reps: int
    median_us: float
    best_us: float


@dataclass
class Measured:
    """One subject: its times by N, what an iteration costs between two Ns, and memory at its peak."""

    name: str
    gc: bool
    timings: list[Timing] = field(default_factory=list)
    slopes: dict[str, float] = field(default_factory=dict)
    peak_rss_mib: float = 0.0

    @property
    def first_slope(self) -> float:
        """Microseconds an iteration between the two smallest Ns."""
        return next(iter(self.slopes.values()), float("nan"))

    @property
    def growth(self) -> float:
        """The last slope over the first: 1.0 for a run whose cost is linear."""
        return list(self.slopes.values())[-1] / self.first_slope if self.slopes else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """As JSON data, with growth."""
        return {**asdict(self), "growth": self.growth}


class WrongRun(AssertionError):
    """A turn did other work than it was asked for, so that its time says nothing."""


def pin_to_one_core() -> int | None:
    """Pin this process, and those it starts, to one core; gives the core, or None where that cannot be done.

    AGENTFP_BENCH_CORE names it; the last allowed one is the default, since the first serves most interrupts.
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    allowed = os.sched_getaffinity(0)
    core = int(os.environ.get("AGENTFP_BENCH_CORE", max(allowed)))
    os.sched_setaffinity(0, {core})
    return core


def peak_rss_mib() -> float:
    """The most memory this process has held. VmHWM and not getrusage, whose number is inherited from the parent."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def slopes(medians: Mapping[int, float]) -> dict[str, float]:
    """What an iteration costs between neighbouring Ns: `{"10-40": ...}`."""
    ordered = sorted(medians)
    return {f"{a}-{b}": (medians[b] - medians[a]) / (b - a) for a, b in itertools.pairwise(ordered)}


async def checked(turn: Turn, n: int) -> None:
    """Run a turn once and see that it did what it should.

    Raises:
        WrongRun: not exactly n tool calls ran, or the answer is not the model's.
    """
    before = turn.calls
    answer = await turn.run(n)
    if turn.calls - before != n:
        msg = f"asked for {n} tool calls, {turn.calls - before} ran"
        raise WrongRun(msg)
    if answer != "done":
        msg = f"the answer should be 'done', it is {answer!r}"
        raise WrongRun(msg)


async def measure(
    name: str, turn: Turn, ns: Sequence[int] = NS, *, budget: float = 4.0, least: int = 5, collector: bool = False
) -> Measured:
    """Measure runs with each N in turn, round after round, so that a noisy moment falls on all of them alike.

    Args:
        name: of the subject.
        turn: what is run.
        ns: numbers of tool calls.
        budget: seconds to spend.
        least: rounds at least.
        collector: the cyclic garbage collector stays on.
    """
    for n in ns:
        await checked(turn, n)
    samples: dict[int, list[float]] = {n: [] for n in ns}
    gc.collect()
    if not collector:
        gc.disable()
    before, expected = turn.calls, 0
    try:
        begin, rounds = time.perf_counter(), 0
        while rounds < least or time.perf_counter() - begin < budget:
            for n in ns:
                start = time.perf_counter()
                await turn.run(n)
                samples[n].append(time.perf_counter() - start)
                expected += n
            if not collector:
                gc.collect()
            rounds += 1
    finally:
        gc.enable()
    if turn.calls - before != expected:
        msg = f"asked for {expected} tool calls, {turn.calls - before} ran"
        raise WrongRun(msg)
    timings = [Timing(n, len(times), statistics.median(times) * 1e6, min(times) * 1e6) for n, times in samples.items()]
    return Measured(name, collector, timings, slopes({t.n: t.median_us for t in timings}), peak_rss_mib())


async def measure_concurrent(turn: Turn, *, reps: int = 5) -> float:
    """Milliseconds for 100 runs of 10 iterations at once on one loop, median."""
    walls = []
    for _ in range(reps):
        before = turn.calls
        start = time.perf_counter()
        await asyncio.gather(*(turn.run(CONCURRENT_ITERATIONS) for _ in range(CONCURRENT_RUNS)))
        walls.append((time.perf_counter() - start) * 1e3)
        if turn.calls - before != CONCURRENT_RUNS * CONCURRENT_ITERATIONS:
            msg = f"asked for {CONCURRENT_RUNS * CONCURRENT_ITERATIONS} tool calls, {turn.calls - before} ran"
            raise WrongRun(msg)
    return statistics.median(walls)


def table(title: str, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A plain table: the first column to the left, numbers to the right."""

    def cell(value: object) -> str:
        if isinstance(value, float):
            return "-" if math.isnan(value) else f"{value:,.2f}" if abs(value) < 10 else f"{value:,.0f}"
        return f"{value:,}" if isinstance(value, int) else str(value)

    cells = [list(headers), *([cell(value) for value in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers))]
    lines = ["  ".join(text.rjust(w) if i else text.ljust(w) for i, (text, w) in enumerate(zip(row, widths, strict=True))) for row in cells]
    return "\n".join([title, *(line.rstrip() for line in [lines[0], "  ".join("-" * w for w in widths), *lines[1:]])])


def slope_table(title: str, measured: Sequence[Measured]) -> str:
    """The usual table of several subjects measured at the same Ns."""
    spans = list(measured[0].slopes)
    headers = ["", "gc", *(f"us/iter {span}" for span in spans), "growth", "reps", "peak MiB"]
    rows = [
        [m.name, "on" if m.gc else "off", *(m.slopes[span] for span in spans), m.growth, min(t.reps for t in m.timings), m.peak_rss_mib]
        for m in measured
    ]
    return table(title, headers, rows)


@dataclass(frozen=True)
class Options:
    """How hard a script measures."""

    quick: bool
    json_path: str | None

    @property
    def ns(self) -> tuple[int, ...]:
        """Numbers of iterations."""
        return NS[:3] if self.quick else NS

    @property
    def budget(self) -> float:
        """Seconds for one subject."""
        return 0.2 if self.quick else 4.0


def options(description: str | None, argv: Sequence[str] | None = None) -> Options:
    """The options every script takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", metavar="PATH", help="write the numbers as JSON, '-' for the standard output, and print no table")
    parser.add_argument("--quick", action="store_true", help="a short look, not to be quoted")
    given = parser.parse_args(argv)
    return Options(given.quick, given.json)


def machine(core: int | None) -> dict[str, object]:
    """What the numbers were taken on."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "arch": platform.machine(),
        "cores": os.cpu_count(),
        "core": core,
    }


def publish(chosen: Options, data: Mapping[str, Any], text: str) -> None:
    """Print the table, or write the JSON if that was asked for."""
    if chosen.json_path is None:
        sys.stdout.write(text + "\n")
        return
    body = json.dumps(data, indent=1) + "\n"
    if chosen.json_path == "-":
        sys.stdout.write(body)
    else:
        Path(chosen.json_path).write_text(body, encoding="utf-8")
