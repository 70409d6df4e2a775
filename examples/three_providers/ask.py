"""Ask whichever model the environment names: `AGENTFP_ENV=NAME python ask.py "When is high tide in Bergen?"`."""

from __future__ import annotations

import sys
from pathlib import Path

from agentfp import Agent
from agentfp_evidence import Evidence

HERE = Path(__file__).resolve().parent


def main(question: str) -> None:
    agent = Agent.from_config(HERE / "agentfp.toml")
    result = agent.run_sync(question)
    result.raise_for_status()
    report = Evidence.report(result)
    print(result.text)
    print(f"{result.usage.input} tokens in, {result.usage.output} out; {report.standing if report else 'not judged'}")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "When is high tide in Bergen?")
