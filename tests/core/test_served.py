"""What a model is served: the history under the edits that stand, rebuilt from the record to the byte."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp import Agent, Checkpoint, Limits, Message, Pause, Record, RecordFormatError, RunResult, UsageError, approve, tool
from agentfp.events import AnsweredOffWire, Blob, Served
from agentfp.model import ModelRequest, ModelResponse
from agentfp.plugin import Plugin, PluginError, Registry, RequestDraft, Run, hookimpl
from agentfp_core import served
from agentfp_core.clock import CountingIds
from tests.core.running import ScriptedModel, call, check_record

pytestmark = pytest.mark.anyio

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


# --- one edit at a time ---


async def test_without_edits_a_model_gets_the_history() -> None:
    result, model = await run_edits(4)
    for number, request in enumerate(model.requests, 1):
        known = result.record.of(Served)[number - 1].messages
        assert list(request.messages) == list(result.history)[:known]
        assert request.messages[-1] == result.history[known - 1]
    assert not any(one.edits for one in result.record.of(Served))
    check_record(result)


async def test_a_ticket_stands_until_it_is_undone() -> None:
    result, model = await run_edits(4, editor("a", {2: [("ticket", 0, "[short]")], 4: [("restore", 0)]}))
    assert [texts(r)[0] for r in model.requests] == ["Go", "[short]", "[short]", "Go"]
    assert result.history[0].content == "Go", "the history itself is never edited"
    assert [len(one.edits or ()) for one in result.record.of(Served)] == [0, 1, 0, 1]
    model.check_unchanged()


async def test_a_ticket_of_a_tool_message_keeps_its_place_and_its_call() -> None:
    _, model = await run_edits(3, editor("a", {3: [("ticket", 2, "[result]")]}))
    before, after = model.requests[1].messages[2], model.requests[2].messages[2]
    assert (after.id, after.role, after.tool_call_id, after.tool_name) == (before.id, "tool", before.tool_call_id, "look")
    assert after.text == "[result]"


async def test_a_hidden_message_comes_back_to_its_place() -> None:
    _, model = await run_edits(4, editor("a", {2: [("hide", 1), ("hide", 2)], 3: [("restore", 2)], 4: [("restore", 1)]}))
    ids = [[m.id for m in r.messages] for r in model.requests]
    assert ids[1] == ids[3][:1]
    assert ids[2][:2] == [ids[3][0], ids[3][2]]
    assert ids[3][: len(ids[2]) - 2]
    model.check_unchanged()


async def test_what_a_plugin_does_and_undoes_in_one_call_is_undone() -> None:
    steps: list[Action] = [("ticket", 0, "T"), ("restore", 0), ("hide", 0), ("restore", 0), ("hold_out", "look"), ("let_in", "look")]
    steps += [("decorate", "why", "string", None), ("undecorate", "why")]
    _, model = await run_edits(2, editor("a", {1: steps}))
    assert texts(model.requests[0]) == ["Go"]
    assert [t.name for t in model.requests[0].tools] == list(TOOLS)
    assert "why" not in model.requests[0].tools[0].parameters["properties"]


async def test_what_a_plugin_undoes_and_does_again_in_one_call_stands() -> None:
    _, model = await run_edits(3, editor("a", {1: [("hide", 0)], 2: [("restore", 0), ("hide", 0)], 3: [("ticket", 0, "T")]}))
    assert [m.role for m in model.requests[1].messages] == ["assistant", "tool"]


async def test_plugins_do_not_undo_each_others_edits() -> None:
    mine = editor("a", {1: [("ticket", 0, "A")], 2: [("hold_out", "count")], 4: [("restore", 0)]})
    other = editor("b", {2: [("ticket", 0, "B"), ("let_in", "count")], 3: [("restore", 0), ("hide", 0), ("restore", 0)]})
    _, model = await run_edits(4, mine, other)
    assert [texts(r)[0] for r in model.requests] == ["A", "B", "A", "Go"]
    assert [[t.name for t in r.tools] for r in model.requests] == [list(TOOLS)] + [["look", "write"]] * 3


async def test_a_message_is_shown_when_nobody_hides_it_any_more() -> None:
    mine, other = editor("a", {1: [("hide", 0)], 3: [("restore", 0)]}), editor("b", {1: [("hide", 0)], 4: [("restore", 0)]})
    _, model = await run_edits(4, mine, other)
    assert ["Go" in texts(r) for r in model.requests] == [False, False, False, True]


async def test_a_tool_that_is_held_out_is_neither_offered_nor_run() -> None:
    model = ScriptedModel([call("look"), call("look"), call("look"), "Done."])
    result = await agent_of(model, editor("a", {2: [("hold_out", "look")], 3: [("let_in", "look")]})).run("Go")
    assert [len(r.tools) for r in model.requests] == [3, 2, 3, 3]
    assert [m.text for m in result.history if m.role == "tool"][1] == "The tool look is not available now."
    assert len(result.record.of(AnsweredOffWire)) == 1
    check_record(result)


async def test_decorations_reach_the_tools_they_are_for() -> None:
    plugin = editor("a", {1: [("decorate", "why", "string", ("look",)), ("decorate", "all", "integer", None)], 2: [("undecorate", "all")]})
    _, model = await run_edits(3, plugin)

    def properties(request: ModelRequest) -> dict[str, list[str]]:
        return {t.name: sorted(t.parameters["properties"]) for t in request.tools}

    assert properties(model.requests[0]) == {"look": ["all", "why", "word"], "count": ["all", "of"], "write": ["all", "text"]}
    assert properties(model.requests[1]) == properties(model.requests[2]) == {"look": ["why", "word"], "count": ["of"], "write": ["text"]}
    model.check_unchanged()


async def test_a_tool_is_added_and_dropped_by_its_plugin() -> None:
    adds, stranger = editor("a", {2: [("add_tool",)], 4: [("drop_tool",)]}, brings="spare"), editor("b", {3: [("drop_tool", "spare")]})
    model = ScriptedModel([call("spare"), call("spare"), call("spare"), "Done."])
    result = await agent_of(model, adds, stranger, repeated_call_note=False).run("Go")
    assert ["spare" in [t.name for t in r.tools] for r in model.requests] == [False, True, True, False]
    assert [m.text for m in result.history if m.role == "tool"] == ["The tool spare is not available now.", "spare", "spare"]
    check_record(result)


async def test_a_tool_that_nobody_could_answer_is_not_added() -> None:
    class Adds(Plugin):
        name = "adds"

        @hookimpl(phase="compose")
        def serve_context(self, draft: RequestDraft) -> None:
            draft.add_tool(tool(name="ghost")(spare).spec)

    with pytest.raises(PluginError, match="serve_context") as failed:
        await Agent(ScriptedModel(["Done."]), plugins=[Adds()]).run("Go")
    assert isinstance(failed.value.__cause__, UsageError)
    assert "did not contribute in configure" in str(failed.value.__cause__)


async def test_pieces_and_late_lines_last_one_call_and_are_no_history() -> None:
    plugin = editor("a", {1: [("piece", "k", "P1"), ("late", "l", "L1")], 3: [("late", "l", "L3"), ("late", "m", "M3")]})
    result, model = await run_edits(4, plugin, instructions="Base.")
    assert [r.system for r in model.requests] == ["Base.\n\nP1", "Base.", "Base.", "Base."]
    assert [[m.text for m in r.messages if m.id.startswith("late_")] for r in model.requests] == [["L1"], [], ["L3", "M3"], []]
    assert [m.text for m in model.requests[2].messages][-2:] == ["L3", "M3"]
    assert model.requests[2].messages[-1].author == "plugin:a"
    assert not any(m.text in ("L1", "L3", "M3") for m in result.history)


async def test_deliveries_stay_in_the_history_in_the_name_of_their_plugin() -> None:
    result, model = await run_edits(3, editor("a", {2: [("deliver", "user", "By the way."), ("deliver", "assistant", "Noted.")]}))
    delivered = [m for m in result.history if m.author == "plugin:a"]
    assert [(m.role, m.content) for m in delivered] == [("user", "By the way."), ("assistant", "Noted.")]
    assert texts(model.requests[1])[-2:] == ["By the way.", "Noted."]
    assert "By the way." in texts(model.requests[2])
    check_record(result)


@pytest.mark.parametrize(
    "action", [("piece", "k", "x"), ("late", "k", "x"), ("ticket", 0, "x"), ("hide", 0), ("deliver", "user", "x"), ("use_model",)]
)
async def test_a_sealed_request_is_only_read(action: Action) -> None:
    seen: list[tuple[Any, ...]] = []

    class Reads(Plugin):
        name = "reads"

        @hookimpl(phase="seal")
        def serve_context(self, draft: RequestDraft) -> None:
            seen.append((draft.call, draft.tools, [p.text for p in draft.pieces], len(draft.messages), draft.model.name))

    await agent_of(ScriptedModel(["Done."]), Reads(), editor("a", {1: [("piece", "k", "y")]})).run("Go")
    assert seen == [(1, TOOLS, ["y"], 1, "script")]
    with pytest.raises(PluginError, match="phase 'seal'") as failed:
        await agent_of(ScriptedModel(["Done."]), editor("a", {1: [action]}, "seal", model=ScriptedModel([]))).run("Go")
    assert "read-only" in str(failed.value.__cause__)


async def test_a_plugin_that_fails_in_overlay_loses_its_own_edits_of_this_call_only() -> None:
    good = editor("good", {1: [("piece", "g", "good")], 2: [("ticket", 0, "G")]})
    first = [("piece", "b", "bad"), ("ticket", 0, "first")]
    bad = editor("bad", {1: first, 2: [*first, ("hold_out", "look"), ("late", "l", "L"), ("deliver", "user", "D"), ("raise",)]}, "overlay")
    result, model = await run_edits(3, good, bad)
    assert model.requests[0].system == "good\n\nbad"
    assert [texts(r)[0] for r in model.requests] == ["first", "G", "G"], "its ticket of the first call stands behind the later one"
    assert model.requests[1].system == ""
    assert len(model.requests[1].tools) == 3
    assert not any(m.content == "D" for m in result.history)
    assert result.plugin_failures == {"bad": 1}
    check_record(result)


@pytest.mark.parametrize("phase", ["window", "activate", "compose"])
async def test_a_request_does_not_go_out_when_a_plugin_fails_that_may_hold_something_back(phase: str) -> None:
    model = ScriptedModel(["Done."])
    with pytest.raises(PluginError, match=f"plugin 'a' failed in phase '{phase}'"):
        await agent_of(model, editor("a", {1: [("raise",)]}, phase)).run("Go")
    assert not model.requests


async def test_a_call_can_be_served_by_another_model() -> None:
    other = ScriptedModel([call("count")], name="other", provider="elsewhere")
    result, model = await run_edits(3, editor("a", {2: [("use_model",)]}, "route", model=other))
    assert [r.model for r in model.requests + other.requests] == ["script"] * 3 + ["other"]
    served_by = [(one.provider, one.model) for one in result.record.of(Served)]
    assert served_by == [("scripted", "script"), ("elsewhere", "other"), ("scripted", "script"), (None, None)]
    assert result.record.served_at(2) == other.requests[0]
    check_record(result)


# --- the record of it ---


async def test_a_text_stands_on_the_record_once_a_conversation() -> None:
    plugin = editor("a", {k: [("piece", "k", "the same"), ("late", "l", f"turn {k % 2}"), ("ticket", 0, "T")] for k in range(1, 9)})
    agent = agent_of(Keeping(script_of(4) * 2), plugin, instructions="Be brief.")
    first = await agent.run("Go")
    second = await agent.run("Go on", history=first.history)
    bodies = [blob.body for blob in second.record.of(Blob)]
    assert len(bodies) == len(set(bodies))
    assert {"the same", "turn 0", "turn 1", "T", "Be brief."} <= set(bodies)
    runs = [await agent_of(ScriptedModel(["Done."]), instructions="Be brief.").run("Go") for _ in range(2)]
    one, two = ({blob.digest for blob in run.record.of(Blob)} for run in runs)
    assert not one & two, "digests of two conversations do not compare"


async def test_a_call_without_changes_is_a_line_of_a_few_numbers() -> None:
    result, _ = await run_edits(
        6, editor("a", {1: [("piece", "k", "x")], 2: [("ticket", 0, "T"), ("ticket", 0, "T")], 3: [("ticket", 0, "T")]})
    )
    third, fourth = result.record.of(Served)[2:4]
    assert (third.pieces, third.edits, third.tools, third.params, third.model) == (None,) * 5
    assert (fourth.pieces, fourth.edits, fourth.tools, fourth.params, fourth.model) == (None,) * 5


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the messages that were hashed, in order."""
    ids: list[str] = []
    real = served.message_digest

    def counting(salt: str, message: Message) -> str:
        ids.append(message.id)
        return real(salt, message)

    monkeypatch.setattr(served, "message_digest", counting)
    return ids


