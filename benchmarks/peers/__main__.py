"""agentfp beside its peers: `python -m benchmarks.peers [--quick] [--json PATH] [--only NAME ...]`.

Every peer is installed at a pinned version into an environment of its own under ${AGENTFP_PEERS:-~/.cache/agentfp-peers}.
All subjects run in passes, one after the other within a pass, and the best of each subject's passes counts.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import Options, machine, pin_to_one_core, publish, table

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Peer:
    """A framework to compare with: its name, the module with its turn, and what is installed."""

    name: str
    module: str
    requirements: tuple[str, ...]

    @property
    def version(self) -> str:
        """The version of the framework itself."""
        return self.requirements[0].partition("==")[2]


PEERS = (
    Peer("agno", "agno_turn", ("agno==3.1.10",)),
    Peer("langgraph", "langgraph_turn", ("langgraph==1.2.24", "langchain==1.5.2", "langchain-core==1.8.3")),
    Peer("pydantic-ai", "pydantic_ai_turn", ("pydantic-ai-slim==2.68.0",)),
    Peer("openai-agents", "openai_agents_turn", ("openai-agents==0.24.0",)),
)


def cache_folder() -> Path:
    """Where the environments are kept."""
    return Path(os.environ.get("AGENTFP_PEERS") or Path.home() / ".cache" / "agentfp-peers")


def environment(peer: Peer) -> Path:
    """The Python of a peer's environment, made if it is not there. Other pins make another environment."""
    pins = hashlib.sha256("\n".join([sys.version, *peer.requirements]).encode()).hexdigest()[:10]
    folder = cache_folder() / f"{peer.name}-{pins}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    print(f"installing {', '.join(peer.requirements)}", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", *(["--without-pip"] if find_uv() else []), str(folder)], check=True)
    if uv := find_uv():
        command = [uv, "pip", "install", "--quiet", "--python", str(python)]
    else:
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *peer.requirements], check=True)
    (folder / "complete").touch()
    return python


def find_uv() -> str | None:
    """The uv to install with."""
    return shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))


def measure_once(python: Path, arguments: Sequence[str], quick: bool) -> dict[str, Any]:
    """One subject's numbers, from a process of its own."""
    flags = ["--budget", "0.2", "--least", "1"] if quick else []
    # Telemetry off by the variables that the peers read; the root on the path, for the peers' environments do not know it.
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "AGNO_TELEMETRY": "false",
        "LANGSMITH_TRACING": "false",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
    }
    done = subprocess.run([str(python), "-m", *arguments, *flags], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env)
    numbers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return numbers


def best(passes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The best median of each N over the passes, and the slopes between them."""
    medians = {t["n"]: min(p["timings"][i]["median_us"] for p in passes) for i, t in enumerate(passes[0]["timings"])}
    ns = sorted(medians)
    slopes = {f"{a}-{b}": (medians[b] - medians[a]) / (b - a) for a, b in itertools.pairwise(ns)}
    return {
        "medians_us": medians,
        "slopes_us": slopes,
        "concurrent_ms": min(p["concurrent_ms"] for p in passes),
        "peak_rss_mib": min(p["peak_rss_mib"] for p in passes),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="PATH", help="write the numbers as JSON, '-' for the standard output, and print no table")
    parser.add_argument("--quick", action="store_true", help="one short pass, not to be quoted")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[peer.name for peer in PEERS], help="these peers alone")
    parser.add_argument("--without-own", action="store_true", help="the peers alone, without agentfp")
    given = parser.parse_args()
    chosen = [peer for peer in PEERS if not given.only or peer.name in given.only]
    pythons = {peer.name: environment(peer) for peer in chosen}

    own = Path(sys.executable)
    subjects: list[tuple[str, str, Path, list[str]]] = []
    if not given.without_own:
        subjects = [
            ("agentfp", "here", own, ["benchmarks.peers.own"]),
            ("agentfp with journal", "here", own, ["benchmarks.peers.own", "--journal"]),
        ]
    subjects += [(peer.name, peer.version, pythons[peer.name], [f"benchmarks.peers.{peer.module}"]) for peer in chosen]

    core = pin_to_one_core()
    passes: dict[str, list[dict[str, Any]]] = {name: [] for name, *_ in subjects}
    for _ in range(1 if given.quick else 3):
        for name, _version, python, arguments in subjects:
            passes[name].append(measure_once(python, arguments, given.quick))

    found = {name: {"version": version, **best(passes[name])} for name, version, *_ in subjects}
    publish(Options(given.quick, given.json), {"machine": machine(core), "peers": found}, text_of(found))


def text_of(found: dict[str, dict[str, Any]]) -> str:
    """The table, with agentfp's cost as a share of each peer's."""
    own = found.get("agentfp")
    spans = list(next(iter(found.values()))["slopes_us"])
    shares = spans[-2:]
    rows = []
    for name, numbers in found.items():
        ratios = [own["slopes_us"][span] / numbers["slopes_us"][span] if own else float("nan") for span in shares]
        rows.append([
            name, numbers["version"], *(numbers["slopes_us"][span] for span in spans), *ratios,
            numbers["concurrent_ms"], numbers["peak_rss_mib"],
        ])  # fmt: skip
    headers = ["", "version", *(f"us/iter {span}" for span in spans), *(f"agentfp/it {span}" for span in shares), "100x10 ms", "peak MiB"]
    return table("The same turn side by side; agentfp runs five idle plugins and keeps its record", headers, rows)


if __name__ == "__main__":
    main()
