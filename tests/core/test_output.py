"""Typed answers: how a model is told, how an answer is judged, and how often it is asked again."""

from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest

from agentfp import Agent, ConfigError, Limits, ModelFeatureError, OutputSchemaError, StoppedEarlyError
from agentfp.events import AnswerDrafted, OutputAttempt, OutputContractUnmet, OutputSchemaRetry
from agentfp.model import ModelFeatures, StopReason
from agentfp.plugin import AnswerDraft, Plugin, Replace, hookimpl
from tests.core.running import AutoModel, ScriptedModel, answering, call, check_record, last_request, names, outcomes, roles, says

pytestmark = pytest.mark.anyio

NATIVE = ModelFeatures(json_schema=True, streaming=True)
FORCED = ModelFeatures(forced_tool_choice=True, streaming=True)


class City(pydantic.BaseModel):
    name: str
    people: int = pydantic.Field(ge=0)


GOOD, BAD, NONE = '{"name": "Ulm", "people": 126000}', '{"name": "Ulm", "people": -1}', "Ulm, of course"
ULM = City(name="Ulm", people=126_000)


def attempts(record: Any) -> list[tuple[Any, ...]]:
    return [(a.attempt, a.outcome, a.stage, a.path, a.reason) for a in record.of(OutputAttempt)]


# --- judging -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [GOOD, f"```json\n{GOOD}\n```", f"```\n{GOOD}\n```\n"])
async def test_an_answer_that_fits_is_a_value(text: str) -> None:
    result = await answering(text, output_type=City).run("go")
    assert (result.output, result.text, result.contract_unmet) == (ULM, text, None)
    assert attempts(check_record(result)) == [(1, "passed", None, None, None)]


async def test_an_answer_that_does_not_fit_is_asked_again() -> None:
    agent = answering(NONE, GOOD, output_type=City)
    result = await agent.run("go")
    record = check_record(result)
    assert result.output == ULM
    assert attempts(record) == [(1, "retried", "json-parse", None, None), (2, "passed", None, None, None)]
    (retry,) = record.of(OutputSchemaRetry)
    assert (retry.attempt, retry.retries_remaining, retry.stage) == (1, 0, "json-parse")
    assert record.of(AnswerDrafted) == [AnswerDrafted(NONE, "output_schema", "kernel")]


async def test_the_failed_draft_rides_along_once_and_enters_no_history() -> None:
    agent = answering(BAD, GOOD, "again", output_type=City)
    chat = agent.conversation()
    result = await chat.send("go")
    asked = last_request(agent).messages[-1]
    assert (asked.role, asked.author, asked.content.startswith("[agentfp:output]")) == ("user", "library", True)
    assert f"<draft>\n{BAD}\n</draft>" in asked.content
    assert asked.content.endswith("people:\nInput should be greater than or equal to 0")
    assert roles(result.history) == ["user", "assistant"]
    assert BAD not in "".join(m.text for m in result.history)
    with pytest.raises(OutputSchemaError):
        (await chat.send("next", limits=Limits(iterations=1))).output  # noqa: B018
    assert len(last_request(agent).messages) == 3


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_an_answer_is_asked_again_so_often_and_no_more(retries: int) -> None:
    agent = answering(*[BAD] * (retries + 1), output_type=City, output_retries=retries)
    result = await agent.run("go")
    assert (result.status, result.text) == ("answered", BAD)
    unmet = result.contract_unmet
    assert unmet is not None
    assert (unmet.attempts, unmet.retries_spent, unmet.stage, unmet.path) == (retries + 1, retries, "schema-validate", "people")
    assert (unmet.broken_by, unmet.fallback_configured, unmet.stop_reason) == (None, False, None)
    with pytest.raises(OutputSchemaError) as caught:
        result.output  # noqa: B018
    assert (caught.value.raw_output, caught.value.stage) == (BAD, "schema-validate")
    assert BAD not in str(caught.value)
    record = check_record(result)
    assert [a[1] for a in attempts(record)] == ["retried"] * retries + ["exhausted"]
    assert len(record.of(OutputContractUnmet)) == 1


