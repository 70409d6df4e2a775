"""Cache marks of a request as `cachePoint` blocks behind what they close."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentfp.model import CacheMark, settled_marks
from agentfp_bedrock.content import Block, Wire


def put_marks(
    marks: Sequence[CacheMark], *, system: str, tools: list[Block], wire: Wire, tool_marks: bool, long_marks: bool
) -> list[Block]:
    """Put marks among the tools and the messages of a request.

    Args:
        marks: of the request.
        system: the system text.
        tools: as they are sent.
        wire: the messages.
        tool_marks: whether the model takes marks of tools.
        long_marks: whether its cache keeps anything for an hour.

    Returns:
        The system text in blocks, with its marks.
    """
    marks = [mark for mark in marks if tool_marks or mark.field != "tools"]
    cuts: list[tuple[int, Block]] = []
    # From the end, so that the places before stay what they are.
    for mark in reversed(settled_marks(marks, system=system, tools=len(tools), messages=[end is not None for end in wire.ends])):
        point: dict[str, Any] = {"type": "default", "ttl": "1h"} if mark.ttl == "long" and long_marks else {"type": "default"}
        if mark.field == "system":
            cuts.insert(0, (mark.upto, {"cachePoint": point}))
        elif mark.field == "tools":
            tools.insert(mark.upto, {"cachePoint": point})
        elif (end := wire.ends[mark.upto - 1]) is not None:
            wire.messages[end[0]]["content"].insert(end[1], {"cachePoint": point})
    return _cut(system, cuts)


def _cut(system: str, cuts: list[tuple[int, Block]]) -> list[Block]:
    blocks: list[Block] = []
    at = 0
    for upto, point in cuts:
        if system[at:upto].strip():
            blocks += [{"text": system[at:upto]}, point]
            at = upto
    if system[at:].strip():
        blocks.append({"text": system[at:]})
    return blocks
