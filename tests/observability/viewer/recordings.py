"""Recordings of real runs to look at: made by agents with scripted models, outside of any loop that a test has."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from agentfp import Agent, Limits, Pause, RedactionPolicy, ToolReturn, approve, tool
from agentfp.testing import ScriptedModel, call
from agentfp_evidence import Evidence

T = TypeVar("T")
SCRIPT = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=2">\'&<b>'


def elsewhere(make: Callable[[], T]) -> T:
    """What a function gives, run in a thread of its own: the one of the test may have a loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(make).result()


@tool
def ports(switch: str) -> list[dict[str, Any]]:
    """Ports of a switch."""
    return [{"port": n, "state": "down" if n in (3, 7) else "up", "errors": n * 1103 + n * n} for n in range(1, 61)]


@tool
def vendor(switch: str) -> str:
    """Who made a switch."""
    return f"{switch} was made by Nordlicht in 2019."


@tool(approval=True, mutating=True)
def shut(switch: str, port: int) -> str:
    """Shut a port."""
    return f"port {port} of {switch} is shut"


ANSWER = (
    "For INC-20931: ports 3 and 7 of SW-12 are down. Port 41 had 46904 errors, the two that are down had 11,088 in all. "
    "It was made by Nordlicht; serial 99417-X, support by Quillon Brackwater until 2031."
)


def switch_agent(*script: Any, plugins: Any = None, **options: Any) -> Agent[Any, Any]:
    """An agent over switches, with the gate on."""
    return Agent(
        ScriptedModel(list(script)),
        tools=[ports, vendor, shut],
        instructions="You are a network engineer.",
        plugins=[Evidence()] if plugins is None else plugins,
        name="desk",
        **options,
    )


def switch_run(path: Path) -> Path:
    """One turn: a batch of two calls, then an answer with values of every standing."""

    def make() -> None:
        agent = switch_agent([call("ports", switch="SW-12"), call("vendor", switch="SW-12")], ANSWER)
        agent.run_sync("What is wrong with SW-12? The ticket is INC-20931.").record.save(path)

    elsewhere(make)
    return path


def unchecked_run(path: Path) -> Path:
    """A run that no plugin judged."""
    elsewhere(lambda: switch_agent("Hello.", plugins=[]).run_sync("Hi").record.save(path))
    return path


def paused_run(path: Path) -> Path:
    """A run that waits for a person."""
    elsewhere(lambda: switch_agent(call("shut", switch="SW-12", port=3)).run_sync("Shut port 3").record.save(path))
    return path


def resumed_run(path: Path) -> Path:
    """A run that a person let go on, in two legs."""

    def make() -> None:
        agent = switch_agent(call("shut", switch="SW-12", port=3), "Port 3 is shut.")
        pause = agent.run_sync("Shut port 3").pause
        assert pause is not None
        (question,) = pause.questions
        agent.resume_sync(Pause.from_json(pause.to_json()), {question.id: approve(by="ann")}).record.save(path)

    elsewhere(make)
    return path


def nested_run(path: Path) -> Path:
    """A run whose tool is an agent."""

    def make() -> None:
        inner = switch_agent(call("vendor", switch="SW-12"), "Nordlicht made it in 2019.")
        outer = Agent(
            ScriptedModel([call("network", request="Who made SW-12?"), "Nordlicht made SW-12 in 2019."]),
            tools=[inner.as_tool("network", "Knows switches.")],
            plugins=[Evidence()],
            name="front",
        )
        outer.run_sync("Who made it?").record.save(path)

    elsewhere(make)
    return path


def masked_run(path: Path) -> Path:
    """A copy in which a pattern is masked."""

    def make() -> None:
        agent = switch_agent([call("ports", switch="SW-12"), call("vendor", switch="SW-12")], ANSWER)
        result = agent.run_sync("What is wrong with SW-12? The ticket is INC-20931.")
        result.record.save(path, policy=RedactionPolicy(patterns={"serial": r"\d{5}-X"}))

    elsewhere(make)
    return path


def hostile_run(path: Path) -> Path:
    """A run in which everything that can be said is markup and script."""

    @tool
    def search(text: str) -> Any:
        """Search."""
        return ToolReturn(json.dumps({SCRIPT: SCRIPT, "price": 1234567, "list": [SCRIPT]}), private=SCRIPT)

    def make() -> None:
        model = ScriptedModel([call("search", text=SCRIPT), f"{SCRIPT} It is 1234567 {SCRIPT} or 7654321."])
        agent = Agent(model, tools=[search], instructions=SCRIPT, plugins=[Evidence()], name="hostile")
        agent.run_sync(f"{SCRIPT} What is it?").record.save(path)

    elsewhere(make)
    return path


def long_run(path: Path, steps: int) -> Path:
    """A run of many steps, each with a call; the answer stands on a result in the middle."""

    @tool
    def look(step: int) -> dict[str, Any]:
        """Look at a step."""
        return {"step": step, "reading": step * 7919, "text": "x" * 200}

    def make() -> None:
        script = [call("look", step=n) for n in range(1, steps)]
        agent = Agent(
            ScriptedModel([*script, f"Step 500 read {500 * 7919}."]),
            tools=[look],
            plugins=[Evidence()],
            limits=Limits(iterations=steps, hard_cap=steps),
            name="long",
        )
        agent.run_sync("Go").record.save(path)

    elsewhere(make)
    return path


class LiveRun:
    """A run that writes its journal step by step, as the test lets it.

    Args:
        path: of the journal.
        steps: how many calls it makes before it answers.
    """

    def __init__(self, path: Path, steps: int = 3) -> None:
        self._may = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(path, steps))
        self._thread.start()

    def _run(self, path: Path, steps: int) -> None:
        @tool
        def wait(step: int) -> str:
            """Wait."""
            self._may.acquire()
            return f"step {step} is done, code {step * 11111}"

        script = [call("wait", step=n) for n in range(1, steps + 1)]
        agent = Agent(ScriptedModel([*script, f"All done, code {steps * 11111}."]), tools=[wait], plugins=[Evidence()], name="live")
        agent.run_sync("Wait for it", journal=path)

    def let(self, steps: int = 1) -> None:
        """Let it take some steps."""
        self._may.release(steps)

    def join(self) -> None:
        """Wait until it has ended."""
        self._thread.join(30)
        assert not self._thread.is_alive()


def events_of(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        if "seq" in data:
            yield data