async def test_a_fired_limit_ends_the_asking() -> None:
    agent = answering(BAD, output_type=City, output_retries=2, limits=Limits(iterations=1))
    result = await agent.run("go")
    assert attempts(check_record(result)) == [(1, "exhausted", "schema-validate", "people", "limit")]
    assert result.contract_unmet is not None
    assert (result.contract_unmet.attempts, result.contract_unmet.retries_spent) == (1, 0)


async def test_a_wrap_up_is_judged_and_not_asked_again() -> None:
    def look() -> str:
        """Look."""
        return "seen"

    agent = answering(call("look"), BAD, output_type=City, tools=[look], limits=Limits(iterations=1))
    result = await agent.run("go")
    assert (result.status, attempts(check_record(result))) == ("stopped_early", [(1, "exhausted", "schema-validate", "people", "limit")])
    result = await agent.replace(model=ScriptedModel([call("look"), GOOD])).run("go")
    assert (result.status, result.output) == ("stopped_early", ULM)
    with pytest.raises(StoppedEarlyError):
        result.raise_for_status()


@pytest.mark.parametrize("stop", [StopReason.REFUSAL, StopReason.MAX_TOKENS, StopReason.CONTEXT_WINDOW, StopReason.CONTENT_FILTER])
async def test_a_native_answer_that_broke_off_is_none_even_if_it_parses(stop: StopReason) -> None:
    agent = answering(says(GOOD, stop=stop), output_type=City, output_retries=0, features=NATIVE)
    result = await agent.run("go")
    assert result.contract_unmet is not None
    assert result.contract_unmet.stop_reason == stop.value
    told = answering(says(GOOD, stop=stop), output_type=City, output_retries=0)
    assert (await told.run("go")).output == ULM


class Renames(Plugin):
    """Rewrites answers so that they no longer fit, or so that they do."""

    name = "renames"

    class Settings(Plugin.Settings):
        to: str

    @hookimpl(phase="rewrite")
    def assess_answer(self, draft: AnswerDraft) -> Replace:
        assert draft.output is None
        return Replace(self.settings.to)


async def test_an_answer_that_a_plugin_broke_is_not_asked_again() -> None:
    result = await answering(GOOD, output_type=City, plugins=[Renames(to='{"city": "Ulm"}')]).run("go")
    assert (result.text, result.contract_unmet is not None) == ('{"city": "Ulm"}', True)
    assert result.contract_unmet is not None
    assert (result.contract_unmet.broken_by, result.contract_unmet.attempts) == ("renames", 1)
    assert check_record(result).of(OutputAttempt)[0].broken_by == "renames"
    both = await answering(BAD, BAD, output_type=City, plugins=[Renames(to="worse")]).run("go")
    assert both.contract_unmet is not None
    assert (both.contract_unmet.broken_by, both.contract_unmet.retries_spent) == (None, 1)


async def test_plugins_behind_the_schema_read_the_value() -> None:
    seen: list[Any] = []

    class Reads(Plugin):
        name = "reads"

        @hookimpl(phase="stand")
        def assess_answer(self, draft: AnswerDraft) -> None:
            seen.append(draft.output)

    await answering(GOOD, output_type=City, plugins=[Reads()]).run("go")
    await answering(BAD, output_type=City, output_retries=0, plugins=[Reads()]).run("go")
    assert seen == [ULM, None]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [(int, "7", 7), (list[int], "[1, 2]", [1, 2]), (City | None, "null", None), (dict[str, int], '{"a": 1}', {"a": 1})],
)
async def test_any_type_that_pydantic_knows_will_do(kind: Any, text: str, value: Any) -> None:
    result = await answering(text, output_type=kind).run("go")
    assert result.output == value