async def test_a_message_is_hashed_once_in_a_run_without_edits(hashed: list[str]) -> None:
    agent = agent_of(Keeping(script_of(12) + script_of(5)), editor("a", {3: [("late", "l", "L"), ("piece", "p", "P")]}))
    first = await agent.run("Go")
    second = await agent.run("Go on", history=first.history)
    assert set(Counter(hashed).values()) == {1}
    assert hashed == [m.id for m in second.history][: len(hashed)]


async def test_an_edit_costs_the_hashes_from_its_place_on(hashed: list[str]) -> None:
    seen: list[int] = []

    class Watch(Plugin):
        name = "watch"

        @hookimpl(phase="window")
        def serve_context(self) -> None:
            seen.append(len(hashed))

    result, model = await run_edits(6, Watch(), editor("a", {4: [("ticket", 4, "T")], 5: [("hide", 2)]}))
    ids = [[m.id for m in r.messages] for r in model.requests]
    assert hashed[seen[3] : seen[4]] == ids[3][4:]
    assert hashed[seen[4] : seen[5]] == ids[4][2:]
    check_record(result)


# --- any schedule ---


message = st.integers(0, 9)
word = st.sampled_from(["T", "U", "ünï", ""])
property_name = st.sampled_from(["why", "how"])
tool_name = st.sampled_from(TOOLS)
action = st.one_of(
    st.tuples(st.just("ticket"), message, word),
    st.tuples(st.just("hide"), message),
    st.tuples(st.just("restore"), message),
    st.tuples(
        st.just("decorate"), property_name, st.sampled_from(["string", "integer"]), st.sampled_from([None, ("look",), ("count", "write")])
    ),
    st.tuples(st.just("undecorate"), property_name),
    st.tuples(st.just("hold_out"), tool_name),
    st.tuples(st.just("let_in"), tool_name),
    st.tuples(st.sampled_from(["add_tool", "drop_tool"])),
    st.tuples(st.sampled_from(["piece", "late"]), st.sampled_from(["k", "l"]), word),
    st.tuples(st.just("deliver"), st.sampled_from(["user", "assistant"]), word),
    st.tuples(st.just("use_model")),
)
schedules = st.dictionaries(st.integers(1, 7), st.lists(action, min_size=1, max_size=4), max_size=5)


