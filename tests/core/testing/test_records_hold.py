"""`assert_record_valid` passes every run however it ended, and finds each thing that is missing or twice there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from agentfp import Agent, Limits, Pause, Record, RunTimeoutError, approve, ask_human, tool
from agentfp.plugin import Halt, Plugin, hookimpl
from agentfp.testing import Harness, ScriptedModel, assert_record_valid, assert_same_events, call
from tests.core.testing.office_hours import OfficeHours, port_status, shut_port

pytestmark = pytest.mark.anyio


@tool(approval=True)
async def reboot(host: str) -> str:
    """Reboot a host."""
    return f"{host} is up again"


@tool
async def ask(question: str) -> str:
    """Asks."""
    ask_human(question)


@tool
async def wait() -> str:
    """Waits."""
    await anyio.sleep_forever()
    return "never"


@tool
async def fail() -> str:
    """Fails."""
    raise ValueError("no")


class Halting(Plugin):
    name = "halting"

    @hookimpl(phase="authorize")
    def before_tool(self, call: Any) -> Halt | None:
        return Halt("enough") if call.name == "shut_port" else None


TOOLS = [port_status, shut_port, reboot, ask, fail]


async def a_run(*script: Any, plugins: Any = (), **settings: Any) -> Record:
    return (await Harness(plugins, tools=TOOLS, script=script, **settings).run("Go")).record


async def test_runs_that_end_in_every_way_are_valid() -> None:
    both = [call("port_status", switch="A"), call("shut_port", port=3)]
    assert_record_valid(await a_run("Hi."))
    assert_record_valid(await a_run(both, call("fail"), call("no_such_tool"), "Done."))
    assert_record_valid(await a_run(both, "Done.", plugins=OfficeHours()))
    assert_record_valid(await a_run(both, "Done.", plugins=Halting()))
    assert_record_valid(await a_run(both, both, "Done.", limits=Limits(iterations=1)))
    assert_record_valid(await a_run([call("port_status", switch="A"), call("reboot", host="a")]))


async def test_pauses_resumes_and_further_turns_are_valid() -> None:
    harness = Harness(tools=TOOLS, script=[[call("reboot", host="a"), call("fail")], call("ask", question="?"), "Done.", "More."])
    outcome = await harness.run("Go")
    for answer in (approve(), "B"):
        assert_record_valid(outcome)
        outcome = await harness.resume(outcome, answer)
    assert_record_valid(outcome)
    assert_record_valid(await harness.run("On", history=outcome.result.history))


async def test_a_run_resumed_from_json_lacks_its_diagnostics_and_is_valid_with_gaps() -> None:
    harness = Harness(tools=TOOLS, script=[[call("reboot", host="a"), call("port_status", switch="A")], "Done."])
    outcome = await harness.run("Go")
    assert outcome.pause is not None
    text = outcome.pause.to_json()
    done = await harness.resume(Pause.from_json(text), approve())

    assert_record_valid(done, gaps=True)


async def test_a_run_that_was_cut_short_is_valid() -> None:
    agent = Agent(ScriptedModel([[call("wait"), call("fail")]]), tools=[wait, fail])
    with pytest.raises(RunTimeoutError) as caught:
        await agent.run("Go", timeout=0.01)
    assert_record_valid(caught.value.checkpoint)


async def test_nested_runs_are_looked_at_too() -> None:
    inner = Agent(ScriptedModel([call("fail"), "Done."]), tools=[fail])
    outer = Agent(ScriptedModel([call("sub", request="Go"), "Done."]), tools=[inner.as_tool("sub", "Asks.")])
    record = (await outer.run("Go")).record
    assert_record_valid(record)

    (call_id, child), *_ = record.children.items()
    record.children[call_id] = without(child, lambda line: line.get("name") == "agentfp.tool.ended")
    with pytest.raises(AssertionError, match=rf"in the nested run of call {call_id}: call .* has 1 starts and 0 outcomes"):
        assert_record_valid(record, gaps=True)


# --- what is wrong with a record ------------------------------------------------------------------------------------------------------


def lines_of(record: Record) -> list[dict[str, Any]]:
    return [json.loads(line) for line in record.to_lines()]


def without(record: Record, unwanted: Callable[[dict[str, Any]], bool]) -> Record:
    return Record.from_lines([line for line in lines_of(record) if not unwanted(line)])


def changed(record: Record, change: Callable[[dict[str, Any]], None]) -> Record:
    lines = lines_of(record)
    for line in lines:
        change(line)
    return Record.from_lines(lines)


async def two_calls() -> Record:
    return await a_run([call("port_status", switch="A"), call("shut_port", port=3)], "Done.")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("agentfp.tool.ended", "of 'port_status' has 1 starts and 0 outcomes"),
        ("agentfp.tool.started", "has 0 starts and 1 outcomes"),
        ("agentfp.agent.iteration_end", "while another one is open"),
        ("agentfp.agent.iteration_start", "an iteration ends .* while none is open"),
    ],
)
async def test_what_is_missing_is_found(name: str, message: str) -> None:
    record = without(await two_calls(), lambda line: line.get("name") == name)
    with pytest.raises(AssertionError, match=message):
        assert_record_valid(record, gaps=True)


async def test_a_call_with_two_outcomes_is_found() -> None:
    lines = lines_of(await two_calls())
    at = next(index for index, line in enumerate(lines) if line.get("name") == "agentfp.tool.ended")
    again = {**lines[at], "seq": lines[-1]["seq"] + 1}
    with pytest.raises(AssertionError, match="has 1 starts and 2 outcomes"):
        assert_record_valid(Record.from_lines([*lines, again]))


async def test_a_call_without_its_message_and_messages_out_of_order_are_found() -> None:
    record = await two_calls()

    def is_tool_message(line: dict[str, Any]) -> bool:
        return line.get("name") == "agentfp.message.added" and line["data"]["role"] == "tool"

    with pytest.raises(AssertionError, match="are answered by messages of"):
        assert_record_valid(without(record, lambda line: is_tool_message(line) and line["data"]["tool_name"] == "shut_port"), gaps=True)

    ids = [line["data"]["tool_call_id"] for line in lines_of(record) if is_tool_message(line)]

    def swap(line: dict[str, Any]) -> None:
        if is_tool_message(line):
            line["data"]["tool_call_id"] = ids[1 - ids.index(line["data"]["tool_call_id"])]

    with pytest.raises(AssertionError, match="are answered by messages of"):
        assert_record_valid(changed(record, swap))


async def test_a_gap_in_seq_is_found_unless_it_may_be_there() -> None:
    record = without(await two_calls(), lambda line: line.get("name") == "agentfp.agent.route_decided")

    with pytest.raises(AssertionError, match=r"seq jumps from \d+ \(agentfp"):
        assert_record_valid(record)
    assert_record_valid(record, gaps=True)


async def test_a_request_that_cannot_be_rebuilt_is_found() -> None:
    def reword(line: dict[str, Any]) -> None:
        if line.get("name") == "agentfp.message.added" and line["data"]["role"] == "user":
            line["data"]["content"] = "another question"

    with pytest.raises(AssertionError, match=r"model call 1 \(seq \d+\) cannot be rebuilt"):
        assert_record_valid(changed(await two_calls(), reword))


async def test_all_problems_are_listed() -> None:
    record = without(await two_calls(), lambda line: line.get("name") in ("agentfp.tool.ended", "agentfp.agent.iteration_end"))

    with pytest.raises(AssertionError) as caught:
        assert_record_valid(record, gaps=True)
    assert str(caught.value).startswith("the record is not valid; ")
    assert str(caught.value).count("has 1 starts and 0 outcomes") == 2


# --- the same events --------------------------------------------------------------------------------------------------------------------


async def real_time_run(*script: Any) -> Record:
    return (await Agent(ScriptedModel(script), tools=[port_status, shut_port]).run("Go")).record


async def test_runs_with_other_times_and_ids_tell_of_the_same_events() -> None:
    script = [[call("port_status", switch="A"), call("shut_port", port=3)], "Done."]
    one, other = await real_time_run(*script), await real_time_run(*script)

    assert one.root_id != other.root_id
    assert_same_events(one, other)
    assert_same_events(one, Record.from_lines(other.to_lines()))


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        (["Hello."], "Hello."),
        ([call("port_status", switch="B"), "Done."], r"switch.{1,6}B"),
        ([call("port_status", switch="A"), call("port_status", switch="A"), "Done."], "iteration 2"),
    ],
)
async def test_another_content_or_course_is_shown_where_it_begins(script: list[Any], shown: str) -> None:
    with pytest.raises(AssertionError, match="tell of different events") as caught:
        assert_same_events(await real_time_run(call("port_status", switch="A"), "Done."), await real_time_run(*script))
    assert any(line.startswith("+") for line in str(caught.value).splitlines())
    assert re.search(shown, str(caught.value))


async def test_ids_may_differ_but_must_stand_in_the_same_places() -> None:
    record = await real_time_run([call("port_status", switch="A"), call("port_status", switch="A")], "Done.")
    ids = list(dict.fromkeys(event.call_id for event in record if event.call_id))

    def swap(line: dict[str, Any]) -> None:
        if line.get("name") == "agentfp.tool.ended" and line.get("call") in ids:
            line["call"] = ids[1 - ids.index(line["call"])]

    with pytest.raises(AssertionError, match="tell of different events"):
        assert_same_events(record, changed(record, swap))