# --- telling the model -------------------------------------------------------------------------------------------------------------


async def test_a_model_without_schemas_is_told_in_words() -> None:
    agent = answering(GOOD, output_type=City, instructions="Be brief.")
    await agent.run("go")
    request = last_request(agent)
    assert request.output_schema_json is None
    assert request.system.startswith("Be brief.\n\nGive the final answer as JSON that fits this JSON schema")
    assert json.loads(request.system.rpartition("\n")[2]) == City.model_json_schema()


async def test_a_model_with_schemas_is_sent_it() -> None:
    agent = answering(GOOD, output_type=City, features=NATIVE)
    await agent.run("go")
    request = last_request(agent)
    assert (json.loads(request.output_schema_json or ""), request.system, request.tool_choice) == (City.model_json_schema(), "", None)
    result = await Agent(AutoModel(), output_type=City, output_strategy="native").replace(model=_native_auto()).run("go")
    assert isinstance(result.output, City)


def _native_auto() -> AutoModel:
    model = AutoModel()
    model.features = NATIVE
    return model


@pytest.mark.parametrize("mode", ["hold", "live"])
async def test_the_answer_may_be_a_forced_call_that_never_runs(mode: str) -> None:
    reply = says("thinking aloud", call("respond_with_schema", name="Ulm", people=126_000))
    agent = answering(reply, "again", output_type=City, output_strategy="tool", features=FORCED, stream=mode)
    async with agent.stream("go") as run:
        tokens = [piece async for piece in run.text()]
    result = run.result
    request = last_request(agent)
    assert ([tool.name for tool in request.tools], request.tool_choice) == (["respond_with_schema"], "respond_with_schema")
    assert request.tools[0].parameters == City.model_json_schema()
    assert (result.output, json.loads(result.text), tokens[-1]) == (ULM, {"name": "Ulm", "people": 126_000}, result.text)
    record = check_record(result)
    assert (outcomes(record), roles(result.history)) == ({}, ["user", "assistant"])
    assert result.history[-1].tool_calls == ()
    assert ("stream.draft_discarded" in names(record)) == (mode == "live")


async def test_a_forced_call_that_does_not_fit_is_asked_again() -> None:
    answers = [call("respond_with_schema", name="Ulm"), call("respond_with_schema", name="Ulm", people=126_000)]
    agent = answering(*answers, output_type=City, output_strategy="tool", features=FORCED)
    result = await agent.run("go")
    assert (result.output, attempts(check_record(result))[0][:4]) == (ULM, (1, "retried", "schema-validate", "people"))


@pytest.mark.parametrize("strategy", ["native", "tool"])
async def test_a_strategy_that_the_model_lacks_is_refused_before_anything_is_sent(strategy: str) -> None:
    agent = answering("never", output_type=City, output_strategy=strategy, features=ModelFeatures())
    with pytest.raises(ModelFeatureError):
        await agent.run("go")
    model: Any = agent.model
    assert model.requests == []


# --- refused while building ----------------------------------------------------------------------------------------------------------


def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"output_type": City, "output_retries": -1}, "output_retries must be a whole number from 0"),
        ({"output_type": City, "output_retries": True}, "output_retries must be a whole number from 0"),
        ({"output_type": City, "output_strategy": "magic"}, "output_strategy must be"),
        ({"output_type": City, "output_strategy": "tool", "tools": [look]}, "does not go with tools"),
        ({"output_type": int, "output_strategy": "tool"}, "is an object in JSON"),
        ({"output_type": object()}, "has no JSON schema"),
        ({"output_type": City, "output_canned": {"name": 5}}, "output_canned does not fit"),
        ({"output_fallback": lambda error, text: ULM}, "need an output_type"),
        ({"output_canned": "x"}, "need an output_type"),
    ],
)
def test_what_does_not_go_together_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        answering("never", **settings)
