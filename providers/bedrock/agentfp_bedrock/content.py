"""Messages as Converse's content blocks, and what of a reply's blocks must be kept so that it goes back as it came."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from agentfp.model import (
    DocumentPart,
    ImagePart,
    Message,
    PlacedCall,
    ThinkingBlock,
    ToolCall,
    block_meta,
    fitting_id,
    fitting_name,
    lacking,
    ordered_blocks,
)

Block: TypeAlias = dict[str, Any]
PROVIDER = "bedrock"
IMAGES: Mapping[str, str] = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
DOCUMENTS: Mapping[str, str] = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}
NAME_LENGTH = 64
"""What the names and ids of calls may have."""
_NO_TITLE = re.compile(r"[^A-Za-z0-9\-()\[\] ]")


@dataclass(frozen=True, slots=True)
class Wire:
    """The messages of a request.

    Args:
        messages: as they are sent; neighbours of one role are one message.
        ends: for each message of the request: which message that is sent, and how many of its blocks there are up to the last one that
            a cache point may follow; None for one without.
        omitted: thinking of other providers in the present turn: index of the message and of the block in it.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    ends: list[tuple[int, int] | None] = field(default_factory=list)
    omitted: tuple[tuple[int, int], ...] = ()

    def called(self) -> list[str]:
        """Names of the tools that were called."""
        return list(dict.fromkeys(block["toolUse"]["name"] for sent in self.messages for block in sent["content"] if "toolUse" in block))


def wire_messages(messages: Sequence[Message], model: str) -> Wire:
    """The messages of a request, in blocks.

    Args:
        messages: those of the request.
        model: name of the model, for errors.

    Raises:
        ModelFeatureError: an image or a document is of a kind that the API does not take.
    """
    wire = Wire()
    omitted: list[tuple[int, int]] = []
    titles = _Titles()
    for index, message in enumerate(messages):
        if message.role == "assistant":
            blocks, left_out = _said(message)
            omitted += [(index, at) for at in left_out]
        else:
            if message.role == "user":
                omitted.clear()  # no thinking of earlier turns is needed
            blocks = _heard(message, model, titles)
        role = "assistant" if message.role == "assistant" else "user"
        if blocks and not (wire.messages and wire.messages[-1]["role"] == role):
            wire.messages.append({"role": role, "content": []})
        content = wire.messages[-1]["content"] if blocks else []
        before = len(content)
        content += blocks
        upto = max((at for at, block in enumerate(blocks, 1) if "reasoningContent" not in block), default=0)
        wire.ends.append((len(wire.messages) - 1, before + upto) if upto else None)
    return Wire(wire.messages, wire.ends, tuple(omitted))


def _heard(message: Message, model: str, titles: _Titles) -> list[Block]:
    """A person's message or a tool's result."""
    blocks = [part_block(part, model, titles) for part in message.parts]
    text = message.text
    if text.strip():
        blocks.append({"text": text})
    if message.role != "tool":
        if blocks and "text" not in blocks[-1] and "document" in blocks[-1]:
            blocks.append({"text": blocks[-1]["document"]["name"]})  # a document without any text is refused
        return blocks
    # A result must hold something, and blank text is refused.
    result: Block = {"toolUseId": fitting_id(message.tool_call_id or "", longest=NAME_LENGTH), "content": blocks or [{"text": "(empty)"}]}
    if message.failed:
        result["status"] = "error"
    return [{"toolResult": result}]


def _said(message: Message) -> tuple[list[Block], list[int]]:
    """A model's message, its blocks in the order in which they came; and which thinking blocks were left out."""
    blocks: list[Block] = []
    left_out: list[int] = []
    for item in ordered_blocks(message, PROVIDER):
        if isinstance(item, str):
            blocks.append({"text": item})
        elif isinstance(item, PlacedCall):
            call = item.call
            use = {
                "toolUseId": fitting_id(call.id, longest=NAME_LENGTH),
                "name": fitting_name(call.name, longest=NAME_LENGTH),
                "input": call.arguments,
                **item.block,
            }
            blocks.append({"toolUse": use})
        elif item.block is None:
            left_out.append(item.index)
        else:
            blocks.append(_thinking_of(item.thinking, item.block))
    return blocks, left_out


def _thinking_of(thought: ThinkingBlock, kept: Mapping[str, Any]) -> Block:
    if thought.redacted:
        return dict(kept)
    reasoning = {**kept, "text": thought.text}
    if thought.signature is not None:
        reasoning["signature"] = thought.signature
    return {"reasoningContent": {"reasoningText": reasoning}}


def thinking_kept(block: Block, text: int, calls: int) -> ThinkingBlock:
    """A thinking block of a reply, or one of a kind that only the API understands.

    Args:
        block: as it came.
        text: characters of text before it.
        calls: tool calls before it.
    """
    reasoning = block.get("reasoningContent", {}).get("reasoningText")
    if reasoning is None:
        return ThinkingBlock("", None, redacted=True, provider_meta=block_meta(PROVIDER, block, text=text, calls=calls))
    rest = {key: value for key, value in reasoning.items() if key not in ("text", "signature")}
    meta = block_meta(PROVIDER, rest, text=text, calls=calls)
    return ThinkingBlock(reasoning["text"], reasoning.get("signature"), provider_meta=meta)


def call_kept(use: Block, arguments: Any, text: int, text_in_all: int) -> ToolCall:
    """A tool call of a reply.

    Args:
        use: as it came.
        arguments: an object, or JSON text as streamed.
        text: characters of text before it.
        text_in_all: characters of the reply's text.
    """
    more = {key: value for key, value in use.items() if key not in ("toolUseId", "name", "input")}
    meta = block_meta(PROVIDER, more, text=text) if more or text < text_in_all else None
    return ToolCall.make(use["name"], arguments, id=use["toolUseId"], provider_meta=meta)


class _Titles:
    """Names of documents in the letters that the API takes, each once a request."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def of(self, name: str | None) -> str:
        plain = " ".join(_NO_TITLE.sub("-", PurePosixPath(name or "").stem).split())[:190] or "document"
        title, number = plain, 1
        while title in self._used:
            number += 1
            title = f"{plain} ({number})"
        self._used.add(title)
        return title


def part_block(part: ImagePart | DocumentPart, model: str, titles: _Titles) -> Block:
    """An image or a document.

    Raises:
        ModelFeatureError: it is of a kind that the API does not take.
    """
    image = isinstance(part, ImagePart)
    kinds = IMAGES if image else DOCUMENTS
    what = f"{'images' if image else 'documents'} of {part.media_type!r}"
    if part.media_type not in kinds:
        raise lacking(PROVIDER, model, what, f"it takes {', '.join(kinds)}")
    if part.data is not None:
        source: Block = {"bytes": base64.b64encode(part.data).decode("ascii")}
    elif part.url is not None and part.url.startswith("s3://"):
        source = {"s3Location": {"uri": part.url}}
    else:
        raise lacking(PROVIDER, model, f"{what} by URL", "it takes them as bytes, or by an address that begins with s3://")
    if isinstance(part, DocumentPart):
        return {"document": {"format": kinds[part.media_type], "name": titles.of(part.name), "source": source}}
    return {"image": {"format": kinds[part.media_type], "source": source}}
