"""How long ``agentfp --help`` takes with 40 installed plugins that are off, over the time with none. A plugin imported is an error."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agentfp.testing import PluginDist
from benchmarks.harness import machine, options, pin_to_one_core, publish, table

PLUGINS = 40
BUDGET = 1.5
COMMAND = (sys.executable, "-m", "agentfp", "--help")


def install(folder: Path, count: int) -> None:
    """Install plugins that fail when they are imported."""
    with PluginDist(folder) as dist:
        for index in range(count):
            points = {"agentfp.plugins": {f"p{index}": f"mod_p{index}:P"}}
            dist(f"agentfp-p{index}", entry_points=points, modules={f"mod_p{index}": "raise SystemExit('imported')"}, requires=["agentfp"])


def wall_ms(folder: Path) -> float:
    """The time of one start that sees the distributions in a folder."""
    env = {**os.environ, "PYTHONPATH": str(folder)}
    start = time.perf_counter()
    subprocess.run(COMMAND, env=env, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    chosen = options(__doc__)
    core = pin_to_one_core()
    best = {0: float("inf"), PLUGINS: float("inf")}
    with tempfile.TemporaryDirectory() as made:
        folders = {count: Path(made) / str(count) for count in best}
        for count, folder in folders.items():
            install(folder, count)
        for _ in range(3 if chosen.quick else 25):
            for count, folder in folders.items():
                best[count] = min(best[count], wall_ms(folder))
    ratio = best[PLUGINS] / best[0]
    rows = [[f"{count} plugins", ms, ms / best[0]] for count, ms in best.items()]
    data = {"machine": machine(core), "none_ms": best[0], "plugins": PLUGINS, "ms": best[PLUGINS], "ratio": ratio, "budget": BUDGET}
    publish(chosen, data, table(f"agentfp --help (budget: {BUDGET} of the time without plugins)", ["", "ms", "ratio"], rows))


if __name__ == "__main__":
    main()
