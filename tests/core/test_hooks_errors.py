"""What happens when a hook raises, answers nonsense or does not end: by phase, closed where it guards, isolated where it watches."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentfp import AnswerRefusedError, ConfigError, MessageDeniedError, PluginError, RunCheckpointError
from agentfp.events import AnswerNotAssessed, AnswerRefused, PluginFailed
from agentfp.plugin import PHASES, Note, Plugin, RequestDraft, Run, hookimpl
from agentfp_core import calling, leg
from tests.core.running import ScriptedModel, answering, call, check_record, last_request, outcomes, says, tool_texts

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("soon")]

FAILED = "This call could not be checked and was not run. Go on without it."
WITHHELD = "This result is withheld. Go on without it."
FAILS_RUN = ("window", "activate", "compose", "seal")
DROPS = ("route", "deliver", "overlay", "annotate")


def look(n: int = 0) -> str:
    """Look."""
    return f"seen {n}"


def broken(moment: str, phase: str | None, how: str, *, per: Any = "call", called: str = "broken", refuse: bool = False) -> Plugin:
    """A plugin whose one hook goes wrong."""

    def raises(self: Plugin) -> None:
        raise LookupError("no table")

    async def later(self: Plugin) -> None:
        await anyio.lowlevel.checkpoint()
        raise LookupError("no table")

    async def hangs(self: Plugin) -> None:
        await anyio.sleep_forever()

    def nonsense(self: Plugin) -> Any:
        return "yes"

    function = {"raises": raises, "later": later, "hangs": hangs, "nonsense": nonsense}[how]
    function.__name__ = f"at_{moment}"
    hook: Any = hookimpl(moment=moment, phase=phase, per=per)(function)

    class Settings(Plugin.Settings):
        refuse_on_failure: bool = refuse

    made: Plugin = type(called, (Plugin,), {"name": called, "Settings": Settings, f"at_{moment}": hook})()
    return made


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a hook is up almost at once."""
    defaults: Any = calling.each.__kwdefaults__
    monkeypatch.setitem(defaults, "seconds", 0.02)
    monkeypatch.setattr(leg, "FINISH_SECONDS", 0.02)


def failures(result: Any) -> list[tuple[str, str, str, str]]:
    return [(f.plugin, f.moment, f.phase, f.policy) for f in check_record(result).of(PluginFailed)]


HOW = ["raises", "later", "hangs", "nonsense"]


# --- serve_context -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", FAILS_RUN)
@pytest.mark.parametrize("how", HOW)
async def test_a_request_that_cannot_go_out_fails_the_run_and_names_the_plugin(phase: str, how: str) -> None:
    agent = answering("never", plugins=[broken("serve_context", phase, how)])
    seen: list[Any] = []
    with pytest.raises(
        PluginError, match=f"plugin 'broken' failed in phase '{phase}' of serve_context; the request was not sent"
    ) as caught:
        await agent.run("go", on_event=seen.append)
    assert (caught.value.plugin, caught.value.moment) == ("broken", "serve_context")
    assert caught.value.__cause__ is not None
    model: Any = agent.model
    assert model.requests == []
    assert [event.payload.policy for event in seen if isinstance(event.payload, PluginFailed)] == ["run-failed"]


class Writes(Plugin):
    """Writes into the request in every phase it can, and fails in one that only decorates."""

    name = "writes"

    class Settings(Plugin.Settings):
        fails_in: str

    @hookimpl(moment="serve_context", phase="compose")
    def compose(self, draft: RequestDraft) -> None:
        draft.add_piece("a", "WRITTEN")
        draft.add_late_line("b", "WRITTEN LATE")
        draft.use_model(ScriptedModel([], name="other"))

    def fail(self, draft: RequestDraft, phase: str) -> None:
        if phase == self.settings.fails_in:
            draft.deliver("user", "WRITTEN TO STAY")
            raise LookupError("no table")

    @hookimpl(moment="serve_context", phase="route")
    def route(self, draft: RequestDraft) -> None:
        self.fail(draft, "route")

    @hookimpl(moment="serve_context", phase="deliver")
    def deliver(self, draft: RequestDraft) -> None:
        self.fail(draft, "deliver")

    @hookimpl(moment="serve_context", phase="overlay")
    def overlay(self, draft: RequestDraft) -> None:
        self.fail(draft, "overlay")

    @hookimpl(moment="serve_context", phase="annotate")
    def annotate(self, draft: RequestDraft) -> None:
        self.fail(draft, "annotate")


