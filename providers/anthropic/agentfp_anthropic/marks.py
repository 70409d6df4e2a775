"""Cache marks of a request as `cache_control` of its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentfp.model import CacheMark, settled_marks
from agentfp_anthropic.content import Block


def put_marks(
    marks: Sequence[CacheMark], *, system: str, tools: list[dict[str, Any]], last: Sequence[Block | None]
) -> str | list[dict[str, Any]]:
    """Put marks on the tools and the messages of a request.

    Args:
        marks: of the request.
        system: the system text.
        tools: as they are sent; the marked ones get the field.
        last: for each message its last block that may carry a mark.

    Returns:
        The system text, cut into blocks where it is marked.
    """
    cuts: list[tuple[int, dict[str, str]]] = []
    for mark in settled_marks(marks, system=system, tools=len(tools), messages=[block is not None for block in last]):
        control = {"type": "ephemeral", "ttl": "1h"} if mark.ttl == "long" else {"type": "ephemeral"}
        block = None if mark.field == "system" else (tools if mark.field == "tools" else last)[mark.upto - 1]
        if block is None:
            cuts.append((mark.upto, control))
        else:
            block["cache_control"] = control
    return _cut(system, cuts) if cuts else system


def _cut(system: str, cuts: list[tuple[int, dict[str, str]]]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    at = 0
    for upto, control in cuts:
        if system[at:upto].strip():
            blocks.append({"type": "text", "text": system[at:upto], "cache_control": control})
            at = upto
    if system[at:].strip():
        blocks.append({"type": "text", "text": system[at:]})
    return blocks
