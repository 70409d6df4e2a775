"""The tools that the model gets: to read a part of an artifact, and to show one to the person."""

from __future__ import annotations

import codecs
from typing import Any

from agentfp import ToolError
from agentfp.artifacts import ArtifactError
from agentfp.plugin import Tool, raw_tool
from agentfp_artifacts.events import Presented
from agentfp_artifacts.scoped import ScopedArtifacts
from agentfp_artifacts.wants import live_refs

READ, PRESENT = "read_artifact", "present"
OWN_TOOLS = frozenset({READ, PRESENT})
SMALLEST = 16
"""Bytes of the smallest range: enough for a character."""


def read_tool(most: int) -> Tool[..., Any]:
    """The tool that reads a part of an artifact.

    Args:
        most: most bytes of one part.
    """
    parameters = {
        "type": "object",
        "properties": {
            "ref": {"type": "string", "description": "The artifact's ref."},
            "offset": {"type": "integer", "minimum": 0, "description": "The first byte, from 0."},
            "length": {"type": "integer", "minimum": 1, "description": f"How many bytes; at most {most}."},
        },
        "required": ["ref"],
    }

    async def read(context: Any, arguments: dict[str, Any]) -> str:
        artifacts: ScopedArtifacts = context.artifacts
        ref, offset = arguments["ref"], int(arguments.get("offset", 0))
        length = min(max(int(arguments.get("length", most)), SMALLEST), most)
        try:
            part = await artifacts.get_range(ref, offset, length)
        except ArtifactError as error:
            raise ToolError("The artifact cannot be read now.", detail=str(error)) from error
        if part is None:
            raise ToolError(f"There is no artifact of this ref here, or no more. {await live_refs(artifacts)}")
        size = part.meta.bytes
        if not size:
            return f"[{ref} is empty]"
        if offset >= size:
            raise ToolError(f"{ref} has {size} bytes, so that the last offset is {size - 1}.")
        try:
            text, begin, end = _text_in(part.data, offset, size)
        except UnicodeDecodeError as error:
            raise ToolError(
                f"{ref} is {part.meta.media_type} and no text, so that it cannot be read. It can be shown with {PRESENT}."
            ) from error
        go_on = f"go on with offset {end}" if end < size else "this is the end"
        return f"[{ref}: bytes {begin} to {end} of {size}; {go_on}]\n{text}"

    return raw_tool(READ, "Read a part of an artifact: of a result that was too long to stand in the conversation.", parameters, read)


def _text_in(raw: bytes, offset: int, size: int) -> tuple[str, int, int]:
    """The whole characters in some bytes, and where they begin and end.

    Raises:
        UnicodeDecodeError: this is no text.
    """
    start = 0
    while offset and start < min(3, len(raw)) and raw[start] & 0xC0 == 0x80:
        start += 1
    decoder = codecs.getincrementaldecoder("utf-8")()
    text = decoder.decode(raw[start:], final=offset + len(raw) >= size)
    return text, offset + start, offset + len(raw) - len(decoder.getstate()[0])


def present_tool() -> Tool[..., Any]:
    """The tool that shows an artifact to the person."""
    parameters = {
        "type": "object",
        "properties": {
            "ref": {"type": "string", "description": "The artifact's ref."},
            "as": {"type": "string", "description": "What it is shown as, such as table, bar-chart, text or image."},
            "label": {"type": "string", "description": "A title for the person."},
        },
        "required": ["ref", "as"],
    }

    async def present(context: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        ref, view, label = arguments.get("ref"), arguments.get("as"), arguments.get("label")
        for name, value in (("ref", ref), ("as", view)):
            if not isinstance(value, str) or not value.strip():
                raise ToolError(f"{name!r} is blank; pass the ref of an artifact, and what to show it as.")
        assert isinstance(ref, str)
        assert isinstance(view, str)
        artifacts: ScopedArtifacts = context.artifacts
        try:
            meta = await artifacts.head(ref)
        except ArtifactError as error:
            raise ToolError("The artifact cannot be shown now.", detail=str(error)) from error
        if meta is None:
            raise ToolError(f"There is no artifact of this ref here, or no more. {await live_refs(artifacts)}")
        title = label if isinstance(label, str) and label.strip() else meta.label
        artifacts.tell(Presented(ref, view, meta.kind, meta.media_type, meta.bytes, title))
        snapshot: dict[str, Any] = {"kind": meta.kind, "media_type": meta.media_type, "bytes": meta.bytes}
        if title is not None:
            snapshot["label"] = title
        return {"presented": True, "ref": ref, "as": view, "snapshot": snapshot}

    return raw_tool(PRESENT, "Show an artifact to the person, by its ref, without repeating what is in it.", parameters, present)
