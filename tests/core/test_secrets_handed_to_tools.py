"""What plugins that hand secrets to tools build on: values masked before the record, a marked context, and a gate asked again."""

from __future__ import annotations

import base64
import logging
from pathlib import Path
from typing import Annotated, Any

import pydantic
import pytest

from agentfp import Agent, ConfigError, Pause, ToolContext, ToolError, approve, ask_human, tool
from agentfp.model import ModelResponse, ThinkingBlock
from agentfp.plugin import Allow, Batch, CallView, Declaration, Deny, Plugin, ResultView, Run, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_core.redaction import PLACEHOLDER

pytestmark = pytest.mark.anyio
SECRET = "s3cr3t-SENTINEL"


class Handing(Plugin):
    """Masks a value before each call."""

    name = "handing"

    class Settings(Plugin.Settings):
        on_record: bool = True
        seen: Any = None
        known: tuple[str, ...] = ()

    def masked_values(self, run: Run[Any]) -> tuple[str, ...]:
        known: tuple[str, ...] = self.settings.known
        return known

    @hookimpl(phase="credential")
    def before_tool(self, call: CallView, run: Run[Any]) -> None:
        if self.settings.seen is not None:
            self.settings.seen.append(call.id)
        run.mask_value(SECRET, on_record=self.settings.on_record)

    @hookimpl(phase="judge")
    def after_result(self, result: ResultView, run: Run[Any]) -> None:
        if self.settings.seen is not None and result.value is not None:
            self.settings.seen.append(result.value)


class Marked(Declaration):
    plugin = "handing"


@tool
async def tells(ctx: ToolContext, how: str) -> Any:
    """Say the secret."""
    ctx.emit("shop.said", {"text": SECRET})
    if how == "raises":
        raise ValueError(SECRET)
    if how == "words":
        raise ToolError(SECRET, detail=SECRET)
    if how == "asks":
        ask_human(SECRET)
    return {"text": SECRET}


def shown(result: Any, journal: Path) -> str:
    return str("".join(repr(event) for event in result.record) + result.checkpoint().to_json() + journal.read_text())


