"""A tool message says whether its call failed: in the history, in its JSON, on the record, and to the model."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import Agent, CheckpointError, History, RetryTool
from agentfp.testing import ScriptedModel, call
from tests.core.running import check_record

pytestmark = pytest.mark.anyio


def works() -> str:
    """Works."""
    return "fine"


def breaks() -> str:
    """Breaks."""
    raise ValueError("no")


def asks_again() -> str:
    """Asks again."""
    raise RetryTool("name a switch")


CALLS = [call("works"), call("breaks"), call("asks_again"), call("nowhere")]


async def test_messages_of_calls_that_failed_say_so() -> None:
    model = ScriptedModel([CALLS, "done"])
    result = await Agent(model, tools=[works, breaks, asks_again]).run("go")
    check_record(result)
    assert [(m.tool_name, m.failed) for m in model.requests[1].messages if m.role == "tool"] == [
        ("works", False),
        ("breaks", True),
        ("asks_again", True),
        ("nowhere", True),
    ]
    loaded = History.from_json(result.history.to_json())
    assert list(loaded) == list(result.history)
    again = ScriptedModel(["done"])
    await Agent(again).run("and?", history=loaded)
    assert [m.failed for m in again.requests[0].messages if m.role == "tool"] == [False, True, True, True]


def test_the_mark_is_a_truth_value() -> None:
    wrong: Any = [{"role": "tool", "content": "x", "tool_call_id": "1", "failed": "yes"}]
    with pytest.raises(CheckpointError, match="failed"):
        History.of(wrong)
