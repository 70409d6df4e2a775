"""What rows say of the arguments of calls, and arguments that were changed behind their back."""

from __future__ import annotations

from collections.abc import Iterator

from agentfp_answer.envelopes import parse
from agentfp_answer.raw import masked
from agentfp_answer.reading import Row, Turn

ROW = "agentfp.inputs.argument"
REWRITTEN = "agentfp.inputs.rewritten"
_PERSON = "kernel"
"""Files the arguments that a person put in while approving a call."""
_OWN = "inputs"
_ABSENT = object()


def argument_rows(turn: Turn) -> list[Row]:
    """The last row of each argument of each call."""
    latest = {(row.call_id, str(row.data.get("argument"))): row for row in turn.of(ROW)}
    return list(latest.values())


def rewritten_rows(turn: Turn) -> dict[tuple[str | None, str], Row]:
    """What the layer over arguments itself says of changed ones: the last row of each argument of each call."""
    return {(row.call_id, str(row.data.get("argument"))): row for row in turn.of(REWRITTEN)}


def rewritten(turn: Turn, ruled: list[Row]) -> Iterator[tuple[int, Row, bool]]:
    """Ruled arguments that another plugin changed after their row, without saying where the new value is from.

    Yields:
        the seq of the verdict, the row, and whether the change could be read; masked arguments cannot be compared.
    """
    for row in ruled:
        name = row.data.get("argument")
        allowed = turn.allowed.get(row.call_id or "", ())
        if not isinstance(name, str) or not allowed:
            continue
        before = _value(turn.proposed.get(row.call_id or "", ""), name)
        for verdict in allowed:
            after = _value(verdict.arguments, name)
            if verdict.plugin not in (_PERSON, _OWN) and verdict.seq > row.seq:
                if masked(verdict.arguments):
                    yield verdict.seq, row, False
                elif after != before or type(after) is not type(before):
                    yield verdict.seq, row, True
            before = after


def _value(arguments: str, name: str) -> object:
    data = parse(arguments)
    return data.get(name, _ABSENT) if isinstance(data, dict) else _ABSENT
