"""What a hook may answer: a closed set for each moment. ``None`` is "no opinion"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

FieldKind: TypeAlias = Literal["value", "decision", "acknowledge"]


@dataclass(frozen=True, slots=True)
class Allow:
    """``before_tool``: go on, with other arguments if any are given.

    Args:
        args: the arguments in place of those proposed; None leaves them.
        origin: who chose these arguments, where the plugin knows: ``person`` or ``app``; None for the plugin itself.
        values: only in phase ``resolve``: what the function is called with in place of these arguments. They are not validated
            and stand on no record; where a run is resumed before the call ran, the hook is called again.
    """

    args: Mapping[str, Any] | None = None
    values: Mapping[str, Any] | None = field(default=None, repr=False)
    origin: Literal["person", "app"] | None = None


@dataclass(frozen=True, slots=True)
class Deny:
    """``before_tool``: this call does not run.

    Args:
        reason: for the operator; never shown to the model.
        tell_model: what the model reads in place of a result.
        rule: name of the rule that decided.
    """

    reason: str
    tell_model: str | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Halt:
    """``before_tool``: this call does not run and the run ends, refused.

    Args:
        reason: for the operator.
        tell_model: what stands in place of the call's result.
        rule: name of the rule that decided.
    """

    reason: str
    tell_model: str | None = None
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class AskField:
    """One question of an :class:`AskPerson`.

    Args:
        key: the plugin's own name of it; the answer comes back under this key.
        prompt: what the person reads.
        kind: ``value`` (any JSON), ``decision`` (approve or reject), ``acknowledge`` (seen).
        schema: JSON schema that a value must fit.
        call_id: the call it is about; filled in when the hook was asked about one call.
        pinned: version of the thing asked about; an answer about another version is refused.
        required: whether the run can go on without an answer.
    """

    key: str
    prompt: str
    kind: FieldKind = "value"
    schema: Mapping[str, Any] | None = None
    call_id: str | None = None
    pinned: str | None = None
    required: bool = True


@dataclass(frozen=True, slots=True)
class AskPerson:
    """``before_tool``: a person must answer first. The asks of one phase become one pause.

    Args:
        fields: the questions, one to thirty-two.
        context: JSON data for the screen that shows them.
        component: name of the screen's part that shows them.
        expires_in: seconds in which they can be answered.
    """

    fields: Sequence[AskField]
    context: Any = None
    component: str | None = None
    expires_in: float | None = None


@dataclass(frozen=True, slots=True)
class Replace:
    """``after_result`` and ``assess_answer``: this text in place of the other.

    Args:
        content: the new text.
    """

    content: str


@dataclass(frozen=True, slots=True)
class Withhold:
    """``after_result``: the model must not read this result.

    Args:
        reason: for the operator.
        tell_model: what the model reads in its place.
    """

    reason: str
    tell_model: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """``after_result``: a sentence for the model, kept apart from the tool's content.

    Args:
        text: the sentence.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Revise:
    """``assess_answer``: ask the model once more, with these texts; nothing of it enters the history.

    Args:
        pieces: texts for the model, in order.
        key: what this revision is about; counted against ``max``.
        max: how many revisions of this key a turn may have.
    """

    pieces: Sequence[str]
    key: str
    max: int = 1


@dataclass(frozen=True, slots=True)
class Refuse:
    """``assess_answer``, ``admit_input``, ``finish_run``: there is no answer.

    Args:
        error: what ``result.raise_for_status()`` raises.
        tell_person: a sentence that may be shown in place of an answer.
    """

    error: Exception
    tell_person: str | None = None


BeforeToolVerdict: TypeAlias = Allow | Deny | Halt | AskPerson
AfterResultVerdict: TypeAlias = Replace | Withhold | Note
AnswerVerdict: TypeAlias = Replace | Revise | Refuse
AdmitVerdict: TypeAlias = Replace | Refuse

ALLOWED: Mapping[str, tuple[type, ...]] = {
    "before_tool": (Allow, Deny, Halt, AskPerson),
    "after_result": (Replace, Withhold, Note),
    "assess_answer": (Replace, Revise, Refuse),
    "admit_input": (Replace, Refuse),
    "finish_run": (Refuse,),
    "serve_context": (),
    "export_event": (),
    "configure": (),
    "close": (),
}
"""The verdicts of each moment."""


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's decision over a call. Make one with :func:`approve` or :func:`reject`.

    Args:
        approved: whether the call runs.
        by: who decided.
        note: the person's words; of a rejection, the model reads them.
        args: arguments in place of those proposed.
        pinned: version of the thing the person saw.
    """

    approved: bool
    by: str | None = None
    note: str | None = None
    args: Mapping[str, Any] | None = field(default=None)
    pinned: str | None = None


def approve(
    *, by: str | None = None, args: Mapping[str, Any] | None = None, note: str | None = None, pinned: str | None = None
) -> Approval:
    """The call may run.

    Args:
        by: who decided.
        args: run it with these arguments instead.
        note: words for the record.
        pinned: version of the thing the person saw.
    """
    return Approval(True, by, note, args, pinned)


def reject(reason: str | None = None, *, by: str | None = None, pinned: str | None = None) -> Approval:
    """The call must not run.

    Args:
        reason: why; the model reads it.
        by: who decided.
        pinned: version of the thing the person saw.
    """
    return Approval(False, by, reason, None, pinned)
