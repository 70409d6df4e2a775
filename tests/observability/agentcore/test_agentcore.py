"""What AgentCore gets of a run: spans at a receiver of OTLP, log events at a server of CloudWatch Logs, joined by the ids of the spans."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import baggage

from agentfp import Agent, ConfigError, tool
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp_agentcore import AgentCore, session
from agentfp_otel import Otel
from tests.observability.aws.moto_server import client
from tests.observability.otel.receiver import Received, receiver

pytestmark = pytest.mark.anyio
CANARY = "canary-4711"
HEADER = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"


@tool
async def look(x: str) -> str:
    """Look at x."""
    return f"seen {x}"


@tool
async def broken(x: str) -> str:
    """Break."""
    raise TimeoutError(CANARY)


class Runtime:
    """A runtime: its id, its log group, and a receiver of its spans."""

    def __init__(self, url: str, received: Received) -> None:
        self.url = url
        self.received = received
        self.agent_id = f"desk-{uuid.uuid4().hex}"
        self.group = f"/aws/bedrock-agentcore/runtimes/{self.agent_id}-DEFAULT"
        self.logs = client("logs", url)
        self.logs.create_log_group(logGroupName=self.group)

    def plugin(self, **settings: Any) -> AgentCore:
        return AgentCore(**{"agent_id": self.agent_id, "endpoint": self.received.url, "endpoint_url": self.url, **settings})

    def lines(self) -> list[dict[str, Any]]:
        """The log events."""
        streams = self.logs.describe_log_streams(logGroupName=self.group)["logStreams"]
        found = []
        for stream in streams:
            page = self.logs.get_log_events(logGroupName=self.group, logStreamName=stream["logStreamName"], startFromHead=True)
            found += [json.loads(event["message"]) for event in page["events"]]
        return found

    def spans(self) -> dict[str, Any]:
        """The spans, by name; those of one name in a list."""
        return {span.span_id.hex(): span for span in self.received.spans()}


@pytest.fixture
def runtime(aws: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    monkeypatch.setenv("AGENT_OBSERVABILITY_ENABLED", "true")
    with receiver() as received:
        yield Runtime(aws, received)


def agent(shown: AgentCore, *script: Any, **more: Any) -> Agent[Any, Any]:
    return Agent(ScriptedModel(list(script)), tools=[look, broken], plugins=[shown], name="desk", **more)


async def test_every_log_event_is_joined_to_the_span_that_it_belongs_to(runtime: Runtime) -> None:
    one = agent(runtime.plugin(), [call("look", x="1"), call("broken", x="2")], "Done.")
    result = await one.run("Look.", session_id="s-1")
    await one.shutdown()
    lines, spans = runtime.lines(), runtime.spans()
    assert [line["type"] for line in lines] == [event.name for event in result.record.events()]
    joined = [(line["type"], spans[line["meta"]["span_id"]]) for line in lines]
    (trace_id,) = {span.trace_id.hex() for _, span in joined}
    assert {line["meta"]["trace_id"] for line in lines} == {trace_id}
    names = {(kind, span.name) for kind, span in joined}
    for wanted in (
        ("agentfp.agent.run_configured", "invoke_agent desk"),
        ("agentfp.agent.iteration_start", "iteration 1"),
        ("agentfp.stream.llm_end", "chat script"),
        ("agentfp.tool.started", "execute_tool look"),
        ("agentfp.tool.ended", "execute_tool look"),
        ("agentfp.tool.ended", "execute_tool broken"),
        ("agentfp.agent.iteration_end", "iteration 2"),
        ("agentfp.agent.turn_end", "invoke_agent desk"),
        ("agentfp.run.ended", "invoke_agent desk"),
    ):
        assert wanted in names
    for line in lines:
        if line["type"] in ("agentfp.tool.started", "agentfp.tool.ended"):
            attributes = {a.key: a.value.string_value for a in spans[line["meta"]["span_id"]].attributes}
            assert attributes["gen_ai.tool.call.id"] == line["meta"]["call_id"]


async def test_spans_are_grouped_by_the_session_of_the_request(runtime: Runtime) -> None:
    one = agent(runtime.plugin(), "Done.")
    with session({HEADER: "s-1"}) as session_id:
        assert baggage.get_baggage("session.id") == "s-1"
        await one.run("Look.", session_id=session_id)
    assert baggage.get_baggage("session.id") is None
    await one.shutdown()
    for name in ("invoke_agent desk", "chat script"):
        span = next(span for span in runtime.received.spans() if span.name == name)
        attributes = {a.key: a.value.string_value for a in span.attributes}
        assert attributes["session.id"] == attributes["gen_ai.conversation.id"] == "s-1"
    assert {line["meta"]["session_id"] for line in runtime.lines()} == {"s-1"}


async def test_a_request_without_a_session_has_none() -> None:
    with session({"other": "x"}) as session_id:
        assert session_id is None
        assert baggage.get_baggage("session.id") is None


async def test_a_run_that_fails_is_joined_too(runtime: Runtime) -> None:
    one = agent(runtime.plugin(), call("look", x="1"), ValueError(CANARY))
    with pytest.raises(Exception, match=r".*"):
        await one.run("Look.")
    await one.shutdown()
    lines, spans = runtime.lines(), runtime.spans()
    assert {line["meta"]["span_id"] for line in lines} <= set(spans)
    assert spans[lines[-1]["meta"]["span_id"]].name == "invoke_agent desk"
    assert [span.name for span in spans.values()].count("iteration 2") == 1


async def test_nested_runs_are_joined_to_spans_of_their_own(runtime: Runtime) -> None:
    inner = Agent(ScriptedModel([call("look", x="1"), "Seen."]), tools=[look], name="network")
    shown = runtime.plugin()
    script = [call("network", request="look"), "Done."]
    one = Agent(ScriptedModel(script), tools=[inner.as_tool("network", "Answers questions.")], plugins=[shown], name="desk")
    await one.run("Look.")
    await one.shutdown()
    spans = runtime.spans()
    nested = {spans[line["meta"]["span_id"]].name for line in runtime.lines() if "path" in line["meta"]}
    assert {"invoke_agent network", "execute_tool look", "iteration 1"} <= nested
    assert "invoke_agent desk" not in nested


@pytest.mark.parametrize("content", [False, True])
async def test_content_goes_out_only_when_it_is_asked_for(runtime: Runtime, content: bool) -> None:
    one = agent(runtime.plugin(content=content), call("look", x=CANARY), f"It is {CANARY}.", instructions=[CANARY])
    await one.run(CANARY)
    await one.shutdown()
    assert (CANARY in json.dumps(runtime.lines())) is content
    assert any(CANARY in str(span) for span in runtime.received.spans()) is content


async def test_backends_that_are_away_break_no_run_and_losses_are_counted(runtime: Runtime) -> None:
    runtime.received.status = 400
    shown = runtime.plugin(log_group="/not/there", flush_seconds=3)
    one = agent(shown, "Done.")
    result = await one.run("Look.")
    await shown.flush()
    await one.shutdown()
    assert result.text == "Done."
    assert result.plugin_failures == {}
    assert shown.stats.failed == shown.stats.accepted == len(list(result.record.events()))
    assert (shown.spans.exported, shown.spans.failed) == (0, shown.spans.ended)


# --- the environment ------------------------------------------------------------------------------------------------------------------

ALL = ("AGENT_OBSERVABILITY_ENABLED", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_PYTHON_DISTRO")


@pytest.fixture
def bare(aws: str, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ALL:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_an_environment_that_lacks_something_is_refused_with_all_that_it_lacks(bare: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError) as refused:
        agent(AgentCore(agent_id="a"), "Done.")
    words = str(refused.value)
    assert "AGENT_OBSERVABILITY_ENABLED is not `true` in the environment" in words
    assert "no OTLP exporter is configured: set OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or OTEL_PYTHON_DISTRO=aws_distro" in words
    assert "`strict = false`" in words


@pytest.mark.parametrize(("name", "value"), [(ALL[1], "http://x"), (ALL[2], "http://x"), (ALL[3], "aws_distro")])
def test_each_way_to_configure_an_exporter_is_taken(bare: pytest.MonkeyPatch, name: str, value: str) -> None:
    bare.setenv("AGENT_OBSERVABILITY_ENABLED", "true")
    bare.setenv(name, value)
    agent(AgentCore(agent_id="a"), "Done.")


def test_what_is_lacking_is_logged_where_it_is_no_matter(bare: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    agent(AgentCore(agent_id="a", strict=False), "Done.")
    assert "AGENT_OBSERVABILITY_ENABLED is not `true`" in caplog.text
    assert "no OTLP exporter is configured" in caplog.text


def test_the_log_group_is_that_of_the_runtimes_endpoint() -> None:
    assert AgentCore(agent_id="a-1", endpoint_name="PROD").settings.group == "/aws/bedrock-agentcore/runtimes/a-1-PROD"
    assert AgentCore(log_group="/mine").settings.group == "/mine"
    with pytest.raises(ConfigError, match="set `agent_id`, the id of the runtime, or `log_group`"):
        AgentCore()


class Nowhere:
    """Takes everything and keeps nothing."""

    def put_log_events(self, **arguments: Any) -> dict[str, Any]:
        return {}


def test_it_keeps_the_rules_of_plugins(bare: pytest.MonkeyPatch) -> None:
    script = [call("look", x="3"), "Done."]
    may_change = ("_otel", "_logs")

    def make() -> AgentCore:
        return AgentCore(agent_id="a", strict=False, client=Nowhere())

    assert check_plugin(make, tools=[look], script=script, may_change=may_change).problems == []


async def test_spans_that_cannot_be_closed_do_not_keep_log_events_back(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = runtime.plugin()
    result = await Agent(ScriptedModel(["Done."]), plugins=[plugin]).run("Look.")

    close = Otel.close

    async def fails(self: Any) -> None:
        await close(self)
        raise RuntimeError("no exporter")

    monkeypatch.setattr(Otel, "close", fails)
    with pytest.raises(RuntimeError, match="no exporter"):
        await plugin.close()
    assert len(runtime.lines()) == len(list(result.record.events()))
