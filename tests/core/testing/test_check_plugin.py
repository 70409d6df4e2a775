"""`check_plugin` passes plugins that keep the rules, and finds each broken rule."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar

import pytest

from agentfp import RunningLoopError, configure, tool
from agentfp.events import ToolEnded
from agentfp.model import ModelRequest, ModelResponse, ModelWrapper
from agentfp.plugin import Content, Deny, Event, Name, Note, Number, Payload, Plugin, Refuse, Replace, Revise, event, hookimpl
from agentfp.testing import CheckReport, PluginCheckError, call, check_plugin
from tests.core.testing.office_hours import OfficeHours


def problems_of(plugin: Plugin | Callable[[], Plugin], **options: Any) -> str:
    with pytest.raises(PluginCheckError) as caught:
        check_plugin(plugin, **options)
    assert isinstance(caught.value, AssertionError)
    assert caught.value.report.problems
    return "\n".join(caught.value.report.problems)


def only(check: str, problems: str) -> bool:
    return all(line.startswith(f"[{check}]") for line in problems.splitlines() if line.startswith("["))


# --- plugins that pass ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [OfficeHours, OfficeHours(opens=8), lambda: OfficeHours(closes=20)])
def test_a_plugin_that_keeps_the_rules_passes(made: Any) -> None:
    report = check_plugin(made)

    assert isinstance(report, CheckReport)
    assert report.plugin == "office_hours"
    assert set(report.checks) == {"sharing", "off", "payloads", "cancelling", "events", "resuming", "settings"}
    assert report.problems == []


def test_the_example_of_the_docstring_passes_as_it_stands_there() -> None:
    text = check_plugin.__doc__ or ""
    lines = [line.removeprefix("        ") for line in text.splitlines()]
    start = next(index for index, line in enumerate(lines) if line.startswith("from agentfp import tool"))
    end = next(index for index, line in enumerate(lines) if line.startswith("async def test_nothing_changes"))
    space: dict[str, Any] = {"__name__": "example"}
    exec("\n".join(lines[start:end]), space)

    space["test_keeps_the_rules_of_plugins"]()


@event("agentfp.counting.seen")
class Seen(Payload):
    """A call was seen."""

    tool: Name[str]
    text: Content[str] = ""


class Counting(Plugin):
    """Counts calls, tells the model, and watches everything at every moment."""

    name = "counting"
    events = (Seen,)
    memo_events = (Seen.event_name,)

    @hookimpl(phase="annotate")
    async def serve_context(self, draft: Any, run: Any) -> None:
        await asyncio.sleep(0)
        draft.add_late_line("count", f"{run.memo(self)} calls were seen.")

    @hookimpl(phase="screen")
    def before_tool(self, call: Any, run: Any) -> None:
        run.emit(Seen(call.name), call_id=call.id)

    @hookimpl(moment="before_tool", phase="resolve", per="batch")
    async def look(self, batch: Any, run: Any) -> None:
        await asyncio.sleep(0)

    @hookimpl(phase="note")
    def after_result(self, result: Any) -> Note:
        return Note(f"{len(result.content)} characters")

    @hookimpl(phase="append")
    def assess_answer(self, draft: Any) -> Replace:
        return Replace(draft.text + " That is all.")

    @hookimpl
    def export_event(self, event: Any) -> None:
        assert event.name

    @hookimpl
    async def admit_input(self, message: Any) -> None:
        await asyncio.sleep(0)

    def initial(self) -> int:
        return 0

    def fold(self, state: int, event: Event) -> int:
        return state + 1


def test_a_plugin_with_a_memo_and_hooks_at_every_moment_passes() -> None:
    report = check_plugin(Counting)

    assert report.problems == []
    assert any("export_event takes" in note and "µs" in note for note in report.notes)


class Sending(Plugin):
    """Sends each answer back once, and refuses what it does not like."""

    name = "sending"

    @hookimpl(phase="evidence")
    def assess_answer(self, draft: Any) -> Revise | Refuse | None:
        if "404" in draft.text:
            return Refuse(ValueError("no"))
        return Revise(["Say it better."], key="style") if draft.may_revise else None


def test_a_plugin_that_revises_and_refuses_passes() -> None:
    assert check_plugin(Sending()).problems == []


class Strict(Plugin):
    """Denies every call."""

    name = "strict"

    @hookimpl(phase="screen")
    def before_tool(self, call: Any) -> Deny:
        return Deny("never")


def test_a_plugin_that_denies_everything_passes_and_the_report_says_what_was_not_reached() -> None:
    report = check_plugin(Strict())

    assert report.problems == []
    assert any("paused 0 times" in note for note in report.notes)


# --- state where none may be ----------------------------------------------------------------------------------------------------------


class OnSelf(Plugin):
    """Keeps what it saw on itself."""

    name = "on_self"

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    @hookimpl(phase="authorize")
    def before_tool(self, call: Any) -> None:
        self.seen.append(call.name)


def test_state_on_the_plugin_object_is_found_and_named() -> None:
    found = problems_of(OnSelf())

    assert "[sharing] the plugin object changed during runs: self.seen" in found
    assert only("sharing", found)


def test_an_attribute_that_belongs_to_no_run_may_change_when_it_is_named() -> None:
    assert check_plugin(OnSelf(), may_change=["seen"]).problems == []


_heard: list[str] = []


class Leaking(Plugin):
    """Tells the model of one run what it heard in another."""

    name = "leaking"

    @hookimpl(phase="annotate")
    def serve_context(self, draft: Any, run: Any) -> None:
        draft.add_piece("heard", " / ".join(_heard[-6:]))
        _heard.extend(message.text for message in run.history)


def test_text_of_one_run_in_another_is_found_through_a_global() -> None:
    _heard.clear()
    found = problems_of(Leaking())

    assert "text of another run stands in event agentfp.context.blob" in found
    assert "two runs of one script differ" in found


_count = itertools.count(1)


class Numbering(Plugin):
    """Numbers all calls of the process."""

    name = "numbering"

    @hookimpl(phase="note")
    def after_result(self, result: Any) -> Note:
        return Note(f"result {next(_count)}")


def test_a_counter_beside_the_plugin_is_found_by_running_a_script_twice() -> None:
    found = problems_of(Numbering())

    assert "[sharing] two runs of one script differ" in found


# --- off ----------------------------------------------------------------------------------------------------------------------------


class Everywhere(Plugin):
    """Switches itself on for the whole process."""

    name = "everywhere"

    def __init__(self) -> None:
        super().__init__()
        configure(plugins=[OfficeHours()])


def test_a_plugin_that_is_on_without_being_listed_is_found() -> None:
    before = configure()
    try:
        found = problems_of(Everywhere)
    finally:
        configure(plugins=before.plugins, dev=before.dev)

    assert "[off] a run without the plugin is another one since the plugin was made" in found
    assert "[off] the process-wide defaults are others" in found


class Switch(Plugin):
    """Has a switch of its own."""

    name = "switch"

    class Settings(Plugin.Settings):
        enabled: bool = True
        heeds: bool = True

    @hookimpl(phase="compose")
    def serve_context(self, draft: Any) -> None:
        if self.settings.enabled or not self.settings.heeds:
            draft.add_piece("hello", "Be kind.")


def test_a_switch_of_the_plugins_own_must_leave_nothing_of_it() -> None:
    assert check_plugin(Switch()).problems == []

    assert "[off] with enabled=False the requests are others" in problems_of(Switch(heeds=False))


# --- odd payloads -----------------------------------------------------------------------------------------------------------------------


class Trusting(Plugin):
    """Takes every call to have a text."""

    name = "trusting"

    @hookimpl(phase="authorize")
    def before_tool(self, call: Any) -> Deny | None:
        return Deny("no") if call.arguments["text"] == "bad" else None


def test_a_hook_that_raises_over_an_odd_payload_is_found_with_the_payload_and_the_policy() -> None:
    found = problems_of(Trusting())

    assert "[payloads] over a call without arguments, before_tool (authorize) raised KeyError: 'text' (policy: call-refused)" in found
    assert "over arguments that are no JSON" in found
    assert "over a batch of forty calls" in found


def test_hooks_may_raise_when_the_author_says_so() -> None:
    assert check_plugin(Trusting(), may_fail=True).problems == []


class FirstWord(Plugin):
    """Takes every answer to have a word."""

    name = "first_word"

    @hookimpl(phase="rewrite")
    def assess_answer(self, draft: Any) -> Replace:
        return Replace(draft.text.split()[0])


def test_an_empty_answer_is_among_the_payloads() -> None:
    assert "[payloads] over an empty answer, assess_answer (rewrite) raised IndexError" in problems_of(FirstWord())


class OnlyOwn(Plugin):
    """Fails over one tool of the application only."""

    name = "only_own"

    @hookimpl(phase="note")
    def after_result(self, call: Any) -> None:
        if call.name == "own_tool":
            raise RuntimeError("over its own tool")


@tool
async def own_tool(text: str) -> str:
    """Gives a text back."""
    return text


def test_a_script_and_tools_of_the_author_are_run_too() -> None:
    assert check_plugin(OnlyOwn()).problems == []

    found = problems_of(OnlyOwn(), tools=[own_tool], script=[call("own_tool", text="x"), "Done."])
    assert "[payloads] over the script given to check_plugin, after_result (note) raised RuntimeError: over its own tool" in found


# --- cancelling -------------------------------------------------------------------------------------------------------------------------


class Swallowing(Plugin):
    """Lets nothing disturb it."""

    name = "swallowing"

    @hookimpl(phase="annotate")
    async def serve_context(self, draft: Any) -> None:
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return


def test_a_swallowed_cancellation_is_found_in_its_hook() -> None:
    found = problems_of(Swallowing())

    assert "[cancelling] a run cancelled in serve_context (annotate) went on to its end: CancelledError was swallowed" in found
    assert only("cancelling", found)


class Converting(Plugin):
    """Makes an error of its own of every cancellation."""

    name = "converting"

    @hookimpl(phase="resolve")
    async def before_tool(self, call: Any) -> None:
        try:
            await asyncio.sleep(0)
        except BaseException as error:
            raise RuntimeError("something happened") from error


def test_a_cancellation_that_becomes_an_error_is_found() -> None:
    assert "[cancelling] a run cancelled in before_tool (resolve) went on to its end" in problems_of(Converting())


class Stubborn(ModelWrapper):
    """Answers when it is cancelled."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        try:
            return await self.inner.complete(request)
        except asyncio.CancelledError:
            return ModelResponse(text="Nothing happened.")

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelResponse]:
        yield await self.complete(request)


