"""When hooks are called: by phase, then by plugin, then by definition; once a call or once a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from agentfp.events import CostTick, MessageAdded, PluginFailed, ToolEnded, VerdictFiled
from agentfp.plugin import PHASES, Batch, CallView, Content, Deny, Note, Payload, Plugin, ResultView, Run, event, hookimpl
from tests.core.running import answering, call, check_record, outcomes, tool_texts

pytestmark = pytest.mark.anyio

KERNELS = {("before_tool", "validate"), ("after_result", "cap"), ("assess_answer", "schema")}
MOMENTS = [(moment, phase) for moment, phases in PHASES.items() for phase in phases if (moment, phase) not in KERNELS]


@functools.cache
def everywhere(called: str) -> type[Plugin]:
    """A plugin with a hook in every phase of every moment, defined in reverse order, every other one async."""

    def make(moment: str, phase: str, index: int) -> Callable[..., Any]:
        def sync(self: Plugin, run: Run[Any]) -> None:
            self.settings.seen.append((self.name, moment, phase))

        async def later(self: Plugin, run: Run[Any]) -> None:
            await anyio.lowlevel.checkpoint()
            self.settings.seen.append((self.name, moment, phase))

        function = later if index % 2 else sync
        function.__name__ = function.__qualname__ = f"at_{moment}_{phase}"
        return hookimpl(moment=moment, phase=phase)(function)

    class Settings(Plugin.Settings):
        seen: Any

    hooks = {f"at_{moment}_{phase}": make(moment, phase, index) for index, (moment, phase) in reversed(list(enumerate(MOMENTS)))}
    return type(called, (Plugin,), {"name": called, "Settings": Settings, **hooks})


def look(n: int = 0) -> str:
    """Look."""
    return f"seen {n}"


async def test_phases_come_in_their_order_and_plugins_in_that_of_the_list() -> None:
    seen: list[tuple[str, str, str]] = []
    first, second = everywhere("first"), everywhere("second")
    agent = answering(call("look"), "done", tools=[look], plugins=[second(seen=seen), first(seen=seen)])
    result = await agent.run("go")
    check_record(result)
    served = [(moment, phase) for moment, phase in MOMENTS if moment == "serve_context"]
    others = [pair for pair in MOMENTS if pair[0] in ("before_tool", "after_result")]
    judged = [pair for pair in MOMENTS if pair[0] == "assess_answer"]
    wanted = [(name, *pair) for pair in [*served, *others, *served, *judged] for name in ("second", "first")]
    assert seen == wanted


class Twice(Plugin):
    """Several hooks of one moment, some of one phase."""

    name = "twice"

    @hookimpl(moment="after_result", phase="judge")
    def last(self) -> Note:
        return Note("four")

    @hookimpl(moment="after_result", phase="note")
    def second(self, result: ResultView) -> Note:
        return Note("two")

    @hookimpl(moment="after_result", phase="note")
    async def third(self, call: CallView, run: Run[Any]) -> Note:
        return Note("three")

    @hookimpl(phase="check")
    def after_result(self, run: Run[Any], batch: Batch) -> Note:
        return Note("one")


async def test_one_plugin_may_have_several_hooks_of_a_moment() -> None:
    result = await answering(call("look"), "done", tools=[look], plugins=[Twice()]).run("go")
    assert tool_texts(result.history) == ["seen 0\n\none\n\ntwo\n\nthree\n\nfour"]
    verdicts = [(v.moment, v.phase, v.plugin, v.verdict) for v in check_record(result).of(VerdictFiled)]
    assert verdicts == [("after_result", phase, "twice", "Note") for phase in ("check", "note", "note", "judge")]


async def test_a_subclass_has_the_hooks_of_its_base_and_its_own() -> None:
    class Thrice(Twice):
        name = "thrice"

        @hookimpl(moment="after_result", phase="note")
        def second(self, result: ResultView) -> Note:
            return Note("other two")

    result = await answering(call("look"), "done", tools=[look], plugins=[Thrice()]).run("go")
    assert tool_texts(result.history)[0].split("\n\n")[1:] == ["one", "three", "other two", "four"]


# --- calls and batches -------------------------------------------------------------------------------------------------------------


class Batches(Plugin):
    name = "batches"

    class Settings(Plugin.Settings):
        seen: Any
        deny: tuple[int, ...] = ()

    @hookimpl(moment="before_tool", phase="authorize", per="batch")
    def decide(self, batch: Batch, run: Run[Any]) -> dict[str, Deny]:
        self.settings.seen.append(("batch", [made.arguments["n"] for made in batch.live]))
        return {made.id: Deny("no") for made in batch.live if made.arguments["n"] in self.settings.deny}

    @hookimpl(moment="before_tool", phase="resolve")
    def one(self, call: CallView) -> None:
        self.settings.seen.append(("call", call.arguments["n"]))

    @hookimpl(moment="before_tool", phase="credential", per="batch")
    async def again(self, batch: Batch) -> None:
        self.settings.seen.append(("again", len(batch.live)))

    @hookimpl(moment="after_result", phase="place", per="batch")
    def read(self, batch: Batch) -> dict[str, Note]:
        self.settings.seen.append(("read", [batch.results[made.id].outcome for made in batch.calls]))
        return {batch.calls[-1].id: Note("last of all")}


async def test_a_hook_per_batch_is_called_once_and_answers_for_each_call() -> None:
    seen: list[Any] = []
    agent = answering([call("look", n=n) for n in range(3)], "done", tools=[look], plugins=[Batches(seen=seen, deny=(1,))])
    result = await agent.run("go")
    assert seen == [
        ("batch", [0, 1, 2]),
        ("call", 0),
        ("call", 2),
        ("again", 2),
        ("read", ["success", "denied", "success"]),
    ]
    assert tool_texts(result.history) == ["seen 0", "This call is not permitted.", "seen 2\n\nlast of all"]
    check_record(result)


async def test_a_hook_per_batch_is_not_called_when_no_call_is_live() -> None:
    seen: list[Any] = []
    agent = answering([call("look", n=n) for n in range(2)], "done", tools=[look], plugins=[Batches(seen=seen, deny=(0, 1))])
    result = await agent.run("go")
    assert [kind for kind, _ in seen] == ["batch", "read"]
    assert list(outcomes(result.record).values()) == ["denied", "denied"]


@pytest.mark.parametrize("answer", ["yes", {"nobody": Deny("x")}, [Deny("x")], Deny("x"), {"c0": "no"}])
async def test_what_a_batch_hook_may_not_answer_refuses_every_live_call(answer: Any) -> None:
    class Wrong(Plugin):
        name = "wrong"

        @hookimpl(phase="authorize", per="batch")
        def before_tool(self) -> Any:
            return answer

    agent = answering([call("look", n=0, id="c0"), call("look", n=1, id="c1")], "done", tools=[look], plugins=[Wrong()])
    result = await agent.run("go")
    assert outcomes(check_record(result)) == {"c0": "denied", "c1": "denied"}
    assert result.plugin_failures == {"wrong": 1}


# --- what a hook emits, and where it may keep things ---------------------------------------------------------------------------------


@event("emits.test.said")
class Said(Payload):
    """What the plugin below says."""

    text: Content[str]


async def test_what_a_hook_emits_carries_its_plugins_name() -> None:
    class Emits(Plugin):
        name = "emits"

        @hookimpl(phase="authorize")
        async def before_tool(self, run: Run[Any]) -> None:
            await anyio.lowlevel.checkpoint()
            run.emit(Said("hello"))

    result = await answering(call("look"), "done", tools=[look], plugins=[Emits()]).run("go")
    (said,) = [event for event in result.record if isinstance(event.payload, Said)]
    assert said.source == "emits"
    assert {event.source for event in result.record if event is not said} == {"kernel"}


@pytest.mark.parametrize(
    "payload", [ToolEnded("success", 0, "made up"), MessageAdded("m", "user", "person", "made up"), CostTick("p", "m", "1", "1")]
)
async def test_a_hook_cannot_say_in_the_kernels_name_what_became_of_a_run(payload: Payload) -> None:
    class Forges(Plugin):
        name = "forges"

        @hookimpl(phase="authorize")
        def before_tool(self, call: CallView, run: Run[Any]) -> None:
            run.emit(payload, call_id=call.id)

    result = await answering(call("look", id="c0"), "done", tools=[look], plugins=[Forges()]).run("go")
    assert outcomes(check_record(result)) == {"c0": "denied"}
    (failed,) = result.record.of(PluginFailed)
    assert repr(payload.event_name) in str(failed.error)
    assert "made up" not in "".join(result.record.to_lines())


async def test_a_scratch_lasts_for_one_model_call_and_a_memo_for_the_conversation() -> None:
    seen: list[Any] = []

    class Keeps(Plugin):
        name = "keeps"
        memo_events = ("agentfp.stream.*",)

        def initial(self) -> int:
            return 0

        def fold(self, state: int, event: Any) -> int:
            return state + 1

        @hookimpl(phase="compose")
        def serve_context(self, run: Run[Any]) -> None:
            seen.append(("serve", dict(run.scratch(self)), run.memo(self)))
            run.scratch("keeps")["n"] = run.iteration

        @hookimpl(phase="check")
        def after_result(self, run: Run[Any]) -> None:
            seen.append(("read", dict(run.scratch(self)), run.memo("keeps")))

    plugin = Keeps()
    chat = answering(call("look"), "one", "two", tools=[look], plugins=[plugin]).conversation()
    await chat.send("a")
    result = await chat.send("b")
    assert seen == [("serve", {}, 0), ("read", {"n": 1}, 1), ("serve", {}, 1), ("serve", {}, 2)]
    assert Keeps.memo_of(result) == 3
    assert vars(plugin) == {"settings": plugin.settings}
