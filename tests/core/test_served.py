"""What a model is served: the history under the edits that stand."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import Agent, Record, UsageError, tool
from agentfp.events import AnsweredOffWire, Served
from agentfp.model import ModelRequest
from agentfp.plugin import Plugin, PluginError, RequestDraft, hookimpl
from agentfp.testing import ScriptedModel, call
from tests.core.editors import TOOLS, Action, agent_of, editor, run_edits, spare, texts
from tests.core.running import check_record

pytestmark = pytest.mark.anyio


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


async def test_what_plugins_say_of_arguments_stands_beside_what_the_tool_says() -> None:
    @tool
    async def find(name: str, near: str) -> str:
        """Find somebody.

        Args:
            name: who it is.
            near: a place.
        """
        return f"found {name} near {near}"

    one = editor("a", {1: [("explain", "find", "name", "Short.", ("name",))], 3: [("unexplain", "find")]})
    other = editor("b", {2: [("explain", "find", "name", "Lower case.", ()), ("explain", "find", "place", "Lost.", ("place",))]})
    model = ScriptedModel([call("find", name="Bo", near="A")] * 3 + ["Done."])
    result = await Agent(model, tools=[find], plugins=[one, other]).run("Go")

    def said(request: ModelRequest) -> tuple[str, list[str]]:
        schema = request.tools[0].parameters
        return schema["properties"]["name"]["description"], schema["required"]

    whole = ["name", "near"]
    assert [said(request) for request in model.requests] == [
        ("who it is. Short.", ["near"]),
        ("who it is. Short.", ["near"]),
        ("who it is.", whole),
        ("who it is.", whole),
    ]
    for number, request in enumerate(model.requests, 1):
        assert Record.from_lines(result.record.to_lines()).served_at(number) == request


async def test_two_plugins_may_say_something_of_one_argument() -> None:
    one, other = editor("b", {1: [("explain", "look", "word", "B.", ())]}), editor("a", {1: [("explain", "look", "word", "A.", ())]})
    for plugins in ((one, other), (other, one)):
        _, model = await run_edits(1, *plugins)
        assert model.requests[0].tools[0].parameters["properties"]["word"]["description"] == "A. B."


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
