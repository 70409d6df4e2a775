"""Agents that keep a log, and logs that somebody has laid hands on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentfp import Agent, tool
from agentfp.testing import ScriptedModel, call
from agentfp_audit import Audit, canonical

SECRET = "the-grandmother-of-the-applicant"


@tool
def decide(income: int, note: str = "") -> str:
    """Decide about a loan."""
    return f"declined by rule dti-43, {SECRET}"


def agent(plugin: Audit, *, name: str = "loans") -> Agent[Any, Any]:
    script = [call("decide", income=900, note=SECRET), f"Declined. {SECRET}"]
    return Agent(
        ScriptedModel(lambda request: script[len([m for m in request.messages if m.role == "tool"])]),
        name=name,
        tools=[decide],
        plugins=[plugin],
    )


async def log_of(path: Path, *, runs: int = 1, **settings: Any) -> Path:
    """A sealed log of some runs."""
    subject = agent(Audit(path=path, **settings))
    for _ in range(runs):
        await subject.run(f"May I have a loan? {SECRET}")
    await subject.shutdown()
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(canonical(line) + "\n" for line in lines), encoding="utf-8")
    return path


def rehashed(record: dict[str, Any]) -> dict[str, Any]:
    """What somebody makes who changes a record and knows how hashes are made."""
    rest = {key: value for key, value in record.items() if key != "hash"}
    return {**rest, "hash": hashlib.sha256(canonical(rest).encode()).hexdigest()}


def tree_hash(leaves: list[bytes]) -> bytes:
    """The tree as RFC 6962, 2.1 defines it, word by word."""
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\x01" + tree_hash(leaves[:split]) + tree_hash(leaves[split:])).digest()


def root_over(header: dict[str, Any], records: list[dict[str, Any]]) -> str:
    return tree_hash([canonical(header).encode(), *(bytes.fromhex(record["hash"]) for record in records)]).hex()


def changed(path: Path, change: Callable[[list[dict[str, Any]]], Any]) -> Path:
    """A copy of a log in which the lines were changed; line 0 is the header, record 7 is line 8."""
    lines = lines_of(path)
    change(lines)
    return write(path.with_name("changed.jsonl"), lines)
