"""Cache marks: where a provider may end its cache of a request, as plugins say and the record keeps."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from agentfp import Agent, Record, UsageError
from agentfp.model import CacheMark, ModelFeatures, ModelRequest
from agentfp.plugin import Plugin, RequestDraft, hookimpl
from agentfp.testing import ScriptedModel, call
from tests.core.running import check_record

pytestmark = pytest.mark.anyio

TAKES_MARKS = ModelFeatures(prompt_cache="breakpoints", parallel_tool_calls=True)


def look(n: int) -> str:
    """Look."""
    return f"saw {n}"


class Marks(Plugin):
    """Marks the system text after its own piece, the tools, and the messages of the first call only."""

    name = "marks"

    @hookimpl(phase="annotate")
    def serve_context(self, draft: RequestDraft) -> None:
        draft.mark_cacheable("system", ttl="long")
        draft.add_piece("changing", f"call {draft.call}")
        draft.mark_cacheable("tools")
        if draft.call == 1:
            draft.mark_cacheable("messages")


async def requests_with(features: ModelFeatures, **settings: Any) -> tuple[list[ModelRequest], Record]:
    model = ScriptedModel([call("look", n=1), "done"], features=features)
    made: Any = Agent
    result = await made(model, tools=[look], plugins=[Marks()], instructions="Be brief.", **settings).run("go")
    return model.requests, check_record(result)


async def test_marks_reach_the_model_and_are_rebuilt_from_the_record() -> None:
    requests, record = await requests_with(TAKES_MARKS)
    system, tools = CacheMark("system", len("Be brief."), "long"), CacheMark("tools", 1)
    assert requests[0].cache_marks == (system, tools, CacheMark("messages", 1))
    assert requests[1].cache_marks == (system, tools)
    assert requests[0].system[: system.upto] == "Be brief."
    loaded = Record.from_lines(record.to_lines())
    assert [loaded.served_at(n) for n in (1, 2)] == requests


@pytest.mark.parametrize("kind", ["none", "automatic"])
async def test_a_model_that_takes_no_marks_gets_none(kind: Literal["none", "automatic"]) -> None:
    requests, _ = await requests_with(ModelFeatures(prompt_cache=kind))
    assert [request.cache_marks for request in requests] == [(), ()]


async def test_marks_can_be_switched_off() -> None:
    requests, _ = await requests_with(TAKES_MARKS, model_settings={"prompt_cache": "off"})
    assert [request.cache_marks for request in requests] == [(), ()]


class Wrong(Plugin):
    """Marks what is no field, in a phase whose failure only loses its edits."""

    name = "wrong"

    @hookimpl(phase="annotate")
    def serve_context(self, draft: RequestDraft) -> None:
        draft.mark_cacheable("system")
        field: Any = "sistem"
        with pytest.raises(UsageError, match="'system', 'tools' or 'messages'"):
            draft.mark_cacheable(field)
        raise RuntimeError("after all")


async def test_the_marks_of_a_plugin_that_fails_are_dropped() -> None:
    model = ScriptedModel(["done"], features=TAKES_MARKS)
    result = await Agent(model, plugins=[Wrong()], instructions="Be brief.").run("go")
    assert result.plugin_failures == {"wrong": 1}
    assert model.requests[0].cache_marks == ()
