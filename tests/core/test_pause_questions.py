"""Questions of plugins: merged into one pause, answered in part, handed back to those who asked, in rounds, in every phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agentfp import AskField, Pause, PauseConsumedError
from agentfp.events import PauseAnswered, PauseRequest, PauseResume, VerdictFiled
from agentfp.plugin import Allow, AskPerson, Deny, Plugin
from tests.core.asking import Counter, Seen, again, before, made, plugin, question
from tests.core.running import call, check_record, outcomes

pytestmark = pytest.mark.anyio


def asking(name: str, phase: str, key: str = "f1", *, about: tuple[str, ...] | None = None, calls: list[str] | None = None) -> Plugin:
    """A plugin that asks about each call (or those named), and puts the answer into the call's text."""

    def hook(self: Plugin, call: Any) -> Any:
        if calls is not None:
            calls.append(call.id)
        given = call.answers(self)
        if key in given:
            return Allow({"text": f"{call.arguments['text']}+{name}:{given[key]}"})
        if about is not None and call.id not in about:
            return None
        return AskPerson([AskField(key, f"{name} asks about {call.id}")])

    return plugin(name, hook=before(phase)(hook))


async def test_asks_of_several_plugins_in_one_phase_become_one_pause() -> None:
    counter = Counter()
    agent = made(
        [call("note", id="c1", text="a"), call("note", id="c2", text="b")],
        "done",
        tools=counter.tools(),
        plugins=[asking("one", "fill"), asking("two", "fill", about=("c2",))],
    )
    result = await agent.run("go")
    assert result.paused
    assert len(result.record.of(PauseRequest)) == 1
    pause = again(result)
    assert [(q.plugin, q.key, q.call_id, q.tool) for q in pause.questions] == [
        ("one", "f1", "c1", "note"),
        ("one", "f1", "c2", "note"),
        ("two", "f1", "c2", "note"),
    ]
    assert len({q.id for q in pause.questions}) == 3
    assert counter.done == []
    answers = {q.id: f"<{q.plugin} {q.call_id}>" for q in reversed(pause.questions)}  # the order of answers is of no account
    result = await agent.resume(pause, answers)
    assert result.text == "done"
    assert sorted(counter.done) == ["a+one:<one c1>", "b+one:<one c2>+two:<two c2>"]
    check_record(result)


async def test_a_batch_hook_gets_its_answers_by_its_own_keys() -> None:
    counter = Counter()
    seen: list[Mapping[str, Any]] = []

    def hook(self: Plugin, batch: Any) -> Any:
        given = batch.answers.get("form")
        if given is None:
            return AskPerson([AskField("who", "Who?"), AskField("when", "When?", call_id="c2")])
        seen.append(dict(given))
        return {"c1": Allow({"text": given["who"]}), "c2": Allow({"text": given["when"]})}

    agent = made(
        [call("note", id="c1", text="a"), call("note", id="c2", text="b")],
        "done",
        tools=counter.tools(),
        plugins=[plugin("form", hook=before("fill", per="batch")(hook)), asking("other", "fill", "who", about=("c1",))],
    )
    result = await agent.run("go")
    answers = {
        question(result, "who", plugin="form"): "Ann",
        question(result, "when"): "now",
        question(result, "who", plugin="other"): "me",
    }
    result = await agent.resume(again(result), answers)
    assert seen == [{"who": "Ann", "when": "now"}]
    assert sorted(counter.done) == ["Ann+other:me", "now"]


async def test_a_partial_answer_updates_the_pause_and_runs_nothing() -> None:
    counter = Counter()
    agent = made(
        [call("note", id="c1", text="a"), call("note", id="c2", text="b")],
        "done",
        tools=counter.tools(),
        plugins=[asking("one", "fill")],
    )
    first = await agent.run("go")
    one, two = question(first, "f1", call_id="c1"), question(first, "f1", call_id="c2")
    second = await agent.resume(again(first), {two: "B"})
    assert second.paused
    assert counter.done == []
    pause = again(second)
    assert [q.id for q in pause.questions] == [one]
    assert pause.answered == {two: "B"}
    assert pause.id == again(first).id
    assert [[a.id for a in p.answers] for p in second.record.of(PauseAnswered)] == [[two]]
    third = await agent.resume(pause, {one: "A"})
    assert sorted(counter.done) == ["a+one:A", "b+one:B"]
    assert [{a.id for a in p.answers} for p in third.record.of(PauseResume)] == [{one, two}]
    check_record(third)
    with pytest.raises(PauseConsumedError):
        await agent.resume(again(first), {one: "A", two: "B"})
    assert len(counter.done) == 2


