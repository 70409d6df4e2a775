"""Two recordings are compared: the first step that differs, what was served, what changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, RedactionPolicy, approve, tool
from agentfp.plugin import Deny, Plugin, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_recording import diff, open_recording, save_recording
from tests.observability.recording.scenes import agent_of, look, the_file

pytestmark = pytest.mark.anyio


@tool(name="look")
def lies(switch: str) -> str:
    """Look at a switch."""
    return f"{switch} is down"


async def recorded(folder: Path, *script: Any, said: str = "Is A up?", **settings: Any) -> Path:
    await agent_of(folder, *(script or (call("look", switch="A"), "A is up.")), **settings).run(said)
    return the_file(folder)


async def test_two_runs_that_did_the_same_are_the_same(tmp_path: Path) -> None:
    a, b = await recorded(tmp_path / "a"), await recorded(tmp_path / "b")
    found = diff(a, b)
    assert found.same
    assert found.steps == 5
    assert found.to_dict() == {"same": True, "steps": 5}
    assert diff(open_recording(a), b).same


async def test_parallel_calls_may_end_in_another_order(tmp_path: Path) -> None:
    import anyio

    order = iter([0.0, 0.05, 0.05, 0.0])

    async def wait(name: str) -> str:
        """Wait."""
        await anyio.sleep(next(order))
        return name

    made = [await recorded(tmp_path / n, [call("wait", name="x"), call("wait", name="y")], "Done.", tools=[wait]) for n in "ab"]
    assert diff(made[0], made[1]).same


async def test_another_question(tmp_path: Path) -> None:
    found = diff(await recorded(tmp_path / "a"), await recorded(tmp_path / "b", said="Is B up?"))
    assert (found.steps, found.cause, found.kind) == (1, "message", "message")
    assert [(c.where, c.a, c.b) for c in found.changes] == [("/text", "Is A up?", "Is B up?")]


async def test_another_reply_to_the_same_request(tmp_path: Path) -> None:
    a = await recorded(tmp_path / "a")
    b = await recorded(tmp_path / "b", call("look", switch="A"), "A is well.")
    found = diff(a, b)
    assert (found.steps, found.cause, found.kind, found.call) == (3, "reply", "model_call", 2)
    assert ("/text", "A is up.", "A is well.") in [(c.where, c.a, c.b) for c in found.changes]
    assert found.served == ()
    assert found.request is not None
    assert [message.role for message in found.request.messages] == ["user", "assistant", "tool"]


async def test_other_arguments_are_a_reply_that_differs(tmp_path: Path) -> None:
    found = diff(await recorded(tmp_path / "a"), await recorded(tmp_path / "b", call("look", switch="B"), "A is up."))
    assert (found.cause, found.call) == ("reply", 1)


async def test_another_result_of_the_same_call(tmp_path: Path) -> None:
    found = diff(await recorded(tmp_path / "a", tools=[look]), await recorded(tmp_path / "b", tools=[lies]))
    assert (found.steps, found.cause, found.call) == (2, "tool", 1)
    assert [(c.where, c.a, c.b) for c in found.changes] == [("/calls/0/result", "A is up", "A is down")]


async def test_another_system_text_is_another_request(tmp_path: Path) -> None:
    a = await recorded(tmp_path / "a", instructions="Be brief.")
    b = await recorded(tmp_path / "b", instructions="Be long!!")
    found = diff(a, b)
    assert (found.steps, found.cause, found.call) == (2, "request", 1)
    assert "-system: Be brief." in found.served
    assert "+system: Be long!!" in found.served
    data = found.to_dict()
    assert data["served"]["same"] is False
    assert "system: Be brief." in data["served"]["request"]


async def test_another_description_of_a_tool_is_another_request(tmp_path: Path) -> None:
    @tool(name="look")
    def other(switch: str) -> str:
        """Look at a switch, well."""
        return f"{switch} is up"

    found = diff(await recorded(tmp_path / "a", tools=[look]), await recorded(tmp_path / "b", tools=[other]))
    assert found.cause == "request"
    assert any("Look at a switch, well." in line for line in found.served)


class Strict(Plugin):
    name = "strict"

    @hookimpl(phase="authorize")
    def before_tool(self, call: Any) -> Deny:
        return Deny("no")


async def test_another_plugin(tmp_path: Path) -> None:
    found = diff(await recorded(tmp_path / "a"), await recorded(tmp_path / "b", plugins=[Strict()]))
    assert (found.steps, found.cause) == (0, "configuration")
    assert [c.where for c in found.changes] == ["/plugins/1"]


async def test_another_person(tmp_path: Path) -> None:
    paths = []
    for name, by in (("a", "ann"), ("b", "bob")):
        agent = agent_of(tmp_path / name, call("shut", port=3), "It is shut.")
        paused = await agent.run("Shut port 3.")
        assert paused.pause is not None
        await agent.resume(paused.pause, approve(by=by))
        paths.append(the_file(tmp_path / name))
    found = diff(paths[0], paths[1])
    assert found.cause in ("tool", "person")
    assert any((c.a, c.b) == ("ann", "bob") for c in found.changes)


async def test_a_run_that_was_cut_off(tmp_path: Path) -> None:
    a, b = await recorded(tmp_path / "a"), await recorded(tmp_path / "b")
    lines = b.read_bytes().splitlines(keepends=True)
    b.write_bytes(b"".join(lines[:-2]))
    found = diff(a, b)
    assert (found.steps, found.cause, found.b) == (4, "missing", None)
    assert found.a is not None
    assert found.a["kind"] == "end"


async def test_of_masked_recordings_the_request_cannot_be_shown(tmp_path: Path) -> None:
    policy = RedactionPolicy(keys=["password"])
    a = await recorded(tmp_path / "a", redact=policy)
    b = await recorded(tmp_path / "b", call("look", switch="A"), "A is well.", redact=policy)
    found = diff(a, b)
    assert found.cause == "reply"
    assert found.request is None
    assert found.note is not None
    assert "redacted" in found.note


async def test_nested_runs_count_and_can_be_compared_alone(tmp_path: Path) -> None:
    paths = []
    for name, answer in (("a", "B is up."), ("b", "B is fine.")):
        inner = Agent(ScriptedModel([call("look", switch="B"), answer]), tools=[look], name="network")
        outer = agent_of(tmp_path / name, call("network", id="c1", request="B?"), "Yes.", tools=[inner.as_tool("network", "Knows.")])
        await outer.run("Is B up?")
        paths.append(the_file(tmp_path / name))
    found = diff(paths[0], paths[1])
    assert (found.cause, found.call) == ("tool", 1)
    assert any(c.where.startswith("/calls/0/nested/steps/3") for c in found.changes)
    nested = diff(paths[0], paths[1], path=["c1"])
    assert (nested.steps, nested.cause, nested.call) == (3, "reply", 2)
    assert nested.request is not None


async def test_a_saved_record_compares_with_a_recording(tmp_path: Path) -> None:
    agent = agent_of(tmp_path / "a")
    result = await agent.run("Is A up?")
    assert diff(the_file(tmp_path / "a"), save_recording(result, tmp_path / "b")).same
