"""What the loop does with a reply, row by row, and how its iterations are numbered."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from agentfp import Limits
from agentfp.events import IterationEnd, IterationStart, RouteDecided, TurnEnd
from agentfp.plugin import AnswerDraft, Plugin, Refuse, Revise, Run, hookimpl
from tests.core.running import answering, call, check_record, names, roles, routes, says

pytestmark = pytest.mark.anyio


class Verdict(pydantic.BaseModel):
    late: int


def look() -> str:
    """Look."""
    return "seen"


class Sender(Plugin):
    """Sends drafts back, in the phase it is told, as often as it is told."""

    name = "sender"

    class Settings(Plugin.Settings):
        phase: str = "evidence"
        times: int = 1

    def judge(self, draft: AnswerDraft, run: Run[Any], phase: str) -> Revise | None:
        return Revise(["once more"], "again", max=self.settings.times) if phase == self.settings.phase else None

    @hookimpl(moment="assess_answer", phase="procedure")
    def steps(self, draft: AnswerDraft, run: Run[Any]) -> Revise | None:
        return self.judge(draft, run, "procedure")

    @hookimpl(moment="assess_answer", phase="evidence")
    def evidence(self, draft: AnswerDraft, run: Run[Any]) -> Revise | None:
        return self.judge(draft, run, "evidence")

    @hookimpl(moment="assess_answer", phase="claims")
    def claims(self, draft: AnswerDraft, run: Run[Any]) -> Revise | None:
        return self.judge(draft, run, "claims")


class Refuser(Plugin):
    name = "refuser"

    @hookimpl(phase="rewrite")
    def assess_answer(self, draft: AnswerDraft) -> Refuse:
        return Refuse(ValueError("not this"))


async def test_a_reply_without_calls_is_the_answer() -> None:
    result = await answering("hello").run("hi")
    assert (result.status, result.text) == ("answered", "hello")
    assert routes(check_record(result)) == ["final"]
    assert names(result.record) == [
        "agent.run_configured",
        "message.added",
        "agent.turn_start",
        "agent.iteration_start",
        "context.served",
        "stream.llm_end",
        "agent.route_decided",
        "message.added",
        "agent.iteration_end",
        "agent.turn_end",
        "run.ended",
    ]


async def test_calls_within_the_limits_are_run() -> None:
    result = await answering([call("look"), call("look")], "two", tools=[look]).run("go")
    assert routes(check_record(result)) == ["tool-calls", "final"]
    assert roles(result.history) == ["user", "assistant", "tool", "tool", "assistant"]
    assert [end.tool_call_count for end in result.record.of(IterationEnd)] == [2, 0]


async def test_calls_at_the_limit_are_wrapped_up() -> None:
    result = await answering(call("look"), "enough", tools=[look], limits=Limits(iterations=1)).run("go")
    assert [(route.chosen, route.early) for route in check_record(result).of(RouteDecided)] == [
        ("wrap-up", "max-iterations"),
        ("final", "max-iterations"),
    ]


async def test_calls_at_the_limit_without_wrap_up_leave_the_text_as_the_answer() -> None:
    agent = answering(says("Let me look", call("look")), tools=[look], limits=Limits(iterations=1, wrap_up=False))
    result = await agent.run("go")
    assert (result.status, result.text) == ("stopped_early", "Let me look")
    assert [(route.chosen, route.early) for route in check_record(result).of(RouteDecided)] == [("final", "max-iterations")]


async def test_a_refused_answer_is_judged_by_nobody_behind() -> None:
    sender = Sender()
    result = await answering('{"late": "x"}', output_type=Verdict, plugins=[Refuser(), sender]).run("go")
    record = check_record(result)
    assert (result.status, result.refused_by) == ("refused", "refuser")
    assert routes(record) == ["final"]
    assert "agent.output_attempt" not in names(record)
    assert [item.plugin for item in record.of(_verdict())] == ["refuser"]


def _verdict() -> Any:
    from agentfp.events import VerdictFiled

    return VerdictFiled


async def test_an_answer_that_does_not_fit_is_asked_again() -> None:
    result = await answering("none", '{"late": 2}', output_type=Verdict).run("go")
    assert routes(check_record(result)) == ["output-retry", "final"]
    assert result.output == Verdict(late=2)


@pytest.mark.parametrize(("phase", "route"), [("procedure", "step-nudge"), ("evidence", "evidence-recheck"), ("claims", "revision")])
async def test_a_revision_is_routed_by_its_phase(phase: str, route: str) -> None:
    result = await answering("one", "two", plugins=[Sender(phase=phase)]).run("go")
    record = check_record(result)
    assert [(item.chosen, item.by) for item in record.of(RouteDecided)] == [(route, "sender"), ("final", None)]
    assert result.text == "two"


async def test_the_schema_is_judged_before_the_plugins_that_may_revise() -> None:
    agent = answering("none", '{"late": 1}', '{"late": 2}', output_type=Verdict, plugins=[Sender(phase="procedure")])
    result = await agent.run("go")
    assert routes(check_record(result)) == ["output-retry", "step-nudge", "final"]
    assert result.output == Verdict(late=2)


@pytest.mark.parametrize("phase", ["procedure", "evidence", "claims"])
async def test_a_fired_limit_ends_revisions(phase: str) -> None:
    agent = answering(call("look"), "short", tools=[look], plugins=[Sender(phase=phase)], limits=Limits(iterations=1))
    result = await agent.run("go")
    assert routes(check_record(result)) == ["wrap-up", "final"]
    assert result.text == "short"


async def test_a_revision_that_would_be_the_call_after_the_last_is_not_made() -> None:
    result = await answering("only", plugins=[Sender()], limits=Limits(iterations=1)).run("go")
    assert (result.status, result.text, result.stopped_early) == ("answered", "only", None)
    assert routes(check_record(result)) == ["final"]


async def test_a_revision_may_call_tools() -> None:
    result = await answering("guess", call("look"), "sure", tools=[look], plugins=[Sender()]).run("go")
    assert routes(check_record(result)) == ["evidence-recheck", "tool-calls", "final"]
    assert (result.text, roles(result.history)) == ("sure", ["user", "assistant", "tool", "assistant"])


async def test_iterations_count_every_call_of_the_model() -> None:
    agent = answering(
        "none",
        call("look"),
        '{"late": 1}',
        '{"late": 2}',
        output_type=Verdict,
        tools=[look],
        plugins=[Sender()],
    )
    result = await agent.run("go")
    record = check_record(result)
    assert [start.iteration for start in record.of(IterationStart)] == [1, 2, 3, 4]
    assert record.of(TurnEnd)[0].iteration_count == 4
    assert [event.iteration for event in record if event.name == "agentfp.stream.llm_end"] == [1, 2, 3, 4]


async def test_the_wrap_up_call_has_a_number_of_its_own() -> None:
    result = await answering(call("look"), call("look"), "over", tools=[look], limits=Limits(iterations=2)).run("go")
    assert [start.iteration for start in check_record(result).of(IterationStart)] == [1, 2, 3]


async def test_iterations_begin_anew_with_each_turn() -> None:
    agent = answering(call("look"), "one", call("look"), "two", tools=[look], limits=Limits(iterations=2))
    chat = agent.conversation()
    await chat.send("first")
    result = await chat.send("second")
    assert result.status == "answered"
    starts = [(event.turn, event.payload) for event in check_record(result) if isinstance(event.payload, IterationStart)]
    assert [(turn, start.iteration) for turn, start in starts] == [(1, 1), (1, 2), (2, 1), (2, 2)]
