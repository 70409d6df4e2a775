"""The harness: a plugin over a script, what its hooks were asked and answered, and what became of the run."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from agentfp import AgentfpError, Limits, RunPausedError, approve, tool
from agentfp.plugin import Allow, AskField, AskPerson, Deny, Halt, Note, Payload, Plugin, Refuse, event, hookimpl
from agentfp.testing import Harness, HookCall, Outcome, ScriptedModel, StepClock, assert_record_valid, assert_same_events, call
from tests.core.testing.office_hours import OfficeHours, port_status, shut_port

pytestmark = pytest.mark.anyio

BOTH = [call("port_status", switch="A"), call("shut_port", port=3)]
NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)


async def test_the_example_of_the_docstring() -> None:
    harness = Harness(OfficeHours(), tools=[shut_port], script=[call("shut_port", port=3), "Not now."])
    outcome = await harness.run("Shut port 3")

    outcome.assert_denied("shut_port", by="office_hours", told="Not possible at this hour.").assert_answered("Not now.")
    assert [(c.phase, c.answer) for c in outcome.hook_calls("before_tool")] == [("authorize", "Deny")]


async def test_at_noon_the_call_runs() -> None:
    outcome = await Harness(OfficeHours(), tools=[shut_port], script=[call("shut_port", port=3), "Shut."], clock=StepClock(NOON)).run("Go")

    assert outcome.calls[0].ran
    assert outcome.hook_calls("before_tool")[0].answer == "None"
    with pytest.raises(AssertionError, match=r"shut_port was not denied; the calls were:\n  shut_port\(port=3\)  \[ran, success\]"):
        outcome.assert_denied("shut_port")
    with pytest.raises(AssertionError, match="port_status was not called"):
        outcome.assert_denied("port_status")


class Watching(Plugin):
    """Answers differently at each moment."""

    name = "watching"

    @hookimpl(phase="annotate")
    async def serve_context(self, draft: Any) -> None:
        await anyio.lowlevel.checkpoint()

    @hookimpl(phase="screen")
    def before_tool(self, call: Any) -> Allow | None:
        return Allow() if call.name == "port_status" else None

    @hookimpl(moment="before_tool", phase="authorize", per="batch")
    async def by_batch(self, batch: Any) -> Mapping[str, Deny | None]:
        return {one.id: Deny("no") if one.mutating else None for one in batch.calls}

    @hookimpl(phase="note")
    def after_result(self, result: Any) -> Note | None:
        if not result.ran:
            raise RuntimeError("over a denied call")
        return Note("noted")

    @hookimpl
    def export_event(self, event: Any) -> None:
        return None


async def test_hook_calls_are_kept_in_order_with_plugin_phase_call_and_kind_of_answer() -> None:
    outcome = await Harness([Watching(), OfficeHours()], tools=[port_status, shut_port], script=[BOTH, "Done."]).run("Go")
    a, b = (one.id for one in outcome.calls)

    assert outcome.hook_calls("before_tool") == [
        HookCall("watching", "before_tool", "screen", a, "Allow", "port_status"),
        HookCall("watching", "before_tool", "screen", b, "None", "shut_port"),
        HookCall("watching", "before_tool", "authorize", a, "None"),
        HookCall("watching", "before_tool", "authorize", b, "Deny"),
        HookCall("office_hours", "before_tool", "authorize", a, "None", "port_status"),
    ]
    assert [(c.call_id, c.answer) for c in outcome.hook_calls("after_result")] == [(a, "Note"), (b, "raised RuntimeError")]
    assert [c.answer for c in outcome.hook_calls("serve_context")] == ["None", "None"]
    assert {c.plugin for c in outcome.hook_calls(plugin="office_hours")} == {"office_hours"}
    assert len(outcome.hook_calls("export_event")) == len([e for e in outcome.record if e.payload.event_kind != "transient"])


async def test_verdicts_and_failures_are_read_from_the_record() -> None:
    outcome = await Harness(Watching(), tools=[port_status, shut_port], script=[BOTH, "Done."]).run("Go")

    assert [(v.moment, v.phase, v.verdict) for v in outcome.verdicts(tool="shut_port")] == [("before_tool", "authorize", "Deny")]
    assert [v.verdict for v in outcome.verdicts("after_result")] == ["Note"]
    assert outcome.verdicts(plugin="office_hours") == []
    (failed,) = outcome.failures
    assert (failed.plugin, failed.moment, failed.phase, failed.policy) == ("watching", "after_result", "note", "skipped")
    assert [e.name for e in outcome.events("agentfp.tool.*")][:2] == ["agentfp.tool.started"] * 2
    assert_record_valid(outcome)


async def test_requests_are_those_that_the_model_was_served() -> None:
    harness = Harness(OfficeHours(), tools=[port_status, shut_port], script=[BOTH, "Done.", "And more."], instructions="Be brief.")
    first = await harness.run("Go")
    second = await harness.run("On", history=first.result.history)

    assert isinstance(harness.model, ScriptedModel)
    assert first.requests == harness.model.requests[:2]
    assert second.requests == harness.model.requests[2:]
    assert first.requests[0].system == "Be brief."


async def test_without_a_script_each_tool_is_called_once() -> None:
    outcome = await Harness(tools=[port_status, shut_port]).run("Go")

    assert [one.tool for one in outcome.calls] == ["port_status", "shut_port"]
    outcome.assert_answered("done")


async def test_two_harnesses_made_alike_give_the_same_record_to_the_byte() -> None:
    def made() -> Harness:
        return Harness(OfficeHours(), tools=[port_status], script=[call("port_status", switch="A"), "Done."])

    one, other = await made().run("Go"), await made().run("Go")
    assert list(one.record.to_lines()) == list(other.record.to_lines())
    assert_same_events(one, other)


class Asking(Plugin):
    """Asks before anything changes."""

    name = "asking"

    @hookimpl(phase="fill")
    def before_tool(self, call: Any, batch: Any) -> AskPerson | Allow | None:
        if not call.mutating:
            return None
        answers = batch.answers.get("asking")
        return AskPerson([AskField("why", "Why?")]) if not answers else None


async def test_a_pause_is_asserted_and_resumed() -> None:
    harness = Harness(Asking(), tools=[port_status, shut_port], script=[BOTH, "Done."])
    waiting = (await harness.run("Go")).assert_paused("shut_port")

    assert [c.answer for c in waiting.hook_calls("before_tool")] == ["None", "AskPerson"]
    with pytest.raises(AssertionError, match=r"the run is paused: \['Why\?'\], not answered"):
        waiting.assert_answered()
    with pytest.raises(AssertionError, match="the questions are about"):
        waiting.assert_paused("port_status")
    with pytest.raises(RunPausedError):
        _ = waiting.text
    done = await harness.resume(waiting, harness.answers(waiting, "because"))
    done.assert_answered("Done.")
    assert [(c.tool, c.answer) for c in done.hook_calls("before_tool")] == [("shut_port", "None")]
    with pytest.raises(AssertionError, match="there is nothing to resume; the run is answered"):
        await harness.resume(done, approve())


class Refusing(Plugin):
    """Refuses answers, or halts at a call."""

    name = "refusing"

    class Settings(Plugin.Settings):
        halts: bool = False

    @hookimpl(phase="authorize")
    def before_tool(self, call: Any) -> Halt | None:
        return Halt("enough") if self.settings.halts else None

    @hookimpl(phase="claims")
    def assess_answer(self, draft: Any) -> Refuse:
        return Refuse(ValueError("not like this"))


async def test_refusals_are_asserted_with_who_refused() -> None:
    (await Harness(Refusing(), script=["Hi."]).run("Go")).assert_refused(by="refusing")
    halted = await Harness(Refusing(halts=True), tools=[port_status], script=[call("port_status", switch="A")]).run("Go")
    halted.assert_refused("refusing")

    with pytest.raises(AssertionError, match="the run was refused by 'refusing', not by 'other'"):
        halted.assert_refused(by="other")
    with pytest.raises(AssertionError, match=r"the run is refused by 'refusing': enough, not answered"):
        halted.assert_answered()


async def test_an_unexpected_end_names_the_limit_and_the_plugins_that_failed() -> None:
    early = await Harness(
        Watching(),
        tools=[shut_port],
        script=[call("shut_port", port=1), call("shut_port", port=2)],
        limits=Limits(iterations=1, wrap_up=False),
    ).run("Go")

    with pytest.raises(AssertionError, match="the run is stopped_early: max-iterations, not answered"):
        early.assert_answered()
    outcome = await Harness(Watching(), tools=[shut_port], script=[call("shut_port", port=1), "Done."]).run("Go")
    with pytest.raises(AssertionError, match=r"plugin watching failed in after_result note: RuntimeError: over a denied call"):
        outcome.assert_refused()
    with pytest.raises(AssertionError, match=r"the answer is 'Done\.', not 'Other'"):
        outcome.assert_answered("Other")


@event("acme.seen.list")
class Wrong(Payload):
    """Holds what it must not."""

    items: tuple[str, ...]


class Emitting(Plugin):
    """Emits a list."""

    name = "emitting"

    @hookimpl(phase="screen")
    def before_tool(self, run: Any) -> None:
        run.emit(Wrong(["x"]))  # type: ignore[arg-type]


async def test_payloads_are_checked_as_they_are_filed() -> None:
    outcome = await Harness(Emitting(), tools=[port_status], script=[call("port_status", switch="A"), "Done."]).run("Go")

    assert [failed.error_class for failed in outcome.failures] == ["RecordFormatError"]


async def test_runs_at_once_keep_their_hook_calls_apart() -> None:
    @tool
    async def slow() -> str:
        """Lets others run."""
        await anyio.lowlevel.checkpoint()
        return "done"

    harness = Harness(
        OfficeHours(), tools=[slow], model=ScriptedModel(lambda r: "Done." if r.messages[-1].role == "tool" else call("slow"))
    )
    outcomes: list[Outcome] = []

    async def go() -> None:
        outcomes.append(await harness.run("Go"))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(go)
    assert [len(outcome.hook_calls("before_tool")) for outcome in outcomes] == [1] * 5


async def test_another_agent_with_the_same_plugin_object_is_not_watched() -> None:
    plugin = OfficeHours()
    harness = Harness(plugin, tools=[shut_port], script=[call("shut_port", port=3), "Done."])
    outcome = await harness.run("Go")
    before = len(outcome.hook_calls())
    await Harness(plugin, tools=[shut_port], script=[call("shut_port", port=3), "Done."]).run("Go")

    assert len(outcome.hook_calls()) == before


async def test_what_a_run_fails_with_comes_through() -> None:
    with pytest.raises(AgentfpError, match="the script has no reply"):
        await Harness(script=[]).run("Go")


async def test_the_memo_of_a_plugin_is_read_from_the_record() -> None:
    class Calls(Plugin):
        """Counts calls."""

        name = "calls"
        memo_events = ("agentfp.tool.started",)

        def initial(self) -> int:
            return 0

        def fold(self, state: int, event: Any) -> int:
            return state + 1

    outcome = await Harness(Calls(), tools=[port_status, shut_port], script=[BOTH, "Done."]).run("Go")
    assert outcome.memo(Calls) == 2
