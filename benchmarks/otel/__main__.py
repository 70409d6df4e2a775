"""What tracing adds, beside the peers: `python -m benchmarks.otel [--quick] [--json PATH] [--only NAME ...]`.

The peers live in environments of their own, as those of `benchmarks.peers` do. All subjects run in passes, one after the other within a
pass, each in a process of its own; of each way of each subject the best pass counts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import Options, machine, pin_to_one_core, publish, table
from benchmarks.peers.__main__ import Peer, environment, measure_once

PEERS = (
    Peer("pydantic-ai", "pydantic_ai_turn", ("pydantic-ai-slim==2.68.0", "opentelemetry-sdk==1.45.2")),
    Peer("openai-agents", "openai_agents_turn", ("openai-agents==0.24.0", "opentelemetry-sdk==1.45.2")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="PATH", help="write the numbers as JSON, '-' for the standard output, and print no table")
    parser.add_argument("--quick", action="store_true", help="one short pass, not to be quoted")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=["agentfp", *[peer.name for peer in PEERS]], help="these alone")
    given = parser.parse_args()
    wanted = given.only or ["agentfp", *[peer.name for peer in PEERS]]
    subjects = [("agentfp", Path(sys.executable), "own")] if "agentfp" in wanted else []
    subjects += [(peer.name, environment(peer), peer.module) for peer in PEERS if peer.name in wanted]
    core = pin_to_one_core()
    passes: dict[str, list[dict[str, Any]]] = {name: [] for name, *_ in subjects}
    for _ in range(1 if given.quick else 3):
        for name, python, module in subjects:
            passes[name].append(measure_once(python, [f"benchmarks.otel.{module}"], given.quick))
    found = {name: best(made) for name, made in passes.items()}
    publish(Options(given.quick, given.json), {"machine": machine(core), "tracing": found}, text_of(found))


Found = dict[str, tuple[float, float]]
"""By way: microseconds of an iteration, of the process and of the event loop's thread."""


def best(passes: list[dict[str, Any]]) -> Found:
    """The best of each way's passes."""
    kinds = ("us_per_iteration", "us_of_the_loop")
    return {way: tuple([min(made[kind][way] for made in passes) for kind in kinds]) for way in passes[0][kinds[0]]}


def text_of(found: dict[str, Found]) -> str:
    """The table: what an iteration costs, and what tracing added to it."""
    rows: list[list[Any]] = []
    for name, ways in found.items():
        for way, both in ways.items():
            added = [now - off if way != "off" else float("nan") for now, off in zip(both, ways["off"], strict=True)]
            rows.append([f"{name}, {way}", both[0], added[0], both[1], added[1]])
    heads = ["", "CPU us/iteration", "added", "of the loop's thread", "added"]
    return table("One tool call an iteration, with and without tracing", heads, rows)


if __name__ == "__main__":
    main()
