"""What plugins that hand secrets to tools build on: values masked before the record, a marked context, and a gate asked again."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any

import pytest

from agentfp import Agent, ConfigError, Pause, ToolContext, ToolError, ask_human, tool
from agentfp.plugin import Allow, Batch, CallView, Declaration, Deny, Plugin, ResultView, Run, hookimpl
from agentfp.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
SECRET = "s3cr3t-SENTINEL"


class Handing(Plugin):
    """Masks a value before each call."""

    name = "handing"

    class Settings(Plugin.Settings):
        in_results: bool = True
        seen: Any = None

    @hookimpl(phase="credential")
    def before_tool(self, call: CallView, run: Run[Any]) -> None:
        if self.settings.seen is not None:
            self.settings.seen.append(call.id)
        run.mask_value(SECRET, in_results=self.settings.in_results)

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


async def test_without_in_results_the_live_record_is_as_it_was(tmp_path: Path) -> None:
    seen: list[Any] = []
    journal = tmp_path / "a.journal"
    agent = Agent(ScriptedModel([call("tells", how="returns"), "Done."]), tools=[tells], plugins=[Handing(in_results=False, seen=seen)])
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