@dataclasses.dataclass
class Expected:
    """What should stand, kept in the plainest way."""

    tickets: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    hidden: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    decorations: dict[tuple[str, str], tuple[str, Any]] = dataclasses.field(default_factory=dict)
    held_out: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    added: dict[str, None] = dataclasses.field(default_factory=dict)

    def take(self, plugin: str, op: str, args: list[Any], known: list[Message]) -> None:
        if op in ("ticket", "hide", "restore"):
            target = known[args[0] % len(known)].id
            mine = self.tickets.setdefault(target, {})
            if op == "ticket" and mine.get(plugin) != args[1]:
                mine.pop(plugin, None)
                mine[plugin] = args[1]
            elif op == "hide":
                self.hidden.add((target, plugin))
            elif op == "restore":
                mine.pop(plugin, None)
                self.hidden.discard((target, plugin))
        elif op == "decorate":
            self.decorations[plugin, args[0]] = (args[1], args[2])
        elif op == "undecorate":
            self.decorations.pop((plugin, args[0]), None)
        elif op == "hold_out":
            self.held_out.add((args[0], plugin))
        elif op == "let_in":
            self.held_out.discard((args[0], plugin))
        elif op == "add_tool":
            self.added[f"spare_{plugin}"] = None
        elif op == "drop_tool":
            self.added.pop(f"spare_{plugin}", None)

    def messages(self, known: list[Message]) -> list[Message]:
        shown = []
        for one in known:
            if not any(target == one.id for target, _ in self.hidden):
                mine = self.tickets.get(one.id)
                text = list(mine.values())[-1] if mine else None
                shown.append(one if text is None else dataclasses.replace(one, content=text, own=None, notes=(), parts=()))
        return shown

    def tools(self) -> dict[str, dict[str, str]]:
        wire = {}
        base = {"look": {"word": "string"}, "count": {"of": "integer"}, "write": {"text": "string"}}
        for name in [*TOOLS, *self.added]:
            if not any(held == name for held, _ in self.held_out):
                found = dict(base.get(name, {}))
                found |= {prop: kind for (_, prop), (kind, only) in self.decorations.items() if only is None or name in only}
                wire[name] = found
        return wire


