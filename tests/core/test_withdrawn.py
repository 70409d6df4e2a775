"""What is taken back or asked for late: a withdrawn answer, a stop that outlives a pause, a filter that fails."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import AnswerRefusedError, Pause, PluginError, Record, approve, tool
from agentfp.events import AnswerRefused, Event, PluginFailed, StopRequested
from agentfp.plugin import Plugin, Refuse, Registry, Run, SegmentHeader, hookimpl
from tests.core.running import answering, call, check_record, last_request

pytestmark = pytest.mark.anyio


class TakesBack(Plugin):
    """Refuses the first answer when the run is over."""

    name = "takes_back"

    @hookimpl
    async def finish_run(self, run: Run[Any], outcome: str) -> Refuse | None:
        if outcome == "answered" and run.turn == 1:
            return Refuse(AnswerRefusedError("the store is down"))
        return None


async def test_an_answer_that_finish_run_refuses_is_out_of_the_history() -> None:
    agent = answering("the secret is 7", "fine", plugins=[TakesBack()])
    refused = await agent.run("go")
    assert refused.status == "refused"
    assert [message.content for message in refused.history] == ["go"]
    withdrawn = refused.record.of(AnswerRefused)[0]
    assert withdrawn.withdraws is not None

    second = await agent.run("again", history=refused.history)
    assert second.text == "fine"
    assert [message.content for message in last_request(agent).messages] == ["go", "again"]
    record = Record.from_lines(second.record.to_lines())
    assert record.history == second.history
    for number in (1, 2):
        assert record.served_at(number) == agent.model.requests[number - 1]  # type: ignore[attr-defined]


@tool(approval=True)
def shut(port: int) -> str:
    """Shut a port."""
    return f"shut {port}"


class StopsWhenAsked(Plugin):
    """Asks for a stop before a person is asked."""

    name = "stops"

    @hookimpl(phase="authorize")
    def before_tool(self, run: Run[Any]) -> None:
        if not run.state.stop_requested:
            run.request_stop("enough")


async def test_a_stop_asked_for_before_a_pause_holds_after_it_in_another_process() -> None:
    paused = await answering(call("shut", port=1), tools=[shut], plugins=[StopsWhenAsked()]).run("go")
    assert paused.pause is not None
    pause = Pause.from_json(paused.pause.to_json())
    result = await answering("never asked for", tools=[shut], plugins=[StopsWhenAsked()]).resume(pause, {pause.questions[0].id: approve()})
    assert result.status == "stopped_early"
    assert result.stopped_early is not None
    assert result.stopped_early.reason == "requested"
    assert [(stop.by, stop.reason) for stop in result.record.of(StopRequested)] == [("stops", "enough")]
    check_record(result)


class Broken:
    """A filter that cannot."""

    def feed(self, text: str) -> str:
        raise ValueError("no")

    def finish(self) -> str:
        return ""


class Filtering(Plugin):
    """Registers the filter."""

    name = "filtering"

    @hookimpl
    def configure(self, agent: Registry) -> None:
        agent.add_reply_filter(lambda run: Broken())


@pytest.mark.parametrize("stream", ["live", "hold"])
async def test_a_reply_filter_that_raises_fails_the_run_and_names_its_plugin(stream: str) -> None:
    seen: list[Event] = []
    agent = answering("hello", plugins=[Filtering()], stream=stream)
    with pytest.raises(PluginError, match="'filtering'") as caught:
        await agent.run("go", on_event=seen.append)
    assert isinstance(caught.value.__cause__, ValueError)
    failed = [event.payload for event in seen if isinstance(event.payload, PluginFailed)]
    assert [(f.plugin, f.moment, f.policy) for f in failed] == [("filtering", "reply_filter", "run-failed")]
    assert not [event for event in seen if event.name == "agentfp.stream.token"]


async def test_a_listener_with_two_parameters_is_told_which_run_an_event_is_of() -> None:
    seen: list[tuple[str, str]] = []

    def listen(event: Event, header: SegmentHeader) -> None:
        seen.append((header.run_id, event.name))

    result = await answering("x").run("go", on_event=listen, session_id="s-1")
    assert {run_id for run_id, _ in seen} == {result.run_id}
    assert seen[-1][1] == "agentfp.run.ended"
