"""Exports of traces: of instrumented runs of pydantic-ai, encoded by OpenTelemetry's own encoder, and of OpenInference's attributes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from openinference.semconv.trace import MessageAttributes, SpanAttributes, ToolCallAttributes
from opentelemetry import trace
from opentelemetry.exporter.otlp.json.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

from tests.plugins.transcripts.telling import ANSWER, ASKED, CONVERSATION, RESULT, failed, read_all, read_one, told

OTLP = "otlp"


class Tracing:
    """Spans that were ended, and the forms in which they are exported."""

    def __init__(self) -> None:
        self._memory = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._memory))
        self.tracer = self.provider.get_tracer("test")

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self._memory.get_finished_spans()

    def otlp(self) -> Any:
        made = encode_spans(self.spans)
        return json.loads(made.to_json()) if hasattr(made, "to_json") else made.to_dict()

    def printed(self) -> Any:
        return [json.loads(span.to_json()) for span in self.spans]

    def lines(self) -> Any:
        """As a collector writes a file: one chunk a line, a span each."""
        (resource,) = self.otlp()["resourceSpans"]
        (scope,) = resource["scopeSpans"]
        return [{"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]} for span in scope["spans"]]

    def rows(self) -> Any:
        """As Phoenix gives a table of spans, its attributes nested and flattened lists put together again."""
        made = []
        for span in self.printed():
            row = {"name": span["name"], "context.trace_id": span["context"]["trace_id"], "context.span_id": span["context"]["span_id"]}
            row |= {"parent_id": span["parent_id"], "start_time": span["start_time"], "status_code": span["status"]["status_code"]}
            made.append(row | {f"attributes.{key}": value for key, value in span["attributes"].items()})
        return made

    def phoenix(self) -> Any:
        """As Phoenix's server lists spans."""
        keys = ("name", "context", "parent_id", "start_time", "attributes")
        return {
            "data": [{**{key: span[key] for key in keys}, "status_code": span["status"]["status_code"]} for span in self.printed()],
            "next_cursor": None,
        }


FORMS: dict[str, Callable[[Tracing], Any]] = {
    "otlp": Tracing.otlp, "printed": Tracing.printed, "lines": Tracing.lines, "rows": Tracing.rows, "phoenix": Tracing.phoenix,
}  # fmt: skip


@pytest.fixture
def tracing() -> Tracing:
    return Tracing()


