"""The note on a result: which arguments were assumed, and which the person gave on being asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agentfp.plugin import CallView
from agentfp_inputs.ledger import Row
from agentfp_inputs.rules import Rule
from agentfp_inputs.text import HIDDEN
from agentfp_inputs.words import answered_note, assumed_note


def note_of(call: CallView, rows: Iterable[Row], rules: Mapping[str, Rule], *, sources: bool) -> str:
    """What the model reads after the result of a call; an empty text for nothing.

    Args:
        call: the call.
        rows: its rows.
        rules: the rules of its tool.
        sources: whether a later call may say where values come from.
    """
    said: list[str] = []
    for row in rows:
        rule = rules.get(row.said.argument)
        if rule is None or row.rewritten is not None:
            continue
        value = row.said.value or HIDDEN
        if row.said.source == "default":
            said.append(assumed_note(call.name, rule, value))
        elif row.said.source == "answered" and row.said.claimed is None:
            said.append(answered_note(call.name, rule, value, proposed=row.said.proposed is not None, sources=sources))
    return " ".join(said)
