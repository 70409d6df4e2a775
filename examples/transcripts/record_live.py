"""Makes the recordings of live runs in this folder: the agent of `examples/airports.py` on the small model of this machine.

`airports-live.jsonl` is agentfp's own recording of a conversation. `airports-live.openai.jsonl` holds the same conversation as OpenAI chat
messages, and a copy of it in which values of the answers were edited to ones that no tool gave.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from agentfp import Message  # noqa: E402
from examples.airports import airport_agent  # noqa: E402

QUESTIONS = ("What is the elevation of the airport in Reykjavik?", "What is the distance from OSL to KEF?", "Which airport is in Bergen?")
EDITS = {"171.0 feet": "153.0 feet", "1781": "1871", "Bergen Airport Flesland": "Bergen Airport Sandsli"}


def as_openai(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages in the form of OpenAI's chat API."""
    made: list[dict[str, Any]] = []
    for message in messages:
        data: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.tool_calls:
            data["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments_json}}
                for call in message.tool_calls
            ]
        if message.role == "tool":
            data["tool_call_id"] = message.tool_call_id
        made.append(data)
    return made


def edited(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A copy whose answers hold inventions; results stay as they are."""
    made = []
    for message in messages:
        text = message["content"]
        if message["role"] == "assistant":
            for true, invented in EDITS.items():
                text = text.replace(true, invented)
        made.append({**message, "content": text})
    return made


def main() -> None:
    """Ask, and write the files."""
    import anyio

    async def ask() -> Any:
        chat = airport_agent().conversation()
        for question in QUESTIONS:
            result = await chat.send(question)
        return result

    result = anyio.run(ask)
    result.record.save(HERE / "airports-live.jsonl")
    messages = as_openai(result.history)
    lines = [{"id": "airports-live", "messages": messages}, {"id": "airports-live-invented", "messages": edited(messages)}]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (HERE / "airports-live.openai.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
