"""From what a server answers to what a tool returns: texts, images, documents, structured data, errors; none of it trusted."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentfp import DocumentPart, ImagePart, ToolReturn
from agentfp_mcp.catalog import cleaned
from agentfp_mcp.errors import McpProtocolError, McpToolFailedError

if TYPE_CHECKING:
    from agentfp_mcp.settings import Settings

MAX_PART_BYTES = 5 * 1024 * 1024
MAX_PARTS = 20
MAX_ERROR_CHARS = 2_000


class Reader:
    """Reads the answers of one server for one model.

    Args:
        settings: the server's.
        images: whether the model takes images.
        documents: whether the model takes documents.
    """

    def __init__(self, settings: Settings, *, images: bool = True, documents: bool = True) -> None:
        self._settings = settings
        self._server = settings.name
        self._max_chars = settings.max_result_chars
        self._images = images
        self._documents = documents

    def result(self, tool: str, raw: Mapping[str, Any]) -> ToolReturn:
        """What a call of a tool gives.

        Args:
            tool: the server's name of it.
            raw: the server's answer.

        Raises:
            McpToolFailedError: the server says that it failed.
            McpProtocolError: it is no answer to a call.
        """
        content, structured = raw.get("content"), raw.get("structuredContent")
        lines, parts = self._blocks(content) if isinstance(content, list) else ([], [])
        if not lines:
            if structured is not None:
                lines = [_json(structured)]
            elif "toolResult" in raw:  # what the first revision of the protocol called it
                legacy = raw["toolResult"]
                lines = [legacy if isinstance(legacy, str) else _json(legacy)]
            elif not isinstance(content, list):
                raise self.unreadable(tool, raw)
        text = "\n".join(lines)
        if raw.get("isError") is True:
            said = cleaned(self._settings.scrubbed(text[: 4 * MAX_ERROR_CHARS]), MAX_ERROR_CHARS) or "no reason was given"
            raise McpToolFailedError(
                f"{tool} of {self._server} failed: {said}", detail=f"mcp server {self._server!r}: tool {tool!r} failed"
            )
        outcome: Any = None
        if len(text) > self._max_chars:
            text = f"{text[: self._max_chars]}\n[cut: the first {self._max_chars} of {len(text)} characters]"
            outcome = "partial"
        private = structured if structured is not None and len(_json(structured)) <= self._max_chars else None
        return ToolReturn(text, private=private, parts=tuple(parts), outcome=outcome)

    def unreadable(self, tool: str, raw: Any) -> McpProtocolError:
        """The error of an answer that is none: its shape, never what stands in it."""
        keys = sorted(cleaned(str(key), 40) for key in list(raw)[:8]) if isinstance(raw, Mapping) else None
        shape = f"an object with the keys {', '.join(keys)}" if keys else f"a {type(raw).__name__} that says nothing"
        return McpProtocolError(
            f"{tool} of {self._server} gave an answer that cannot be read.", detail=f"mcp server {self._server!r}, tool {tool!r}: {shape}"
        )

    def contents(self, uri: str, raw: Mapping[str, Any]) -> ToolReturn:
        """What a resource holds."""
        found = raw.get("contents")
        blocks = [{"type": "resource", "resource": item} for item in found] if isinstance(found, list) else None
        if blocks is None:
            raise self.unreadable(f"resource {cleaned(uri, 80)}", raw)
        return self.result("read_resource", {"content": blocks})

    # --- blocks ---

    def _blocks(self, content: list[Any]) -> tuple[list[str], list[Any]]:
        lines: list[str] = []
        parts: list[Any] = []
        room = self._max_chars + 1
        for block in content:
            if room <= 0:
                lines.append(f"[{len(content)} blocks, the rest is left out]")
                break
            line, part = self._block(block, full=len(parts) >= MAX_PARTS)
            lines.append(line)
            room -= len(line) + 1
            if part is not None:
                parts.append(part)
        return lines, parts

    def _block(self, block: Any, *, full: bool) -> tuple[str, Any]:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "text" and isinstance(block.get("text"), str):
            return block["text"], None
        if kind in ("image", "audio"):
            return self._media(kind, block.get("mimeType"), block.get("data"), None, full=full)
        if kind == "resource_link":
            return f"[resource: {cleaned(block.get('name'), 200)} {cleaned(block.get('uri'), 2_000)}]", None
        if kind == "resource" and isinstance(block.get("resource"), Mapping):
            return self._resource(block["resource"], full=full)
        return f"[{cleaned(kind, 40) or 'unknown'}]", None

    def _resource(self, resource: Mapping[str, Any], *, full: bool) -> tuple[str, Any]:
        uri = cleaned(resource.get("uri"), 2_000)
        text = resource.get("text")
        if isinstance(text, str):
            return f"[resource: {uri}]\n{text}", None
        kind = "image" if str(resource.get("mimeType")).startswith("image/") else "resource"
        return self._media(kind, resource.get("mimeType"), resource.get("blob"), uri, full=full)

    def _media(self, kind: str, media_type: Any, encoded: Any, name: str | None, *, full: bool) -> tuple[str, Any]:
        media_type = cleaned(media_type, 100) or "application/octet-stream"
        data = _decoded(encoded)
        size = "unreadable" if data is None else f"{len(data)} bytes"
        words = f"[{kind}: {' '.join(filter(None, (media_type, name, size)))}]"
        if data is None or full or len(data) > MAX_PART_BYTES:
            return words, None
        if kind == "image" and self._images and media_type.startswith("image/"):
            return words, ImagePart(media_type, data)
        if media_type == "application/pdf" and self._documents:
            return words, DocumentPart(media_type, data, name=name)
        return words, None


def _decoded(encoded: Any) -> bytes | None:
    if not isinstance(encoded, str):
        return None
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError):
        return f"[{type(value).__name__}]"
