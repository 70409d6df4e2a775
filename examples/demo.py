"""The main job on real data: an agent looks through the packages installed here, asks a person, and can prove what it did.

The model is scripted, so that this runs without a key; the tools, the data, the pause and the record are real.
"""

from __future__ import annotations

import importlib.metadata
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from agentfp import Agent, Limits, Pause, Record, RetryTool, ToolContext, approve, tool
from agentfp.testing import ScriptedModel, call


@dataclass
class Package:
    """One installed package."""

    name: str
    version: str
    files: int
    requires: int


@dataclass
class Deps:
    """What the tools work with."""

    packages: dict[str, Package]
    report: Path


def installed() -> dict[str, Package]:
    """The packages of this Python."""
    found = {}
    for dist in importlib.metadata.distributions():
        name = dist.metadata["Name"]
        found[name.lower()] = Package(name, dist.version, len(dist.files or ()), len(dist.requires or ()))
    return found


@tool
def list_packages(ctx: ToolContext[Deps]) -> list[str]:
    """Names of the installed packages."""
    return sorted(ctx.deps.packages)


@tool
def package_facts(ctx: ToolContext[Deps], name: str) -> Package:
    """Version and size of one package.

    Args:
        name: the package, as list_packages gives it.
    """
    try:
        return ctx.deps.packages[name.lower()]
    except KeyError:
        raise RetryTool(f"{name!r} is not installed; call list_packages for the names") from None


@tool(approval=True, mutating=True)
def write_report(ctx: ToolContext[Deps], text: str) -> str:
    """Write a report to a file; a person must approve.

    Args:
        text: what stands in it.
    """
    ctx.deps.report.write_text(text, encoding="utf-8")
    return f"{len(text)} characters written"


def main() -> int:
    """Run the agent to its question, answer it from stored text, and check the record."""
    folder = Path(tempfile.mkdtemp(prefix="agentfp-demo-"))
    deps = Deps(installed(), folder / "report.txt")
    facts = {name: deps.packages[name] for name in ("pydantic", "pluggy", "anyio")}
    largest = max(facts.values(), key=lambda package: package.files)
    answer = f"Of the three, {largest.name} {largest.version} is the largest: {largest.files} files."
    model = ScriptedModel(
        [
            call("list_packages"),
            [*(call("package_facts", name=name) for name in facts), call("package_facts", name="no-such-package")],
            call("write_report", text=answer),
            answer,
        ]
    )
    agent = Agent(
        model,
        deps_type=Deps,
        tools=[list_packages, package_facts, write_report],
        instructions="You look after the packages of this machine.",
        limits=Limits(iterations=8),
    )

    print("1. A run, up to the call that a person must approve")
    result = agent.run_sync("Which of pydantic, pluggy and anyio is the largest? Write it down.", deps=deps, journal=folder / "run.journal")
    assert result.pause is not None
    question = result.pause.questions[0]
    print(f"   {result.status}: {question.prompt} {question.tool}({question.arguments})")

    print("2. The pause as text, as a web application would store it, and the answer")
    stored = result.pause.to_json()
    result = agent.resume_sync(Pause.from_json(stored), {question.id: approve(by="ann")}, deps=deps, journal=folder / "run.journal")
    print(f"   {len(stored)} characters stored; {result.status}: {result.text}")

    print("3. What every call came to")
    for called in result.calls:
        print(f"   {called.outcome:8} {f'{called.tool}({called.arguments_json})'[:60]:60} -> {(called.content or '')[:50]!r}")

    print("4. The record, saved and read back, rebuilds every request")
    file = folder / "run.jsonl"
    result.record.save(file)
    record = Record.load(file)
    for number, sent in enumerate(model.requests, 1):
        assert record.served_at(number) == sent
    print(f"   {len(record)} events in {file}; {len(model.requests)} requests rebuilt, receipts equal")
    print(f"   the report holds: {deps.report.read_text(encoding='utf-8')!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
