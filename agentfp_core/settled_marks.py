"""Cache marks in the form in which providers with breakpoints take them: few, in the order of the prompt, long ones first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from agentfp_core.model import CacheMark

_ORDER = ("tools", "system", "messages")


def settled_marks(marks: Sequence[CacheMark], *, system: str, tools: int, messages: Sequence[bool], most: int = 4) -> list[CacheMark]:
    """The marks that can be sent, in the order tools, system, messages.

    Marks with nothing before them are left out, and those of one place are one. Of more than ``most`` the last stay, for each holds
    what the earlier ones do. What is worth keeping for hours must not stand behind what is kept for minutes, so marks before a long
    one are long.

    Args:
        marks: of the request.
        system: its system text.
        tools: how many tools it has.
        messages: for each message whether a mark can stand at its end; one that cannot goes to the message before.
        most: marks that the provider takes.
    """
    placed: dict[tuple[str, int], CacheMark] = {}
    for mark in sorted(marks, key=lambda mark: (_ORDER.index(mark.field), mark.upto)):
        upto = _upto(mark, system, tools, messages)
        if not upto:
            continue
        there = placed.get((mark.field, upto))
        ttl = "long" if there is not None and there.ttl == "long" else mark.ttl
        placed[mark.field, upto] = CacheMark(mark.field, upto, ttl)
    settled = list(placed.values())[-most:]
    last_long = max((at for at, mark in enumerate(settled) if mark.ttl == "long"), default=-1)
    return [dataclasses.replace(mark, ttl="long") if at < last_long else mark for at, mark in enumerate(settled)]


def _upto(mark: CacheMark, system: str, tools: int, messages: Sequence[bool]) -> int:
    if mark.field == "system":
        return mark.upto if system[: mark.upto].strip() else 0
    if mark.field == "tools":
        return min(mark.upto, tools)
    return next((at + 1 for at in range(min(mark.upto, len(messages)) - 1, -1, -1) if messages[at]), 0)
