"""A run told in sentences: every event of the library is either told or passed over on purpose."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from agentfp import Agent, Limits, tool
from agentfp.events import CATALOG, AppEvent, Event
from agentfp.plugin import Deny, ExportedEvent, Plugin, SegmentHeader, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_console import commentary, narrate
from agentfp_console.commentary import BY_WORD, SIMPLE, SKIPPED, TEMPLATES, UNKNOWN, Commentator, key_for
from agentfp_core.events.tool import Outcome
from agentfp_evidence import Evidence

pytestmark = pytest.mark.anyio

HEADER = SegmentHeader(root_id="conv", run_id="run", first_seq=0, started_ns=0)


@tool
async def look(x: int) -> str:
    """Look."""
    return f"seen {x}"


def exported(name: str, payload: Any, *, call_id: str | None = None, header: SegmentHeader = HEADER, full: bool = False) -> ExportedEvent:
    return ExportedEvent(Event(0, name, 0, 0, 1, 1, call_id, "kernel", payload), header, full=full)


def told(*script: Any, **settings: Any) -> list[str]:
    return narrate(Agent(ScriptedModel(list(script)), tools=[look], **settings).run_sync("Which port?"), app_name="Desk")


def test_every_event_of_the_library_is_told_or_passed_over() -> None:
    inline = {"message.added", "context.served", "stream.llm_end", "model.helper_replied", "tool.started", "approval.decided"}
    inline |= {"error.fatal", "run.ended"}
    known = {*SKIPPED, *SIMPLE, *BY_WORD, *inline}
    assert {name.removeprefix("agentfp.") for name in CATALOG} <= known
    assert not SKIPPED & {*SIMPLE, *BY_WORD, *inline}
    assert set(SIMPLE.values()) <= set(TEMPLATES)


def test_every_outcome_of_a_call_has_a_sentence() -> None:
    assert all(f"tool.{outcome}" in TEMPLATES for outcome in get_args(Outcome))


def test_a_story() -> None:
    assert told(call("look", x=1), "Port 1.") == [
        "The user asked Desk something.",
        "Desk put the question to the model.",
        "The model wants to use a tool.",
        "Desk called look.",
        "look gave its result.",
        "Desk gave the model what the tools had found.",
        "The model gave its answer.",
        "Desk answered.",
    ]


def test_an_agent_with_a_name_acts_under_it_and_a_nested_one_under_its_own() -> None:
    inner = Agent(ScriptedModel(["inner"]), name="billing")
    outer = Agent(ScriptedModel([call("ask", request="x"), "outer"]), tools=[inner.as_tool("ask", "Asks.")], name="front")
    story = narrate(outer.run_sync("go"))
    assert story.index("front called ask.") < story.index("billing put the question to the model.") < story.index("ask gave its result.")


def test_a_question_is_quoted_where_content_is_wanted_and_fills_nothing_in() -> None:
    result = Agent(ScriptedModel(["ok"])).run_sync("Is {app} up?\nNow?")
    assert narrate(result, app_name="Desk", content=True)[0] == 'The user asked Desk: "Is {app} up? Now?"'
    assert "{app}" not in " ".join(narrate(result, app_name="Desk"))


def test_what_was_not_allowed() -> None:
    class No(Plugin):
        """Says no."""

        name = "no"

        @hookimpl(phase="authorize")
        def before_tool(self) -> Deny:
            return Deny("no")

    assert "Agent was not allowed to use look." in narrate(
        Agent(ScriptedModel([call("look", x=1), "no"]), tools=[look], plugins=[No()]).run_sync("go")
    )


def test_the_verdict_on_the_evidence() -> None:
    story = told(call("look", x=1), "It is 777.", plugins=[Evidence(on_unsupported="flag")])
    assert "1 value(s) of the answer could not be found in any result; they were marked." in story


def test_a_limit_says_stopped_only_where_the_run_stopped() -> None:
    story = told(call("look", x=1), call("look", x=2), "x", limits=Limits(iterations=1, wrap_up=False))
    assert any(sentence.endswith("stopped there.") for sentence in story)
    assert not any("carried on" in sentence for sentence in story)


def test_descriptions_of_tools_and_templates_of_ones_own() -> None:
    result = Agent(ScriptedModel([call("look", x=1), "done"]), tools=[look]).run_sync("go")
    commentator = Commentator("Mesa", {"ended.answered": "{agent} ha respondido."}, {"look": "looks at things"})
    header = result.record.headers[0]
    story = [commentator.tell(ExportedEvent(made, header, full=False)) for made in result.record]
    assert "Mesa called look, which looks at things." in story
    assert story[-1] == "Mesa ha respondido."


def test_events_that_are_not_known_here() -> None:
    event = exported("acme.rating.given", AppEvent("5"))
    assert key_for(event) == UNKNOWN
    assert commentary(event) is None
    assert key_for(exported("agentfp.findings.malformed", AppEvent("{}"))) is None
