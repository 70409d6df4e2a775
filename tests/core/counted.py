"""A run with events of a plugin and of the application on its record, for tests of records."""

from __future__ import annotations

from typing import Any

from agentfp import (
    Agent,
    Identity,
    RunResult,
    ToolContext,
    tool,
)
from agentfp.events import Event, Number, Payload, event
from agentfp.plugin import Plugin, RequestDraft, Run, hookimpl
from agentfp.testing import ScriptedModel, call


@event("acme.orders.counted")
class Counted(Payload):
    """Orders were counted."""

    count: Number[int]
    ratio: Number[float]
    note: str


class Counter(Plugin):
    """Emits an event at each model call, and sums up what it emitted."""

    name = "counter"
    events = (Counted,)
    memo_events = ("acme.orders.*",)

    def initial(self) -> int:
        return 0

    def fold(self, state: int, event: Event) -> int:
        assert isinstance(event.payload, Counted)
        return state + event.payload.count

    @hookimpl(phase="compose")
    def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
        run.emit(Counted(draft.call, 1e22, 'é \u2028 \x7f \\ " / \x01'))
        draft.add_piece("count", f"So far {run.memo(self)}.")


@tool
async def look(ctx: ToolContext[Any], word: str = "x") -> str:
    """Look something up."""
    ctx.emit("acme.looked", {"z": 1e22, "a": f"é\x7f{word}", "n": None})
    return f"found {word}"


async def some_run(*script: Any, **settings: Any) -> RunResult[str]:
    model = ScriptedModel([*script] or [call("look", word="a"), [call("look", word="b"), call("nothing")], "Done."])
    agent: Agent[Any, str] = Agent(model, tools=[look], plugins=[Counter()], **settings)
    return await agent.run("What is there?", identity=Identity(tenant="t", principal="p"), session_id="s-1")
