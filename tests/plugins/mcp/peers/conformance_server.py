"""The tools that the official conformance suite asks a server for, as tools of an agent; serves them over HTTP until it is ended."""

from __future__ import annotations

import base64
import json
from typing import Any

import anyio

from agentfp import Agent, AskField, DocumentPart, ImagePart, ToolContext, ToolError, ToolReturn, raw_tool, tool
from agentfp.model import ModelFeatures, ModelResponse
from agentfp_mcp import serve

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")


@tool
def test_simple_text() -> str:
    """Simple text."""
    return "This is a simple text response for testing."


@tool
def test_image_content() -> ToolReturn:
    """An image."""
    return ToolReturn(None, parts=(ImagePart("image/png", PNG),))


@tool
def test_audio_content() -> ToolReturn:
    """Audio."""
    return ToolReturn(None, parts=(DocumentPart("audio/wav", b"RIFF\x24\x00\x00\x00WAVE"),))


@tool
def test_embedded_resource() -> ToolReturn:
    """A resource."""
    return ToolReturn(None, parts=(DocumentPart("text/plain", b"This is an embedded resource content.", name="test://embedded-resource"),))


@tool
def test_multiple_content_types() -> ToolReturn:
    """Several."""
    data = DocumentPart("application/json", b'{"test":"data","value":123}', name="test://mixed-content-resource")
    return ToolReturn("Multiple content types test:", parts=(ImagePart("image/png", PNG), data))


@tool
def test_error_handling() -> str:
    """Fails."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool
async def test_tool_with_progress(ctx: ToolContext[None]) -> str:
    """Reports."""
    for done in (0, 50, 100):
        ctx.progress({"progress": done, "total": 100})
        await anyio.sleep(0.05)
    return "done"


@tool
async def test_reconnection() -> str:
    """Takes a moment."""
    await anyio.sleep(0.1)
    return "done"


def fields(ctx: ToolContext[None], **schemas: dict[str, Any]) -> Any:
    ctx.request_input([AskField(key, f"{key}?", schema=schema, required=False) for key, schema in schemas.items()])


@tool
def test_elicitation(ctx: ToolContext[None], message: str) -> str:
    """Asks."""
    return str(fields(ctx, username={"type": "string", "description": message}, email={"type": "string"}))


@tool
def test_elicitation_sep1034_defaults(ctx: ToolContext[None]) -> str:
    """Asks, with defaults."""
    return str(
        fields(
            ctx,
            name={"type": "string", "default": "John Doe"},
            age={"type": "integer", "default": 30},
            score={"type": "number", "default": 95.5},
            status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            verified={"type": "boolean", "default": True},
        )
    )


@tool
def test_elicitation_sep1330_enums(ctx: ToolContext[None]) -> str:
    """Asks for choices."""
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second", "Third"), 1)]
    return str(
        fields(
            ctx,
            untitledSingle={"type": "string", "enum": options},
            titledSingle={"type": "string", "oneOf": titled},
            legacyEnum={"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
            untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
            titledMulti={"type": "array", "items": {"anyOf": titled}},
        )
    )


SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
schema_tool = raw_tool(
    "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", SCHEMA, lambda ctx, arguments: json.dumps(arguments)
)


class Nobody:
    """A model that is never asked."""

    provider, name, features = "test", "nobody", ModelFeatures()

    async def complete(self, request: Any) -> ModelResponse:
        raise AssertionError

    def stream(self, request: Any) -> Any:
        raise AssertionError


async def main() -> None:
    tools = [made for name, made in globals().items() if name.startswith("test_") or name == "schema_tool"]
    async with serve(Agent(Nobody(), name="conformance", tools=tools), transport="http", approvals="elicit") as serving:
        print(serving.address, flush=True)
        await serving.wait()


if __name__ == "__main__":
    anyio.run(main)
