"""agentfp's own turns to measure: a model made of a counter, trivial tools, and plugins that listen and do nothing."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from agentfp import Agent, Limits, RunResult, tool
from agentfp.events import Event
from agentfp.model import Model, ModelFeatures, ModelRequest, ModelResponse, ToolCall
from agentfp.plugin import Plugin, hookimpl


class CountingModel:
    """Asks for `batch` calls of `lookup` in each of n replies, then answers "done".

    It holds no state: how far a run is, the number of its messages tells, so that one object serves many runs at once.
    """

    provider = "counting"
    name = "counting"
    features = ModelFeatures(parallel_tool_calls=True)

    def __init__(self, n: int, batch: int = 1) -> None:
        self.n = n
        self.batch = batch

    async def complete(self, request: ModelRequest) -> ModelResponse:
        asked = (len(request.messages) - 1) // (self.batch + 1)
        if asked >= self.n:
            return ModelResponse(text="done")
        first = asked * self.batch
        return ModelResponse(tool_calls=tuple(ToolCall.make("lookup", {"x": x}, id=f"c{x}") for x in range(first, first + self.batch)))

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelResponse]:
        yield await self.complete(request)


class Idle(Plugin):
    """Stands in all five moments and has no opinion."""

    name = "idle"

    @hookimpl(phase="compose")
    async def serve_context(self, draft: Any, run: Any) -> None:
        return None

    @hookimpl(phase="authorize")
    async def before_tool(self, call: Any, run: Any) -> None:
        return None

    @hookimpl(phase="note")
    async def after_result(self, result: Any, run: Any) -> None:
        return None

    @hookimpl(phase="evidence")
    async def assess_answer(self, draft: Any, run: Any) -> None:
        return None

    @hookimpl
    def export_event(self, event: Event) -> None:
        return None


def idle_plugins(count: int) -> list[Plugin]:
    """So many plugins, each with a name of its own."""
    kinds: list[type[Plugin]] = [type(f"Idle{i}", (Idle,), {"name": f"idle{i}"}) for i in range(count)]
    return [kind() for kind in kinds]


class OwnTurn:
    """A turn of agentfp, as the harness measures it.

    Args:
        plugins: idle plugins on the agent.
        batch: calls in each reply of the model; `run(n)` makes n / batch iterations of them.
        kind: the tool: `async`, `thread` (sync, in a worker thread) or `inline` (sync, on the loop).
        journal: folder in which each run keeps a journal, None for the memory alone.
    """

    def __init__(self, *, plugins: int = 5, batch: int = 1, kind: str = "async", journal: Path | None = None) -> None:
        self.calls = 0
        self._lock = threading.Lock()
        self.batch = batch
        self.journal = journal
        self._plugins = plugins
        self._tool = self._make_tool(kind)
        self._agents: dict[int, Agent[Any, Any]] = {}
        self._runs = 0

    def _make_tool(self, kind: str) -> Callable[..., Any]:
        async def lookup(x: int) -> str:
            """Look up x."""
            self.calls += 1
            return f"value {x}"

        def lookup_sync(x: int) -> str:
            """Look up x."""
            with self._lock:
                self.calls += 1
            return f"value {x}"

        if kind == "async":
            return lookup
        lookup_sync.__name__ = "lookup"
        return tool(inline=True)(lookup_sync) if kind == "inline" else lookup_sync

    def agent(self, iterations: int) -> Agent[Any, Any]:
        """The agent whose model makes so many iterations; built once."""
        found = self._agents.get(iterations)
        if found is None:
            model: Model = CountingModel(iterations, self.batch)
            limits = Limits(iterations=iterations + 2, hard_cap=iterations + 2)
            found = self._agents[iterations] = Agent(model, tools=[self._tool], plugins=idle_plugins(self._plugins), limits=limits)
        return found

    async def result(self, n: int, journal: Path | None = None) -> RunResult[Any]:
        """Run with n tool calls and give all of the result."""
        return await self.agent(n // self.batch).run("hi", journal=journal)

    async def run(self, n: int) -> str:
        if self.journal is None:
            return (await self.result(n)).text
        self._runs += 1
        path = self.journal / f"{self._runs}.journal"
        try:
            return (await self.result(n, path)).text
        finally:
            path.unlink(missing_ok=True)


def journal_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for journals that goes away after use."""
    return tempfile.TemporaryDirectory(prefix="agentfp-bench-")
