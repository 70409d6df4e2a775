"""How a record grows: by what happens, and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentfp import (
    Agent,
    Checkpoint,
    Limits,
    tool,
)
from agentfp.events import Event, Payload, event
from agentfp.plugin import Plugin, RequestDraft, Run, hookimpl
from agentfp.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


def iterations(count: int, content: str) -> ScriptedModel:
    return ScriptedModel([*(call("look", word=content) for _ in range(count)), "Done."])


async def bytes_of(count: int, content: str = "") -> int:
    @tool(name="look")
    async def quiet(word: str) -> str:
        """Look something up."""
        return word[::-1]

    limits = Limits(iterations=count + 1, hard_cap=count + 1)
    result = await Agent(iterations(count, content), tools=[quiet], limits=limits, instructions="Be brief. " * 50).run("Go")
    assert result.status == "answered"
    return sum(len(line.encode()) + 1 for line in result.record.to_lines())


async def test_a_record_grows_by_what_happens_and_no_more() -> None:
    two, four = await bytes_of(200), await bytes_of(400)
    assert four / two < 2.1
    assert (four - two) / 200 <= 3000
    content = "n" * 2000  # stands once as the argument and once as the result
    assert (await bytes_of(200, content) - two) / 200 <= 2.05 * len(content)


async def test_a_conversation_grows_by_what_is_said(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel(["Yes."] * 60), instructions="Be brief. " * 500)
    chat = agent.conversation()
    sizes = []
    for _ in range(60):
        await chat.send("And?")
        sizes.append(sum(len(line) for line in chat.record.to_lines()))
    assert sizes[-1] - sizes[-2] < 1.1 * (sizes[2] - sizes[1])
    assert sizes[-1] - sizes[-2] < 4000


async def test_the_kinds_decide_what_a_checkpoint_holds() -> None:
    @event("acme.orders.seen", kind="diagnostic")
    class Seen(Payload):
        """For whoever looks for faults."""

    @event("acme.orders.moved", kind="transient")
    class Moved(Payload):
        """For whoever watches."""

    class Emitter(Plugin):
        name = "emitter"
        events = (Seen, Moved)

        @hookimpl(phase="seal")
        def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
            run.emit(Seen())
            run.emit(Moved())

    heard: list[Event] = []
    result = await Agent(ScriptedModel(["done"]), plugins=[Emitter()]).run("hi", on_event={"acme.orders.*": heard.append})
    assert [(one.name, one.seq >= 0) for one in heard] == [("acme.orders.seen", True), ("acme.orders.moved", False)]
    assert [one.name for one in result.record if one.name.startswith("acme.")] == ["acme.orders.seen"]
    assert not [one for one in Checkpoint.from_json(result.checkpoint().to_json()).record if one.name.startswith("acme.")]