class Beside(Plugin):
    name = "beside"

    @hookimpl(phase="annotate")
    def serve_context(self, draft: RequestDraft) -> None:
        draft.add_piece("c", "FROM BESIDE")


@pytest.mark.parametrize("phase", ["overlay", "annotate"])
async def test_a_plugin_that_only_decorates_loses_its_edits_of_the_call(phase: str) -> None:
    agent = answering("fine", plugins=[Writes(fails_in=phase), Beside()], instructions="Be brief.")
    result = await agent.run("go")
    assert failures(result) == [("writes", "serve_context", phase, "edits-dropped")]
    assert last_request(agent).system == "Be brief.\n\nFROM BESIDE"
    assert [m.content for m in last_request(agent).messages] == ["go"]
    assert (result.text, [m.content for m in result.history]) == ("fine", ["go", "fine"])


@pytest.mark.parametrize("phase", DROPS)
@pytest.mark.parametrize("how", HOW)
async def test_a_decoration_that_fails_leaves_the_run_as_it_is(phase: str, how: str) -> None:
    result = await answering("fine", plugins=[broken("serve_context", phase, how)]).run("go")
    assert (result.text, failures(result)) == ("fine", [("broken", "serve_context", phase, "edits-dropped")])
    assert result.plugin_failures == {"broken": 1}


async def test_the_sealed_request_cannot_be_edited() -> None:
    class Late(Plugin):
        name = "late"

        @hookimpl(phase="seal")
        def serve_context(self, draft: RequestDraft) -> None:
            draft.add_piece("a", "x")

    with pytest.raises(PluginError, match="phase 'seal'"):
        await answering("never", plugins=[Late()]).run("go")


async def test_a_later_request_that_cannot_go_out_leaves_a_checkpoint() -> None:
    class Second(Plugin):
        name = "second"

        @hookimpl(phase="window")
        def serve_context(self, run: Run[Any]) -> None:
            if run.iteration == 2:
                raise LookupError("no table")

    with pytest.raises(RunCheckpointError) as caught:
        await answering(call("look"), "never", tools=[look], plugins=[Second()]).run("go")
    assert isinstance(caught.value.__cause__, PluginError)
    assert tool_texts(caught.value.checkpoint.record.history) == ["seen 0"]


# --- before_tool ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [phase for phase in PHASES["before_tool"] if phase != "validate"])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("per", ["call", "batch"])
async def test_a_gate_that_fails_refuses_the_call(phase: str, how: str, per: str) -> None:
    ran: list[int] = []

    def work(n: int) -> str:
        """Work."""
        ran.append(n)
        return "worked"

    calls = [call("work", n=1, id="c1"), call("work", n=2, id="c2")]
    agent = answering(calls, "fine", tools=[work], plugins=[broken("before_tool", phase, how, per=per)])
    result = await agent.run("go")
    assert (ran, outcomes(result.record)) == ([], {"c1": "denied", "c2": "denied"})
    assert tool_texts(result.history) == [FAILED, FAILED]
    assert failures(result) == [("broken", "before_tool", phase, "call-refused")] * (1 if per == "batch" else 2)
    assert "no table" not in "".join(message.text for message in result.history)


async def test_a_gate_that_fails_over_one_call_refuses_that_one() -> None:
    class Picky(Plugin):
        name = "picky"

        @hookimpl(phase="authorize")
        def before_tool(self, call: Any) -> None:
            if call.arguments["n"] == 1:
                raise LookupError("no table")

    calls = [call("look", n=n, id=f"c{n}") for n in range(3)]
    result = await answering(calls, "fine", tools=[look], plugins=[Picky()]).run("go")
    assert tool_texts(check_record(result).history) == ["seen 0", FAILED, "seen 2"]


# --- after_result -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["check", "rewrite", "place", "note", "judge"])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("per", ["call", "batch"])
async def test_a_reader_that_fails_withholds_or_is_skipped(phase: str, how: str, per: str) -> None:
    agent = answering([call("look", n=1), call("look", n=2)], "fine", tools=[look], plugins=[broken("after_result", phase, how, per=per)])
    result = await agent.run("go")
    guards = phase in ("check", "rewrite")
    assert tool_texts(result.history) == ([WITHHELD, WITHHELD] if guards else ["seen 1", "seen 2"])
    policy = "result-withheld" if guards else "skipped"
    assert failures(result) == [("broken", "after_result", phase, policy)] * (1 if per == "batch" else 2)
    assert list(outcomes(result.record).values()) == ["success", "success"]


