"""The plugin's events. Words of the library, ids and counts; what a tool, a model or a person wrote stands in the kernel's events only."""

from __future__ import annotations

from typing import Literal

from agentfp.plugin import Content, Hash, Name, Number, Payload, event, part

Disposition = Literal["checked-pass", "checked-fail", "not-applicable", "unreachable"]


@part
class RowsAt:
    """Where a tool's result holds its rows."""

    tool: Name[str]
    key: Name[str]


@event("agentfp.answer.armed")
class AnswerArmed(Payload):
    """What the application declares for the assessment; filed when it is new or other than before."""

    rows_at: tuple[RowsAt, ...] = ()
    claims: Number[int] = 0
    validation: Name[str | None] = None


@event("agentfp.answer.declared")
class CoverageDeclared(Payload):
    """A result says of itself what it covers; the call is the event's, the words stand in the ``tool.ended`` of seq ``result``.

    ``minted``: made by this package in the tool itself, so that what it states are facts of the tool's author. ``faults`` counts
    what could not be read of it, ``left_off`` items beyond the most that a list holds.
    """

    result: Number[int]
    kinds: Name[tuple[str, ...]]
    tool: Name[str | None] = None
    checked: Number[int] = 0
    not_checked: Number[int] = 0
    cannot_cover: Number[int] = 0
    has_period: Number[bool] = False
    minted: Number[bool] = False
    faults: Number[int] = 0
    left_off: Number[int] = 0


@event("agentfp.answer.nested")
class NestedAssessed(Payload):
    """The answer of a nested agent became a result: what speaks against it speaks against the answer that uses it.

    The call is the event's.
    """

    standing: Name[str]
    reasons: Name[tuple[str, ...]] = ()


@event("agentfp.answer.claim")
class ClaimChecked(Payload):
    """A declared claim of an answer was held against the facts that tools' results state.

    ``field`` is where in the answer; ``advisory`` that the answer claims nothing though a fact is known. ``fact`` is the seq of
    the result that states the fact, ``earlier`` those that stated another value before it.
    """

    field: Name[str]
    disposition: Name[Disposition]
    advisory: Number[bool] = False
    fact: Number[int | None] = None
    earlier: Number[tuple[int, ...]] = ()
    entity: Content[str | None] = None
    stated: Content[str | None] = None
    known: Content[str | None] = None


@part
class CheckRow:
    """One check of an answer's validation."""

    id: Name[str]
    disposition: Name[Disposition]
    path: Name[str | None] = None
    refs: Name[tuple[str, ...]] = ()
    reason: Content[str | None] = None


@event("agentfp.answer.validated")
class AnswerValidated(Payload):
    """The application's own check of an answer, on these exact bytes."""

    id: Name[str]
    version: Name[str]
    mode: Name[Literal["enforce", "observe"]]
    status: Name[Literal["passed", "failed", "unverified"]]
    digest: Hash[str]
    reasons: Name[tuple[str, ...]] = ()
    checks: tuple[CheckRow, ...] = ()
    reads: Number[int] = 0
    bytes_read: Number[int] = 0
    error_class: Name[str | None] = None


@part
class CheckedRow:
    """A check that ran, and of how many things it could look at how many."""

    layer: Number[int]
    check: Name[str]
    ran: Number[int]
    of: Number[int]


@event("agentfp.answer.assessed")
class AnswerAssessed(Payload):
    """The standing of an answer, as the record gave it when the answer was made. Kinds and counts only."""

    assessment: Name[str]
    standing: Name[str]
    reasons: Name[tuple[str, ...]] = ()
    checked: tuple[CheckedRow, ...] = ()
    line: Number[bool] = False


EVENTS: tuple[type[Payload], ...] = (AnswerArmed, CoverageDeclared, NestedAssessed, ClaimChecked, AnswerValidated, AnswerAssessed)
