"""`assert_called` and `assert_not_called` read what ran from the record, and say what did."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentfp import Agent, Record, approve, conversation_redaction, reject, tool
from agentfp.testing import Harness, ScriptedModel, assert_called, assert_not_called, call, calls_of
from tests.core.testing.office_hours import OfficeHours, port_status, shut_port

pytestmark = pytest.mark.anyio


@tool(approval=True)
async def reboot(host: str) -> str:
    """Reboot a host."""
    return f"{host} is up again"


async def test_a_call_that_ran_is_found_by_its_tool_and_some_of_its_arguments() -> None:
    agent = Agent(ScriptedModel([[call("port_status", switch="A"), call("port_status", switch="B")], "Done."]), tools=[port_status])
    result = await agent.run("Look")

    assert assert_called(result, "port_status").arguments == {"switch": "A"}
    assert assert_called(result, "port_status", switch="B").outcome == "success"
    assert_called(result.record, "port_status")
    assert_not_called(result, "port_status", switch="C")
    assert_not_called(result, "shut_port")


async def test_the_message_shows_the_calls_that_there_were() -> None:
    outcome = await Harness(
        OfficeHours(), tools=[port_status, shut_port], script=[[call("port_status", switch="A"), call("shut_port", port=3)], "Done."]
    ).run("Go")

    with pytest.raises(AssertionError) as caught:
        assert_called(outcome, "port_status", switch="B")
    assert str(caught.value) == (
        "no call port_status(switch='B') ran; the calls were:\n"
        "  port_status(switch='A')  [ran, success]\n"
        "  shut_port(port=3)  [did not run: denied]"
    )
    with pytest.raises(AssertionError, match=r"port_status ran and should not have:\n  port_status\(switch='A'\)  \[ran, success\]"):
        assert_not_called(outcome, "port_status")


async def test_a_call_that_was_proposed_and_denied_did_not_run() -> None:
    outcome = await Harness(OfficeHours(), tools=[shut_port], script=[call("shut_port", port=3), "Not now."]).run("Shut it")

    assert_not_called(outcome, "shut_port")
    with pytest.raises(AssertionError, match="no call shut_port"):
        assert_called(outcome, "shut_port")


async def test_a_run_without_calls_says_so() -> None:
    result = await Agent(ScriptedModel(["Hi."])).run("Hi")

    with pytest.raises(AssertionError, match=r"no call ping\(\) ran; there was no call of any tool"):
        assert_called(result, "ping")


async def test_arguments_are_those_that_it_ran_with() -> None:
    harness = Harness(tools=[reboot], script=[call("reboot", host="a"), "Done."])
    waiting = await harness.run("Reboot")

    assert [str(one) for one in calls_of(waiting)] == ["reboot(host='a')  [waits]"]
    assert_not_called(waiting, "reboot")
    done = await harness.resume(waiting, approve(args={"host": "b"}))
    assert_called(done, "reboot", host="b")
    assert_not_called(done, "reboot", host="a")


async def test_a_declined_call_did_not_run() -> None:
    harness = Harness(tools=[reboot], script=[call("reboot", host="a"), "Done."])
    done = await harness.resume(await harness.run("Reboot"), reject("no"))

    assert_not_called(done, "reboot")
    assert [one.outcome for one in calls_of(done)] == ["declined"]


async def test_tools_may_have_arguments_of_any_name() -> None:
    @tool
    async def take(source: str, tool: str) -> str:
        """Takes."""
        return source + tool

    result = await Agent(ScriptedModel([call("take", source="a", tool="b"), "Done."]), tools=[take]).run("Take")

    assert_called(result, "take", source="a", tool="b")


async def test_what_a_tool_raised_is_told_to_the_developer_and_its_name_also_in_a_masked_copy(tmp_path: Path) -> None:
    @tool
    async def burst(pressure: int) -> str:
        """Bursts."""
        raise ValueError("too much")

    result = await Agent(ScriptedModel([call("burst", pressure=9), call("nothing"), "It burst."]), tools=[burst]).run("Go")

    assert [str(one) for one in result.calls] == [
        "burst(pressure=9)  [ran, failure, ValueError: too much]",
        "nothing()  [did not run: failure, unknown tool]",
    ]
    result.record.save(tmp_path / "masked.jsonl", policy=conversation_redaction())
    burst_again, nothing = calls_of(Record.load(tmp_path / "masked.jsonl"))
    assert (burst_again.tool, burst_again.error, burst_again.arguments) == ("burst", "ValueError: [REDACTED]", {})
    assert nothing.tool == "[REDACTED]"
