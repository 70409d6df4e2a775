"""Runs and events for the checks of sinks: with a sentinel in every place where people, models and tools write."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import anyio.lowlevel

from agentfp_core.agent import Agent
from agentfp_core.batch import CallView
from agentfp_core.errors import AgentfpError
from agentfp_core.events.base import Event
from agentfp_core.exported import ExportedEvent
from agentfp_core.hookspecs import hookimpl
from agentfp_core.plugins import Plugin, PluginSet
from agentfp_core.redaction import RedactionPolicy
from agentfp_core.segments import SegmentHeader
from agentfp_core.testing.scripted import ScriptedModel, call
from agentfp_core.tools import tool
from agentfp_core.verdicts import Deny

CANARIES = {
    what: f"canary-{number}-4711"
    for number, what in enumerate(
        (
            "prompt",
            "instructions",
            "argument",
            "masked argument",
            "result",
            "tool error",
            "name of a tool that there is not",
            "reason of a refusal",
            "words of a refusal to the model",
            "answer",
            "model error",
        ),
    )
}
"""Texts by the place where they are written."""
MASKED_KEY = "iban"
SECRET = "s3cret-value-of-a-credential-4711"
ANSWER = f"It is {CANARIES['answer']}."


@tool
async def look(text: str, iban: str) -> str:  # noqa: ARG001
    """Look something up."""
    return f"{CANARIES['result']} {text}"


@tool
async def fail(text: str) -> str:  # noqa: ARG001
    """Fail."""
    raise ValueError(CANARIES["tool error"])


@tool
async def leak(text: str) -> str:  # noqa: ARG001
    """Say a secret."""
    return f"the key is {SECRET}"


@tool
async def spend(text: str) -> str:  # noqa: ARG001
    """Spend money, if it is allowed."""
    return "spent"


SCRIPT = [
    [
        call("look", text=CANARIES["argument"], iban=CANARIES["masked argument"]),
        call("fail", text=CANARIES["argument"]),
        call("spend", text=CANARIES["argument"]),
    ],
    call(CANARIES["name of a tool that there is not"]),
    ANSWER,
]


class Secrets(Plugin):
    """Knows a secret."""

    name = "sink_check_secrets"

    @hookimpl(phase="compose")
    def serve_context(self, run: Any) -> None:
        """Have it masked."""
        run.mask_value(SECRET)


class Doorkeeper(Plugin):
    """Refuses to spend."""

    name = "sink_check_doorkeeper"

    @hookimpl(phase="authorize")
    def before_tool(self, call: CallView) -> Deny | None:
        """Decide over one call."""
        if call.name != "spend":
            return None
        return Deny(CANARIES["reason of a refusal"], CANARIES["words of a refusal to the model"], rule="no_spending")


def _agent(sink: Plugin, script: list[Any], *plugins: Plugin, **more: Any) -> Agent[Any, Any]:
    return Agent(
        ScriptedModel(script),
        tools=[look, fail, leak, spend],
        plugins=[Doorkeeper(), *plugins, sink],
        instructions=[CANARIES["instructions"]],
        name="sink_check",
        **more,
    )


async def fake_run(sink: Plugin) -> Any:
    """A run that ends well, with calls that fail in it."""
    return await _agent(sink, list(SCRIPT)).run(CANARIES["prompt"])


async def failing_run(sink: Plugin) -> None:
    """A run whose model fails."""
    try:
        await _agent(sink, [RuntimeError(CANARIES["model error"])]).run(CANARIES["prompt"])
    except (AgentfpError, RuntimeError):
        return
    raise AssertionError("the run was to fail")


async def secret_run(sink: Plugin, policy: RedactionPolicy) -> Any:
    """A run with a policy, in which a known secret is said."""
    script = [SCRIPT[0], call("leak", text="x"), f"The key is {SECRET}. {ANSWER}"]
    return await _agent(sink, script, Secrets(), redact=policy).run(CANARIES["prompt"])


def ids_of(result: Any, sink: Plugin) -> list[int]:
    """The numbers of the events of a run that the sink takes."""
    return [event.seq for event in result.record.events() if sink.exports(event.name)]


class EndlessRun:
    """The events of a run that goes on for as long as somebody wants: one iteration of a real run, over and over.

    Args:
        sink: takes them, as it would from a run.
    """

    def __init__(self, sink: Plugin, events: list[Event], header: SegmentHeader) -> None:
        self._sink = sink
        self._impls = PluginSet([sink]).table["export_event"]
        self._header = header
        begins = next(place for place, event in enumerate(events) if event.name == "agentfp.agent.iteration_start")
        ends = next(place for place, event in enumerate(events) if event.name == "agentfp.agent.iteration_end") + 1
        self._before, self._iteration = events[:begins], events[begins:ends]
        self._state: dict[Any, Any] = {}
        self._events = self._all()

    @classmethod
    async def to(cls, sink: Plugin) -> EndlessRun:
        """Make one for a sink."""
        script = [[call("look", text="x", iban="y"), call("spend", text="x")], "Done."]
        result = await Agent(ScriptedModel(script), tools=[look, spend], plugins=[Doorkeeper()], name="sink_check").run("Go.")
        return cls(sink, list(result.record.events()), result.record.headers[-1])

    def _all(self) -> Iterator[Event]:
        yield from self._before
        seq, last_ns = len(self._before), self._before[-1].ts_ns
        for iteration in itertools.count(1):
            for event in self._iteration:
                last_ns += 1_000
                yield event._replace(seq=seq, ts_ns=last_ns, iteration=iteration)
                seq += 1

    async def feed(self, count: int) -> int:
        """Hand so many events over; gives how many of them the sink wanted."""
        wanted = 0
        full = self._sink.sees_content
        for number, event in enumerate(itertools.islice(self._events, count)):
            if number % 500 == 0:
                await anyio.lowlevel.checkpoint()
            if not self._sink.exports(event.name):
                continue
            wanted += 1
            for impl in self._impls:
                with contextlib.suppress(Exception):  # what a run counts and goes on after
                    answer = impl.call(ExportedEvent(event, self._header, full=full), self._state)
                    if answer is not None:
                        await answer
        return wanted
