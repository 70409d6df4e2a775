"""A run that is watched: what is let out and when, what is taken back, and that watching changes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pydantic
import pytest

from agentfp import Agent, AnswerRefusedError, Limits, RunResult, UsageError
from agentfp.events import AnswerRefused, MessageAdded, Retracted, RunConfigured, Token, TurnEnd
from agentfp.model import ModelError, ModelRequest
from agentfp.plugin import AnswerDraft, Plugin, Refuse, Replace, Revise, Run, hookimpl
from tests.core.running import PLAIN, ScriptedModel, answering, call, check_record, names, says

pytestmark = pytest.mark.anyio

TEXT = "one two three"


def look() -> str:
    """Look."""
    return "seen"


class Judge(Plugin):
    """Counts how often it judges, and decides as it is told."""

    name = "judge"

    class Settings(Plugin.Settings):
        verdict: str = "accept"
        calls: Any = None

    @hookimpl(phase="claims")
    async def assess_answer(self, draft: AnswerDraft, run: Run[Any]) -> Any:
        if self.settings.calls is not None:
            self.settings.calls.append(draft.text)
        await anyio.lowlevel.checkpoint()
        return {
            "accept": None,
            "refuse": Refuse(AnswerRefusedError("made up")),
            "replace": Replace("four"),
            "revise": Revise(["again"], "again"),
        }[self.settings.verdict]


# --- ways of watching ------------------------------------------------------------------------------------------------------------


async def by_run(agent: Agent[Any, Any]) -> RunResult[Any]:
    return await agent.run("go")


async def by_text(agent: Agent[Any, Any]) -> RunResult[Any]:
    async with agent.stream("go") as run:
        pieces = [piece async for piece in run.text()]
    if run.result.status == "answered" and agent.stream_mode == "hold":
        assert "".join(pieces) == run.result.text
    return run.result


async def by_events(agent: Agent[Any, Any]) -> RunResult[Any]:
    async with agent.stream("go") as run:
        seen = [event async for event in run]
    assert [event for event in seen if event.seq >= 0] == list(run.result.record)
    return run.result


async def by_await(agent: Agent[Any, Any]) -> RunResult[Any]:
    async with agent.stream("go") as run:
        return await run


async def by_text_then_events(agent: Agent[Any, Any]) -> RunResult[Any]:
    async with agent.stream("go") as run:
        async for _ in run.text():
            break
        async for _ in run:
            pass
        return run.result


WAYS = [by_run, by_text, by_events, by_await, by_text_then_events]


@pytest.mark.parametrize("verdict", ["accept", "replace", "revise", "refuse"])
@pytest.mark.parametrize("mode", ["hold", "live"])
async def test_however_a_run_is_watched_it_is_the_same_run(verdict: str, mode: str) -> None:
    runs = []
    for way in WAYS:
        for features in (None, PLAIN):
            calls: list[str] = []
            agent = answering(
                call("look"), TEXT, "five", tools=[look], plugins=[Judge(verdict=verdict, calls=calls)], stream=mode, features=features
            )
            result = await way(agent)
            record = check_record(result)
            kept = [name for name in names(record) if name != "stream.draft_discarded"]
            runs.append((result.status, str(result), kept, [m.content for m in result.history], calls))
    assert runs == [runs[0]] * len(runs)
    assert len(runs[0][4]) == (2 if verdict == "revise" else 1)


@pytest.mark.parametrize("way", WAYS)
async def test_a_refusal_is_no_answer_however_it_is_watched(way: Callable[[Agent[Any, Any]], Awaitable[RunResult[Any]]]) -> None:
    result = await way(answering("The bill is 4711.", plugins=[Judge(verdict="refuse")]))
    assert (result.status, result.refused_by, str(result)) == ("refused", "judge", "[refused]")
    for read in (lambda: result.text, lambda: result.output, result.raise_for_status):
        with pytest.raises(AnswerRefusedError, match="made up"):
            read()
    record = check_record(result)
    assert [refused.text for refused in record.of(AnswerRefused)] == ["The bill is 4711."]
    assert [(end.status, end.message_id) for end in record.of(TurnEnd)] == [("refused", None)]
    assert not any("4711" in (added.content or "") for added in record.of(MessageAdded))
    assert "bill is 4711" not in repr(result) + str(result) + result._repr_html_()


@pytest.mark.parametrize("way", [by_text, by_events, by_await])
async def test_a_failure_reaches_whoever_watches(way: Callable[[Agent[Any, Any]], Awaitable[RunResult[Any]]]) -> None:
    with pytest.raises(ModelError, match="away"):
        await way(answering(ModelError("away")))


async def test_the_error_comes_after_the_events_that_led_to_it() -> None:
    seen: list[Any] = []
    async with answering(ModelError("away")).stream("go") as run:
        with pytest.raises(ModelError, match="away"):
            await _into(seen, run)
        with pytest.raises(ModelError, match="away"):
            await _into([], run.text())
    assert names(seen)[-2:] == ["error.fatal", "run.ended"]


async def _into(seen: list[Any], source: Any) -> None:
    async for item in source:
        seen.append(item)  # noqa: PERF401 - what came before an error is kept


async def test_a_run_is_known_when_it_is_over() -> None:
    async def wait(request: ModelRequest) -> str:
        await anyio.sleep_forever()
        return "never"

    seen: list[Any] = []
    with pytest.raises(UsageError, match="enter the stream"):
        await answering("x").stream("go")
    async with answering(wait).stream("go", on_event=seen.append) as run:
        with pytest.raises(UsageError, match="still goes on"):
            run.result  # noqa: B018
    assert names(seen)[-2:] == ["run.cancelled", "run.ended"]
    with pytest.raises(UsageError):
        run.result  # noqa: B018


async def test_an_error_of_the_reader_is_its_own() -> None:
    async def read() -> None:
        async with answering(TEXT).stream("go") as run:
            async for _ in run.text():
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await read()


def test_a_run_is_watched_without_a_loop() -> None:
    agent = answering(call("look"), TEXT, "next", tools=[look])
    with agent.stream_sync("go") as run:
        assert "".join(run.text()) == TEXT
        assert run.result.text == TEXT
    assert run.result.text == TEXT
    with agent.stream_sync("go") as run:
        seen = [event.name for event in run]
    assert seen[-1] == "agentfp.run.ended"


async def test_a_conversation_is_watched_turn_by_turn() -> None:
    chat = answering("one", "two", "three").conversation()
    async with chat.stream("a") as run:
        assert [piece async for piece in run.text()] == ["one"]
    async with chat.stream("b") as run:
        await run
    await chat.send("c")
    assert [m.content for m in chat.history] == ["a", "one", "b", "two", "c", "three"]


# --- hold and live -----------------------------------------------------------------------------------------------------------------


async def watch(agent: Agent[Any, Any], **call: Any) -> tuple[RunResult[Any], list[Any]]:
    """The result, and every token and retraction in their order."""
    async with agent.stream("go", **call) as run:
        seen = [event.payload async for event in run if isinstance(event.payload, (Token, Retracted))]
    return run.result, seen


class Number(pydantic.BaseModel):
    n: int


@pytest.mark.parametrize(
    ("settings", "mode"),
    [
        ({}, "live"),
        ({"plugins": [Judge()]}, "hold"),
        ({"output_type": Number}, "hold"),
        ({"plugins": [Judge()], "stream": "live"}, "live"),
        ({"stream": "hold"}, "hold"),
    ],
)
async def test_text_is_held_where_an_answer_may_be_replaced(settings: Any, mode: str) -> None:
    agent = answering('{"n": 1}', **settings)
    result, seen = await watch(agent)
    assert (agent.stream_mode, result.record.of(RunConfigured)[0].stream) == (mode, mode)
    drafts = agent.may_replace_answers and mode == "live"
    assert [(token.text, token.draft) for token in seen] == [('{"n": ', drafts), ("1}", drafts)]


async def test_a_run_may_choose_its_way() -> None:
    agent = answering(TEXT, TEXT, plugins=[Judge()])
    result, seen = await watch(agent, stream="live")
    assert (result.record.of(RunConfigured)[0].stream, [token.draft for token in seen]) == ("live", [True] * 3)


@pytest.mark.parametrize("mode", ["hold", "live"])
@pytest.mark.parametrize(
    ("verdict", "reason", "shown"), [("refuse", "refused", []), ("replace", "rewritten", ["four"]), ("revise", "re-ask", ["five"])]
)
async def test_what_is_not_the_answer_is_held_or_taken_back(mode: str, verdict: str, reason: str, shown: list[str]) -> None:
    agent = answering(TEXT, "five", plugins=[Judge(verdict=verdict)], stream=mode)
    result, seen = await watch(agent)
    if mode == "hold":
        assert [token.text for token in seen] == shown
    else:
        drafts = [Token(0, "one ", True), Token(1, "two ", True), Token(2, "three", True)]
        assert seen[:4] == [*drafts, Retracted(reason, 3)]  # type: ignore[arg-type]
        assert [token.text for token in seen[4:]] == shown
        assert [token.index for token in seen[4:]] == list(range(len(shown)))
    check_record(result)


async def test_text_beside_calls_is_no_answer() -> None:
    agent = answering(says("Let me look", call("look")), "done", tools=[look], stream="live")
    _, seen = await watch(agent)
    assert all(item.draft for item in seen if isinstance(item, Token))
    assert [item.text if isinstance(item, Token) else item for item in seen] == ["Let ", "me ", "look", Retracted("tool-calls", 3), "done"]
    agent = answering(says("Let me look", call("look")), "done", tools=[look], stream="hold")
    assert [token.text for token in (await watch(agent))[1]] == ["done"]


async def test_text_that_is_wrapped_up_is_taken_back() -> None:
    agent = answering(says("Let me", call("look")), "over", tools=[look], limits=Limits(iterations=1), stream="live")
    _, seen = await watch(agent)
    assert [item.text if isinstance(item, Token) else item for item in seen] == ["Let ", "me", Retracted("wrap-up", 2), "over"]


async def test_a_retyped_answer_takes_its_draft_back() -> None:
    _, seen = await watch(answering("none", '{"n":1}', output_type=Number, stream="live"))
    assert [item.text if isinstance(item, Token) else item.reason for item in seen] == ["none", "re-ask", '{"n":1}']


async def test_an_answer_is_let_out_when_it_is_accepted_and_not_before() -> None:
    order: list[str] = []

    class Last(Plugin):
        name = "last"

        @hookimpl(phase="append")
        def assess_answer(self, draft: AnswerDraft) -> Replace:
            order.append("judged")
            return Replace(draft.text + ".")

    agent = answering("fine", plugins=[Last()])
    async with agent.stream("go", on_event={"agentfp.stream.token": lambda event: order.append(event.payload.text)}) as run:
        pieces = [piece async for piece in run.text()]
    assert (order, pieces, run.result.text) == (["judged", "fine."], ["fine."], "fine.")


class Closing(Plugin):
    """Takes an answer back at the very end."""

    name = "closing"

    @hookimpl
    def finish_run(self, outcome: str) -> Refuse:
        return Refuse(AnswerRefusedError("too late"))


@pytest.mark.parametrize("mode", ["hold", "live"])
async def test_an_answer_that_is_refused_at_the_end_is_held_or_taken_back(mode: str) -> None:
    agent = answering(TEXT, plugins=[Closing()], stream=mode)
    result, seen = await watch(agent)
    assert (result.status, result.refused_by) == ("refused", "closing")
    if mode == "live":
        assert [item.draft if isinstance(item, Token) else item for item in seen] == [True, True, True, Retracted("refused", 3)]
    else:
        assert seen == []


async def test_a_large_reply_is_let_out_in_the_pieces_in_which_it_came() -> None:
    model = ScriptedModel(["abcdefgh"], chunk=3)
    _, seen = await watch(Agent(model, plugins=[Judge()]))
    assert seen == [Token(0, "abc"), Token(1, "def"), Token(2, "gh")]
