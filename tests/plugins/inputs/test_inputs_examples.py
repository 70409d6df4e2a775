"""What happens to a ruled argument: filled, asked for, run as sent; and what the record says of it."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from agentfp import InputRequestError, approve, tool
from agentfp.events import PluginFailed
from agentfp.plugin import Allow, CallView, Deny, Plugin, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_inputs import Assume, FromPerson, Inputs
from agentfp_inputs.events import Asking, Rewritten
from tests.plugins.inputs.meters import agent, count_meters, prompts, read_meter, results, row, sources, stored

pytestmark = pytest.mark.anyio


async def test_a_value_that_is_left_out_is_assumed_and_said_to_be() -> None:
    model = ScriptedModel([call("read_meter", site="A", span="6h"), "Done."])
    result = await agent(model).run("Read A over 6h.")
    assert results(result) == ["readings of A over 6h, 20 at most"]
    assert (row(result, "top").source, row(result, "top").value, row(result, "top").ran) == ("default", "20", True)
    assert "proposed" not in row(result, "top").details
    assert model.requests[1].messages[-1].text.endswith("\n\ntop of read_meter was assumed to be 20; nobody gave it.")
    assert [(one.argument, one.value, one.hidden) for one in Inputs.assumed(result)] == [("top", "20", False)]


@pytest.mark.parametrize(("sent", "source", "proposed"), [(20, "default", "20"), (35, "model", None), (20.0, "default", "20.0")])
async def test_a_value_that_the_model_sends_runs_as_sent(sent: Any, source: str, proposed: str | None) -> None:
    result = await agent([call("read_meter", site="A", span="6h", top=sent), "Done."]).run("Read A over 6h.")
    assert results(result) == [f"readings of A over 6h, {int(sent)} at most"]
    assert (row(result, "top").source, row(result, "top").details.get("proposed")) == (source, proposed)
    assert sources(result, "span") == ["model"]


@pytest.mark.parametrize(("sent", "missing"), [("   ", True), (None, True), ("", True), ("6h", False)])
async def test_a_blank_text_and_null_are_missing(sent: Any, missing: bool) -> None:
    result = await agent([call("read_meter", site="A", span=sent), "Done."]).run("Read A.")
    assert result.paused == missing


async def test_zero_and_false_are_values() -> None:
    @tool
    async def dim(level: Annotated[int, FromPerson("How bright?")], fade: Annotated[bool, FromPerson("Slowly?")]) -> str:
        """Dim the light."""
        return f"{level} {fade}"

    result = await agent([call("dim", level=0, fade=False), "Done."], tools=[dim]).run("Off.")
    assert results(result) == ["0 False"]


async def test_the_arguments_of_a_batch_are_asked_for_at_once_and_nothing_runs_before() -> None:
    ran: list[str] = []

    @tool
    async def note(text: str) -> str:
        """Write something down."""
        ran.append(text)
        return "noted"

    batch = [call("note", text="x"), call("read_meter", site="A"), call("read_meter", site="B"), call("count_meters", site="A")]
    asking = agent([batch, "Done."], tools=[note, read_meter, count_meters])
    result = await asking.run("Read A and B.")
    assert result.status == "paused"
    assert ran == []
    assert prompts(result) == ["How far back should the readings go?", "How many at most?"], "one question for two calls"
    assert result.pause is not None
    (fields,) = {str(question.context) for question in result.pause.questions}
    assert "'id': 'f1'" in fields
    assert [len(one["calls"]) for one in result.pause.questions[0].context["agentfp"]["fields"]] == [2, 1]
    span, most = result.pause.questions
    assert (span.schema, most.schema) == ({"type": "string", "enum": ["30d", "6h", "1d"]}, {"type": "number"})
    result = await asking.resume(stored(result), {span.id: "1d", most.id: 4})
    assert results(result) == ["noted", "readings of A over 1d, 20 at most", "readings of B over 1d, 20 at most", "4 meters at A"]
    assert sources(result, "span") == ["asked:missing", "asked:missing", "answered", "answered"]
    assert len(result.record.of(Asking)) == 1


async def test_the_resume_adds_no_model_call() -> None:
    model = ScriptedModel([call("read_meter", site="A"), "Done."])
    asking = agent(model)
    paused = await asking.run("Read A.")
    await asking.resume(stored(paused), "1d")
    assert len(model.requests) == 2


async def test_an_answer_that_does_not_fit_is_asked_for_again_and_refuses_its_call_alone_in_the_end() -> None:
    batch = [call("count_meters", site="A"), call("read_meter", site="B", span="6h")]
    model = ScriptedModel([batch, "Done."])
    asking = agent(model)
    result = await asking.run("Count.")
    for number, (wrong, again) in enumerate([(2.5, True), (3, True), (-2, False)], 1):
        assert len(prompts(result)) == 1
        if number > 1:
            assert prompts(result)[0].startswith("That answer does not fit: a whole number, at least 1, a multiple of 2 is needed.")
        result = await asking.resume(stored(result), wrong)
        assert result.paused == again
    assert result.status == "answered"
    assert [message.failed for message in result.history if message.role == "tool"] == [True, False]
    assert results(result)[1] == "readings of B over 6h, 20 at most"
    assert "no answer was a whole number" in results(result)[0]
    assert "2.5" not in results(result)[0]
    assert sources(result, "most") == ["asked:missing", "asked:invalid-answer", "asked:invalid-answer", "asked:invalid-answer"]
    assert row(result, "most").ran is False


async def test_an_answer_that_is_none_of_the_choices_stays_at_the_door() -> None:
    asking = agent([call("read_meter", site="A"), "Done."])
    result = await asking.run("Read A.")
    pause = stored(result)
    with pytest.raises(InputRequestError):
        await asking.resume(pause, "2w")
    assert (await asking.resume(pause, "1d")).status == "answered"


async def test_a_float_that_is_whole_is_an_integer() -> None:
    asking = agent([call("count_meters", site="A"), "Done."])
    result = await asking.resume(stored(await asking.run("Count.")), 4.0)
    assert results(result) == ["4 meters at A"]


class Refuses(Plugin):
    """Denies the first call of a tool, after its arguments are there."""

    name = "refuses"

    class Settings(Plugin.Settings):
        calls: int = 1

    @hookimpl(moment="before_tool", phase="authorize")
    def decide(self, call: CallView, run: Any) -> Deny | None:
        return Deny("not yet") if run.iteration <= self.settings.calls else None


async def test_the_answer_for_a_call_that_is_refused_is_kept_for_the_next() -> None:
    script = [call("read_meter", site="A"), call("read_meter", site="A"), call("read_meter", site="B", span="6h"), "Done."]
    asking = agent(script, Refuses())
    result = await asking.run("Read A.")
    result = await asking.resume(stored(result), "1d")
    assert result.status == "answered"
    assert results(result)[1] == "readings of A over 1d, 20 at most"
    assert sources(result, "span") == ["asked:missing", "answered", "answered", "model"]
    assert [one.details.get("kept") for one in Inputs.rows(result) if one.argument == "span"] == [None, None, True, None]
    assert [one.ran for one in Inputs.rows(result) if one.argument == "span"] == [False, False, True, True]
    assert Inputs.kept_unused(result) == {}


async def test_a_kept_answer_is_used_once_and_dropped_with_its_turn() -> None:
    asking = agent([call("read_meter", site="A"), "No.", call("read_meter", site="A"), "Done."], Refuses())
    result = await asking.run("Read A.")
    result = await asking.resume(stored(result), "1d")
    assert Inputs.kept_unused(result) == {1: 1}
    result = await asking.run("Again.", history=result.history)
    assert result.paused

    script = [call("read_meter", site="A"), [call("read_meter", site="A"), call("read_meter", site="B")], "Done."]
    asking = agent(script, Refuses())
    result = await asking.run("Read A.")
    result = await asking.resume(stored(result), "1d")
    assert result.paused, "the second call of the batch has no answer"


async def test_an_approval_in_the_same_batch_is_asked_for_next() -> None:
    careful = tool(read_meter, approval=True)
    asking = agent([call("read_meter", site="A"), "Done."], tools=[careful])
    result = await asking.run("Read A.")
    assert prompts(result) == ["How far back should the readings go?"]
    result = await asking.resume(stored(result), "1d")
    assert prompts(result) == ["May read_meter run?"]
    assert result.pause is not None
    assert result.pause.questions[0].arguments == {"site": "A", "span": "1d", "top": 20}
    result = await asking.resume(stored(result), approve())
    assert results(result) == ["readings of A over 1d, 20 at most"]
    assert sources(result, "span") == ["asked:missing", "answered"], "nobody is asked twice"


class Changes(Plugin):
    """Puts another number in after everything was judged."""

    name = "changes"

    class Settings(Plugin.Settings):
        origin: Any = None

    @hookimpl(moment="before_tool", phase="rewrite")
    def change(self, call: CallView) -> Allow:
        return Allow({**call.arguments, "top": 99}, origin=self.settings.origin)


@pytest.mark.parametrize("origin", [None, "person", "app"])
async def test_a_value_that_is_changed_later_is_said_to_be(origin: Any) -> None:
    model = ScriptedModel([call("read_meter", site="A", span="6h"), "Done."])
    result = await agent(model, Changes(origin=origin)).run("Read A.")
    assert results(result) == ["readings of A over 6h, 99 at most"]
    (filed,) = result.record.of(Rewritten)
    assert (filed.tool, filed.argument, filed.by, filed.origin) == ("read_meter", "top", "changes", origin)
    assert row(result, "top").rewritten_by == "changes"
    assert Inputs.assumed(result) == []
    assert "assumed" not in model.requests[1].messages[-1].text


async def test_arguments_that_a_person_puts_in_with_the_approval_are_theirs() -> None:
    careful = tool(read_meter, approval=True)
    asking = agent([call("read_meter", site="A", span="6h"), "Done."], tools=[careful])
    result = await asking.run("Read A.")
    result = await asking.resume(stored(result), approve(args={"site": "A", "span": "6h", "top": 3}))
    (filed,) = result.record.of(Rewritten)
    assert (filed.argument, filed.by, filed.origin) == ("top", "kernel", "person")


async def test_a_tool_s_own_redaction_hides_values_in_rows_and_notes() -> None:
    @tool(redact=("pin", "code"))
    async def unlock(pin: Annotated[str, FromPerson("Which pin?")], code: Annotated[str, Assume("s3cr3t")]) -> str:
        """Unlock."""
        return f"unlocked with {len(pin) + len(code)} characters"

    model = ScriptedModel([call("unlock"), "Done."])
    asking = agent(model, tools=[unlock])
    result = await asking.resume(stored(await asking.run("Unlock.")), "1234")
    assert {one.value for one in Inputs.rows(result) if one.source} == {"REDACTED"}
    assert "s3cr3t" not in str(model.requests[0].tools)
    assert "s3cr3t" not in model.requests[1].messages[-1].text
    assert "1234" not in model.requests[1].messages[-1].text
    assert results(result) == ["unlocked with 10 characters"]
    assert [one.hidden for one in Inputs.assumed(result)] == [True]


async def test_a_question_beyond_what_one_round_takes_comes_in_the_next() -> None:
    def make(number: int) -> Any:
        async def ask(value: Annotated[str, FromPerson(f"Question {number}?")]) -> str:
            return value

        return tool(ask, name=f"ask_{number}", description="Ask.")

    tools = [make(number) for number in range(40)]
    asking = agent([[call(f"ask_{number}") for number in range(40)], "Done."], tools=tools)
    result = await asking.run("All.")
    assert len(prompts(result)) == 32
    assert result.pause is not None
    result = await asking.resume(stored(result), {question.id: question.prompt for question in result.pause.questions})
    assert prompts(result) == [f"Question {number}?" for number in range(32, 40)]
    assert result.pause is not None
    result = await asking.resume(stored(result), {question.id: question.prompt for question in result.pause.questions})
    assert results(result) == [f"Question {number}?" for number in range(40)]


async def test_some_answers_now_and_some_later() -> None:
    asking = agent([[call("read_meter", site="A"), call("count_meters", site="A")], "Done."])
    result = await asking.run("Both.")
    assert result.pause is not None
    span, most = result.pause.questions
    result = await asking.resume(stored(result), {most.id: 4})
    assert result.paused
    assert results(result) == []
    result = await asking.resume(stored(result), {span.id: "1d"})
    assert results(result) == ["readings of A over 1d, 20 at most", "4 meters at A"]


async def test_two_calls_with_one_id_are_told_apart() -> None:
    script = [call("read_meter", site="A", span="6h", id="c"), call("read_meter", site="B", span="1d", top=7, id="c"), "Done."]
    result = await agent(script).run("Both.")
    assert [(one.iteration, one.index, one.source) for one in Inputs.rows(result) if one.argument == "top"] == [
        (1, 0, "default"),
        (2, 0, "model"),
    ]


@pytest.mark.parametrize("wrong", [["x"], {"agentfp": 1}, {"a": object()}, {"a": "x" * 20_000}])
async def test_a_context_that_no_screen_can_show_refuses_the_call_and_names_the_setting(wrong: Any) -> None:
    result = await agent([call("read_meter", site="A"), "Done."], ask_context=lambda: wrong).run("Read A.")
    assert result.status == "answered"
    assert result.plugin_failures == {"inputs": 1}
    (failed,) = result.record.of(PluginFailed)
    assert "ask_context" in str(failed.error)


async def test_the_application_may_add_to_what_the_screen_gets() -> None:
    result = await agent([call("read_meter", site="A"), "Done."], ask_context=lambda: {"ui": {"page": "meters"}}).run("Read A.")
    assert result.pause is not None
    assert result.pause.questions[0].context["ui"] == {"page": "meters"}


async def test_a_choice_is_the_number_that_it_is() -> None:
    @tool
    async def dim(level: Annotated[int, FromPerson("How bright?", choices=[1, 2])]) -> str:
        """Dim the light."""
        return f"level {level!r}"

    asking = agent([call("dim"), "Done."], tools=[dim])
    assert results(await asking.resume(stored(await asking.run("Dim.")), 2.0)) == ["level 2"]


@pytest.mark.parametrize("broke_off_after", ["agentfp.inputs.argument", "agentfp.hook.verdict"])
async def test_what_was_judged_before_a_run_broke_off_is_filled_in_when_it_goes_on(broke_off_after: str) -> None:
    result = await agent([call("read_meter", site="A", span="6h"), "Done."]).run("Read A over 6h.")
    seen = result.record.at(result.record.events(broke_off_after)[-1 if "argument" in broke_off_after else 0].seq)
    after = await agent(["Done."]).resume_on_error(seen)
    assert results(after) == ["readings of A over 6h, 20 at most"]
    assert (row(after, "span").source, row(after, "top").source) == ("model", "default")
    again = sources(after, "top")
    assert again == ["default"] * (2 if "argument" in broke_off_after else 1)
