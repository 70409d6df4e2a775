"""Messages as Anthropic's content blocks, and what of a reply's blocks must be kept so that it goes back as it came.

What is kept of a block, in its `provider_meta`, is its place and those of its fields that stand nowhere else in the message.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
PROVIDER = "anthropic"
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
MOST = 128
"""Characters of the ids and names of calls."""


@dataclass(frozen=True, slots=True)
class Wire:
    """The messages of a request.

    Args:
        messages: as they are sent; neighbours of one role are one message.
        last: for each message of the request its last block that may carry a cache mark; None for one without.
        first: for each message that is sent, the index of the first of the request's messages in it.
        thinking: whether thinking blocks go back.
        omitted: thinking of other providers in the present turn: index of the message and of the block in it.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    last: list[Block | None] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    thinking: bool = False
    omitted: tuple[tuple[int, int], ...] = ()

    def message_at(self, sent: int) -> int:
        """Index in the request of a message that is sent."""
        return self.first[sent] if sent < len(self.first) else sent


def wire_messages(messages: Sequence[Message], model: str) -> Wire:
    """The messages of a request, in blocks.

    Args:
        messages: those of the request.
        model: name of the model, for errors.

    Raises:
        ModelFeatureError: an image or a document is of a kind that the API does not take.
    """
    made: list[dict[str, Any]] = []
    last: list[Block | None] = []
    first: list[int] = []
    omitted: list[tuple[int, int]] = []
    thinking = False
    for index, message in enumerate(messages):
        if message.role == "assistant":
            blocks, left_out = _said(message)
            omitted += [(index, at) for at in left_out]
            thinking = thinking or len(left_out) < len(message.thinking)
        else:
            if message.role == "user":
                omitted.clear()  # no thinking of earlier turns is needed
            blocks = _heard(message, model)
        role = "assistant" if message.role == "assistant" else "user"
        if blocks and made and made[-1]["role"] == role:
            made[-1]["content"] += blocks
        elif blocks:
            made.append({"role": role, "content": blocks})
            first.append(index)
        last.append(next((block for block in reversed(blocks) if "thinking" not in block["type"]), None))
    return Wire(made, last, first, thinking, tuple(omitted))


def _heard(message: Message, model: str) -> list[Block]:
    """A person's message or a tool's result."""
    blocks = [part_block(part, model) for part in message.parts]
    text = message.text
    if text.strip():
        blocks.append({"type": "text", "text": text})
    if message.role != "tool":
        return blocks
    result: Block = {"type": "tool_result", "tool_use_id": fitting_id(message.tool_call_id or "", longest=MOST)}
    if blocks:
        result["content"] = blocks if message.parts else text
    if message.failed:
        result["is_error"] = True
    return [result]


def _said(message: Message) -> tuple[list[Block], list[int]]:
    """A model's message, its blocks in the order in which they came; and which thinking blocks were left out."""
    blocks: list[Block] = []
    left_out: list[int] = []
    for item in ordered_blocks(message, PROVIDER):
        if isinstance(item, str):
            blocks.append({"type": "text", "text": item})
        elif isinstance(item, PlacedCall):
            call = item.call
            blocks.append(
                {
                    "type": "tool_use",
                    "id": fitting_id(call.id, longest=MOST),
                    "name": fitting_name(call.name, longest=MOST),
                    "input": call.arguments,
                    **item.block,
                }
            )
        elif item.block is None:
            left_out.append(item.index)
        else:
            blocks.append(_thinking_of(item.thinking, item.block))
    return blocks, left_out


def _thinking_of(thought: ThinkingBlock, kept: Mapping[str, Any]) -> Block:
    block: Block = dict(kept)
    if block.get("type") == "thinking":
        block["thinking"] = thought.text
        if thought.signature is not None:
            block["signature"] = thought.signature
    return block


def thinking_kept(block: Block, text: int, calls: int) -> ThinkingBlock:
    """A thinking block of a reply, or one of a kind that only the API understands.

    Args:
        block: as it came.
        text: characters of text before it.
        calls: tool calls before it.
    """
    if block["type"] != "thinking":
        return ThinkingBlock("", None, redacted=True, provider_meta=block_meta(PROVIDER, block, text=text, calls=calls))
    rest = {key: value for key, value in block.items() if key not in ("thinking", "signature")}
    return ThinkingBlock(
        block.get("thinking", ""), block.get("signature"), provider_meta=block_meta(PROVIDER, rest, text=text, calls=calls)
    )


def call_kept(block: Block, arguments: Any, text: int, text_in_all: int) -> ToolCall:
    """A tool call of a reply.

    Args:
        block: as it came.
        arguments: an object, or JSON text as streamed.
        text: characters of text before it.
        text_in_all: characters of the reply's text.
    """
    more = {key: value for key, value in block.items() if key not in ("type", "id", "name", "input")}
    if more.get("caller") == {"type": "direct"}:
        del more["caller"]  # the usual one
    meta = block_meta(PROVIDER, more, text=text) if more or text < text_in_all else None
    return ToolCall.make(block["name"], arguments, id=block["id"], provider_meta=meta)


def part_block(part: ImagePart | DocumentPart, model: str) -> Block:
    """An image or a document.

    Raises:
        ModelFeatureError: it is of a kind that the API does not take.
    """
    source = (_image if isinstance(part, ImagePart) else _document)(part, model)
    block: Block = {"type": "image" if isinstance(part, ImagePart) else "document", "source": source}
    if isinstance(part, DocumentPart) and part.name:
        block["title"] = part.name
    return block


def _image(part: ImagePart | DocumentPart, model: str) -> Block:
    if part.data is not None and part.media_type in IMAGES:
        return {"type": "base64", "media_type": part.media_type, "data": base64.b64encode(part.data).decode("ascii")}
    if part.data is None and part.url is not None:
        return {"type": "url", "url": part.url}
    raise lacking(PROVIDER, model, f"images of {part.media_type!r}", f"it takes {', '.join(IMAGES)}, or a URL")


def _document(part: ImagePart | DocumentPart, model: str) -> Block:
    pdf = part.media_type == "application/pdf"
    if pdf and part.data is not None:
        return {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(part.data).decode("ascii")}
    if pdf and part.url is not None:
        return {"type": "url", "url": part.url}
    if part.data is not None and part.media_type.startswith("text/"):
        return {"type": "text", "media_type": "text/plain", "data": _text(part.data, model)}
    raise lacking(PROVIDER, model, f"documents of {part.media_type!r}", "it takes a PDF as bytes or by URL, or text as bytes")


def _text(data: bytes, model: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise lacking(PROVIDER, model, "text documents that are not UTF-8", "it takes the text in UTF-8") from error