def check_against(
    expected: Expected, plan: list[tuple[str, dict[int, list[Action]], int | None]], result: RunResult[str], sent: list[ModelRequest]
) -> None:
    """Play the schedules again in the plainest way and compare with each request that was sent."""
    everything = list(result.history)
    for number, event in enumerate(result.record.of(Served), 1):
        done = [(name, one) for name, schedule, fails in plan if fails != number for one in schedule.get(number, ())]
        delivered = sum(1 for _, one in done if one[0] == "deliver")
        known = everything[: event.messages - delivered]
        for name, (op, *args) in done:
            expected.take(name, op, args, known)
        request = sent[number - 1]
        late = [args[1] for _, (op, *args) in done if op == "late" and args[1]]
        pieces = [args[1] for _, (op, *args) in done if op == "piece" and args[1]]
        shown = expected.messages(everything[: event.messages])
        assert list(request.messages)[: len(shown)] == shown
        assert [m.text for m in list(request.messages)[len(shown) :]] == late
        assert request.system == "\n\n".join(pieces)
        wire = {t.name: {k: v.get("type") for k, v in t.parameters.get("properties", {}).items()} for t in request.tools}
        assert wire == expected.tools()


@given(
    first=schedules,
    second=schedules,
    third=schedules,
    fails=st.none() | st.integers(1, 7),
    calls=st.integers(1, 7),
    backend=st.sampled_from(["asyncio", "trio"]),
)
def test_a_model_gets_the_history_under_the_edits_that_stand(
    first: dict[int, list[Action]],
    second: dict[int, list[Action]],
    third: dict[int, list[Action]],
    fails: int | None,
    calls: int,
    backend: str,
) -> None:
    model = Keeping(script_of(calls))
    plan = [("a", first, None), ("b", second, None), ("c", third, fails)]
    broken = {k: [*third.get(k, ()), *([("raise",)] if k == fails else [])] for k in range(1, 8)}
    plugins = [
        editor("a", dict(first), "window", brings="spare_a", model=model),
        editor("b", dict(second), "compose", brings="spare_b", model=model),
        editor("c", broken, "overlay", brings="spare_c", model=model),
    ]
    result = anyio.run(lambda: agent_of(model, *plugins).run("Go"), backend=backend)
    assert result.status == "answered"
    assert result.plugin_failures == ({"c": 1} if fails is not None and fails <= calls else {})
    check_against(Expected(), plan, result, model.requests)
    model.check_unchanged()
    check_record(result)
    loaded = Record.from_lines(result.record.to_lines())
    stored = Checkpoint.from_json(result.checkpoint().to_json()).record
    for number, request in enumerate(model.requests, 1):
        for record in (result.record, loaded, stored):
            assert record.served_at(number) == request
            assert record.receipt(number) == result.record.receipt(number)


