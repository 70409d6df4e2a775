"""What plugins leave behind: decorations beside a tool's own parameters, standing edits of a plugin that is off, annotators of answers."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import Agent
from agentfp.plugin import AnswerDraft, Plugin, Replace, RequestDraft, hookimpl, raw_tool
from agentfp.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

FRAGMENT = {"type": "string", "description": "why"}


class Why(Plugin):
    """Asks why, shortens old results, and keeps a tool off the wire."""

    name = "why"

    @hookimpl(phase="compose")
    def serve_context(self, draft: RequestDraft) -> None:
        draft.decorate_tools("why", FRAGMENT)
        for message in draft.messages:
            if message.role == "tool":
                draft.ticket(message.id, "(short)")
        if "other" in draft.tools:
            draft.hold_out_tool("other")


def look(x: int) -> str:
    """Look."""
    return f"seen {x}"


def other() -> str:
    """Another tool."""
    return "other"


async def test_a_tool_keeps_its_own_parameter_of_a_decorations_name() -> None:
    async def handler(_ctx: Any, arguments: dict[str, Any]) -> str:
        return str(arguments)

    own = {"type": "object", "properties": {"why": {"type": "integer"}}, "required": ["why"]}
    theirs = raw_tool("theirs", "Theirs.", own, handler)
    model = ScriptedModel([call("theirs", why=3), "Done."])
    result = await Agent(model, tools=[theirs, look], plugins=[Why()]).run("Go.")
    wire = {spec.name: spec.parameters["properties"] for spec in model.requests[0].tools}
    assert wire["theirs"] == own["properties"]
    assert wire["look"]["why"] == FRAGMENT
    assert result.history[2].text == "{'why': 3}"
    assert result.record.served_at(1) == model.requests[0]


async def test_edits_of_a_plugin_do_not_outlive_it() -> None:
    first = ScriptedModel([call("look", x=1), "One."])
    on = await Agent(first, tools=[look, other], plugins=[Why()]).run("Go.")
    assert [spec.name for spec in first.requests[1].tools] == ["look"]

    second, third = ScriptedModel(["Two."]), ScriptedModel(["Three."])
    off = await Agent(second, tools=[look, other]).run("Go on.", history=on.history)
    request = second.requests[0]
    assert [spec.name for spec in request.tools] == ["look", "other"]
    assert "why" not in request.tools[0].parameters["properties"]
    assert [message.text for message in request.messages if message.role == "tool"] == ["seen 1"]
    assert off.record.served_at(3) == request

    await Agent(third, tools=[look, other], plugins=[Why()]).run("And again.", history=off.history)
    assert [message.text for message in third.requests[0].messages if message.role == "tool"] == ["(short)"]


class Looks(Plugin):
    """Looks at answers and changes none."""

    name = "looks"
    may_change_answers = False
    answer: Any = None

    @hookimpl(phase="stand")
    def assess_answer(self, draft: AnswerDraft) -> Any:
        return self.answer


class Meddles(Looks):
    """Says that it changes none, and does."""

    answer = Replace("other")


async def test_text_is_not_held_back_for_a_plugin_that_only_looks() -> None:
    assert Agent(ScriptedModel(["Hello."]), plugins=[Looks()]).stream_mode == "live"


async def test_a_verdict_of_a_plugin_that_only_looks_is_refused() -> None:
    result = await Agent(ScriptedModel(["Hello."]), plugins=[Meddles()]).run("Hi.")
    assert result.text == "Hello."
    assert result.plugin_failures == {"looks": 1}