async def test_questions_about_calls_refused_in_the_same_phase_are_dropped() -> None:
    counter = Counter()

    def deny(self: Plugin, call: Any) -> Any:
        return Deny("no", tell_model="Not c1.") if call.id == "c1" else None

    agent = made(
        [call("note", id="c1", text="a"), call("note", id="c2", text="b")],
        "done",
        tools=counter.tools(),
        plugins=[asking("one", "fill"), plugin("denier", hook=before("fill")(deny))],
    )
    result = await agent.run("go")
    assert [q.call_id for q in again(result).questions] == ["c2"]
    result = await agent.resume(again(result), "B")
    assert counter.done == ["b+one:B"]
    assert outcomes(result.record) == {"c1": "denied", "c2": "success"}
    check_record(result)


@pytest.mark.parametrize("per", ["call", "batch"])
async def test_no_pause_when_every_call_that_was_asked_about_is_refused(per: str) -> None:
    counter = Counter()

    def ask(self: Plugin, batch: Any) -> Any:
        return AskPerson([AskField("f1", "Which?")])

    def deny(self: Plugin, call: Any) -> Any:
        return Deny("no")

    agent = made(
        call("note", id="c1", text="a"),
        "done",
        tools=counter.tools(),
        plugins=[plugin("one", hook=before("fill", per=per)(ask)), plugin("denier", hook=before("fill")(deny))],
    )
    result = await agent.run("go")
    assert result.text == "done"
    assert result.record.of(PauseRequest) == []


async def test_more_than_32_questions_are_put_in_further_rounds() -> None:
    counter = Counter()
    ids = [f"c{index:02}" for index in range(40)]
    agent = made(
        [call("note", id=i, text=i) for i in ids], "done", tools=counter.tools(), plugins=[asking("one", "fill"), asking("two", "fill")]
    )
    result = await agent.run("go")
    answered = 0
    rounds = []
    while result.paused:
        pause = again(result)
        assert counter.done == []
        rounds.append(len(pause.questions))
        answered += len(pause.questions)
        result = await agent.resume(pause, {q.id: f"{q.plugin}-{q.call_id}" for q in pause.questions})
    assert rounds == [32, 32, 16]
    assert sorted(counter.done) == [f"{i}+one:one-{i}+two:two-{i}" for i in ids]


@pytest.mark.parametrize("phase", ["fill", "authorize", "consent", "resolve", "credential", "rewrite", "peel"])
async def test_a_plugin_can_ask_in_any_phase_but_screen(phase: str) -> None:
    counter = Counter()
    agent = made(call("note", id="c1", text="a"), "done", tools=counter.tools(), plugins=[asking("one", phase)])
    result = await agent.run("go")
    assert result.record.of(PauseRequest)[0].phase == phase
    assert counter.done == []
    result = await agent.resume(again(result), "yes")
    assert counter.done == ["a+one:yes"]
    check_record(result)


async def test_asks_of_several_phases_are_several_pauses_in_one_run() -> None:
    counter = Counter()
    agent = made(
        [call("note", id="c1", text="a"), call("note", id="c2", text="b")],
        [call("note", id="c3", text="c")],
        "done",
        tools=counter.tools(),
        plugins=[asking("late", "resolve", about=("c2",)), asking("early", "fill")],
    )
    result = await agent.run("go")
    phases = []
    while result.paused:
        phases.append([(q.plugin, q.call_id) for q in again(result).questions])
        result = await agent.resume(again(result), {q.id: "x" for q in again(result).questions})
    assert phases == [[("early", "c1"), ("early", "c2")], [("late", "c2")], [("early", "c3")]]
    assert sorted(counter.done) == ["a+early:x", "b+early:x+late:x", "c+early:x"]
    assert len(result.record.of(PauseRequest)) == len(result.record.of(PauseResume)) == 3
    check_record(result)


