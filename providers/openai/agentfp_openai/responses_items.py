"""The items of the Responses interface: what a reply is made of, and how its messages, calls and thinking go back as they came.

An item that only the provider understands (reasoning, searches, ...) is kept whole as a thinking block. Where the order of items or a
message's own fields (its id, its phase) must come back too, they are noted on the first of these blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentfp.http import without_surrogates
from agentfp.model import Message, ProviderProtocolError, ThinkingBlock, ToolCall, fitting_id, fitting_name
from agentfp_openai.request import note, noted

BETWEEN_MESSAGES = "\n\n"
_META = "openai.responses"
_LAST = 1 << 30


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the items of a reply say.

    Args:
        text: of all messages.
        calls: of tools.
        thinking: and all else that goes back to the provider.
        refused: the model refuses to answer.
    """

    text: str
    calls: tuple[ToolCall, ...]
    thinking: tuple[ThinkingBlock, ...]
    refused: bool


def parse(items: Sequence[Any]) -> Parsed:
    """Read the items of a reply.

    Args:
        items: the ``output`` of a reply.

    Raises:
        ProviderProtocolError: one of them is none.
    """
    texts: list[str] = []
    calls: list[ToolCall] = []
    blocks: list[tuple[str, dict[str, Any]]] = []
    messages: list[dict[str, Any]] = []
    refused = False
    for at, item in enumerate(items):
        kind = item.get("type") if isinstance(item, Mapping) else None
        if not isinstance(kind, str):
            raise ProviderProtocolError("the provider sent an output item that is none")
        if kind == "message":
            text, refusal = _text(item)
            refused = refused or refusal
            texts.append(text)
            messages.append({"at": at, "own": _without(item, "type", "role", "content"), "length": len(text)})
        elif kind == "function_call":
            own = _without(item, "type", "call_id", "name", "arguments")
            name, call_id = item.get("name"), item.get("call_id") or item.get("id")
            if not isinstance(name, str):
                raise ProviderProtocolError("the provider sent a tool call without a name")
            calls.append(
                ToolCall.make(
                    name, item.get("arguments"), id=call_id if isinstance(call_id, str) else "", provider_meta=_meta(at=at, call=own)
                )
            )
        else:
            blocks.append((_thought(item), {"at": at, "item": _without(item)}))
    if _needs_notes(items):
        blocks = blocks or [("", {})]
        blocks[0][1]["messages"] = messages
    thinking = tuple(ThinkingBlock(text, redacted=not text, provider_meta=_meta(**facts)) for text, facts in blocks)
    return Parsed(BETWEEN_MESSAGES.join(text for text in texts if text), tuple(calls), thinking, refused)


def _needs_notes(items: Sequence[Any]) -> bool:
    """Whether text first and then calls, as a message here says it, is not the whole truth."""
    kinds = [item.get("type") for item in items if isinstance(item, Mapping)]
    messages = [item for item in items if isinstance(item, Mapping) and item.get("type") == "message"]
    plain = {"message", "function_call"}.issuperset(kinds) and len(messages) <= 1 and "message" not in kinds[1:]
    return bool(messages) and not (plain and not any(item.get("phase") for item in messages))


def _text(item: Mapping[str, Any]) -> tuple[str, bool]:
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    said = [part.get("text") if part.get("type") == "output_text" else part.get("refusal") for part in parts if isinstance(part, Mapping)]
    refused = any(isinstance(part, Mapping) and part.get("type") == "refusal" for part in parts)
    return without_surrogates("".join(text for text in said if isinstance(text, str))), refused


def _thought(item: Mapping[str, Any]) -> str:
    """The summary of a reasoning item, or the reasoning itself where the server shows it."""
    for name in ("summary", "content"):
        parts = item.get(name)
        texts = (
            [part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
            if isinstance(parts, list)
            else []
        )
        if any(texts):
            return without_surrogates(BETWEEN_MESSAGES.join(texts))
    return ""


def items_of(message: Message) -> Iterator[dict[str, Any]]:
    """An assistant message as the items it came in.

    Args:
        message: of the assistant.
    """
    placed: list[tuple[int, dict[str, Any]]] = []
    notes: list[Mapping[str, Any]] = []
    for block in message.thinking:
        meta = meta_of(block.provider_meta)
        notes += meta.get("messages", [])
        if "item" in meta:
            placed.append((meta["at"], meta["item"]))
    placed += _message_items(message.text, notes)
    for call in message.tool_calls:
        meta = meta_of(call.provider_meta)
        item = {
            "type": "function_call",
            "call_id": fitting_id(call.id, any_letters=True),
            "name": fitting_name(call.name),
            "arguments": call.arguments_json,
        }
        placed.append((meta.get("at", _LAST), {**meta.get("call", {}), **item}))
    return (item for _, item in sorted(placed, key=lambda pair: pair[0]))


def _message_items(text: str, notes: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    if not text:
        return
    if not notes:
        yield -1, {"type": "message", "role": "assistant", "content": text}
        return
    lengths = [one["length"] for one in notes if one["length"]]
    whole = sum(lengths) + len(BETWEEN_MESSAGES) * (len(lengths) - 1) == len(text)
    begin = 0
    for one in notes:
        said = text[begin : begin + one["length"]] if whole else text
        if said:
            content = [{"type": "output_text", "text": said, "annotations": []}]
            yield one["at"], {"status": "completed", **one["own"], "type": "message", "role": "assistant", "content": content}
        if not whole:
            return  # it was changed since, so nobody knows which part of it is whose
        begin += one["length"] + (len(BETWEEN_MESSAGES) if one["length"] else 0)


def meta_of(text: str | None) -> Mapping[str, Any]:
    """What this interface noted on a block or a call; empty for those of another one."""
    return noted(_META, text)


def _meta(**facts: Any) -> str:
    return note(_META, facts)


def _without(item: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """An item's fields, those that are null left out: replies have them, requests must not."""
    return {key: value for key, value in item.items() if key not in names and value is not None}
