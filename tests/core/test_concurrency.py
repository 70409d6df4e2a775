"""Many runs at once on one agent: nothing of one is ever seen in another."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from agentfp import Agent, Limits, Pause, Record, RunInFlightError, RunResult, ToolContext, approve, tool
from agentfp.events import Event, Number, Payload, event
from agentfp.model import ModelRequest, ModelResponse, ToolCall, Usage
from agentfp.plugin import CallView, Note, Plugin, ReplyFilter, RequestDraft, Run, hookimpl, memo_of
from agentfp.testing import ScriptedModel, call
from tests.core.running import check_record

pytestmark = pytest.mark.anyio

RUNS = 1_000
SENTINEL = re.compile(r"s\d{4}z")


def sentinel(number: int) -> str:
    return f"s{number:04}z"


@event("acme.tags.seen")
class Seen(Payload):
    """A tag was seen."""

    tag: str
    call: Number[int]


class Tagger(Plugin):
    """Uses every per-run thing a plugin has: options, memo, scratch, pieces, notes, a reply filter."""

    name = "tagger"
    events = (Seen,)
    memo_events = ("acme.tags.seen",)

    class RunOptions(Plugin.RunOptions):
        tag: str = ""

    def initial(self) -> tuple[str, ...]:
        return ()

    def fold(self, state: tuple[str, ...], event: Event) -> tuple[str, ...]:
        assert isinstance(event.payload, Seen)
        return (*state, event.payload.tag)

    @hookimpl
    def configure(self, agent: Any) -> None:
        agent.add_reply_filter(Filter)

    @hookimpl(phase="compose")
    async def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
        tag = run.options(self).tag
        run.scratch(self)["tag"] = tag
        await anyio.lowlevel.checkpoint()
        run.emit(Seen(tag, draft.call))
        draft.add_piece("tag", f"The tag is {run.scratch(self)['tag']}; seen so far: {', '.join(run.memo(self))}.")
        draft.decorate_tools("tag", {"const": tag})

    @hookimpl(phase="note")
    async def after_result(self, call: CallView, run: Run[Any]) -> Note:
        await anyio.lowlevel.checkpoint()
        return Note(f"for {run.options(self).tag}, who saw {run.memo(self)[-1]}")


class Filter(ReplyFilter):
    def __init__(self, run: Run[Any]) -> None:
        self.tag = run.options("tagger").tag
        self.fed = ""

    def feed(self, text: str) -> str:
        self.fed += text
        return text

    def finish(self) -> str:
        return f" [{self.tag} {len(self.fed)}]"


@tool
async def near(ctx: ToolContext[dict[str, str]], word: str) -> dict[str, str]:
    """On the loop."""
    await anyio.lowlevel.checkpoint()
    ctx.emit("acme.near", {"word": word})
    return {"word": word, "deps": ctx.deps["tag"]}


@tool
def far(ctx: ToolContext[dict[str, str]], word: str) -> str:
    """In a thread."""
    return f"{word} of {ctx.deps['tag']}"


def reply(request: ModelRequest) -> ModelResponse:
    """Calls both tools with the words of the prompt, and answers with the results."""
    (tag,) = set(SENTINEL.findall(request.messages[0].text))
    results = [m.text for m in request.messages if m.role == "tool"]
    if results:
        return ModelResponse(text=f"{tag}: {results}", usage=Usage(1, 1))
    names = ("near", "far") if int(tag[1:5]) % 10 == 0 else ("near",)
    return ModelResponse(text="", tool_calls=tuple(ToolCall.make(name, {"word": tag}) for name in names), usage=Usage(1, 1))


def tags_in(record: Record) -> set[str]:
    return set(SENTINEL.findall("\n".join(record.to_lines())))


async def test_of_a_thousand_runs_none_sees_another() -> None:
    model = ScriptedModel(reply)
    agent: Agent[Any, str] = Agent(model, tools=[near, far], plugins=[Tagger()], instructions=lambda run: f"Serve {run.deps['tag']}.")
    results: dict[int, RunResult[str]] = {}
    heard: dict[int, set[str]] = {number: set() for number in range(RUNS)}

    async def one(number: int) -> None:
        tag = sentinel(number)

        def hear(event: Event) -> None:
            heard[number].update(SENTINEL.findall(repr(event.payload)))

        results[number] = await agent.run(
            f"I am {tag}.", deps={"tag": tag}, options={"tagger": {"tag": tag}}, session_id=f"session-{tag}", on_event=hear
        )

    async with anyio.create_task_group() as tasks:
        for number in range(RUNS):
            tasks.start_soon(one, number)

    assert len({result.root_id for result in results.values()}) == RUNS
    for number, result in results.items():
        tag = sentinel(number)
        assert result.status == "answered"
        assert tags_in(result.record) == heard[number] == {tag}
        assert f'{{"word":"{tag}","deps":"{tag}"}}' in result.text.replace("\\", "")
        assert set(SENTINEL.findall(result.text)) == {tag}
        assert memo_of(Tagger, result) == (tag, tag)
        assert result.usage == Usage(2, 2)
    for request in model.requests:
        assert len(set(SENTINEL.findall(request.system + "".join(m.text for m in request.messages) + repr(request.tools)))) == 1
    for number in range(0, RUNS, 97):
        check_record(results[number])


async def test_paused_runs_of_one_agent_are_resumed_side_by_side() -> None:
    @tool(approval=True)
    async def act(word: str) -> str:
        """Act."""
        return f"acted on {word}"

    def respond(request: ModelRequest) -> Any:
        (tag,) = set(SENTINEL.findall(request.messages[0].text))
        return f"{tag} done" if request.messages[-1].role == "tool" else call("act", word=tag)

    agent: Agent[Any, str] = Agent(ScriptedModel(respond), tools=[act])
    results: dict[int, RunResult[str]] = {}

    async def one(number: int) -> None:
        paused = await agent.run(f"I am {sentinel(number)}.")
        assert paused.pause is not None
        await anyio.lowlevel.checkpoint()
        stored = Pause.from_json(paused.pause.to_json())
        results[number] = await agent.resume(stored, {stored.questions[0].id: approve(by=sentinel(number))})

    async with anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(one, number)
    for number, result in results.items():
        assert result.text == f"{sentinel(number)} done"
        assert tags_in(result.record) == {sentinel(number)}


async def test_one_conversation_has_one_live_run() -> None:
    async def slow(request: ModelRequest) -> str:
        await anyio.sleep(0.01)
        return "done"

    agent: Agent[Any, str] = Agent(ScriptedModel(slow))
    first = await agent.run("One")
    refused: list[Exception] = []

    async def go_on() -> None:
        try:
            await agent.run("Two", history=first.history)
        except RunInFlightError as error:
            refused.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(go_on)
    assert len(refused) == 4
    assert (await agent.run("Three", history=first.history)).status == "answered"


@pytest.fixture
def collected() -> Iterator[None]:
    gc.collect()
    yield
    gc.collect()


async def test_a_cancelled_neighbour_disturbs_nobody(collected: None) -> None:
    agent: Agent[Any, str] = Agent(ScriptedModel(reply), tools=[near, far], plugins=[Tagger()])
    results: dict[int, RunResult[str]] = {}

    async def one(number: int) -> None:
        tag = sentinel(number)
        with anyio.CancelScope() as scope:
            heard = 0

            def hear(event: Event) -> None:
                nonlocal heard
                heard += 1
                if number % 3 == 0 and heard == number % 30:
                    scope.cancel()

            results[number] = await agent.run(f"I am {tag}.", deps={"tag": tag}, options={"tagger": {"tag": tag}}, on_event=hear)

    async with anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(one, number)
    assert {number for number in range(200) if number % 3} <= set(results)
    for number, result in results.items():
        assert tags_in(result.record) == {sentinel(number)}


async def test_a_finished_run_leaves_nothing_with_the_agent(collected: None) -> None:
    agent: Agent[Any, str] = Agent(ScriptedModel(lambda _: "done"), tools=[near], plugins=[Tagger()], limits=Limits(iterations=2))

    async def some(count: int) -> int:
        for _ in range(count):
            await agent.run("Go", on_event=lambda _: None)
        model: Any = agent.model
        model.requests.clear()
        gc.collect()
        return sum(1 for found in gc.get_objects() if str(type(found).__module__).startswith("agentfp_core"))

    before = await some(20)
    assert await some(200) <= before + 5