@pytest.mark.parametrize("how", ["returns", "raises", "words", "asks"])
async def test_what_a_tool_says_is_masked_before_it_is_recorded(how: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    journal = tmp_path / "a.journal"
    agent = Agent(ScriptedModel([call("tells", how=how), "Done."]), tools=[tells], plugins=[Handing()], dev=True)
    result: Any = await agent.run("Go.", journal=journal)
    assert SECRET not in shown(result, journal) + caplog.text
    assert "REDACTED" in shown(result, journal)


async def test_without_on_record_the_live_record_is_as_it_was(tmp_path: Path) -> None:
    seen: list[Any] = []
    journal = tmp_path / "a.journal"
    agent = Agent(ScriptedModel([call("tells", how="returns"), "Done."]), tools=[tells], plugins=[Handing(on_record=False, seen=seen)])
    result: Any = await agent.run("Go.", journal=journal)
    assert SECRET in shown(result, journal)
    assert {"text": SECRET} in seen


async def test_the_value_of_a_masked_result_is_not_handed_on(tmp_path: Path) -> None:
    seen: list[Any] = []
    agent = Agent(ScriptedModel([call("tells", how="returns"), "Done."]), tools=[tells], plugins=[Handing(seen=seen)])
    await agent.run("Go.")
    assert {"text": SECRET} not in seen


async def test_a_nested_agent_knows_what_was_handed_to_its_tools() -> None:
    inner = Agent(ScriptedModel([call("tells", how="returns"), SECRET]), tools=[tells], plugins=[Handing()])
    outer = Agent(ScriptedModel([call("inner", request="Go."), "Done."]), tools=[inner.as_tool("inner", "Go.")])
    result: Any = await outer.run("Go.")
    assert SECRET not in result.history.to_json()


def test_a_marker_on_the_context_is_a_declaration() -> None:
    def lend(ctx: Annotated[ToolContext[Any], Marked()], book: str) -> str:
        """Lend a book."""
        return book

    made = tool(lend)
    assert made.context_parameter == "ctx"
    assert made.parameters == ("book",)
    assert isinstance(made.declarations["ctx"][0], Marked)
    with pytest.raises(ConfigError, match="'handing', which is off"):
        Agent(ScriptedModel(["x"]), tools=[made])
    Agent(ScriptedModel(["x"]), tools=[made], plugins=[Handing()])


async def test_calls_behind_a_pause_meet_the_credential_gate_again() -> None:
    seen: list[Any] = []

    @tool(mutating=True)
    def asks() -> str:
        """Ask."""
        return ask_human("Which?")

    @tool(mutating=True)
    def later() -> str:
        """Run behind it."""
        return "ran"

    def made(refuse: bool) -> Agent[Any, Any]:
        return Agent(
            ScriptedModel([[call("asks"), call("later", id="c2")], "Done."]),
            tools=[asks, later],
            plugins=[Handing(seen=seen), *([No()] if refuse else [])],
        )

    class No(Plugin):
        """Refuses."""

        name = "no"

        @hookimpl(phase="credential")
        def before_tool(self, call: CallView, batch: Batch) -> Deny | Allow | None:
            return Deny("no", tell_model="not now") if call.name == "later" else None

    for refuse, told in ((False, "ran"), (True, "not now")):
        result: Any = await made(False).run("Go.")
        seen.clear()
        again = made(refuse)
        again_model: Any = again.model
        again_model.script = ["Done."]
        done = await again.resume(Pause.from_json(result.pause.to_json()), "this")
        assert "c2" in seen
        assert done.history[3].text == told


# --- what was known before ---


def knowing(script: list[Any], *tools: Any, **more: Any) -> Agent[Any, Any]:
    return Agent(ScriptedModel(script), tools=list(tools), plugins=[Handing(known=(SECRET,))], **more)


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


async def test_what_a_plugin_knows_is_masked_before_the_first_call(tmp_path: Path) -> None:
    @tool
    def environ() -> dict[str, str]:
        """All variables."""
        return {"KEY": SECRET, "BASIC": base64.b64encode(f"ann:{SECRET}".encode()).decode()}

    agent = knowing([[call("environ"), call("echo", text="x")], "Done."], environ, echo)
    result: Any = await agent.run("Go.", journal=tmp_path / "a.journal")
    assert "REDACTED" in result.history[2].text
    assert base64.b64encode(SECRET.encode()).decode()[:-2] not in shown(result, tmp_path / "a.journal")


async def test_what_people_and_models_say_is_masked_before_it_is_filed_and_sent(tmp_path: Path) -> None:
    seen: list[Any] = []

    def second(request: Any) -> Any:
        seen.append([message.text for message in request.messages])
        return f"It is {SECRET}."

    agent = knowing([second], echo)
    result: Any = await agent.run(f"My key is {SECRET}.", journal=tmp_path / "a.journal")
    assert seen == [["My key is [REDACTED]."]]
    assert result.text == result.output == "It is [REDACTED]."
    assert [message.text for message in result.record.served_at(1).messages] == seen[0]
    assert SECRET not in shown(result, tmp_path / "a.journal")


@pytest.mark.parametrize("written", [SECRET, PLACEHOLDER])
async def test_a_call_with_the_value_or_its_mask_among_its_arguments_does_not_run(written: str) -> None:
    ran: list[str] = []

    @tool
    def take(text: str) -> str:
        """Take it."""
        ran.append(text)
        return text

    result: Any = await knowing([call("take", text=f"x {written}"), "Done."], take).run("Go.")
    assert ran == []
    assert "holds a secret" in result.history[2].text
    assert SECRET not in result.history.to_json()
    plain: Any = await Agent(ScriptedModel([call("take", text=written), "Done."]), tools=[take]).run("Go.")
    assert plain.history[2].text == written


async def test_a_person_cannot_put_the_value_among_the_arguments_either() -> None:
    ran: list[str] = []

    @tool(approval=True)
    def take(text: str) -> str:
        """Take it."""
        ran.append(text)
        return text

    agent = knowing([call("take", text="x"), "Done."], take)
    result: Any = await agent.run("Go.")
    done: Any = await agent.resume(result.pause, approve(args={"text": SECRET}))
    assert ran == []
    assert SECRET not in "".join(repr(event) for event in done.record) + done.checkpoint().to_json()


async def test_structured_output_is_masked() -> None:
    class Report(pydantic.BaseModel):
        key: str

    result: Any = await knowing([Report(key=SECRET)], output_type=Report).run("Go.")
    assert result.output == Report(key=PLACEHOLDER)


@pytest.mark.parametrize("mode", ["live", "hold"])
async def test_a_stream_is_masked_where_a_value_is_cut_in_two(mode: Any) -> None:
    events: list[Any] = []
    model = ScriptedModel([f"It is {SECRET}, they say."], chunk=3)
    agent = Agent(model, plugins=[Handing(known=(SECRET,))], stream=mode, listeners=events.append)
    async with agent.stream("Go.") as run:
        text = "".join([piece async for piece in run.text()])
    assert text == "It is [REDACTED], they say."
    assert "SENTINEL" not in "".join(map(repr, events))


async def test_every_leg_knows_it_from_its_first_moment() -> None:
    agent = knowing([call("tells", how="asks"), "Done."], tells)
    result: Any = await agent.run("Go.")
    done: Any = await agent.resume(Pause.from_json(result.pause.to_json()), f"it is {SECRET}")
    assert SECRET not in done.checkpoint().to_json()
    assert "it is [REDACTED]" in done.history.to_json()


async def test_a_tool_is_found_by_a_name_that_holds_a_masked_value() -> None:
    @tool
    def find_pass() -> str:
        """Find."""
        return "found by find"

    agent = Agent(ScriptedModel([call("find_pass"), "Done."]), tools=[find_pass], plugins=[Handing(known=("find",))])
    result: Any = await agent.run("Go.")
    assert result.history[2].text == "found by [REDACTED]"


async def test_a_made_up_name_of_a_tool_is_masked() -> None:
    result: Any = await knowing([call(f"run_{SECRET}"), "Done."], echo).run("Go.")
    assert SECRET not in "".join(repr(event) for event in result.record) + result.history.to_json()


async def test_what_the_model_thinks_is_masked_and_a_stored_reply_is_not_kept_twice() -> None:
    thinking = ThinkingBlock(f"The key is {SECRET}.", signature="s")
    reply = ModelResponse(text=f"It is {SECRET}.", thinking=(thinking,))
    events: list[Any] = []
    agent = Agent(ScriptedModel([reply], chunk=4), plugins=[Handing(known=(SECRET,))], listeners=events.append)
    result: Any = await agent.run("Go.")
    assert "SENTINEL" not in "".join(map(repr, [*result.record, *events]))
    assert [event.payload.own for event in result.record if event.name == "agentfp.message.added"] == [None, None]
