"""Requests and replies of every kind, for the tests of the Gemini provider."""

from __future__ import annotations

from typing import Any

from agentfp import ImagePart, Message
from agentfp.model import DocumentPart, ModelRequest, ModelSettings, ToolSpec
from agentfp_gemini.reading import Reading

LOOK = ToolSpec("look", "Looks.", '{"additionalProperties":false,"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"}')
SIGNATURE = "c2lnbmVkIGJ5IHRoZSBtb2RlbA=="


def part(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, **more}


def call(name: str = "look", signature: str | None = None, **facts: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"functionCall": {"name": name, "args": {"n": 1}, **facts}}
    return made if signature is None else {**made, "thoughtSignature": signature}


def reply_of(*parts: dict[str, Any], finish: str | None = "STOP", **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **more}


def answer_of(*parts: dict[str, Any], id: str = "a") -> Message:
    """The message that the kernel makes of a reply with these parts."""
    reading = Reading("gemini", "m")
    list(reading.feed(reply_of(*parts)))
    response = reading.response(None)
    minted = [
        c if c.id else type(c)(f"{id}-{number}", c.name, c.arguments_json, c.provider_meta) for number, c in enumerate(response.tool_calls)
    ]
    return Message(id, "assistant", response.text, tool_calls=tuple(minted), thinking=response.thinking)


def result_of(answer: Message, number: int, text: str = "seen") -> Message:
    asked = answer.tool_calls[number]
    return Message(f"r-{asked.id}", "tool", text, tool_call_id=asked.id, tool_name=asked.name)


def everything() -> ModelRequest:
    """A request with all that one may hold."""
    asked = answer_of(part("hm", thought=True), part("Let me look."), call(signature=SIGNATURE, id="c1"), call("find", id="c2"))
    plain = answer_of(call(), call(), id="b")
    return ModelRequest(
        system="You look.",
        messages=(
            Message(
                "1",
                "user",
                "What is this?",
                parts=(ImagePart("image/png", b"\x89PNG"), DocumentPart("application/pdf", url="gs://b/d.pdf")),
            ),
            asked,
            result_of(asked, 1, "found"),
            result_of(asked, 0, "seen ü"),
            Message("2", "user", "And again?"),
            plain,
            result_of(plain, 0, "first"),
            result_of(plain, 1, "second"),
            Message("3", "assistant", "Nothing."),
            Message("4", "user", ""),
        ),
        tools=(LOOK, ToolSpec("find", "", "{}")),
        tool_choice="look",
        output_schema_json='{"properties":{"a":{"type":"string"}},"type":"object"}',
        settings=ModelSettings(
            temperature=0.5,
            top_p=0.9,
            max_tokens=100,
            stop=("END",),
            seed=7,
            thinking_tokens=1024,
            extra={
                "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
                "generationConfig": {"topK": 40},
            },
        ),
    )
