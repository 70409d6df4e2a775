"""What people, models and tools wrote is on no span, metric or log record, unless one setting says so; and then where it belongs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan

from agentfp import RedactionPolicy, tool
from agentfp.plugin import Plugin, Run, hookimpl
from agentfp.testing import call
from agentfp_otel import Otel
from agentfp_otel.contents import LIMIT
from tests.core.canaries import Canaries, sweep
from tests.observability.otel.tracing import Backend, agent, attributes, look
from tests.plugins.transcripts.telling import read_all, told

pytestmark = pytest.mark.anyio


def everything(backend: Backend) -> str:
    """All that a backend is told, as one text."""
    metrics = backend.reader.get_metrics_data()
    logs = [repr((record.body, record.event_name, record.severity_text, dict(record.attributes or {}))) for record in backend.logs()]
    return "\n".join([*[shown(span) for span in backend.spans], metrics.to_json() if metrics else "", *logs])


def shown(span: ReadableSpan) -> str:
    described = span.status.description or ""
    notes = [(event.name, dict(event.attributes or {})) for event in span.events]
    links = [dict(link.attributes or {}) for link in span.links]
    return repr((span.name, dict(span.attributes or {}), described, notes, links, dict(span.resource.attributes)))


async def test_no_canary_is_on_a_span_a_metric_or_a_log_record() -> None:
    c = Canaries()
    backend = Backend(logs=True, profiles=("openinference", "langfuse", "langsmith"))
    await sweep(c, policy=None, sinks=[backend.otel])
    assert len(backend.spans) > 50
    assert backend.logs()
    assert backend.metrics()
    assert not c.seen_in(everything(backend))


async def test_with_content_the_canaries_are_there() -> None:
    c = Canaries()
    backend = Backend(content=True, logs=True)
    await sweep(c, policy=None, sinks=[backend.otel])
    seen = c.seen_in(everything(backend))
    wanted = {"prompt", "answer", "argument", "result", "instructions", "tool_description", "undeclared_tool", "delivered", "note"}
    assert wanted <= seen
    assert {"deps", "unread"}.isdisjoint(seen)


async def test_a_policy_masks_what_content_shows() -> None:
    c = Canaries()
    backend = Backend(content=True, logs=True)
    await sweep(c, policy=RedactionPolicy(patterns={"canary": r"zq\d+canary\w+"}), sinks=[backend.otel])
    assert not c.seen_in(everything(backend))


async def test_a_known_secret_is_masked_wherever_it_stands() -> None:
    class Credentials(Plugin):
        """Knows a secret."""

        name = "credentials"

        @hookimpl
        def admit_input(self, run: Run[Any]) -> None:
            run.mask_value("s3cret-value")

    @tool
    def fetch(key: str) -> str:
        """Fetch."""
        return f"key was {key}"

    backend = Backend(content=True)
    script = [call("fetch", key="s3cret-value"), "The password is s3cret-value, in prose."]
    await agent(backend, *script, tools=[fetch], plugins=[Credentials()]).run("use it")
    assert "key was [REDACTED]" in everything(backend)
    assert "s3cret-value" not in everything(backend)


async def test_content_is_off_unless_it_is_switched_on_and_the_trace_says_which() -> None:
    for settings, on in (({}, False), ({"content": True}, True)):
        backend = Backend(**settings)
        await agent(backend, "hello").run("who?")
        assert attributes(backend.one("invoke_agent"))["agentfp.content"] is on
        assert ("who?" in everything(backend)) is on
    assert Otel.Settings().content is False


async def test_where_content_stands() -> None:
    backend = Backend(content=True)
    made = agent(backend, call("look", id="c1", x=1), "seen 1", instructions="Be brief.", model_settings={"temperature": 0.5})
    await made.run("go")
    first, second = [attributes(span) for span in backend.named("chat")]
    assert json.loads(first["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be brief."}]
    assert first["gen_ai.request.temperature"] == 0.5
    (definition,) = json.loads(first["gen_ai.tool.definitions"])
    assert (definition["type"], definition["name"], definition["description"]) == ("function", "look", "Look at x.")
    assert definition["parameters"]["properties"] == {"x": {"type": "integer"}}
    asked = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    called = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": 1}}]}
    found = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "seen 1"}]}
    said = {"role": "assistant", "parts": [{"type": "text", "content": "seen 1"}]}
    assert json.loads(first["gen_ai.input.messages"]) == [asked]
    assert json.loads(first["gen_ai.output.messages"]) == [called]
    assert json.loads(second["gen_ai.input.messages"]) == [asked, called, found]
    assert json.loads(second["gen_ai.output.messages"]) == [said]
    ran = attributes(backend.one("execute_tool"))
    assert json.loads(ran["gen_ai.tool.call.arguments"]) == {"x": 1}
    assert ran["gen_ai.tool.call.result"] == "seen 1"
    root = attributes(backend.one("invoke_agent"))
    assert json.loads(root["gen_ai.input.messages"]) == [asked]
    assert json.loads(root["gen_ai.output.messages"]) == [said]


async def test_long_content_is_cut_and_what_is_new_is_kept() -> None:
    @tool
    def dump(n: int) -> str:
        """Dump."""
        return f"{n}" + "x" * 20_000

    backend = Backend(content=True)
    await agent(backend, *[call("dump", n=n) for n in range(4)], "done", tools=[dump]).run("go")
    for span in backend.spans:
        assert all(len(value) <= LIMIT for value in attributes(span).values() if isinstance(value, str)), span.name
    last = attributes(backend.named("chat")[-1])
    assert "3xxx" in last["gen_ai.input.messages"]
    assert last["agentfp.request.messages_shown"] < last["agentfp.request.messages"] == 9


async def test_a_trace_with_content_reads_as_a_transcript() -> None:
    """The library's own reader of traced conversations understands what is written here."""
    backend = Backend(content=True)
    await agent(backend, call("look", id="c1", x=1), "It was seen.", tools=[look]).run("go")
    (transcript,) = read_all([json.loads(span.to_json()) for span in backend.spans])
    assert told(transcript) == [
        ("user", "go"),
        ("assistant", "", "look", {"x": 1}),
        ("tool", "look", "seen 1"),
        ("assistant", "It was seen."),
    ]


@pytest.mark.parametrize("content", [True, False])
async def test_what_is_no_text_in_utf_8_costs_no_span_and_no_attribute(content: bool, caplog: pytest.LogCaptureFixture) -> None:
    backend = Backend(content=content, logs=True, profiles=["openinference"])
    script = [[call("look", id="c1", x="\ud800"), call("no\ud800", id="c2")], "ok \ud800 ü"]
    result = await agent(backend, *script, name="half\ud800").run("go \ud800")
    assert result.text == "ok \ud800 ü"
    spans = encode_spans(backend.spans).SerializeToString()  # as the exporters over OTLP do it
    assert b"invoke_agent half?" in spans
    assert ("ok ? ü".encode() in spans) is content
    assert encode_logs(backend.log_exporter.get_finished_logs()).SerializeToString()
    metrics = backend.reader.get_metrics_data()
    assert metrics is not None
    assert encode_metrics(metrics).SerializeToString()
    assert "Failed to encode" not in caplog.text