async def test_on_resume_only_those_who_asked_are_called_and_nothing_is_filed_twice() -> None:
    counter = Counter()
    called: dict[str, list[str]] = {"asks": [], "quiet": [], "earlier": [], "silent": []}
    whole: list[int] = []

    def quiet_batch(self: Plugin, batch: Any) -> None:
        whole.append(len(batch.live))

    def files(name: str) -> Any:
        def hook(self: Plugin, call: Any, run: Any) -> Any:
            called[name].append(call.id)
            run.emit(Seen(name), call_id=call.id)
            return Allow()

        return hook

    def ask(self: Plugin, call: Any) -> Any:
        called["asks"].append(call.id)
        return Allow() if call.answers(self) else AskPerson([AskField("f", "?")]) if call.id == "c1" else None

    agent = made(
        [call("note", id="c1", text="a"), call("note", id="c2", text="b")],
        "done",
        tools=counter.tools(),
        plugins=[
            plugin("earlier", hook=before("peel")(files("earlier"))),
            plugin("quiet", hook=before("fill")(files("quiet")), batch=before("fill", per="batch")(quiet_batch)),
            plugin("asks", first=before("fill")(files("silent")), second=before("fill")(ask)),
        ],
    )
    result = await agent.run("go")
    result = await agent.resume(again(result), "x")
    assert called == {"asks": ["c1", "c2", "c1"], "quiet": ["c1", "c2"], "earlier": ["c1", "c2"], "silent": ["c1", "c2"]}
    assert whole == [2]
    for name in ("quiet", "earlier", "silent"):
        assert [seen.by for seen in result.record.of(Seen)].count(name) == 2
    verdicts = [(v.plugin, v.phase) for v in result.record.of(VerdictFiled)]
    assert sorted(verdicts) == sorted([("earlier", "peel")] * 2 + [("quiet", "fill")] * 2 + [("asks", "fill")] * 3)
    assert sorted(counter.done) == ["a", "b"]


@pytest.mark.parametrize("asked_in", ["authorize", "consent", "resolve"])
async def test_authorize_runs_again_on_resume_and_may_only_tighten(asked_in: str) -> None:
    counter = Counter()
    closed = False

    def policy(self: Plugin, call: Any) -> Any:
        if closed and call.id == "c1":
            return Deny("closed meanwhile", tell_model="Closed.")
        return Allow({"text": f"{call.arguments['text']}!"})

    agent = made(
        [call("note", id="c1", text="a"), call("note", id="c2", text="b")],
        "done",
        tools=counter.tools(),
        plugins=[plugin("policy", hook=before("authorize")(policy)), asking("one", asked_in)],
    )
    result = await agent.run("go")
    closed = True
    result = await agent.resume(again(result), {q.id: "y" for q in again(result).questions})
    assert outcomes(result.record) == {"c1": "denied", "c2": "success"}
    assert counter.done == ["b!+one:y"]  # the Allow of the second pass does not count
    check_record(result)


async def test_arguments_are_validated_again_on_resume() -> None:
    counter = Counter()
    agent = made(call("note", id="c1", text="a"), "done", tools=counter.tools(), plugins=[asking("one", "resolve")])
    result = await agent.run("go")

    async def note(text: int) -> str:
        counter.done.append(str(text))
        return "x"

    other = made("done", tools=[note], plugins=[asking("one", "resolve")])
    result = await other.resume(again(result), "y")
    assert outcomes(result.record) == {"c1": "invalid"}
    assert counter.done == []


async def test_a_second_ask_on_resume_is_a_new_pause() -> None:
    counter = Counter()

    def hook(self: Plugin, call: Any) -> Any:
        given = call.answers(self)
        if given.get("zone") == "UTC":
            return Allow({"text": "UTC"})
        return AskPerson([AskField("zone", "That is no zone. Which?" if given else "Which zone?")], context={"repeat": len(given)})

    agent = made(call("note", id="c1", text="a"), "done", tools=counter.tools(), plugins=[plugin("zones", hook=before("fill")(hook))])
    first = await agent.run("go")
    second = await agent.resume(again(first), "Mars")
    assert second.paused
    assert again(second).id != again(first).id
    (asked,) = again(second).questions
    assert (asked.prompt, asked.context) == ("That is no zone. Which?", {"repeat": 1})
    assert counter.done == []
    third = await agent.resume(again(second), "UTC")
    assert counter.done == ["UTC"]
    check_record(third)


async def test_a_question_that_may_be_left_open_does_not_hold_the_run_and_its_asker_still_decides() -> None:
    counter = Counter()

    def hook(self: Plugin, call: Any, run: Any) -> Any:
        if run.record.of(PauseResume):
            return Deny("nobody said") if call.answers(self).get("why") is None else None
        return AskPerson([AskField("why", "Why?", required=False)])

    agent = made(
        [call("note", id="c1", text="a"), call("note", id="c2", text="b")],
        "done",
        tools=counter.tools(),
        plugins=[plugin("why", hook=before("fill")(hook))],
    )
    result = await agent.run("go")
    pause: Pause = again(result)
    result = await agent.resume(pause, {question(result, "why", call_id="c2"): "because"})
    assert outcomes(result.record) == {"c1": "denied", "c2": "success"}
    assert counter.done == ["b"]

    nobody = made(call("note", id="c1", text="a"), "done", tools=counter.tools(), plugins=[plugin("why", hook=before("fill")(hook))])
    result = await nobody.resume(again(await nobody.run("go")), {})
    assert outcomes(result.record) == {"c1": "denied"}
