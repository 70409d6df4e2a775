"""An agent is a value: it can be asked, replaced in part, and run as one call; its errors tell no secrets."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, cast

import pytest

from agentfp import (
    Agent,
    ConfigError,
    Limits,
    LimitsError,
    LLMCall,
    ModelNotFoundError,
    ModelSettings,
    OutputSchemaError,
    Prices,
    RunCheckpointError,
    RunPausedError,
    tool,
)
from agentfp.events import BudgetPressure, LimitHit
from agentfp.model import ModelError
from agentfp.plugin import Plugin, Revise, hookimpl
from tests.core.running import ScriptedModel, answering, call, check_record, last_request, says

pytestmark = pytest.mark.anyio


def look() -> str:
    """Look."""
    return "seen"


# --- replacing -------------------------------------------------------------------------------------------------------------------


async def test_another_agent_differs_in_what_is_said_and_in_nothing_else() -> None:
    agent = answering("one", name="net", tools=[look], instructions="Be brief.", limits=Limits(iterations=3), stream="hold")
    other = agent.replace(model=ScriptedModel(["two"]), limits=Limits(iterations=4))
    assert ((await agent.run("go")).text, (await other.run("go")).text) == ("one", "two")
    assert (other.name, list(other.tools), other.instructions, other.stream_mode) == ("net", ["look"], ("Be brief.",), "hold")
    assert (agent.limits.iterations, other.limits.iterations) == (3, 4)
    with pytest.raises(ConfigError, match="an agent has no 'limit'; did you mean 'limits'"):
        agent.replace(limit=Limits())


async def test_what_can_be_read_once_only_is_kept() -> None:
    heard: list[str] = []
    agent: Agent[Any, str] = Agent(
        ScriptedModel(["one"]),
        tools=(made for made in [look]),
        plugins=iter([]),
        listeners=(pair for pair in [("agentfp.run.ended", lambda event: heard.append(event.name))]),
    )
    other = agent.replace(name="other")
    assert list(other.tools) == ["look"]
    await other.run("go")
    assert heard == ["agentfp.run.ended"]


async def test_a_replaced_agent_knows_the_same_conversations() -> None:
    agent = answering("one", "two")
    first = await agent.run("a")
    assert (await agent.replace(instructions="x").run("b", history=first.history)).text == "two"


def test_an_agent_tells_what_it_is_and_no_instructions() -> None:
    agent = answering("x", tools=[look], instructions="SECRET")
    assert repr(agent) == "Agent('script', tools=['look'], plugins=[])"
    assert "SECRET" not in agent._repr_html_()
    assert "<code>look</code> Look." in agent._repr_html_()


async def test_a_name_may_be_any_text() -> None:
    result = await Agent(ScriptedModel(["Yes."]), name="half of a pair: \ud800").run("Is it?")
    assert result.text == "Yes."
    check_record(result)


@pytest.mark.usefixtures("allow_any_model")
async def test_a_model_that_is_not_there_is_named_when_it_is_needed() -> None:
    agent = Agent("acmee:large")
    with pytest.raises(ModelNotFoundError, match="no installed provider is called 'acmee'"):
        await agent.run("go")


# --- instructions and wishes --------------------------------------------------------------------------------------------------------


def test_what_is_no_model_and_no_limits_is_refused_while_building() -> None:
    wrong: Any = {"iterations": 2}
    with pytest.raises(ConfigError) as caught:
        Agent(wrong, limits=wrong)
    assert caught.value.problems == (
        "model must be a model or 'provider:name', got a dict",
        "limits takes a Limits, got a dict; write Limits(iterations=...)",
    )


def test_one_thing_where_a_list_belongs_is_told_with_the_list() -> None:
    look: Any = print
    with pytest.raises(ConfigError) as caught:
        Agent(ScriptedModel(["Hi."]), tools=look, plugins=cast("Any", "evidence"), instructions=cast("Any", 3))
    assert [problem.split(",")[0] for problem in caught.value.problems] == [
        "tools takes a list",
        "plugins takes a list",
        "instructions takes a list",
    ]
    assert Agent(ScriptedModel(["Hi."]), instructions="Be brief.").instructions == ("Be brief.",)


def test_a_wrong_argument_is_told_of_under_the_name_that_was_called() -> None:
    wrong: Any = {"tols": []}
    with pytest.raises(TypeError, match=r"Agent\.__init__\(\) got an unexpected keyword argument 'tols'"):
        Agent(ScriptedModel(["Hi."]), **wrong)
    with pytest.raises(ConfigError, match="redact takes a RedactionPolicy, got a str"):
        Agent(ScriptedModel(["Hi."]), redact=cast("Any", "all"))


async def test_instructions_are_texts_and_functions_of_the_run() -> None:
    async def later(run: Any) -> str:
        return f"Turn {run.turn} for {run.deps}."

    agent = answering("x", instructions=["Be brief.", lambda run: None, later, lambda run: ""])
    await agent.run("go", deps="ann")
    assert last_request(agent).system == "Be brief.\n\nTurn 1 for ann."


async def test_a_function_of_instructions_that_raises_fails_the_run() -> None:
    def broken(run: Any) -> str:
        raise LookupError("no user")

    with pytest.raises(LookupError, match="no user"):
        await answering("never", instructions=broken).run("go")


async def test_wishes_of_a_run_go_over_those_of_the_agent() -> None:
    agent = answering("x", model_settings={"temperature": 0.5, "stop": "END", "extra": {"a": 1}})
    await agent.run("go", model_settings=ModelSettings(temperature=0.0, extra={"b": 2}))
    settings = last_request(agent).settings
    assert (settings.temperature, settings.stop, dict(settings.extra)) == (0.0, ("END",), {"a": 1, "b": 2})
    with pytest.raises(ConfigError, match="did you mean 'temperature'"):
        await agent.run("go", model_settings={"temprature": 1})


async def test_a_slot_above_its_budget_is_told_once_and_sent_whole() -> None:
    agent = answering(call("look"), "x", tools=[look], instructions="i" * 50, context_budget={"system": 20, "tools": 5})
    result = await agent.run("go")
    told = [(pressure.slot, pressure.cap, pressure.plan_action, pressure.unit) for pressure in result.record.of(BudgetPressure)]
    assert told == [("system", 20, "none", "chars"), ("tools", 5, "none", "chars")]
    assert (len(last_request(agent).tools), last_request(agent).system) == (1, "i" * 50)
    quiet = await answering("x", instructions="i" * 9_000, context_budget={}).run("go")
    assert quiet.record.of(BudgetPressure) == []


# --- one call ------------------------------------------------------------------------------------------------------------------------


async def test_one_call_has_a_record_and_a_typed_answer_and_asks_nothing_again() -> None:
    model = ScriptedModel(["7", "seven"])
    one: LLMCall[int] = LLMCall(model, output_type=int, instructions="Count.")
    result = await one.run("go")
    assert (result.output, check_record(result).served_at(1).system.startswith("Count.")) == (7, True)
    unmet = await one.run("go")
    assert (unmet.contract_unmet is not None, len(model.requests)) == (True, 2)
    with pytest.raises(OutputSchemaError):
        unmet.output  # noqa: B018


async def test_one_call_runs_no_tools_and_no_second_call() -> None:
    model = ScriptedModel([says("well", call("look"))])
    one: LLMCall[str] = LLMCall(model)
    result = await one.run("go")
    assert (result.status, result.text, len(model.requests), model.requests[0].tools) == ("stopped_early", "well", 1, ())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tools": [look]}, "takes no 'tools'"),
        ({"output_retries": 2}, "takes no 'output_retries'"),
        ({"limits": Limits(usd=1)}, "nothing to halt"),
    ],
)
def test_one_call_refuses_what_needs_a_loop(settings: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        LLMCall(ScriptedModel([]), **settings)


async def test_limits_of_a_run_do_not_make_one_call_many() -> None:
    class Wants(Plugin):
        name = "wants"

        @hookimpl(phase="evidence")
        def assess_answer(self) -> Revise:
            return Revise(["Once more."], "more")

    model = ScriptedModel(["one", "two"])
    one: LLMCall[str] = LLMCall(model, plugins=[Wants()])
    result = await one.run("go", limits=Limits(iterations=5))
    assert (result.text, len(model.requests)) == ("one", 1)
    with pytest.raises(ConfigError, match="nothing to halt"):
        await one.run("go", limits=Limits(usd=1))


async def test_one_call_may_warn_over_its_price() -> None:
    prices = Prices(Decimal(1), Decimal(1))
    one: LLMCall[str] = LLMCall(ScriptedModel(["x"]), limits=Limits(usd=0.001, on_usd="warn"), prices={"script": prices})
    result = await one.run("go")
    assert (result.status, [hit.action for hit in result.record.of(LimitHit)]) == ("answered", ["warn"])


# --- errors tell no secrets -----------------------------------------------------------------------------------------------------------

SECRET = "hunter2"


async def test_errors_hold_no_prompt_no_argument_and_no_answer() -> None:
    @tool(approval=True)
    def pay(card: str) -> str:
        """Pay."""
        return "paid"

    raised: list[BaseException] = []

    async def keep(agent: Agent[Any, Any], read: Any = None) -> None:
        try:
            result = await agent.run(f"my word is {SECRET}")
            (read or (lambda r: r.raise_for_status()))(result)
        except Exception as error:
            raised.append(error)

    await keep(answering(call("pay", card=SECRET), tools=[pay]), lambda result: result.text)
    await keep(answering(f'{{"a": "{SECRET}"}}', output_type=int, output_retries=0), lambda result: result.output)
    await keep(answering(call("look"), ModelError(SECRET), tools=[look]))
    await keep(answering(says(SECRET, call("look")), tools=[look], limits=Limits(iterations=1, wrap_up=False)))
    assert [type(error) for error in raised[:3]] == [RunPausedError, OutputSchemaError, RunCheckpointError]
    assert len(raised) == 4
    for error in raised:
        assert SECRET not in str(error), type(error)
        assert SECRET not in repr(error), type(error)


def test_every_error_of_the_library_says_what_to_do() -> None:
    with pytest.raises(LimitsError) as caught:
        Limits(iterations=99)
    assert caught.value.code == "ERR_LIMITS"
    assert str(caught.value) == "Limits.iterations=99 is above the cap of 50; if you mean it, pass hard_cap=99 too"