class Wrapping(Plugin):
    """Serves each call with a wrapped model."""

    name = "wrapping"

    @hookimpl(phase="route")
    def serve_context(self, draft: Any, run: Any) -> None:
        draft.use_model(Stubborn(run.model))


def test_a_cancellation_that_a_plugins_model_swallows_is_found() -> None:
    assert "[cancelling] a run cancelled in a model call went on to its end" in problems_of(Wrapping())


class Settling(Plugin):
    """Closes calls when a run was cancelled, as if it were the kernel, which does that."""

    name = "settling"

    @hookimpl
    def finish_run(self, run: Any, outcome: str) -> None:
        if outcome == "cancelled":
            for ended in run.record.events(ToolEnded.event_name):
                if ended.payload.outcome == "cancelled":
                    run.emit(ToolEnded("cancelled", 0, "again"), call_id=ended.call_id, source="kernel")


def test_a_second_outcome_of_a_cancelled_call_is_found() -> None:
    found = problems_of(Settling(), may_emit=[ToolEnded.event_name])

    assert "[cancelling] after a run was cancelled in a tool: call c_check_wait of 'check_wait' has 1 starts and 2 outcomes" in found


# --- memos --------------------------------------------------------------------------------------------------------------------------------


class BesideTheFold(Plugin):
    """Changes its memo in a hook."""

    name = "beside_the_fold"
    events = (Seen,)
    memo_events = ("agentfp.tool.ended",)

    @hookimpl(phase="authorize")
    def before_tool(self, call: Any, run: Any) -> None:
        run.memo(self)["authorized"] += 1

    def initial(self) -> dict[str, int]:
        return {"authorized": 0, "ended": 0}

    def fold(self, state: dict[str, int], event: Event) -> dict[str, int]:
        state["ended"] += 1
        return state


