"""What people read: the assessment of an answer, what it covers, what its claims and its validation came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from agentfp_answer.events import Disposition
from agentfp_answer.items import Item

Value: TypeAlias = Literal["known", "unrefuted", "unknown", "not-applicable"]
Standing: TypeAlias = Literal["known", "consistent", "not-sure", "ask", "not-assessed"]


@dataclass(frozen=True, slots=True)
class Witness:
    """Where on the record something stands.

    Args:
        seq: the event.
        event: its name.
        path: a JSON pointer into its payload, and on into the JSON text of a field; empty for the whole.
        call_id: the call that it is about.
    """

    seq: int
    event: str
    path: str = ""
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an answer is not simply good.

    Args:
        kind: what it is, of a closed list.
        layer: what decided it: 1 what the model chose, 2 what a tool was called with, 3 what a result covers, 4 the answer;
            0 for the run itself.
        asks: whether a person is asked something.
        count: how often.
        witness: where it shows; the first 20 of them.
    """

    kind: str
    layer: int
    asks: bool
    count: int
    witness: tuple[Witness, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """A check that ran.

    Args:
        layer: as of a reason.
        check: its name.
        ran: how many things it could look at.
        of: how many there were.
        witness: where they stand; the first 20 of them.
    """

    layer: int
    check: str
    ran: int
    of: int
    witness: tuple[Witness, ...] = ()


@dataclass(frozen=True, slots=True)
class Assessment:
    """The standing of an answer, with all that it follows from. It never says that an answer is true.

    Args:
        value: ``known``, ``unrefuted``, ``unknown`` or ``not-applicable``.
        standing: in a word for people: ``known``, ``consistent``, ``not-sure``, ``ask``, ``not-assessed``.
        turn: the person's turn.
        reasons: why it is not better, in the order of the list of reasons.
        checked: the checks that ran; one that was not switched on is not there.
        support: where that stands which makes it ``known``.
        turn_from: what counts as the turn: what followed the person's words, or the whole history where nobody spoke.
        kept_out: what of the record is masked and would have been needed; the answer is not assessed then.
    """

    value: Value
    standing: Standing
    turn: int
    reasons: tuple[Reason, ...] = ()
    checked: tuple[Check, ...] = ()
    support: tuple[Witness, ...] = ()
    turn_from: Literal["person", "whole-history"] = "person"
    kept_out: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The reasons in short."""
        return tuple(reason.kind for reason in self.reasons)

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CoveredPeriod:
    """The time that a call's read covered, as the tool declared it; ``held`` is ``unknown`` or a span."""

    tool: str | None
    call_id: str | None
    queried: Mapping[str, str]
    held: Mapping[str, str] | str
    read_at: str | None = None


@dataclass(frozen=True, slots=True)
class AssumedValue:
    """A value that a rule of a tool's author put in, and no person chose. A hidden one is not shown by its tool's wish."""

    tool: str | None
    argument: str
    value: str | None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class AnswerCoverage:
    """What the results that an answer stands on were, and were not, about.

    Args:
        checked: what was looked at.
        not_checked: what was not.
        cannot_cover: what the tools can never see.
        periods: the times that reads covered.
        assumed: values that nobody chose.
        left_off: items beyond the most that a list holds.
    """

    checked: tuple[Item, ...] = ()
    not_checked: tuple[Item, ...] = ()
    cannot_cover: tuple[Item, ...] = ()
    periods: tuple[CoveredPeriod, ...] = ()
    assumed: tuple[AssumedValue, ...] = ()
    left_off: int = 0

    def __bool__(self) -> bool:
        return bool(self.checked or self.not_checked or self.cannot_cover or self.periods or self.assumed)

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ClaimReport:
    """What a declared claim of an answer came to.

    Args:
        field: where in the answer.
        disposition: ``checked-pass``, ``checked-fail``, ``not-applicable`` (the answer has no such field) or ``unreachable`` (no
            result states it).
        advisory: the answer says that it does not know, and a result does.
        entity: what the claim is about.
        stated: what the answer says, as JSON text.
        known: what the latest result says, as JSON text.
        fact: seq of that result.
        earlier: seqs of results that said something else before.
    """

    field: str
    disposition: Disposition
    advisory: bool = False
    entity: str | None = None
    stated: str | None = None
    known: str | None = None
    fact: int | None = None
    earlier: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckReport:
    """One check of a validation, as its author gave it."""

    id: str
    disposition: Disposition
    reason: str | None = None
    path: str | None = None
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What the application's own check of an answer came to; no word of the answer stands in it.

    Args:
        id: of the check.
        version: of the check.
        mode: whether an answer that does not pass is refused.
        status: ``passed``, ``failed``, or ``unverified`` for one of ``reasons``.
        digest: SHA-256 of the answer that was checked.
        reasons: why nothing is verified.
        checks: each check.
        reads: artifacts that were read.
        bytes_read: their size.
        error_class: what the check raised.
    """

    id: str
    version: str
    mode: str
    status: str
    digest: str
    reasons: tuple[str, ...] = ()
    checks: tuple[CheckReport, ...] = ()
    reads: int = 0
    bytes_read: int = 0
    error_class: str | None = None
