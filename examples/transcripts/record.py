"""Records the example transcripts of this folder: real frameworks and the vendors' own types, with models that say what a script says.

Run it from the root of the checkout: ``python -m examples.transcripts.record``. What it writes is described in the README beside it.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
ASKED = "Do you have trail bikes below 1,500 euros, and when could I collect one?"
PROMPT = "You are the assistant of a bicycle shop. Be brief."
ITEMS = [
    {"sku": "TB-2041", "name": "Ridgeline 29", "price_eur": 1249.0, "in_stock": 3, "collect_from": "2026-03-14"},
    {"sku": "TB-2077", "name": "Fjellsti Pro", "price_eur": 1899.0, "in_stock": 1, "collect_from": "2026-03-12"},
    {"sku": "TB-1983", "name": "Ridgeline 27", "price_eur": 1095.5, "in_stock": 0, "collect_from": None},
]
ANSWER = "The Ridgeline 29 (TB-2041) costs 1,249 euros; 3 are in stock, and you could collect one from 14 March 2026."
INVENTED = "The Ridgeline 29 (TB-2047) costs 1,149 euros; 3 are in stock, and you could collect one from 16 March 2026."
CALL_ID = "call_7Q2k"
ARGUMENTS = {"category": "trail"}
RESULT = json.dumps({"items": ITEMS})


def search(category: str) -> dict[str, Any]:
    """Search the shop's stock.

    Args:
        category: the kind of bicycle.
    """
    return {"items": ITEMS}


def write(name: str, data: Any, *, lines: bool = False) -> None:
    """Write a file of this folder, as a document or one value a line."""
    text = (
        "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in data)
        if lines
        else f"{json.dumps(data, ensure_ascii=False, indent=1)}\n"
    )
    path = FOLDER / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def openai_chat() -> None:
    from openai.types.chat import ChatCompletionMessage

    call = {"id": CALL_ID, "type": "function", "function": {"name": "search", "arguments": json.dumps(ARGUMENTS)}}
    calling = ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": [call]})
    rows = []
    for name, answer in (("stock", ANSWER), ("stock-invented", INVENTED)):
        answering = ChatCompletionMessage.model_validate({"role": "assistant", "content": answer})
        said = [m.model_dump(mode="json", exclude_none=True) for m in (calling, answering)]
        asked = [{"role": "system", "content": PROMPT}, {"role": "user", "content": ASKED}]
        rows.append({"id": name, "messages": [*asked, said[0], {"role": "tool", "tool_call_id": CALL_ID, "content": RESULT}, said[1]]})
    write("openai-chat.jsonl", rows, lines=True)


def openai_responses() -> None:
    from openai.types.responses import Response

    output = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
               "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]}]  # fmt: skip
    made = Response.model_validate(
        {"id": "resp_1", "object": "response", "created_at": 1773100000, "model": "scripted", "output": output, "parallel_tool_calls": True,
         "tool_choice": "auto", "tools": []}
    )  # fmt: skip
    given = [
        {"role": "user", "content": ASKED},
        {"type": "function_call", "call_id": CALL_ID, "name": "search", "arguments": json.dumps(ARGUMENTS)},
        {"type": "function_call_output", "call_id": CALL_ID, "output": RESULT},
    ]
    request = {"model": "scripted", "instructions": PROMPT, "input": given}
    write("openai-responses.json", {"request": request, "response": made.model_dump(mode="json", exclude_none=True)})


def anthropic() -> None:
    from anthropic.types import Message

    def reply(*content: dict[str, Any]) -> dict[str, Any]:
        made = Message.model_validate(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "scripted",
                "content": list(content),
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        )
        return made.model_dump(mode="json", exclude_none=True)

    calling = reply({"type": "tool_use", "id": CALL_ID, "name": "search", "input": ARGUMENTS})
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": CALL_ID, "content": RESULT}]}
    messages = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": calling["content"]}, result]
    request = {"model": "scripted", "max_tokens": 500, "system": PROMPT, "messages": messages}
    write("anthropic.json", {"request": request, "response": reply({"type": "text", "text": INVENTED})})


def langchain() -> None:
    from langchain_core.load import dumpd
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, messages_to_dict

    messages = [
        SystemMessage(PROMPT),
        HumanMessage(ASKED),
        AIMessage("", tool_calls=[{"name": "search", "args": ARGUMENTS, "id": CALL_ID}]),
        ToolMessage(RESULT, tool_call_id=CALL_ID, name="search"),
        AIMessage(ANSWER),
    ]
    write("langchain.json", messages_to_dict(messages))
    write("langgraph-state.json", {"values": {"messages": dumpd(messages)}, "config": {"configurable": {"thread_id": "shop-1"}}})


async def pydantic_ai() -> None:
    from opentelemetry.exporter.otlp.json.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel
    from pydantic_ai.models.instrumented import InstrumentationSettings

    def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("search", ARGUMENTS, CALL_ID) if len(messages) == 1 else TextPart(ANSWER)])

    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    agent = Agent(FunctionModel(say), instructions=PROMPT, name="shop", tools=[search])
    agent.instrument = InstrumentationSettings(tracer_provider=provider, version=5)
    done = await agent.run(ASKED)
    write("pydantic-ai.json", json.loads(done.all_messages_json()))
    write("otel-genai.jsonl", [json.loads(encode_spans([span]).to_json()) for span in memory.get_finished_spans()], lines=True)


def atif() -> None:
    from nat.atif import Trajectory  # type: ignore[import-untyped]

    acting = {
        "step_id": 3, "source": "agent", "message": "",
        "tool_calls": [{"tool_call_id": CALL_ID, "function_name": "search", "arguments": ARGUMENTS}],
        "observation": {"results": [{"source_call_id": CALL_ID, "content": RESULT}]},
    }  # fmt: skip
    steps = [
        {"step_id": 1, "source": "system", "message": PROMPT},
        {"step_id": 2, "source": "user", "message": ASKED},
        acting,
        {"step_id": 4, "source": "agent", "message": INVENTED},
    ]
    data = {"schema_version": "ATIF-v1.7", "session_id": "shop-atif-invented", "agent": {"name": "shop", "version": "1"}, "steps": steps}
    write("atif.json", Trajectory.model_validate(data).model_dump(mode="json", exclude_none=True))


def openinference() -> None:
    """Spans as Phoenix lists them; the names of the attributes are OpenInference's own."""
    from openinference.semconv.trace import MessageAttributes, SpanAttributes, ToolCallAttributes

    def said(path: str, number: int, role: str, text: str = "", **more: str) -> dict[str, str]:
        base = f"{path}.{number}"
        fields = {MessageAttributes.MESSAGE_ROLE: role, **({MessageAttributes.MESSAGE_CONTENT: text} if text else {}), **more}
        return {f"{base}.{key}": value for key, value in fields.items()}

    call = f"{MessageAttributes.MESSAGE_TOOL_CALLS}.0"
    wants = {
        f"{call}.{ToolCallAttributes.TOOL_CALL_ID}": CALL_ID,
        f"{call}.{ToolCallAttributes.TOOL_CALL_FUNCTION_NAME}": "search",
        f"{call}.{ToolCallAttributes.TOOL_CALL_FUNCTION_ARGUMENTS_JSON}": json.dumps(ARGUMENTS),
    }
    given, made = SpanAttributes.LLM_INPUT_MESSAGES, SpanAttributes.LLM_OUTPUT_MESSAGES
    asked = {**said(given, 0, "system", PROMPT), **said(given, 1, "user", ASKED)}
    got = {MessageAttributes.MESSAGE_TOOL_CALL_ID: CALL_ID}
    told = {**asked, **said(given, 2, "assistant", **wants), **said(given, 3, "tool", RESULT, **got)}
    tool = {SpanAttributes.TOOL_NAME: "search", ToolCallAttributes.TOOL_CALL_ID: CALL_ID, SpanAttributes.OUTPUT_VALUE: RESULT}
    spans = [
        ("agent", "AGENT", None, {SpanAttributes.INPUT_VALUE: ASKED, SpanAttributes.OUTPUT_VALUE: ANSWER}),
        ("ChatCompletion", "LLM", "s0", {**asked, **said(made, 0, "assistant", **wants)}),
        ("search", "TOOL", "s0", tool),
        ("ChatCompletion", "LLM", "s0", {**told, **said(made, 0, "assistant", ANSWER)}),
    ]
    rows = [
        {"name": name, "context": {"trace_id": "shop-trace", "span_id": f"s{number}"}, "span_kind": kind, "parent_id": parent,
         "start_time": f"2026-03-10T09:00:0{number}+00:00", "status_code": "OK", "attributes": attributes}
        for number, (name, kind, parent, attributes) in enumerate(spans)
    ]  # fmt: skip
    write("openinference-phoenix.json", {"data": rows, "next_cursor": None})


async def agentfp() -> None:
    from agentfp import Agent
    from agentfp.testing import ScriptedModel, call

    agent = Agent(ScriptedModel([call("search", **ARGUMENTS), ANSWER]), tools=[search], instructions=PROMPT)
    (await agent.run(ASKED)).record.save(FOLDER / "agentfp-recording.jsonl")


def unknown() -> None:
    turns = [
        {"who": "Customer", "text": ASKED},
        {"who": "Bot", "did": [{"tool": "search", "with": ARGUMENTS, "got": {"items": ITEMS}}]},
        {"who": "Bot", "text": ANSWER},
    ]
    write("../own-format/shop-log.json", {"shop": "north", "prompt": PROMPT, "turns": turns})


def main() -> None:
    for record in (openai_chat, openai_responses, anthropic, langchain, atif, openinference, unknown):
        record()
    asyncio.run(pydantic_ai())
    asyncio.run(agentfp())


if __name__ == "__main__":
    main()