def test_a_memo_that_a_hook_changes_is_found() -> None:
    found = problems_of(BesideTheFold())

    assert "[resuming] the memo of a live run is not the memo read from the JSON of a pause: ['authorized']: 2 became 0" in found
    assert only("resuming", found)


class OnTheRun(Plugin):
    """Keeps on the run what it should fold: gone with the leg."""

    name = "on_the_run"

    @hookimpl(phase="authorize")
    def before_tool(self, call: Any, run: Any) -> None:
        run.authorized = [*getattr(run, "authorized", []), call.name]

    @hookimpl(phase="annotate")
    def serve_context(self, draft: Any, run: Any) -> None:
        draft.add_late_line("seen", f"Authorized: {getattr(run, 'authorized', [])}")


def test_what_is_kept_beside_the_record_and_lost_at_a_pause_is_found() -> None:
    found = problems_of(OnTheRun())

    assert "after a pause is served another request than in the same run without pauses" in found
    assert check_plugin(OnTheRun(), compare_uninterrupted=False).problems == []


_elsewhere: dict[int, int] = {}


class OnTheObject(Plugin):
    """Keeps what shapes requests by its own identity: another process has another."""

    name = "on_the_object"

    @hookimpl(phase="screen")
    def before_tool(self, call: Any) -> None:
        _elsewhere[id(self)] = 1

    @hookimpl(phase="annotate")
    def serve_context(self, draft: Any) -> None:
        draft.add_late_line("known", "known" if id(self) in _elsewhere else "unknown")


