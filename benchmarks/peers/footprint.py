"""What stands on the disk and what an import takes: `python -m benchmarks.peers.footprint [--quick] [--json PATH] [--only NAME ...]`.

Each subject is installed into an environment of its own; agentfp from this checkout, into a fresh one. Size and number of distributions
are those of its packages alone, without the installer. The imports are timed in turn, and the best time of each counts, less the best
time of an empty program in the same environment.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import Options, machine, pin_to_one_core, publish, table
from benchmarks.peers.__main__ import PEERS, ROOT, Peer, environment, find_uv

OWN = ("agentfp", "agentfp-evidence", "agentfp-transcripts")
OWN_FOLDERS = (ROOT, ROOT / "plugins" / "evidence", ROOT / "plugins" / "transcripts")


@dataclass(frozen=True)
class Subject:
    """What is looked at: its name and version, the Python that it is installed for, and the line a program begins with."""

    name: str
    version: str
    python: Path
    statement: str


LIBRARIES = (
    *PEERS,
    Peer("guardrails-ai", "", ("guardrails-ai==0.11.0",)),
    Peer("nemoguardrails", "", ("nemoguardrails==0.24.1",)),
)
STATEMENTS = {
    "agno": "from agno.agent import Agent",
    "langgraph": "from langchain.agents import create_agent",
    "pydantic-ai": "from pydantic_ai import Agent",
    "openai-agents": "from agents import Agent, Runner",
    "guardrails-ai": "from guardrails import Guard",
    "nemoguardrails": "from nemoguardrails import LLMRails, RailsConfig",
}


def own(folder: Path) -> Subject:
    """Agentfp with its check, installed from this checkout as a user would have it."""
    subprocess.run([sys.executable, "-m", "venv", *(["--without-pip"] if find_uv() else []), str(folder)], check=True)
    python = folder / "bin" / "python"
    uv = find_uv()
    command = [uv, "pip", "install", "--quiet", "--python", str(python)] if uv else [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*command, *map(str, OWN_FOLDERS)], check=True)
    return Subject(" ".join(OWN).replace(" agentfp-", ", -"), "here", python, "import agentfp_evidence\nfrom agentfp import Agent")


def size_of(python: Path) -> tuple[float, int]:
    """Megabytes (10^6 bytes) in the environment's packages and the number of its distributions, the installer's aside."""
    installer = {"pip", "setuptools", "wheel"}
    site = next((python.parent.parent / "lib").glob("python*/site-packages"))
    kept = [path for path in site.iterdir() if path.name.partition("-")[0] not in installer]
    files = [file for path in kept for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6, sum(path.suffix == ".dist-info" for path in kept)


def import_ms(subjects: list[Subject], reps: int) -> dict[str, float]:
    """Best time of each subject's import over an empty program, in ms."""
    best = {(subject.name, code): float("inf") for subject in subjects for code in ("pass", subject.statement)}
    for _ in range(reps):
        for subject in subjects:
            for code in ("pass", subject.statement):
                begun = time.perf_counter()
                subprocess.run([str(subject.python), "-c", code], check=True, capture_output=True)
                best[subject.name, code] = min(best[subject.name, code], (time.perf_counter() - begun) * 1e3)
    return {subject.name: best[subject.name, subject.statement] - best[subject.name, "pass"] for subject in subjects}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="PATH", help="write the numbers as JSON, '-' for the standard output, and print no table")
    parser.add_argument("--quick", action="store_true", help="each import once, not to be quoted")
    parser.add_argument("--only", nargs="*", metavar="NAME", choices=list(STATEMENTS), help="these libraries alone")
    given = parser.parse_args()
    chosen = [library for library in LIBRARIES if given.only is None or library.name in given.only]
    with tempfile.TemporaryDirectory(prefix="agentfp-footprint-") as folder:
        subjects = [own(Path(folder) / "own")]
        subjects += [Subject(library.name, library.version, environment(library), STATEMENTS[library.name]) for library in chosen]
        core = pin_to_one_core()
        import_ms(subjects, 1)  # writes the byte code
        times = import_ms(subjects, 1 if given.quick else 7)
        sizes = {subject.name: size_of(subject.python) for subject in subjects}
    found: dict[str, dict[str, Any]] = {
        s.name: {"version": s.version, "import_ms": times[s.name], "megabytes": sizes[s.name][0], "distributions": sizes[s.name][1]}
        for s in subjects
    }
    rows = [[name, *numbers.values()] for name, numbers in found.items()]
    text = table("Footprint", ["", "version", "import ms", "MB", "distributions"], rows)
    publish(Options(given.quick, given.json), {"machine": machine(core), "libraries": found}, text)


if __name__ == "__main__":
    main()
