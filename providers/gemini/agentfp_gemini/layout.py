"""A reply's parts kept on a message, and made parts of a request again: same order, same signatures, byte by byte.

A message has one text, calls and thinking blocks, while a reply is a list of parts. What lies between is written into
``provider_meta``: ``n`` is a part's number, ``at`` the place in the text where it stood. A signature belongs to just the characters
that it came with, so a signed text keeps how many they are and their checksum.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from agentfp.model import Message, ThinkingBlock, ToolCall, fitting_name

MARK = "gemini"
Part: TypeAlias = dict[str, Any]


def meta_of(item: ThinkingBlock | ToolCall) -> Mapping[str, Any] | None:
    """What was kept of a part; None where another provider, or nobody, wrote it."""
    if item.provider_meta is None:
        return None
    try:
        meta = json.loads(item.provider_meta)
    except ValueError:
        return None
    return meta if isinstance(meta, dict) and MARK in meta else None


def written(kind: str, **facts: Any) -> str:
    """The text of a ``provider_meta``; facts that are None are left out.

    Args:
        kind: ``thought``, ``text``, ``part`` or ``call``.
        facts: what is kept.
    """
    kept = {name: value for name, value in facts.items() if value is not None}
    return json.dumps({MARK: kind, **kept}, ensure_ascii=False, separators=(",", ":"))


def checksum(text: str) -> int:
    """Tells whether a text is still the one that was signed."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def parts_of(message: Message, omitted: Callable[[int, str], None]) -> list[Part]:
    """The parts of an assistant message, as they came.

    Args:
        message: the message.
        omitted: is told the number of a thinking block that cannot go back, and why.
    """
    text = message.text
    placed: list[tuple[int, int, int, Part]] = []
    for index, block in enumerate(message.thinking):
        meta = meta_of(block)
        if meta is None:
            continue  # another provider's, which means nothing here
        found = _block(block, meta, text)
        if found is None:
            omitted(index, "text-changed")
        else:
            placed.append((_int(meta, "at"), _int(meta, "n"), *found))
    last = len(text), len(message.thinking) + len(message.tool_calls)
    for call in message.tool_calls:
        meta = meta_of(call) or {}
        placed.append((_int(meta, "at", last[0]), _int(meta, "n", last[1]), 0, _call(call, meta)))
    placed.sort(key=lambda item: (item[0], item[1]))
    parts: list[Part] = []
    done = 0
    for at, _, length, part in placed:
        if at > done:
            parts.append({"text": text[done:at]})
        parts.append(part)
        done = max(done, at + length)
    if done < len(text):
        parts.append({"text": text[done:]})
    return parts or [{"text": ""}]


def _block(block: ThinkingBlock, meta: Mapping[str, Any], text: str) -> tuple[int, Part] | None:
    """How many characters of the text a block stands for, and its part; None where the text is no longer the one it was."""
    signed = {} if block.signature is None else {"thoughtSignature": block.signature}
    if meta[MARK] == "thought":
        return 0, {"text": block.text, "thought": True, **signed}
    if meta[MARK] == "part" and isinstance(meta.get("part"), dict):
        return 0, {**meta["part"], **signed}
    at, chars = _int(meta, "at"), _int(meta, "chars")
    own = text[at : at + chars]
    return (chars, {"text": own, **signed}) if len(own) == chars and checksum(own) == meta.get("crc") else None


def _call(call: ToolCall, meta: Mapping[str, Any]) -> Part:
    made: Part = {"name": fitting_name(call.name), "args": call.arguments}
    if isinstance(meta.get("id"), str):
        made["id"] = meta["id"]
    signed = {"thoughtSignature": meta["signature"]} if isinstance(meta.get("signature"), str) else {}
    return {"functionCall": made, **signed}


def _int(meta: Mapping[str, Any], name: str, default: int = 0) -> int:
    value = meta.get(name)
    return value if isinstance(value, int) and value >= 0 else default
