"""Random runs for property tests: scripts of batches, tools of every kind, people who always answer the same."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import anyio
from hypothesis import strategies as st

from agentfp import (
    Agent,
    AskField,
    Limits,
    Pause,
    Prices,
    RetryTool,
    RunResult,
    ToolContext,
    ToolError,
    ToolReturn,
    approve,
    reject,
    tool,
)
from agentfp.model import ModelRequest, ModelResponse, ToolCall, Usage
from agentfp.plugin import Plugin
from agentfp.testing import ScriptedModel
from tests.core.random_plugins import Meddling, Watcher, plugin_of

# --- scripts ---


class Colour(enum.Enum):
    RED = "red"


ODD: list[Any] = [
    None, 0, -1.5, float("nan"), float("inf"), True, "", "ü\u2028", b"\xff\x00", b"text", {1: {2, 3}}, [1, [2]], (), Colour.RED,
    datetime.date(2030, 1, 1), Decimal("1.10"), object(), ToolReturn("half", outcome="partial"), ToolReturn(None, private={"a": 1}),
    ToolReturn("none of it", outcome="absent"), range(3), "x" * 500, {"a": "b"}, 10**400,
]  # fmt: skip

KINDS = ("plain", "threaded", "inline", "mutating", "idempotent", "failing", "retrying", "refusing", "odd", "asking", "form", "approved")
BROKEN = ("unknown", "bad_json", "bad_type", "missing")


@dataclasses.dataclass(frozen=True)
class Step:
    """One call of a script."""

    kind: str
    number: int
    id: str = ""

    def call(self) -> ToolCall:
        if self.kind == "unknown":
            return ToolCall(self.id, f"no_such_{self.number}", "{}")
        if self.kind == "bad_json":
            return ToolCall(self.id, "plain", '{"number":')
        if self.kind == "bad_type":
            return ToolCall(self.id, "plain", '{"number":"five"}')
        if self.kind == "missing":
            return ToolCall(self.id, "plain", "{}")
        return ToolCall(self.id, self.kind, f'{{"number":{self.number}}}')


steps = st.builds(Step, st.sampled_from(KINDS + BROKEN), st.integers(0, 30), st.sampled_from(["", "", "dup", "dup2"]))
scripts = st.lists(st.lists(steps, min_size=1, max_size=5), max_size=4)
calm_steps = st.builds(Step, st.sampled_from([k for k in KINDS if k not in ("asking", "form", "approved")]), st.integers(0, 30))


def model_of(script: list[list[Step]], answer: str = "Done.") -> ScriptedModel:
    """A model that knows from the history how far it is, so that any leg in any process can go on with it."""

    def reply(request: ModelRequest) -> ModelResponse:
        said = sum(1 for m in request.messages if m.tool_calls)
        usage = Usage(10 + said, 5, cache_read=said or None)
        if not request.tools or said >= len(script):
            return ModelResponse(text=answer, usage=usage)
        return ModelResponse(text=f"step {said}", tool_calls=tuple(step.call() for step in script[said]), usage=usage)

    return ScriptedModel(reply)


# --- tools ---


Context = ToolContext[Counter[str]]


@functools.cache
def tools_of(*, given: bool = False) -> list[Any]:
    """Tools that count in ``deps`` how often each call ran. With ``given``, what would be asked is known up front."""

    @tool
    async def plain(ctx: Context, number: int) -> str:
        """Plain."""
        ctx.deps[ctx.call_id] += 1
        for _ in range(number % 3):
            await anyio.lowlevel.checkpoint()
        return f"plain {number}"

    @tool
    def threaded(ctx: Context, number: int) -> str:
        """In a thread."""
        ctx.deps[ctx.call_id] += 1
        return f"threaded {number}"

    @tool(inline=True)
    def inline(ctx: Context, number: int) -> str:
        """On the loop."""
        ctx.deps[ctx.call_id] += 1
        ctx.emit("acme.inline", {"number": number})
        return f"inline {number}"

    @tool(mutating=True)
    async def mutating(ctx: Context, number: int) -> str:
        """Changes something."""
        ctx.deps[ctx.call_id] += 1
        await anyio.lowlevel.checkpoint()
        return f"changed {number}"

    @tool(idempotent=True)
    async def idempotent(ctx: Context, number: int) -> str:
        """May run again."""
        await anyio.lowlevel.checkpoint()
        return f"again {number}"

    @tool
    async def failing(ctx: Context, number: int) -> str:
        """Fails."""
        ctx.deps[ctx.call_id] += 1
        await anyio.lowlevel.checkpoint()
        raise (RuntimeError, ZeroDivisionError, KeyError)[number % 3](f"failed {number}")

    @tool
    def retrying(ctx: Context, number: int) -> str:
        """Wants other arguments."""
        ctx.deps[ctx.call_id] += 1
        raise RetryTool(f"not {number}")

    @tool
    async def refusing(ctx: Context, number: int) -> str:
        """Speaks to the model."""
        ctx.deps[ctx.call_id] += 1
        raise ToolError(f"cannot {number}", detail="for the record")

    @tool
    async def odd(ctx: Context, number: int) -> Any:
        """Returns whatever."""
        ctx.deps[ctx.call_id] += 1
        return ODD[number % len(ODD)]

    @tool
    async def asking(ctx: Context, number: int) -> str:
        """Asks."""
        ctx.deps[ctx.call_id] += 1
        if given:
            return f"value of {number}"
        return ctx.ask_human(f"What of {number}?")

    @tool
    async def form(ctx: Context, number: int) -> Any:
        """Asks for several values."""
        ctx.deps[ctx.call_id] += 1
        if given:
            return {"status": "input_received", "values": {"a": f"value of {number}", "b": f"value of {number}"}}
        return ctx.request_input([AskField("a", f"What of {number}?"), AskField("b", f"And of {number}?")])

    @tool(approval=not given)
    async def approved(ctx: Context, number: int) -> str:
        """Needs a yes."""
        ctx.deps[ctx.call_id] += 1
        return f"approved {number}"

    return [plain, threaded, inline, mutating, idempotent, failing, retrying, refusing, odd, asking, form, approved]


def answers_of(pause: Pause, *, rejecting: bool = False) -> dict[str, Any]:
    """What a person says: always the same to the same question."""
    said: dict[str, Any] = {}
    for question in pause.questions:
        number = (question.arguments or {}).get("number", 0)
        if question.kind == "decision":
            said[question.id] = reject("no", by="ann") if rejecting and number % 2 else approve(by="ann")
        else:
            said[question.id] = f"value of {number}"
    return said


# --- agents ---


limits = st.builds(
    Limits,
    iterations=st.integers(1, 6),
    wrap_up=st.booleans(),
    usd=st.none() | st.sampled_from([0.02, 0.05]),
    on_usd=st.sampled_from(["halt", "warn"]),
    tokens=st.none() | st.sampled_from([20, 60]),
    tool_result_chars=st.none() | st.sampled_from([5, 50]),
    tool_results_total_chars=st.none() | st.sampled_from([10, 80]),
)
PRICES = {"script": Prices(input=Decimal("0.001"), output=Decimal("0.0005"), cache_read=Decimal("0.0001"))}


@dataclasses.dataclass
class Scene:
    """An agent ready to run, and what its tools and its watcher noted."""

    agent: Agent[Any, str]
    model: ScriptedModel
    watcher: Watcher
    ran: Counter[str]

    async def run(self, **options: Any) -> RunResult[str]:
        return await self.agent.run("Go", deps=self.ran, **options)

    async def resume(self, pause: Pause, *, rejecting: bool = False, **options: Any) -> RunResult[str]:
        return await self.agent.resume(pause, answers_of(pause, rejecting=rejecting), deps=self.ran, **options)

    async def recover(self, source: Any) -> RunResult[str]:
        return await self.agent.resume_on_error(source, deps=self.ran)


def scene_of(
    script: list[list[Step]],
    meddled: list[Meddling] = [],  # noqa: B006
    *,
    within: Limits | None = None,
    given: bool = False,
    model: ScriptedModel | None = None,
    ran: Counter[str] | None = None,
    sinks: Sequence[Plugin] = (),
    **settings: Any,
) -> Scene:
    """An agent over a script. A second one with the same model stands for the same agent in another process."""
    ran = Counter() if ran is None else ran
    model = model or model_of(script)
    watcher = Watcher()
    plugins = [watcher, *(plugin_of(index, one, given=given) for index, one in enumerate(meddled)), *sinks]
    agent: Agent[Any, str] = Agent(
        model,
        tools=tools_of(given=given),
        plugins=plugins,
        limits=within or Limits(iterations=8),
        prices=PRICES,
        instructions=["Be brief.", lambda run: f"Turn {run.turn}."],
        **settings,
    )
    return Scene(agent, model, watcher, ran)
