"""Phase ``resolve``: the function is called with another value than the model wrote, and the record holds what was written."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest

from agentfp import Agent, Pause, ToolContext, ask_human, tool
from agentfp.plugin import Allow, CallView, Declaration, Plugin, Registry, Run, hookimpl
from agentfp.testing import ScriptedModel
from tests.core.running import answering, call, check_record, tool_texts

pytestmark = pytest.mark.anyio
SECRET = "sesame-sesame"


class Key(Declaration):
    """The model writes a name, the function gets what is behind it."""

    plugin = "keys"
    wire_type = str


class Keys(Plugin):
    """Puts values in."""

    name = "keys"

    @hookimpl(phase="resolve")
    def before_tool(self, call: CallView) -> Allow | None:
        return Allow(values={"key": [SECRET, call.arguments["key"]]}) if "key" in call.arguments else None


@tool
def unlock(key: Annotated[list[str], Key()]) -> str:
    """Unlock."""
    return f"{len(key)} {key[0] == SECRET} {key[1]}"


async def test_the_function_gets_the_value_and_the_record_what_the_model_wrote() -> None:
    agent = answering([call("unlock", key="front")], "x", tools=[unlock], plugins=[Keys()])
    result = await agent.run("go")
    assert tool_texts(result.history) == ["2 True front"]
    assert SECRET not in "".join(result.record.to_lines())
    check_record(result.record)


def test_the_model_is_told_the_wire_type() -> None:
    assert json.loads(unlock.parameters_json)["properties"]["key"]["type"] == "string"


async def test_a_call_behind_a_pause_of_another_gets_its_value_on_the_resume() -> None:
    @tool(mutating=True)
    def wait() -> str:
        """Wait."""
        ask_human("Go on?")

    @tool(name="unlock", mutating=True)
    def late(key: Annotated[list[str], Key()]) -> str:
        """Unlock."""
        return f"{key[0] == SECRET} {key[1]}"

    def made() -> Agent[Any, Any]:
        return Agent(
            ScriptedModel([[call("wait"), call("unlock", key="back")], "x"] if not paused else ["x"]),
            tools=[wait, late],
            plugins=[Keys()],
        )

    paused: list[str] = []
    first = await made().run("go")
    assert first.pause is not None
    paused.append(first.pause.to_json())
    result = await made().resume(Pause.from_json(paused[0]), "yes")
    assert tool_texts(result.history) == ["yes", "True back"]


class Wrong(Plugin):
    """Puts values in where it may not."""

    name = "wrong"

    class Settings(Plugin.Settings):
        here: bool = False

    @hookimpl(moment="before_tool", phase="authorize")
    def early(self) -> Allow | None:
        return None if self.settings.here else Allow(values={"n": 1})

    @hookimpl(moment="before_tool", phase="resolve")
    def unknown(self) -> Allow | None:
        return Allow(values={"other": 1}) if self.settings.here else None


@pytest.mark.parametrize(("here", "said"), [(False, "phase 'resolve' only"), (True, "not for 'other'")])
async def test_values_elsewhere_refuse_the_call(here: bool, said: str) -> None:
    def look(n: int) -> int:
        """Look."""
        return n

    result = await answering([call("look", n=2)], "x", tools=[look], plugins=[Wrong(here=here)]).run("go")
    failed: Any
    (failed,) = [event.payload for event in result.record if event.name == "agentfp.plugin.failed"]
    assert said in (failed.error or "")
    assert tool_texts(result.history) == ["This call could not be checked and was not run. Go on without it."]


class Lamp(Plugin):
    """A capability that is made of the run."""

    name = "lamp"

    @hookimpl
    def configure(self, agent: Registry) -> None:
        def lamp(context: ToolContext[Any], run: Run[Any]) -> str:
            return f"{context.tool_name} {run.root_id == context.root_id}"

        agent.add_capability("lamp", lamp)


async def test_a_capability_may_be_made_of_the_run() -> None:
    @tool
    def look(ctx: ToolContext[Any]) -> str:
        """Look."""
        lamp: str = ctx.lamp
        return lamp

    result = await answering([call("look")], "x", tools=[look], plugins=[Lamp()]).run("go")
    assert tool_texts(result.history) == ["look True"]
