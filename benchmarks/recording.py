"""What recording costs an iteration, beside the same run without it, with an idle sink, with a journal; and how fast one is read."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentfp import Agent, Limits
from agentfp.plugin import Plugin, hookimpl
from agentfp_recording import Recording, RecordingFile, diff, tell
from benchmarks.harness import Options, checked, machine, options, peak_rss_mib, pin_to_one_core, publish, table
from benchmarks.turns import CountingModel, OwnTurn

NS = (10, 210)


class IdleSink(Plugin):
    """A sink that gets everything and does nothing: what delivery itself costs."""

    name = "idle_sink"

    class Settings(Plugin.Settings):
        content: bool = True

    @hookimpl
    def export_event(self, event: Any) -> None:
        return None


class RecordedTurn(OwnTurn):
    """A turn with one plugin."""

    def __init__(self, plugin: Plugin | None, journal: Path | None = None) -> None:
        super().__init__(plugins=0, journal=journal)
        self.plugin = plugin

    def agent(self, iterations: int) -> Agent[Any, Any]:
        found = self._agents.get(iterations)
        if found is None:
            limits = Limits(iterations=iterations + 2, hard_cap=iterations + 2)
            plugins = [] if self.plugin is None else [self.plugin]
            found = self._agents[iterations] = Agent(CountingModel(iterations), tools=[self._tool], plugins=plugins, limits=limits)
        return found


async def measure_all(chosen: Options, folder: Path) -> dict[str, float]:
    """Microseconds of processor time that an iteration takes, those of the writer's thread included; the best of several rounds."""
    recording = Recording(folder=folder / "full")
    subjects = {
        "no recording": RecordedTurn(None),
        "an idle sink": RecordedTurn(IdleSink()),
        "with a journal": RecordedTurn(None, journal=folder),
        "recorded": RecordedTurn(recording),
        "recorded lean": RecordedTurn(Recording(folder=folder / "lean", detail="lean")),
    }
    best: dict[tuple[str, int], float] = {}
    for _ in range(3 if chosen.quick else 25):
        for name, turn in subjects.items():
            for n in NS:
                begin = time.process_time()
                await checked(turn, n)
                best[name, n] = min(best.get((name, n), math.inf), time.process_time() - begin)
    assert recording.stats.dropped == 0, recording.stats
    return {name: (best[name, NS[1]] - best[name, NS[0]]) / (NS[1] - NS[0]) * 1e6 for name in subjects}


def read_rates(path: Path, mib: int) -> tuple[list[list[Any]], dict[str, Any]]:
    """Seconds and peak memory for reading a recording of a size in several ways."""
    large = path.with_name("large.jsonl")
    grow(path, large, mib)
    size = large.stat().st_size / 2**20
    ways: dict[str, Callable[[], Any]] = {
        "events": lambda: sum(1 for _ in RecordingFile(large)),
        "steps": lambda: sum(1 for _ in RecordingFile(large).file.steps()),
        "tell": lambda: sum(1 for _ in tell(large)),
        "checksums": lambda: RecordingFile(large).verify(requests=False),
        "diff with itself": lambda: diff(large, large),
    }
    rows, data = [], {}
    before = peak_rss_mib()
    for name, way in ways.items():
        begin = time.perf_counter()
        way()
        seconds = time.perf_counter() - begin
        rows.append([name, seconds, size / seconds, peak_rss_mib() - before])
        data[name] = {"seconds": seconds, "mib_per_second": size / seconds, "more_peak_mib": peak_rss_mib() - before}
    return rows, {"mib": size, "ways": data}


def grow(path: Path, large: Path, mib: int) -> None:
    """Write a recording of a size: the same leg over and over, each time under other ids and further on."""
    lines = path.read_text().splitlines()
    header = json.loads(next(line for line in lines if line.startswith('{"agentfp"')))
    events = [json.loads(line) for line in lines if line.startswith('{"seq"')]
    filler = "The quick brown fox jumps over the lazy dog. " * 200
    seq = leg = 0
    with large.open("w") as file:
        while file.tell() < mib * 2**20:
            leg += 1
            header["segment"] |= {"run_id": f"run_{leg}", "first_seq": seq}
            file.write(json.dumps(header) + "\n")
            base = seq
            for event in events:
                data = dict(event["data"])
                if data.get("content_of") is not None:
                    data["content_of"] += base
                if event["name"] == "agentfp.tool.ended":
                    data["content"] = filler
                if "message_id" in data:
                    data["message_id"] = f"{data['message_id']}_{leg}"
                file.write(json.dumps({**event, "seq": seq, "data": data}, separators=(",", ":")) + "\n")
                seq += 1


def main() -> None:
    chosen = options(__doc__)
    core = pin_to_one_core()
    folder = Path(tempfile.mkdtemp(prefix="agentfp-bench-"))
    try:
        found = asyncio.run(measure_all(chosen, folder))
        turn = RecordedTurn(Recording(folder=folder / "one"))
        asyncio.run(turn.run(20))
        (one,) = (folder / "one").glob("*.jsonl")
        rows, reading = read_rates(one, 8 if chosen.quick else 1024)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    title = f"Processor time of one iteration, between runs of {NS[0]} and {NS[1]}, all threads"
    text = table(title, ["", "us/iter", "more"], [[name, us, us - found["no recording"]] for name, us in found.items()]) + "\n\n"
    text += table(f"Reading a recording of {reading['mib']:,.0f} MiB", ["", "seconds", "MiB/s", "more peak MiB"], rows)
    publish(chosen, {"machine": machine(core), "recording": found, "reading": reading}, text)


if __name__ == "__main__":
    main()