async def test_a_result_that_is_withheld_stays_withheld() -> None:
    from agentfp import ImagePart, ToolReturn
    from agentfp.plugin import Replace

    class Undo(Plugin):
        name = "undo"

        @hookimpl(phase="place")
        def after_result(self) -> Replace:
            return Replace("SECRET")

    def photo() -> ToolReturn:
        """Photo."""
        return ToolReturn("SECRET", parts=(ImagePart("image/png", b"1"),))

    agent = answering(call("photo"), "fine", tools=[photo], plugins=[broken("after_result", "check", "raises"), Undo()])
    result = await agent.run("go")
    assert (result.history[2].content, result.history[2].parts) == (WITHHELD, ())
    assert "SECRET" not in "".join(m.text for m in last_request(agent).messages)


# --- assess_answer ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["rewrite", "claims", "procedure", "evidence", "stand", "append"])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("refuse", [False, True])
async def test_a_judge_that_fails_refuses_or_is_marked(phase: str, how: str, refuse: bool) -> None:
    result = await answering("fine", plugins=[broken("assess_answer", phase, how, refuse=refuse)]).run("go")
    refused = refuse or phase in ("rewrite", "claims")
    assert result.status == ("refused" if refused else "answered")
    assert failures(result) == [("broken", "assess_answer", phase, "answer-refused" if refused else "skipped")]
    if refused:
        assert result.refused_by == "broken"
        with pytest.raises(AnswerRefusedError, match=f"plugin 'broken' failed to judge the answer in phase '{phase}'"):
            result.text  # noqa: B018
        assert [refused.text for refused in result.record.of(AnswerRefused)] == ["fine"]
    else:
        assert result.text == "fine"
        assert result.record.of(AnswerNotAssessed) == [AnswerNotAssessed("broken", phase)]


# --- the others ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", HOW)
async def test_a_message_that_cannot_be_checked_is_not_admitted(how: str) -> None:
    agent = answering("never", plugins=[broken("admit_input", None, how)])
    result = await agent.run("go")
    assert (result.status, len(result.history)) == ("refused", 0)
    assert failures(result) == [("broken", "admit_input", "", "answer-refused")]
    with pytest.raises(MessageDeniedError, match="plugin 'broken' failed to check the message"):
        result.raise_for_status()


@pytest.mark.parametrize("how", HOW)
async def test_the_end_of_a_run_is_not_held_up(how: str) -> None:
    result = await answering("fine", plugins=[broken("finish_run", None, how)]).run("go")
    assert (result.text, failures(result)) == ("fine", [("broken", "finish_run", "", "counted")])


def test_a_plugin_that_fails_while_the_agent_is_built_is_named() -> None:
    with pytest.raises(ConfigError, match="plugin 'broken' failed in configure with LookupError"):
        answering("never", plugins=[broken("configure", None, "raises")])


async def test_every_plugin_lets_go_even_if_one_fails() -> None:
    closed: list[str] = []

    class Lets(Plugin):
        name = "lets"

        @hookimpl
        async def close(self) -> None:
            await anyio.lowlevel.checkpoint()
            closed.append("lets")

    agent = answering("fine", plugins=[broken("close", None, "raises"), broken("close", None, "later", called="other"), Lets()])
    with pytest.raises(PluginError, match=r"'broken'.*'other'"):
        await agent.shutdown()
    assert closed == ["lets"]
    assert (await agent.run("go")).text == "fine"


async def test_a_failing_plugin_stops_no_other_one() -> None:
    class Notes(Plugin):
        name = "notes"

        @hookimpl(phase="judge")
        def after_result(self) -> Note:
            return Note("noted")

    agent = answering(says("", call("look")), "fine", tools=[look], plugins=[broken("after_result", "judge", "raises"), Notes()])
    assert tool_texts((await agent.run("go")).history) == ["seen 0\n\nnoted"]


@pytest.mark.parametrize("moment", ["before_tool", "assess_answer"])
async def test_what_is_no_exception_is_not_swallowed(moment: str) -> None:
    class Stops(BaseException):
        pass

    class Out(Plugin):
        name = "out"

        @hookimpl(moment="before_tool", phase="authorize")
        def gate(self) -> None:
            if moment == "before_tool":
                raise Stops

        @hookimpl(moment="assess_answer", phase="stand")
        def judge(self) -> None:
            raise Stops

    seen: list[Any] = []
    with pytest.raises(Stops):
        await answering(call("look", id="c1"), "fine", tools=[look], plugins=[Out()]).run("go", on_event=seen.append)
    ended = [event.payload.outcome for event in seen if event.name == "agentfp.tool.ended"]
    assert ended == (["cancelled"] if moment == "before_tool" else ["success"])
    assert seen[-1].payload.status == "cancelled"
