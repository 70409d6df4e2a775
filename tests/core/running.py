"""What tests of whole runs share: scripted models, small readers of records, and the rules that every record keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from agentfp import Agent, History, Message, Record, RunResult, ToolCall
from agentfp.events import Event, LlmEnd, RouteDecided, RunConfigured, RunEnded, ToolEnded
from agentfp.model import ModelFeatures, ModelRequest, ModelResponse, Usage
from agentfp_core.testing.scripted import AutoModel, ScriptedModel, ScriptExhaustedError, call

__all__ = [
    "PLAIN",
    "AutoModel",
    "ScriptExhaustedError",
    "ScriptedModel",
    "answering",
    "call",
    "check_record",
    "last_request",
    "names",
    "outcomes",
    "roles",
    "routes",
    "says",
    "tool_texts",
]

PLAIN = ModelFeatures(parallel_tool_calls=True, forced_tool_choice=True, images=True, documents=True)
"""A model that does not stream."""


def says(text: str = "", *calls: ToolCall, **fields: Any) -> ModelResponse:
    """A reply with text and calls in one."""
    return ModelResponse(text=text, tool_calls=calls, **{"usage": Usage(10, 5), **fields})


def answering(*script: Any, **settings: Any) -> Agent[Any, Any]:
    """An agent whose model follows a script; the model's features may be given as ``features``."""
    features = settings.pop("features", None)
    made: Any = Agent
    agent: Agent[Any, Any] = made(ScriptedModel(list(script), features=features), **settings)
    return agent


def last_request(agent: Agent[Any, Any]) -> ModelRequest:
    """What the scripted model of an agent was asked last."""
    model: Any = agent.model
    request: ModelRequest = model.requests[-1]
    return request


def names(record: Iterable[Event], *, domain: str = "agentfp.") -> list[str]:
    """Names of a record's events, without ``agentfp.``."""
    return [event.name.removeprefix("agentfp.") for event in record if event.name.startswith(domain)]


def routes(record: Record) -> list[str]:
    """What the loop chose, reply by reply."""
    return [route.chosen for route in record.of(RouteDecided)]


def outcomes(record: Record) -> dict[str, str]:
    """How each call ended, in the order in which they did."""
    return {event.call_id or "": event.payload.outcome for event in record if isinstance(event.payload, ToolEnded)}


def roles(messages: Iterable[Message]) -> list[str]:
    """Who speaks, message by message."""
    return [message.role for message in messages]


def tool_texts(messages: Iterable[Message]) -> list[str]:
    """What a model reads of its calls, in order."""
    return [message.text for message in messages if message.role == "tool"]


def check_record(of: RunResult[Any] | Record) -> Record:
    """Check what holds for every record of finished runs, however they ended."""
    record = of if isinstance(of, Record) else of.record
    assert [event.seq for event in record] == list(range(len(record)))
    for header in record.headers:
        leg = list(record.of_run(header.run_id))
        assert isinstance(leg[0].payload, RunConfigured)
        assert isinstance(leg[-1].payload, RunEnded)
        assert [isinstance(event.payload, (RunConfigured, RunEnded)) for event in leg].count(True) == 2
    count = Counter(names(record))
    assert count["agent.iteration_start"] == count["agent.iteration_end"]
    assert count["agent.route_decided"] <= len(record.of(LlmEnd)) == count["stream.llm_end"]
    started, ended = ([event.call_id for event in record if event.name == f"agentfp.tool.{word}"] for word in ("started", "ended"))
    assert sorted(started, key=str) == sorted(ended, key=str)
    assert len(set(started)) == len(started)
    check_history(record.history)
    copy = Record.from_lines(record.to_lines())
    assert copy.history == record.history
    for number in range(1, count["context.served"] + 1):
        assert copy.served_at(number).messages == record.served_at(number).messages
    return record


def check_history(history: History) -> None:
    """Each proposed call is answered once, in the order of the calls, before anybody else speaks."""
    waiting: list[str] = []
    for message in history:
        if message.role == "tool":
            assert waiting.pop(0) == message.tool_call_id
        else:
            assert not waiting
            waiting += [made.id for made in message.tool_calls]
    assert not waiting