# --- OpenTelemetry's GenAI conventions, by pydantic-ai -------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _loop() -> Iterator[None]:
    """A loop for the framework's `run_sync`, which otherwise makes one and never closes it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


def price(city: str) -> dict[str, Any]:
    return {**RESULT, "city": city}


def broken() -> str:
    raise ModelRetry("no such thing 99")


def desk(tracing: Tracing, *calls: ToolCallPart, name: str = "desk", answer: str = ANSWER, content: bool = True) -> Agent[None, str]:
    def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        done = isinstance(messages[-1], ModelResponse) or any(p.part_kind == "tool-return" for p in messages[-1].parts)
        return ModelResponse(parts=[TextPart(answer)] if done else list(calls))

    agent: Agent[None, str] = Agent(FunctionModel(say), instructions="Be brief.", name=name, tools=[price, broken])
    agent.instrument = InstrumentationSettings(tracer_provider=tracing.provider, version=5, include_content=content)
    return agent


PRICE = ToolCallPart("price", {"city": "Oslo"}, "c1")


@pytest.mark.parametrize("form", FORMS)
def test_a_run_of_an_agent(tracing: Tracing, form: str) -> None:
    desk(tracing, PRICE).run_sync(ASKED)
    transcript = read_one(FORMS[form](tracing), "spans")
    assert told(transcript) == CONVERSATION
    assert "price" in [spec.name for spec in transcript.tools]


def test_turns_of_one_conversation_are_one_transcript(tracing: Tracing) -> None:
    agent = desk(tracing, PRICE)
    first = agent.run_sync(ASKED)
    agent.run_sync("And again?", message_history=first.all_messages())
    transcript = read_one(tracing.otlp(), "spans")
    assert told(transcript)[: len(CONVERSATION)] == CONVERSATION
    assert [m.role for m in transcript.messages[len(CONVERSATION) :]] == ["user", "assistant", "tool", "assistant"]


def test_agents_that_call_each_other_are_kept_apart(tracing: Tracing) -> None:
    inner = desk(tracing, PRICE, name="inner")
    outer = desk(tracing, ToolCallPart("helper", {}, "h1"), name="outer", answer="The helper says 1234.")

    @outer.tool_plain
    async def helper() -> str:
        return (await inner.run(ASKED)).output

    outer.run_sync("Ask the helper.")
    first, second = sorted(read_all(tracing.otlp()), key=lambda t: len(t.messages[-1].content))
    by_last = {t.messages[-1].content: t for t in (first, second)}
    assert told(by_last[ANSWER]) == CONVERSATION
    assert [m.role for m in by_last["The helper says 1234."].messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert first.id != second.id


def test_runs_side_by_side_in_one_export(tracing: Tracing) -> None:
    for _ in range(3):
        desk(tracing, PRICE).run_sync(ASKED)
    found = read_all(tracing.otlp())
    assert [told(one) for one in found] == [CONVERSATION] * 3
    assert len({one.id for one in found}) == 3


def test_a_tool_that_failed_is_known_by_its_span(tracing: Tracing) -> None:
    desk(tracing, ToolCallPart("broken", {}, "c1"), ToolCallPart("price", {"city": "Oslo"}, "c2")).run_sync(ASKED)
    (said,) = failed(read_one(tracing.otlp(), "spans"))
    assert "no such thing 99" in said


def test_spans_without_content_are_told(tracing: Tracing) -> None:
    desk(tracing, PRICE, content=False).run_sync(ASKED)
    transcript = read_one(tracing.otlp(), "spans")
    assert transcript.problems == ("the export holds no texts: its instrumentation was told to leave content out",)


# --- older conventions -----------------------------------------------------------------------------------------------------

CALLS = [{"id": "c1", "type": "function", "function": {"name": "price", "arguments": '{"city": "Oslo"}'}}]


def test_events_of_the_older_conventions(tracing: Tracing) -> None:
    with tracing.tracer.start_as_current_span("chat m", attributes={"gen_ai.operation.name": "chat"}) as span:
        span.add_event("gen_ai.system.message", {"content": "Be brief."})
        span.add_event("gen_ai.user.message", {"content": ASKED})
        span.add_event("gen_ai.choice", {"index": 0, "message": json.dumps({"role": "assistant", "tool_calls": CALLS})})
    with tracing.tracer.start_as_current_span(
        "chat m", attributes={"gen_ai.operation.name": "chat"}, context=trace.set_span_in_context(span)
    ) as span:
        span.add_event("gen_ai.system.message", {"content": "Be brief."})
        span.add_event("gen_ai.user.message", {"content": ASKED})
        span.add_event("gen_ai.assistant.message", {"tool_calls": json.dumps(CALLS)})
        span.add_event("gen_ai.tool.message", {"id": "c1", "content": json.dumps(RESULT)})
        span.add_event("gen_ai.choice", {"index": 0, "message": json.dumps({"role": "assistant", "content": ANSWER})})
    assert told(read_one(tracing.otlp(), "spans")) == CONVERSATION


def test_events_that_are_logs_beside_the_spans() -> None:
    def text(value: Any) -> dict[str, Any]:
        if isinstance(value, Mapping):
            return {"kvlistValue": {"values": [{"key": k, "value": text(v)} for k, v in value.items()]}}
        return {"stringValue": value}

    def log(name: str, **body: Any) -> dict[str, Any]:
        return {"eventName": name, "traceId": "t", "spanId": "s", "timeUnixNano": "1", "body": text(body)}

    records = [
        log("gen_ai.user.message", content=ASKED),
        log("gen_ai.tool.message", id="c1", content=json.dumps(RESULT)),
        log("gen_ai.choice", message={"role": "assistant", "content": ANSWER}),
    ]
    spans = [{"traceId": "t", "spanId": "s", "name": "chat", "startTimeUnixNano": "1", "attributes": []}]
    lines = [{"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}, {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}]
    assert told(read_one(lines, "spans")) == [("user", ASKED), ("tool", None, RESULT), ("assistant", ANSWER)]


def test_numbered_attributes_of_openllmetry(tracing: Tracing) -> None:
    attributes = {
        "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Be brief.",
        "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": ASKED,
        "gen_ai.prompt.2.role": "assistant", "gen_ai.prompt.2.tool_calls.0.id": "c1",
        "gen_ai.prompt.2.tool_calls.0.name": "price", "gen_ai.prompt.2.tool_calls.0.arguments": '{"city": "Oslo"}',
        "gen_ai.prompt.3.role": "tool", "gen_ai.prompt.3.tool_call_id": "c1", "gen_ai.prompt.3.content": json.dumps(RESULT),
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": ANSWER,
    }  # fmt: skip
    with tracing.tracer.start_as_current_span("openai.chat", attributes=attributes):
        pass
    assert told(read_one(tracing.otlp(), "spans")) == CONVERSATION


# --- OpenInference ---------------------------------------------------------------------------------------------------------


def messages(path: str, said: Sequence[dict[str, Any]]) -> dict[str, str]:
    made = {}
    for number, one in enumerate(said):
        base = f"{path}.{number}"
        made[f"{base}.{MessageAttributes.MESSAGE_ROLE}"] = one["role"]
        if "content" in one:
            made[f"{base}.{MessageAttributes.MESSAGE_CONTENT}"] = one["content"]
        if "tool_call_id" in one:
            made[f"{base}.{MessageAttributes.MESSAGE_TOOL_CALL_ID}"] = one["tool_call_id"]
        for index, wanted in enumerate(one.get("tool_calls", ())):
            inner = f"{base}.{MessageAttributes.MESSAGE_TOOL_CALLS}.{index}"
            made[f"{inner}.{ToolCallAttributes.TOOL_CALL_ID}"] = wanted["id"]
            made[f"{inner}.{ToolCallAttributes.TOOL_CALL_FUNCTION_NAME}"] = wanted["function"]["name"]
            made[f"{inner}.{ToolCallAttributes.TOOL_CALL_FUNCTION_ARGUMENTS_JSON}"] = wanted["function"]["arguments"]
    return made


GIVEN = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASKED}]
WANTS = {"role": "assistant", "tool_calls": CALLS}
GOT = {"role": "tool", "content": json.dumps(RESULT), "tool_call_id": "c1"}
SAYS = {"role": "assistant", "content": ANSWER}


def model_call(tracing: Tracing, given: Sequence[dict[str, Any]], said: dict[str, Any], **more: str) -> None:
    attributes = {
        SpanAttributes.OPENINFERENCE_SPAN_KIND: "LLM",
        **messages(SpanAttributes.LLM_INPUT_MESSAGES, given),
        **messages(SpanAttributes.LLM_OUTPUT_MESSAGES, [said]),
        **more,
    }
    with tracing.tracer.start_as_current_span("ChatCompletion", attributes=attributes):
        pass


def tool_span(tracing: Tracing, result: str, *, fails: bool = False) -> None:
    attributes = {
        SpanAttributes.OPENINFERENCE_SPAN_KIND: "TOOL",
        SpanAttributes.TOOL_NAME: "price",
        "tool_call.id": "c1",
        SpanAttributes.OUTPUT_VALUE: result,
    }
    with tracing.tracer.start_as_current_span("price", attributes=attributes) as span:
        if fails:
            span.set_status(StatusCode.ERROR)


@pytest.mark.parametrize("form", FORMS)
def test_open_inference(tracing: Tracing, form: str) -> None:
    with tracing.tracer.start_as_current_span(
        "agent",
        attributes={
            SpanAttributes.OPENINFERENCE_SPAN_KIND: "AGENT",
            SpanAttributes.INPUT_VALUE: ASKED,
            SpanAttributes.OUTPUT_VALUE: ANSWER,
        },
    ):
        model_call(tracing, GIVEN, WANTS)
        tool_span(tracing, json.dumps(RESULT))
        model_call(tracing, [*GIVEN, WANTS, GOT], SAYS)
    assert told(read_one(FORMS[form](tracing), "spans")) == CONVERSATION


def test_lists_that_a_table_of_phoenix_holds_whole() -> None:
    role, content = MessageAttributes.MESSAGE_ROLE, MessageAttributes.MESSAGE_CONTENT
    row = {
        "name": "ChatCompletion", "context.trace_id": "t", "context.span_id": "s", "span_kind": "LLM", "start_time": "2026-01-01T00:00:00",
        "attributes.llm.input_messages": [{role: "user", content: ASKED}, {role: "tool", content: "1234"}],
        "attributes.llm.output_messages": [{role: "assistant", content: ANSWER}],
    }  # fmt: skip
    assert told(read_one([row], "spans")) == [("user", ASKED), ("tool", None, 1234), ("assistant", ANSWER)]


def test_a_result_that_only_the_tools_span_holds(tracing: Tracing) -> None:
    with tracing.tracer.start_as_current_span("agent", attributes={SpanAttributes.OPENINFERENCE_SPAN_KIND: "AGENT"}):
        model_call(tracing, GIVEN, WANTS)
        tool_span(tracing, json.dumps(RESULT))
        model_call(tracing, [*GIVEN, WANTS], SAYS)
    assert told(read_one(tracing.otlp(), "spans")) == CONVERSATION


def test_a_failed_tool_by_the_status_of_its_span(tracing: Tracing) -> None:
    with tracing.tracer.start_as_current_span("agent", attributes={SpanAttributes.OPENINFERENCE_SPAN_KIND: "AGENT"}):
        model_call(tracing, GIVEN, WANTS)
        tool_span(tracing, "boom", fails=True)
        model_call(tracing, [*GIVEN, WANTS, {**GOT, "content": "boom"}], SAYS)
    assert failed(read_one(tracing.otlp(), "spans")) == ["boom"]


def test_an_agent_whose_model_calls_were_not_traced(tracing: Tracing) -> None:
    attributes = {SpanAttributes.OPENINFERENCE_SPAN_KIND: "AGENT", SpanAttributes.INPUT_VALUE: ASKED, SpanAttributes.OUTPUT_VALUE: ANSWER}
    with tracing.tracer.start_as_current_span("agent", attributes=attributes):
        tool_span(tracing, json.dumps(RESULT))
    assert told(read_one(tracing.otlp(), "spans")) == [("user", ASKED), ("tool", "price", RESULT), ("assistant", ANSWER)]


def test_what_a_retriever_found_stands_before_the_answer(tracing: Tracing) -> None:
    found = {SpanAttributes.OPENINFERENCE_SPAN_KIND: "RETRIEVER", "retrieval.documents.0.document.content": "Oslo: 1234"}
    with tracing.tracer.start_as_current_span("chain", attributes={SpanAttributes.OPENINFERENCE_SPAN_KIND: "CHAIN"}):
        with tracing.tracer.start_as_current_span("search", attributes=found):
            pass
        model_call(tracing, GIVEN, SAYS)
    transcript = read_one(tracing.otlp(), "spans")
    assert told(transcript) == [*CONVERSATION[:2], ("tool", "search", "Oslo: 1234"), CONVERSATION[-1]]


def test_a_model_call_that_two_instrumentations_tell_is_told_once(tracing: Tracing) -> None:
    kind = {SpanAttributes.OPENINFERENCE_SPAN_KIND: "LLM"}
    calls: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [([*GIVEN], WANTS), ([*GIVEN, WANTS, GOT], SAYS)]
    for given, said in calls:
        inputs, outputs = messages(SpanAttributes.LLM_INPUT_MESSAGES, given), messages(SpanAttributes.LLM_OUTPUT_MESSAGES, [said])
        session = {SpanAttributes.SESSION_ID: "s1"}
        with tracing.tracer.start_as_current_span("ChatModel", attributes={**kind, **inputs, **outputs, **session}):
            model_call(tracing, given, said, **session)
            with tracing.tracer.start_as_current_span("completion", attributes={**kind, **inputs, **session}):
                pass
    assert told(read_one(tracing.otlp(), "spans")) == CONVERSATION


def test_an_answer_that_was_asked_for_twice_is_told_twice(tracing: Tracing) -> None:
    with tracing.tracer.start_as_current_span("chain", attributes={SpanAttributes.OPENINFERENCE_SPAN_KIND: "CHAIN"}):
        for text in ("1234", "1235"):
            model_call(tracing, [*GIVEN, WANTS, GOT], {"role": "assistant", "content": text})
    assert [t.messages[-1].content for t in read_all(tracing.otlp())] == ["1234", "1235"]


def test_a_session_of_several_traces(tracing: Tracing) -> None:
    session = {SpanAttributes.SESSION_ID: "s1"}
    model_call(tracing, [*GIVEN, WANTS, GOT], SAYS, **session)
    model_call(
        tracing, [*GIVEN, WANTS, GOT, SAYS, {"role": "user", "content": "Sure?"}], {"role": "assistant", "content": "Yes."}, **session
    )
    transcript = read_one(tracing.otlp(), "spans")
    assert transcript.id == "s1"
    assert told(transcript) == [*CONVERSATION, ("user", "Sure?"), ("assistant", "Yes.")]