# --- rebuilt across legs ---


async def test_requests_are_rebuilt_over_pauses_and_turns() -> None:
    @tool(approval=True)
    async def act_now() -> str:
        """Act."""
        return "acted"

    plugin = editor("a", {2: [("ticket", 0, "T"), ("hold_out", "look")], 4: [("late", "l", "L"), ("restore", 0)]})
    model = Keeping([call("look"), call("act_now"), call("count"), "Done.", call("write"), "Done again."])
    agent: Agent[Any, str] = Agent(model, tools=[look, count, write, act_now], plugins=[plugin])
    paused = await agent.run("Go")
    assert paused.pause is not None
    fresh = agent.replace(model=model)
    done = await fresh.resume(Pause.from_json(paused.pause.to_json()), {paused.pause.questions[0].id: approve()})
    again = await fresh.run("And?", history=done.history)
    assert again.status == "answered"
    for number, request in enumerate(model.requests, 1):
        assert again.record.served_at(number) == request
        assert Record.from_lines(again.record.to_lines()).served_at(number) == request
    model.check_unchanged()


async def test_a_record_that_was_changed_rebuilds_nothing() -> None:
    result, _ = await run_edits(2, editor("a", {1: [("piece", "k", "secret sauce")]}))
    lines = [line.replace("found x", "found y") for line in result.record.to_lines()]
    changed = Record.from_lines(lines)
    assert changed.served_at(1) == result.record.served_at(1)
    with pytest.raises(RecordFormatError, match="model call 2 cannot be rebuilt"):
        changed.served_at(2)
    for number in (0, 3, -1):
        with pytest.raises(RecordFormatError, match=rf"no model call {number}; it has 2"):
            result.record.served_at(number)
        with pytest.raises(RecordFormatError):
            result.record.receipt(number)


