"""The commentary: a sentence an event, the actor by name, nothing that was not so."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, Limits, Prices, approve, tool
from agentfp.events import CATALOG, Event, LimitHit, MessageAdded, UnknownPayload
from agentfp.plugin import Deny, Payload, Plugin, Revise, SegmentHeader, event, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_recording import UNKNOWN, Commentator, commentary, narrate, open_recording, tell
from agentfp_recording.commentary import _CHOSEN
from agentfp_recording.wording import FIRST, SKIPPED, THIRD
from tests.observability.recording.scenes import agent_of, look, the_file

pytestmark = pytest.mark.anyio


def an_event(payload: Payload, name: str | None = None, *, iteration: int = 1, call_id: str | None = None) -> Event:
    return Event(1, name or payload.event_name, 0, 0, 1, iteration, call_id, "kernel", payload)


def test_every_event_of_the_catalog_has_words_or_is_left_out_on_purpose() -> None:
    def has_words(name: str) -> bool:
        return name in THIRD or any(key.startswith(f"{name}.") for key in THIRD) or name in SKIPPED

    missing = [name for name in CATALOG if not has_words(name.removeprefix("agentfp."))]
    assert not missing
    domains = {name.split(".")[1] for name in CATALOG} | {"evidence", "findings", "permission"}
    assert {key.split(".")[0] for key in (*THIRD, *SKIPPED)} <= domains
    assert not set(FIRST) - set(THIRD)
    assert all(any(key.startswith(f"{name}.") for key in THIRD) for name in _CHOSEN)


async def test_a_run_told_by_somebody_who_watches(tmp_path: Path) -> None:
    result = await agent_of(tmp_path, [call("look", switch="A"), call("breaks")], "A is up.").run("Is A up?")
    story = [
        'The user asked Desk: "Is A up?"',
        "Desk put the question to the model.",
        "The model asked for look and breaks.",
        'Desk called look ("Look at a switch") and breaks ("Break").',
        "look returned its result.",
        "breaks failed.",
        "Desk gave the model what the tools had returned.",
        "The model gave its answer.",
    ]
    told = list(narrate(the_file(tmp_path), "Desk"))
    assert sorted(told) == sorted(story)  # which of the two tools ends first is up to them
    assert told[:4] == story[:4]
    assert list(narrate(result, "Desk")) == told
    assert list(narrate(open_recording(the_file(tmp_path)), "Desk")) == told


async def test_a_live_run_is_told_as_its_recording_is(tmp_path: Path) -> None:
    teller, live = Commentator("Desk"), []
    agent = agent_of(tmp_path, call("look", switch="A"), call("breaks"), "A is up.")
    await agent.run("Is A up?", on_event=lambda event, header: live.append(teller.tell(event, header)))
    assert [line for line in live if line] == list(narrate(the_file(tmp_path), "Desk"))


async def test_a_run_told_by_the_agent() -> None:
    agent = Agent(ScriptedModel([call("look", switch="A"), "A is up."]), tools=[look])
    assert list(tell(await agent.run("Is A up?"))) == [
        'You asked: "Is A up?"',
        "I thought about your question.",
        "I wanted to look something up with look.",
        "I used look.",
        "look gave me its result.",
        "I looked at what came back.",
        "Then I had my answer.",
    ]


class Strict(Plugin):
    name = "strict"

    @hookimpl(phase="authorize")
    def before_tool(self, call: Any) -> Deny | None:
        return Deny("no") if call.arguments.get("switch") == "B" else None

    @hookimpl(phase="evidence")
    def assess_answer(self, draft: Any) -> Revise | None:
        return Revise(["Say A."], key="names") if "A" not in draft.text else None


async def test_who_stepped_in(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, call("look", switch="B"), "It is up.", call("shut", port=3), "A it is.", plugins=[Strict()], name="desk")
    paused = await agent.run("Shut port 3 of B.")
    assert paused.pause is not None
    await agent.resume(paused.pause, approve(by="ann"))
    told = list(narrate(the_file(tmp_path)))
    for line in (
        "Desk was not allowed to use look: the plugin strict refused.",
        "The plugin strict wanted the answer written anew.",
        "The draft of the answer was sent back to the model.",
        "Desk asked the model once more.",
        "Desk waits for a person.",
        "The person answered, and desk went on.",
        "A person approved the call of shut.",
    ):
        assert line in told
    assert not any("called look" in line for line in told)


async def test_the_actor_of_a_nested_run_is_the_agent_there(tmp_path: Path) -> None:
    inner = Agent(ScriptedModel([call("look", switch="B"), "B is up."]), tools=[look], name="billing")
    outer = agent_of(tmp_path, call("billing", request="B?"), "Yes.", tools=[inner.as_tool("billing", "Knows bills.")])
    result = await outer.run("Is B up?")
    told = list(narrate(the_file(tmp_path), "Desk"))
    assert 'Desk called billing ("Knows bills").' in told
    assert 'Billing was asked: "B?"' in told
    assert 'Billing called look ("Look at a switch").' in told
    assert list(narrate(result, "Desk")) == told
    assert "I used look." not in tell(result)  # the person asked one agent


def test_the_name_that_is_given_goes_before_the_agents_own() -> None:
    result = Agent(ScriptedModel(["Yes."]), name="net").run_sync("Is it?")
    assert list(narrate(result, "Desk"))[1] == "Desk put the question to the model."
    assert list(narrate(result))[1] == "Net put the question to the model."


def test_an_internal_nested_run_is_the_app_itself() -> None:
    header = SegmentHeader(root_id="c", run_id="r", first_seq=0, started_ns=0, path=("c1",))
    said = Commentator("Desk").tell(an_event(CATALOG["agentfp.context.served"](call=1, messages=1, receipt="")), header)  # type: ignore[call-arg]
    assert said == "Desk put the question to the model."


def test_what_a_person_wrote_is_never_filled_in() -> None:
    said = commentary(an_event(MessageAdded("m", "user", "person", "Is {app} {agent} up?")), app="Desk")
    assert said == 'The user asked Desk: "Is {app} {agent} up?"'


def test_a_tool_without_a_description_has_no_clause() -> None:
    @tool
    def bare(number: int) -> int:
        return number

    told = list(narrate(Agent(ScriptedModel([call("bare", number=1), "1"]), tools=[bare]).run_sync("Go")))
    assert "The agent called bare." in told


def test_messages_that_nobody_wrote_add_nothing() -> None:
    for author in ("library", "plugin:x"):
        assert commentary(an_event(MessageAdded("m", "user", author, "x"))) is None


def test_events_without_words() -> None:
    teller = Commentator()
    unknown = an_event(UnknownPayload('{"a": 1}'), "shop.order.checked")
    assert teller.key_for(unknown) is UNKNOWN
    assert teller.tell(unknown) is None
    strange = an_event(UnknownPayload('{"a": 1}'), "agentfp.other.thing")
    assert teller.key_for(strange) is UNKNOWN


@event("agentfp.office.closed")
class Closed(Payload):
    """The office is closed."""

    hour: int

    def __str__(self) -> str:
        return f"closed at {self.hour}"


def test_an_event_of_a_plugin_tells_itself() -> None:
    assert commentary(an_event(Closed(8))) == "kernel: closed at 8"
    assert Commentator(voice="first").tell(an_event(Closed(8))) is None


def test_templates_take_the_place_of_ours_one_by_one() -> None:
    spanish = {"agent.turn_start": "La persona preguntó: {text}{nothing}", "agentfp": "unused"}
    agent = Agent(ScriptedModel(["Sí."]))
    assert list(narrate(agent.run_sync("¿Y?"), "Desk", spanish)) == [
        "La persona preguntó: ¿Y?",
        "Desk put the question to the model.",
        "The model gave its answer.",
    ]


@pytest.mark.parametrize(("action", "said"), [("warn", "carried on"), ("abort", "stopped there")])
def test_a_limit_says_what_came_of_it(action: Any, said: str) -> None:
    line = commentary(an_event(LimitHit("max_cost", 1.0, 2.0, action)))
    assert line is not None
    assert said in line


def test_stopped_there_is_said_of_a_run_that_did() -> None:
    agent = Agent(ScriptedModel([call("look", switch="A")] * 3), tools=[look], limits=Limits(iterations=2))
    told = list(narrate(agent.run_sync("Go")))
    assert any("summ" in line or "sum up" in line or "stopped there" in line for line in told)
    fine = Agent(
        ScriptedModel([call("look", switch="A"), "Up."]), tools=[look], prices={"script": Prices(input=Decimal(0), output=Decimal(0))}
    )
    assert not any("stopped there" in line for line in narrate(fine.run_sync("Go")))


def test_repeated_calls_claim_no_more_than_was_compared() -> None:
    for mode, same in (("result", True), ("arguments", False)):
        made = UnknownPayload(json.dumps({"tool": "look", "occurrences": 3, "fingerprint": "x", "mode": mode}))
        line = commentary(an_event(made, "agentfp.tools.repeated_call"))
        assert line is not None
        assert ("was the same" in line) is same


@pytest.mark.parametrize("standing", ["fact", "open", "noise", "ruled-out"])
def test_standings_of_findings(standing: str) -> None:
    made = UnknownPayload(json.dumps({"tool": "look", "standing": standing}))
    for voice in ("third", "first"):
        assert "look" in str(Commentator(voice=voice).tell(an_event(made, "agentfp.findings.standing")))


@pytest.mark.parametrize("action", ["grounded", "flagged", "revision-asked", "refused"])
def test_judgements_of_evidence(action: str) -> None:
    made = UnknownPayload(json.dumps({"action": action}))
    assert commentary(an_event(made, "agentfp.evidence.checked"))


async def test_masked_texts_stay_masked(tmp_path: Path) -> None:
    await agent_of(tmp_path, settings={"detail": "lean"}).run("Is A up?")
    told = list(narrate(the_file(tmp_path)))
    assert told[0] == 'The user asked the agent: "[REDACTED]"'
    assert "The model asked for a tool." in told
    assert any(line.startswith("The agent called look") for line in told)
