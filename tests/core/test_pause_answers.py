"""What an answer to a pause must be, and every way in which a resume is refused before anything has changed."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from agentfp import (
    Agent,
    AskField,
    CheckpointError,
    ConfigError,
    ConversationMismatchError,
    DecisionRequiredError,
    Identity,
    InputRequestError,
    Limits,
    MemoryIndex,
    Pause,
    PauseAnswerRequiredError,
    PauseConsumedError,
    PauseExpiredError,
    PausePluginMissingError,
    PauseToolMissingError,
    RedactionPolicy,
    RefusedError,
    ResumeIdentityConflictError,
    ResumeRedactionError,
    RunResult,
    StaleDecisionError,
    ToolContext,
    approve,
    reject,
)
from agentfp.plugin import AskPerson, Deny, Plugin
from agentfp_core.clock import StepClock
from tests.core.asking import Counter, again, before, made, only, plugin
from tests.core.running import call, check_record, outcomes, tool_texts

pytestmark = pytest.mark.anyio


async def ask(ctx: ToolContext[Any], text: str = "") -> str:
    ctx.ask_human(f"Which {text}?")


def asker(**field: Any) -> Plugin:
    """A plugin that asks one question about each call and lets it run whatever is answered."""

    def hook(self: Plugin, call: Any) -> Any:
        return None if call.answers(self) else AskPerson([AskField("f", "Well?", **field)])

    return plugin("asker", hook=before("fill")(hook))


async def paused(tools: Any = (ask,), **settings: Any) -> tuple[Agent[Any, Any], RunResult[Any]]:
    agent = made(call("ask", id="c1", text="one"), "done", tools=tools, **settings)
    return agent, await agent.run("go")


@pytest.mark.parametrize("answer", [None, False, 0, "", [], {}, {"approved": True}, 1.5, "yes", {"a": [1, None]}])
async def test_any_json_value_is_an_answer_under_its_question_id(answer: Any) -> None:
    agent, result = await paused()
    result = await agent.resume(again(result), {only(result): answer})
    (text,) = tool_texts(result.history)
    assert text == (answer if isinstance(answer, str) else json.dumps(answer))
    assert outcomes(result.record) == {"c1": "success"}
    check_record(result)


@pytest.mark.parametrize("answer", [False, 0, "", "words", {"a": 1}, ["x"]])
async def test_one_answer_alone_answers_one_question(answer: Any) -> None:
    agent, result = await paused()
    result = await agent.resume(again(result), answer)
    assert tool_texts(result.history) == [answer if isinstance(answer, str) else json.dumps(answer)]


@pytest.mark.parametrize("answers", [(), (None,), ({},)])
async def test_no_answer_is_refused(answers: tuple[Any, ...]) -> None:
    agent, result = await paused()
    with pytest.raises(PauseAnswerRequiredError) as caught:
        await agent.resume(again(result), *answers)
    assert (caught.value.tool_name, caught.value.tool_call_id) == ("ask", "c1")
    assert (await agent.resume(again(result), "still open")).text == "done"


async def test_unknown_and_repeated_answers_are_refused() -> None:
    agent = made([call("ask", id="c1"), call("ask", id="c2")], "done", tools=[ask])
    result = await agent.run("go")
    one, two = (q.id for q in again(result).questions)
    with pytest.raises(InputRequestError, match="q_wrong"):
        await agent.resume(again(result), {"q_wrong": 1})
    with pytest.raises(InputRequestError, match="q_wrong"):
        await agent.resume(again(result), {one: 1, "q_wrong": 1})
    with pytest.raises(InputRequestError, match="2 open questions"):
        await agent.resume(again(result), "for which?")
    part = await agent.resume(again(result), {one: 1})
    with pytest.raises(InputRequestError, match="was answered already"):
        await agent.resume(again(part), {one: 1})
    final = await agent.resume(again(part), {two: 2})
    assert tool_texts(final.history) == ["1", "2"]
    for stale in (result, part):
        with pytest.raises(PauseConsumedError):
            await agent.resume(again(stale), {one: 1, two: 2})


async def test_an_answer_that_is_no_json_is_refused_and_not_shown() -> None:
    agent, result = await paused()
    with pytest.raises(InputRequestError) as caught:
        await agent.resume(again(result), {only(result): {"k": ["secret", object()]}})
    assert "secret" not in str(caught.value)


async def test_an_answer_is_handed_on_as_the_record_keeps_it() -> None:
    agent, result = await paused()
    result = await agent.resume(again(result), {only(result): {"days": (datetime.date(2024, 5, 1),)}})
    assert tool_texts(result.history) == ['{"days": ["2024-05-01"]}']


async def test_a_value_must_fit_the_schema_of_its_field() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}, "required": ["n"]}
    counter = Counter()
    agent = made(call("note", id="c1", text="a"), "done", tools=counter.tools(), plugins=[asker(schema=schema)])
    result = await agent.run("go")
    for wrong in ({"n": 70417}, {}, "n"):
        with pytest.raises(InputRequestError) as caught:
            await agent.resume(again(result), {only(result): wrong})
        assert "70417" not in str(caught.value)
    assert counter.done == []
    assert (await agent.resume(again(result), {only(result): {"n": 3}})).text == "done"


async def test_a_decision_takes_no_other_answer_and_the_error_tells_its_type_only() -> None:
    counter = Counter()
    agent = made(call("note", id="c1", text="a"), "done", tools=counter.tools(approval=True))
    result = await agent.run("go")
    for wrong, received in (("ok", "a str"), (True, "a bool"), (7, "a int"), (["sure"], "a list")):
        with pytest.raises(DecisionRequiredError) as caught:
            await agent.resume(again(result), {only(result): wrong})
        assert caught.value.tool_name == "note"
        assert caught.value.received.startswith(received)
    with pytest.raises(DecisionRequiredError):
        await agent.resume(again(result), "ok")
    with pytest.raises(DecisionRequiredError):
        await agent.resume(again(result), {only(result): {"approved": True, "surely": 1}})
    assert counter.done == []
    result = await agent.resume(again(result), {only(result): {"approved": True, "by": "ann"}})  # as JSON from a web page
    assert counter.done == ["a"]


async def test_a_decision_about_another_version_is_refused() -> None:
    counter = Counter()
    agent = made(call("note", id="c1", text="a"), "done", tools=counter.tools(), plugins=[asker(kind="decision", pinned="v1")])
    result = await agent.run("go")
    for answer in (approve(pinned="v2"), reject(pinned="v2")):
        with pytest.raises(StaleDecisionError) as caught:
            await agent.resume(again(result), answer)
        assert (caught.value.asked, caught.value.answered) == ("v1", "v2")
    assert counter.done == []
    assert (await agent.resume(again(result), approve(pinned="v1"))).text == "done"


async def test_a_pause_is_answered_in_time_or_not_at_all() -> None:
    def hook(self: Plugin, call: Any) -> Any:
        return None if call.answers(self) else AskPerson([AskField("f", "Well?")], expires_in=60)

    counter = Counter()
    clock = StepClock(step_ns=1_000_000)
    agent = made(call("note", text="a"), "done", tools=counter.tools(), plugins=[plugin("asker", hook=before("fill")(hook))], clock=clock)
    result = await agent.run("go")
    pause = again(result)
    assert pause.expires_at is not None
    late = StepClock(pause.expires_at + datetime.timedelta(seconds=1))
    with pytest.raises(PauseExpiredError):
        await agent.replace(clock=late).resume(pause, "too late")
    assert counter.done == []
    assert (await agent.resume(pause, "in time")).text == "done"


ANN, BOB = Identity(tenant="acme", principal="ann"), Identity(tenant="acme", principal="bob")


@pytest.mark.parametrize(("owner", "claimant"), [(ANN, BOB), (None, BOB), (ANN, Identity(principal="ann"))])
async def test_a_pause_is_resumed_for_its_person_only(owner: Identity | None, claimant: Identity) -> None:
    agent = made(call("ask", id="c1"), "done", tools=[ask])
    events: list[str] = []
    result = await agent.run("go", identity=owner)
    with pytest.raises(ResumeIdentityConflictError) as caught:
        await agent.resume(again(result), "x", identity=claimant, on_event=lambda event: events.append(event.name))
    assert not any(word in str(caught.value) for word in ("ann", "bob", "acme"))
    assert events == []
    assert (await agent.resume(again(result), "x", identity=owner)).text == "done"


async def test_the_pause_keeps_its_person_and_session() -> None:
    seen: list[Any] = []

    async def who(ctx: ToolContext[Any]) -> str:
        seen.append((ctx.identity, ctx.session_id))
        return "x"

    agent = made(call("ask"), call("who"), "done", tools=[ask, who])
    result = await agent.run("go", identity=ANN, session_id="s-1")
    result = await agent.resume(again(result), "x")
    assert seen == [(ANN, "s-1")]


async def test_an_agent_of_another_name_is_refused() -> None:
    _, result = await paused(name="billing")
    other = made("done", tools=[ask], name="support")
    with pytest.raises(ConversationMismatchError) as caught:
        await other.resume(again(result), "x")
    assert (caught.value.stored_agent_id, caught.value.agent_id) == ("billing", "support")
    for accepted in (made("done", tools=[ask]), made("done", tools=[ask], name="billing")):
        _, result = await paused(name="billing")
        assert (await accepted.resume(again(result), "x")).text == "done"


async def test_agents_of_one_process_answer_a_pause_once_between_them() -> None:
    _, result = await paused()
    pause = again(result)
    assert (await made("done", tools=[ask]).resume(pause, "x")).text == "done"
    with pytest.raises(PauseConsumedError):
        await made("done", tools=[ask]).resume(again(result), "x")
    assert (await made("done", tools=[ask], index=MemoryIndex()).resume(pause, "x")).text == "done"


async def test_a_missing_tool_is_named_with_its_place_on_the_record() -> None:
    _, result = await paused()
    pause = again(result)

    async def ask_twice() -> str:
        return "x"

    with pytest.raises(PauseToolMissingError) as caught:
        await made("done", tools=[ask_twice]).resume(pause, "x")
    assert caught.value.tool_name == "ask"
    proposing = pause.record[caught.value.seq]
    assert [c.id for c in proposing.payload.tool_calls] == ["c1"]  # type: ignore[attr-defined]
    assert str(caught.value.seq) in str(caught.value)
    assert "'ask_twice'" in str(caught.value)


async def test_a_missing_plugin_that_asked_is_refused() -> None:
    counter = Counter()
    agent = made(call("note", text="a"), "done", tools=counter.tools(), plugins=[asker()])
    result = await agent.run("go")
    with pytest.raises(PausePluginMissingError) as caught:
        await made("done", tools=counter.tools()).resume(again(result), "x")
    assert caught.value.plugin == "asker"
    assert counter.done == []
    assert (await agent.resume(again(result), "x")).text == "done"


async def test_names_of_a_redaction_policy_follow_the_run() -> None:
    agent, result = await paused(redact=RedactionPolicy(patterns={"people": "ann|bob"}))
    with pytest.raises(ResumeRedactionError) as caught:
        await made("done", tools=[ask]).resume(again(result), "x")
    assert "people" in str(caught.value)
    assert (await agent.resume(again(result), "x")).text == "done"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"kind": "pause"}', '{"kind": "checkpoint", "version": 1, "record": []}'])
async def test_text_that_is_no_pause_is_refused(text: str) -> None:
    with pytest.raises(CheckpointError):
        Pause.from_json(text)


async def test_a_pause_of_another_version_or_cut_short_is_refused() -> None:
    _, result = await paused()
    assert result.pause is not None
    data = json.loads(result.pause.to_json())
    with pytest.raises(CheckpointError, match="version 2"):
        Pause.from_json(json.dumps({**data, "version": 2}))
    with pytest.raises(CheckpointError):
        Pause.from_json(json.dumps({**data, "record": data["record"][:3]}))
    with pytest.raises(CheckpointError):
        await made(tools=[ask]).resume(result.pause.to_json(), "x")  # type: ignore[arg-type]


async def test_a_resume_that_cannot_begin_leaves_the_pause_to_be_resumed() -> None:
    agent, result = await paused()
    with pytest.raises(ConfigError, match="usd"):
        await agent.resume(again(result), "x", limits=Limits(usd=1))
    with pytest.raises(OSError, match="no_such_folder"):
        await agent.resume(again(result), "x", journal="/tmp/no_such_folder/at/all.jsonl")
    assert (await agent.resume(again(result), "x")).text == "done"


async def test_refusals_of_resume_are_one_family() -> None:
    for kind in (PauseAnswerRequiredError, DecisionRequiredError, StaleDecisionError, InputRequestError, PauseExpiredError):
        assert issubclass(kind, RefusedError)


async def test_a_denial_before_a_question_asks_nobody() -> None:
    def deny(self: Plugin, call: Any) -> Any:
        return Deny("no")

    counter = Counter()
    agent = made(
        call("note", text="a"),
        "done",
        tools=counter.tools(approval=True),
        plugins=[plugin("policy", hook=before("authorize")(deny)), asker()],
    )
    result = await agent.run("go")
    assert result.paused  # filling comes before authorizing: the asker's question is put
    assert [q.plugin for q in again(result).questions] == ["asker"]
    result = await agent.resume(again(result), "x")
    assert result.text == "done"  # and no approval is asked for
    assert counter.done == []
