"""The event of the gate: one for each judgement of a would-be answer."""

from __future__ import annotations

from typing import Literal

from agentfp.plugin import Content, Name, Number, Payload, event, part

Action = Literal["grounded", "flagged", "revision-asked", "refused"]


@part
class JudgedRow:
    """One value of the answer. ``sources`` is JSON text: a list of ``[message, path, call_id]``."""

    kind: Name[str]
    verdict: Name[Literal["supported", "unverifiable", "unsupported"]]
    how: Name[str]
    start: Number[int]
    end: Number[int]
    text: Content[str]
    severity: Name[Literal["strong", "weak"] | None] = None
    derivation: Content[str | None] = None
    sources: Content[str | None] = None
    near: Content[str | None] = None
    path: Content[str | None] = None


@part
class ToolRow:
    """A call whose result grounds nothing."""

    standing: Name[Literal["failed", "empty"]]
    tool: Content[str | None] = None
    message: Number[int | None] = None
    call_id: Name[str | None] = None


@part
class MisattachedRow:
    """A value that was served for another entity."""

    start: Number[int]
    end: Number[int]
    value: Content[str]
    stated_for: Content[str]
    served_for: Content[str]


@event("agentfp.evidence.checked")
class EvidenceChecked(Payload):
    """A would-be answer was judged by where its values come from.

    ``from_this_turn`` and ``from_prior_turns`` count supported values by the newest turn whose results carry them.
    """

    action: Name[Action]
    on_unsupported: Name[Literal["flag", "revise", "refuse"]]
    act_on: Name[Literal["strong", "any"]]
    profile: Name[str]
    after_revision: Number[bool]
    supported: Number[int]
    unverifiable: Number[int]
    unsupported: Number[int]
    strong: Number[int]
    from_this_turn: Number[int]
    from_prior_turns: Number[int]
    results: Number[int]
    calls: Number[int]
    truncated: Number[bool] = False
    is_data: Number[bool] = False
    values: tuple[JudgedRow, ...] = ()
    tools: tuple[ToolRow, ...] = ()
    misattached: tuple[MisattachedRow, ...] = ()

    def __str__(self) -> str:
        outcomes = {"revision-asked": "sent back", "flagged": "flagged", "refused": "refused", "grounded": "let through"}
        return (
            f"the answer is {outcomes.get(self.action, self.action)}: {self.supported} values supported, "
            f"{self.unverifiable} unverifiable, {self.unsupported} unsupported"
        )
