"""What the shared scenarios need of a framework: an agent with a scripted model and a tool, its runs, and what can be seen of them."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import BaseModel

from agentfp_evidence import EvidenceReport

IN, OUT = 10, 3
"""Tokens that every scripted reply reports."""


class Peak(BaseModel):
    """The typed answer of the scenarios."""

    switch: str
    peak_iops: int


@dataclass(frozen=True)
class Call:
    """A scripted call of a tool."""

    tool: str
    arguments: dict[str, Any]
    id: str = "c1"


@dataclass(frozen=True)
class Data:
    """A scripted typed answer."""

    values: dict[str, Any]


Seen: TypeAlias = list[tuple[str, str]]
"""A request as the model saw it: role and text of each message."""
Reply: TypeAlias = str | Data | Call | list[Call]
Script: TypeAlias = Callable[[Seen], Reply]


@dataclass
class Scripted:
    """A script that gives its replies in order, and keeps the requests."""

    replies: Sequence[Reply]
    requests: list[Seen] = field(default_factory=list)

    def __call__(self, seen: Seen) -> Reply:
        self.requests.append(seen)
        return self.replies[len(self.requests) - 1]


@dataclass
class Outcome:
    """What can be seen of a run."""

    text: str
    output: Any
    tokens: tuple[int, int]
    messages: list[tuple[str, str]]
    report: EvidenceReport | None
    native: Any
    chunks: list[str] = field(default_factory=list)


LOADS = {"mds-07": 41_200, "mds-08": 18_450}


def lookup(switch: str) -> dict[str, Any]:
    """Peak load of a switch.

    Args:
        switch: its name.
    """
    number = LOADS[switch] if switch in LOADS else 20_000 + 7 * int(switch.rpartition("-")[2])
    return {"switch": switch, "peak_iops": number}


class Binding(abc.ABC):
    """One framework."""

    name: str

    @abc.abstractmethod
    def agent(self, script: Script, wish: str, *, typed: bool = False, inner: Any = None, name: str = "desk", **settings: Any) -> Any:
        """An agent with the gate, the tool ``lookup``, and the tool ``expert`` that asks another agent when one is given."""

    @abc.abstractmethod
    async def run(self, agent: Any, prompt: str, before: Outcome | None = None) -> Outcome:
        """Run it, after an earlier run when one is given."""

    @abc.abstractmethod
    async def stream(self, agent: Any, prompt: str) -> Outcome:
        """Run it streamed."""