def test_a_request_that_is_another_one_in_another_process_is_found() -> None:
    found = problems_of(OnTheObject)

    assert "[resuming] after pause 1, a run resumed from JSON serves another request than the run that went on" in found


@event("agentfp.diagnosing.seen", kind="diagnostic")
class Diagnosed(Payload):
    """Stands on the record only, not in checkpoints."""

    tool: Name[str]


class Diagnosing(Plugin):
    """Folds what no checkpoint holds."""

    name = "diagnosing"
    events = (Diagnosed,)
    memo_events = (Diagnosed.event_name,)

    @hookimpl(phase="screen")
    def before_tool(self, call: Any, run: Any) -> None:
        run.emit(Diagnosed(call.name))

    def initial(self) -> int:
        return 0

    def fold(self, state: int, event: Event) -> int:
        return state + 1


def test_a_memo_of_diagnostic_events_is_found() -> None:
    assert "[resuming] the memo of a live run is not the memo read from the JSON of a pause" in problems_of(Diagnosing())


# --- events -------------------------------------------------------------------------------------------------------------------------------


class Undeclared(Plugin):
    """Emits what it does not declare."""

    name = "counting"

    @hookimpl(phase="screen")
    def before_tool(self, call: Any, run: Any) -> None:
        run.emit(Seen(call.name))


def test_an_undeclared_event_is_found() -> None:
    found = problems_of(Undeclared())

    assert "[events] event 'agentfp.counting.seen' is emitted and not declared; put Seen into the class's events" in found


@event("agentfp.counting.listed")
class Listed(Payload):
    """Holds what cannot stand on a record."""

    tools: Name[Any]


class Listing(Plugin):
    """Puts a list into a payload."""

    name = "counting"
    events = (Listed,)

    @hookimpl(phase="screen")
    def before_tool(self, call: Any, run: Any) -> None:
        run.emit(Listed([call.name]))


