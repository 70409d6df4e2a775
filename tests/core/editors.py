"""Plugins that edit what a model is served, by a schedule; tools and a model to try them on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentfp import Agent, Limits, Message, RunResult, tool
from agentfp.model import ModelRequest, ModelResponse
from agentfp.plugin import Plugin, Registry, RequestDraft, Run, hookimpl
from agentfp.testing import ScriptedModel, call

TOOLS = ("look", "count", "write")
Action = tuple[Any, ...]


@tool
async def look(word: str = "x") -> str:
    """Look something up."""
    return f"found {word}"


@tool
async def count(of: int = 1) -> int:
    """Count."""
    return of + 1


@tool(mutating=True)
async def write(text: str = "t") -> str:
    """Write."""
    return f"wrote {text}"


async def spare() -> str:
    """A tool that is not on the wire before it is added."""
    return "spare"


class Keeping(ScriptedModel):
    """A model that notes what each request held when it came."""

    def __init__(self, script: Any, **settings: Any) -> None:
        super().__init__(script, **settings)
        self.then: list[tuple[str, list[Message], tuple[Any, ...]]] = []

    async def complete(self, request: ModelRequest) -> ModelResponse:
        self.then.append((request.system, list(request.messages), request.tools))
        return await super().complete(request)

    def check_unchanged(self) -> None:
        """What was handed over is what it was, whatever was edited since."""
        for (system, messages, tools), request in zip(self.then, self.requests, strict=True):
            assert request.system == system
            assert list(request.messages) == messages
            assert len(request.messages) == len(messages)
            assert request.messages == messages
            assert request.tools == tools


def editor(
    name: str, schedule: Mapping[int, Sequence[Action]], phase: str = "compose", *, brings: str | None = None, model: Any = None
) -> Plugin:
    """A plugin that does what a schedule says, by model call."""

    def serve_context(self: Plugin, draft: RequestDraft, run: Run[Any]) -> None:
        for action in schedule.get(draft.call, ()):
            act(draft, run, action, brings, model)

    def configure(self: Plugin, agent: Registry) -> None:
        if brings is not None:
            agent.add_tool(tool(name=brings)(spare), deferred=True)

    hooks = {"serve_context": hookimpl(phase=phase)(serve_context), "configure": hookimpl(configure)}
    made: type[Plugin] = type(f"Editor{name}", (Plugin,), {"name": name, **hooks})
    return made()


def act(draft: RequestDraft, run: Run[Any], action: Action, brings: str | None, model: Any) -> None:
    op, *args = action
    if op in ("ticket", "hide", "restore"):
        target = run.history[args[0] % len(run.history)].id
        method: Any = {"ticket": draft.ticket, "hide": draft.hide_message, "restore": draft.restore_message}[op]
        method(target, *args[1:])
    elif op == "decorate":
        draft.decorate_tools(args[0], {"type": args[1]}, args[2])
    elif op == "undecorate":
        draft.undecorate_tools(args[0])
    elif op == "explain":
        draft.explain_arguments(args[0], {args[1]: args[2]}, optional=args[3])
    elif op == "unexplain":
        draft.unexplain_arguments(args[0])
    elif op == "hold_out":
        draft.hold_out_tool(args[0])
    elif op == "let_in":
        draft.let_in_tool(args[0])
    elif op == "add_tool":
        draft.add_tool(run.agent.tools[brings or ""].spec)
    elif op == "drop_tool":
        draft.drop_tool(args[0] if args else brings or "")
    elif op == "piece":
        draft.add_piece(*args)
    elif op == "late":
        draft.add_late_line(*args)
    elif op == "deliver":
        draft.deliver(*args)
    elif op == "use_model":
        draft.use_model(model)
    elif op == "raise":
        raise RuntimeError("the plugin is broken")


def agent_of(model: Any, *plugins: Plugin, **more: Any) -> Agent[Any, str]:
    return Agent(model, tools=[look, count, write], plugins=plugins, limits=Limits(iterations=40), **more)


def script_of(calls: int) -> list[Any]:
    made: list[Any] = [[call("look", word=f"w{i}"), call("count", of=i)] if i % 3 == 2 else call(TOOLS[i % 3]) for i in range(calls - 1)]
    return [*made, "Done."]


async def run_edits(calls: int, *plugins: Plugin, **more: Any) -> tuple[RunResult[str], Keeping]:
    model = Keeping(script_of(calls))
    result = await agent_of(model, *plugins, **more).run("Go")
    return result, model


def texts(request: ModelRequest) -> list[str]:
    return [m.text for m in request.messages]