async def test_every_part_of_a_request_is_in_its_receipt() -> None:
    receipts = {}
    variants: list[tuple[str, list[Action], dict[str, Any]]] = [
        ("plain", [], {}),
        ("piece", [("piece", "k", "x")], {}),
        ("other piece", [("piece", "k", "y")], {}),
        ("late", [("late", "k", "x")], {}),
        ("ticket", [("ticket", 0, "x")], {}),
        ("hidden", [("hide", 0)], {}),
        ("held out", [("hold_out", "look")], {}),
        ("decorated", [("decorate", "why", "string", None)], {}),
        ("decorated otherwise", [("decorate", "why", "integer", None)], {}),
        ("decorated in part", [("decorate", "why", "string", ("look",))], {}),
        ("delivered", [("deliver", "user", "x")], {}),
        ("settings", [], {"model_settings": {"temperature": 0.5}}),
        ("model", [("use_model",)], {}),
    ]
    for name, schedule, more in variants:
        other = ScriptedModel(["Done."], name="other")
        agent = agent_of(ScriptedModel(["Done."]), editor("a", {1: schedule}, model=other), ids=CountingIds(), **more)
        receipts[name] = (await agent.run("Go")).record.receipt(1)
    assert len(set(receipts.values())) == len(receipts)
    assert all(len(one) == 64 for one in receipts.values())
