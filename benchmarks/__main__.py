"""Every benchmark of agentfp alone, each in a process of its own: `python -m benchmarks [--quick] [--json PATH]`."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from benchmarks.harness import options, publish

SCRIPTS = ("iteration", "batches", "concurrency", "memory", "imports", "cli_start", "streams")


def main() -> None:
    chosen = options(__doc__)
    flags = ["--quick"] if chosen.quick else []
    numbers: dict[str, Any] = {}
    failed: list[str] = []
    for script in SCRIPTS:
        command = [sys.executable, "-m", f"benchmarks.{script}", *flags]
        if chosen.json_path is None:
            done = subprocess.run(command, check=False, text=True)
            print(flush=True)
        else:
            done = subprocess.run([*command, "--json", "-"], check=False, stdout=subprocess.PIPE, text=True)
            numbers[script] = json.loads(done.stdout or "null")
        if done.returncode != 0:
            failed.append(script)
    if chosen.json_path is not None:
        publish(chosen, numbers, "")
    if failed:
        sys.exit(f"benchmarks: {', '.join(failed)} failed")


if __name__ == "__main__":
    main()
