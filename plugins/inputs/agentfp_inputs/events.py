"""What is on the record: one row for each judged argument, what the person is asked, and arguments that others changed later."""

from __future__ import annotations

from typing import Literal

from agentfp.plugin import Content, Name, Number, Payload, event, part

Source = Literal["said", "answered", "result", "app", "default", "model"]
Asked = Literal["missing", "unverified", "invalid-answer"]
Claimed = Literal["user", "result", "turn", "app", "assumed"]
Failed = Literal[
    "quote-not-found",
    "composed-message",
    "unknown-result",
    "placed-result",
    "not-in-result",
    "echoed-argument",
    "no-earlier-turn",
    "not-in-earlier-turns",
    "only-in-model-answer",
    "not-in-app-text",
    "uncheckable",
]


@event("agentfp.inputs.argument")
class Argument(Payload):
    """Where the value of one argument of a call comes from; or, without ``source``, that a person is asked for it.

    Values are JSON text, cut where they are long, ``REDACTED`` where the tool keeps the argument to itself.
    """

    tool: Name[str]
    argument: Name[str]
    index: Number[int]
    rule: Name[Literal["ask", "assume"] | None] = None
    period: Number[bool] = False
    source: Name[Source | None] = None
    asked: Name[Asked | None] = None
    value: Content[str | None] = None
    proposed: Content[str | None] = None
    quote: Content[str | None] = None
    claimed: Name[Claimed | None] = None
    matched: Name[Literal["quote", "phrase", "spelling", "mention"] | None] = None
    failed: Name[Failed | None] = None
    coincides: Name[Literal["person", "result", "app"] | None] = None
    reading: Number[bool] = False
    weak_quote: Number[bool] = False
    earlier: Number[bool] = False
    result: Name[str | None] = None
    set_aside: Name[str | None] = None
    arguments_from: Name[Literal["listed", "unlisted"] | None] = None
    app_source: Name[str | None] = None
    free: Number[bool] = False
    kept: Number[bool] = False
    hidden: Number[bool] = False
    malformed: Number[int] = 0


@part
class Bound:
    """An argument of a call that an answer is for."""

    call_id: Name[str]
    tool: Name[str]
    argument: Name[str]


@part
class AskedField:
    """One question of an ask: its key, and the arguments that its answer is for, each in a spelling of its own."""

    key: Name[str]
    bound: tuple[Bound, ...]


@event("agentfp.inputs.asked")
class Asking(Payload):
    """A person is asked for arguments of the calls of one reply."""

    fields: tuple[AskedField, ...]


@event("agentfp.inputs.rewritten")
class Rewritten(Payload):
    """A plugin, or a person who approved the call, put another value in place of one that was judged."""

    tool: Name[str]
    argument: Name[str]
    by: Name[str]
    origin: Name[Literal["person", "app"] | None] = None


EVENTS = (Argument, Asking, Rewritten)
