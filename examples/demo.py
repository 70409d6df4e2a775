"""The main job on real input: answers of several frameworks' agents are checked, then a live agent's, value by value.

The model of the live agent is small and real, and runs on this machine: no key, no network. It is a toy in wisdom.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from agentfp_evidence import Evidence, EvidenceReport  # noqa: E402
from examples.airports import airport_agent  # noqa: E402

QUESTIONS = (
    "What is the elevation of the airport in Reykjavik?",
    "What is the distance from OSL to KEF?",
    "Which airport is in Bergen?",
    "How many passengers does JFK have each year?",  # no tool knows it
)
SIGNS = {"supported": "+", "unverifiable": "?", "unsupported": "!"}


def check_transcripts(page: Path) -> None:
    """Judge the example transcripts of other frameworks, and write a page to look at."""
    print("1. agentfp check examples/transcripts: recordings of other agents; in four copies answers were edited\n", flush=True)
    command = [sys.executable, "-m", "agentfp", "check", "examples/transcripts", "--flagged", "--html", str(page)]
    subprocess.run(command, cwd=HERE.parent, check=True)
    print(f"\n   The page: {page}\n")


def ask_live(questions: Sequence[str]) -> None:
    """Ask an agent on the small model of this machine, and show what the gate said of each value of its answers."""
    print("2. A live agent over the airports of the world, on a small real model of this machine, with the gate on\n", flush=True)
    agent = airport_agent()
    for question in questions:
        result = agent.run_sync(question)
        print(f"   > {question}")
        for called in result.calls:
            print(f"     {called.tool}({called.arguments_json}) -> {(called.content or '')[:70]}")
        print(f"     {result.text}")
        show(Evidence.report(result))
        print(flush=True)


def show(report: EvidenceReport | None) -> None:
    """The values of an answer and where they come from."""
    if report is None:
        return
    for value in report.values:
        source = value.sources[0] if value.sources else None
        where = "" if source is None else f"  {'given' if source.message is None else f'message {source.message}'} {source.path}"
        print(f"     {SIGNS[value.verdict]} {value.text!r:24} {value.kind:10} {value.verdict:12} {value.derivation or value.how}{where}")


def main() -> int:
    """Check, then ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="where the page goes; a new folder when left out")
    parser.add_argument("--check-only", action="store_true", help="leave the live agent out")
    options = parser.parse_args()
    page: Path = options.page or Path(tempfile.mkdtemp(prefix="agentfp-demo-")) / "answers.html"
    check_transcripts(page.resolve())
    if not options.check_only:
        ask_live(QUESTIONS)
    print("+ supported by a result or by what was said   ? cannot be told   ! stands nowhere")
    return 0


if __name__ == "__main__":
    sys.exit(main())
