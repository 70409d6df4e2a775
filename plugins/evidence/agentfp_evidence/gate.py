"""The gate in a live run: each would-be answer is judged, and shipped, sent back or refused."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any, Literal

import pydantic

from agentfp.plugin import AnswerDraft, Event, MemoSource, Plugin, Refuse, Revise, Run, hookimpl
from agentfp_evidence.deciding import acting_values, checked_event, decide
from agentfp_evidence.errors import UnsupportedValuesError
from agentfp_evidence.events import EvidenceChecked
from agentfp_evidence.index import EvidenceIndex
from agentfp_evidence.judging import judge_with
from agentfp_evidence.ledger import READ, Ledger
from agentfp_evidence.nested import grounded_texts
from agentfp_evidence.options import EvidenceOptions, Profile, Shape
from agentfp_evidence.report import EvidenceReport, EvidenceValue
from agentfp_evidence.revision import MAX_INSTRUCTION, RecoveryContext, instruction, revision_pieces

_log = logging.getLogger("agentfp.evidence")
_OLD = {"assist": "flag", "guard": "revise", "rails": "refuse"}
_PATTERN = "re:"


class Evidence(Plugin):
    """Says of every value in an answer where it came from, and can have the answer revised or refused for values from nowhere.

    It finds invented values; it does not find what is false and made of true values.
    """

    name = "evidence"
    version = "0.1.0"
    events = (EvidenceChecked,)
    memo_events = READ

    class Settings(Plugin.Settings):
        """Settings of the gate."""

        on_unsupported: Literal["flag", "revise", "refuse"] = "flag"
        """What becomes of an answer with unsupported values: it ships with the report on the record, is sent back once, or is refused
        when the revision does not help."""
        act_on: Literal["strong", "any"] = "strong"
        """Whether weak findings (names, spelled-out and small numbers) have an answer revised or refused too."""
        profile: Profile = "standard"
        """How values are read: `standard`, `lexical` (tokens only), or `strict` (weak numbers and dates count as strong)."""
        min_digits: int = pydantic.Field(default=4, ge=1)
        """Digits that a bare number needs to be data, at the lexical level."""
        figures: bool = False
        """At the lexical level, judge numbers with units and look for derivations."""
        shapes: dict[str, str] = pydantic.Field(default_factory=dict)
        """Further shapes of data: a name for each, and a regular expression for the whole value."""
        exempt: tuple[str, ...] = ()
        """Values that are never judged; `re:PATTERN` for a regular expression for the whole value."""
        given: tuple[Any, ...] = ()
        """Texts or data that ground values besides the messages."""
        max_revisions: int = pydantic.Field(default=1, ge=1, le=3)
        """Revisions a turn. A further one is asked for only when the one before left fewer unsupported values."""
        recovery_instruction: str | Callable[[RecoveryContext], str | None] | None = None
        """Words of the application for the model when a draft is sent back; in code, also a function that gives them."""
        refuse_on_failure: bool | None = None
        """Whether an answer that could not be judged is refused; as `on_unsupported = "refuse"` says when left out."""

        @pydantic.field_validator("on_unsupported", mode="before")
        @classmethod
        def _take_old_words(cls, value: Any) -> Any:
            return _OLD.get(value, value) if isinstance(value, str) else value

        @pydantic.field_validator("shapes")
        @classmethod
        def _shapes_are_patterns(cls, value: dict[str, str]) -> dict[str, str]:
            for name, pattern in value.items():
                _compiled(pattern, f"the pattern {pattern!r} of shape {name!r}")
            return value

        @pydantic.field_validator("exempt")
        @classmethod
        def _exempt_are_patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
            for entry in value:
                _exempt(entry)
            return value

        @pydantic.field_validator("recovery_instruction")
        @classmethod
        def _not_too_long(cls, value: Any) -> Any:
            if isinstance(value, str) and len(value) > MAX_INSTRUCTION:
                raise ValueError(f"a text of at most {MAX_INSTRUCTION} characters is needed, got {len(value)}")
            return value

    class RunOptions(Plugin.RunOptions):
        """Options of one run."""

        given: tuple[Any, ...] = ()
        """Texts or data that ground values in this run."""

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        own: Evidence.Settings = self.settings
        self.options = EvidenceOptions(
            profile=own.profile,
            min_digits=own.min_digits,
            figures=own.figures,
            shapes=tuple(Shape(name, pattern) for name, pattern in own.shapes.items()),
            exempt=tuple(_exempt(entry) for entry in own.exempt),
        )

    @property
    def refuse_on_failure(self) -> bool:
        """Whether an answer that could not be judged is refused."""
        own: bool | None = self.settings.refuse_on_failure
        return self.settings.on_unsupported == "refuse" if own is None else own

    @property
    def may_change_answers(self) -> bool:
        """Whether answers may be sent back or refused; with ``flag`` they are only looked at, and streams are not held back."""
        return self.settings.on_unsupported != "flag" or self.refuse_on_failure

    def initial(self) -> Ledger:
        """Nothing known."""
        return Ledger()

    def fold(self, state: Ledger, event: Event) -> Ledger:
        """What the gate knows after an event."""
        return state.fold(event)

    @classmethod
    def reports(cls, source: MemoSource) -> tuple[EvidenceReport, ...]:
        """All judgements, those of revised drafts included, in order.

        Args:
            source: a result, a record, or the path of a saved one.
        """
        return tuple(cls.memo_of(source).reports)

    @classmethod
    def report(cls, source: MemoSource) -> EvidenceReport | None:
        """The judgement of the last answer; None when none was judged.

        Args:
            source: a result, a record, or the path of a saved one.
        """
        found = cls.reports(source)
        return found[-1] if found else None

    @hookimpl(phase="evidence")
    def assess_answer(self, draft: AnswerDraft, run: Run[Any]) -> Revise | Refuse | None:
        """Judge a would-be answer."""
        if not draft.text.strip():
            return None
        ledger: Ledger = run.memo(self)
        report = self._judge(ledger, draft, run)
        own_settings: Evidence.Settings = self.settings
        acting = acting_values(report, own_settings.act_on)
        asked = ledger.asked_in(run.turn)
        action = decide(
            report,
            on_unsupported=own_settings.on_unsupported,
            act_on=own_settings.act_on,
            asked=asked,
            flagged_before=ledger.flagged,
            max_revisions=own_settings.max_revisions,
            may_revise=draft.may_revise and not draft.stopped_early,
        )
        own: str | None = None
        if action == "revision-asked":
            own = self._own_instruction(draft, run, acting, asked + 1)
        run.emit(
            checked_event(
                report,
                action,
                on_unsupported=own_settings.on_unsupported,
                act_on=own_settings.act_on,
                after_revision=asked > 0,
                turns=_turns(report, run),
            )
        )
        if action == "revision-asked":
            return Revise(revision_pieces(acting, own), key="values", max=self.settings.max_revisions)
        if action == "refused":
            return Refuse(UnsupportedValuesError(acting, candidates=len(report.values), revised=asked > 0))
        if action == "flagged":
            _log.warning("an answer goes out with unsupported values (%d); Evidence.report(result) names them", len(report.unsupported))
        return None

    def _judge(self, ledger: Ledger, draft: AnswerDraft, run: Run[Any]) -> EvidenceReport:
        return judge_with(self._index(ledger, run), draft.text, output_type=run.output_type, options=self.options)

    def _index(self, ledger: Ledger, run: Run[Any]) -> EvidenceIndex:
        """The index over the conversation; only what is new is read."""
        cache, history, children = run.cache(self), run.history, run.record.children
        index: EvidenceIndex | None = cache.get("index")
        if index is None or len(index) > len(history):  # an answer that was refused leaves the history
            index = cache["index"] = EvidenceIndex(given=self.settings.given)
            cache["gave"], cache["options"] = 0, None
        index.give(ledger.given[cache["gave"] :])
        cache["gave"] = len(ledger.given)
        if (options := run.options(self)) is not cache["options"]:
            index.give(options.given)
            cache["options"] = options
        fresh = history[len(index) :]
        calls = {message.tool_call_id for message in fresh if message.tool_call_id in children}
        nested = {call: grounded_texts(children[call], self.options) for call in calls if call is not None}
        index.add(fresh, failed=ledger.failed, nested=nested, passed=ledger.passed)
        return index

    def _own_instruction(self, draft: AnswerDraft, run: Run[Any], acting: tuple[EvidenceValue, ...], attempt: int) -> str | None:
        request = next((m.content for m in reversed(run.history) if m.role == "user" and m.author == "person"), "")
        context = RecoveryContext(attempt, run.iteration, request, draft.text, acting)
        return instruction(self.settings.recovery_instruction, context)


def _exempt(entry: str) -> str | re.Pattern[str]:
    return _compiled(entry.removeprefix(_PATTERN), f"the pattern {entry!r}") if entry.startswith(_PATTERN) else entry


def _compiled(pattern: str, what: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{what} is no regular expression ({error})") from error


def _turns(report: EvidenceReport, run: Run[Any]) -> tuple[int, int]:
    """Supported values whose newest carrier is a result of this turn, and of turns before."""
    now = before = 0
    history = run.history
    for value in report.values:
        turns = [history[s.message].turn for s in value.sources if s.message is not None and history[s.message].role == "tool"]
        if value.verdict == "supported" and turns:
            now += max(turns) == run.turn
            before += max(turns) != run.turn
    return now, before