def test_a_list_in_a_payload_is_found() -> None:
    found = problems_of(Listing())

    assert "[events] event 'agentfp.counting.listed' has a payload that cannot stand on a record" in found
    assert "list" in found


@event("agentfp.counting.wrong")
class Wrong(Payload):
    """Says that it holds a number."""

    count: Number[int]


class Mistaken(Plugin):
    """Puts a text where a number belongs."""

    name = "counting"
    events = (Wrong,)

    @hookimpl(phase="screen")
    def before_tool(self, call: Any, run: Any) -> None:
        run.emit(Wrong("three"))  # type: ignore[arg-type]


def test_a_value_of_another_type_than_declared_is_found() -> None:
    assert "[events] event 'agentfp.counting.wrong' has a payload that cannot stand on a record" in problems_of(Mistaken())


@event("agentfp.tool.counted")
class InToolDomain(Payload):
    """Pretends to be the kernel's."""

    tool: Name[str]


class Intruding(Plugin):
    """Emits in a domain of the kernel."""

    name = "intruding"
    events = (InToolDomain,)

    @hookimpl(phase="screen")
    def before_tool(self, call: Any, run: Any) -> None:
        run.emit(InToolDomain(call.name))


def test_an_event_in_a_domain_of_others_is_found() -> None:
    assert "event 'agentfp.tool.counted' is in a domain of others; call it agentfp.intruding.counted" in problems_of(Intruding())
    assert check_plugin(Intruding(), may_emit=["agentfp.tool.counted"]).plugin == "intruding"


# --- settings, and the rest -------------------------------------------------------------------------------------------------------------


class Lax(Plugin):
    """Takes any setting."""

    name = "lax"

    class Settings(Plugin.Settings):
        model_config: ClassVar[Any] = {"extra": "ignore"}


class Silent(Plugin):
    name = "silent"


def test_unknown_settings_are_found_and_a_missing_docstring_is_noted() -> None:
    assert "[settings] Settings takes an unknown setting silently" in problems_of(Lax())
    report = check_plugin(Silent())
    assert [note for note in report.notes if note.startswith("class Silent has no docstring")]


class Needy(Plugin):
    """Needs another plugin."""

    name = "needy"
    requires = ("office_hours",)


def test_a_plugin_that_cannot_be_built_is_reported_and_its_needs_can_be_met() -> None:
    assert "[settings] no agent can be built with it: plugin 'needy' needs plugin 'office_hours'" in problems_of(Needy())
    assert check_plugin(Needy(), others=[OfficeHours()]).problems == []


class AllWrong(OnSelf):
    name = "all_wrong"

    @hookimpl(phase="note")
    def after_result(self, call: Any) -> None:
        call.arguments["text"]


def test_all_problems_are_listed_in_one_error() -> None:
    with pytest.raises(PluginCheckError) as caught:
        check_plugin(AllWrong())

    text = str(caught.value)
    assert "[sharing]" in text
    assert "[payloads]" in text
    assert text.startswith("plugin 'all_wrong': 7 checks;")


class WithDeps(Plugin):
    """Reads the deps and the options of a run."""

    name = "with_deps"

    class RunOptions(Plugin.RunOptions):
        loud: bool = False

    @hookimpl(phase="compose")
    def serve_context(self, draft: Any, run: Any) -> None:
        assert run.options(self).loud
        draft.add_piece("who", run.deps["who"])


def test_deps_and_options_reach_the_runs() -> None:
    assert check_plugin(WithDeps(), deps={"who": "Ann"}, options={"with_deps": {"loud": True}}).problems == []


@pytest.mark.anyio
async def test_it_is_not_called_in_a_running_loop() -> None:
    with pytest.raises(RunningLoopError):
        check_plugin(OfficeHours())


def test_a_report_is_a_dataclass_that_reads_well() -> None:
    report = check_plugin(OfficeHours())

    assert dataclasses.is_dataclass(report)
    assert str(report) == "plugin 'office_hours': 7 checks, no problems"
