"""The plugin: what happens at each moment."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Literal

import pydantic

from agentfp import ToolReturn
from agentfp.plugin import (
    AnswerDraft,
    Batch,
    Event,
    MemoSource,
    Message,
    Plugin,
    Refuse,
    Registry,
    Replace,
    Revise,
    Run,
    hookimpl,
    record_of,
)
from agentfp_answer.assessing import assess
from agentfp_answer.claims import ClaimSpec, Facts, check_claims
from agentfp_answer.covering import coverage_of, limits_text
from agentfp_answer.envelopes import envelopes_of, holds_envelopes, parse
from agentfp_answer.errors import AnswerValidationError
from agentfp_answer.events import EVENTS, AnswerArmed, AnswerAssessed, CheckedRow, CoverageDeclared, NestedAssessed, RowsAt
from agentfp_answer.line import standing_line
from agentfp_answer.reading import LISTENED, STEPS, Reading, reading_of
from agentfp_answer.reports import AnswerCoverage, Assessment, ClaimReport, ValidationReport
from agentfp_answer.rows import claim_event, claims_of, contradiction, scope_of, validated_event, validation_of
from agentfp_answer.settings import a_validation
from agentfp_answer.validating import AnswerValidation, validate
from agentfp_answer.wire import Minted, as_text, served

_log = logging.getLogger("agentfp.answer")


class Answer(Plugin):
    """What an answer rests on, what was not looked at, and one standing that a person can act on."""

    name = "answer"
    version = "0.1.0"
    events = EVENTS
    memo_events = LISTENED

    class Settings(Plugin.Settings):
        """Settings of the answer plugin."""

        limits_travel: bool = pydantic.Field(False, strict=True)
        """Whether what was not looked at is appended to an answer in prose; with an output type it is data, `Answer.coverage(x)`."""
        standing_line: bool = pydantic.Field(False, strict=True)
        """Whether one line with the standing is appended to an answer in prose."""
        rows_at: dict[str, str] = pydantic.Field(default_factory=dict)
        """By tool, the key of its result under which its rows stand, so that an empty list there is seen."""
        claims: dict[str, ClaimSpec] = pydantic.Field(default_factory=dict)
        """What fields of a typed answer claim, by their dotted path, to be held against the facts of described results."""
        on_contradicted: Literal["flag", "revise"] = "flag"
        """Whether an answer that contradicts a fact is sent back once."""
        trusted_tools: tuple[str, ...] = ()
        """Tools whose results may state facts though another program wrote them, such as a server's."""
        validation: Any = None
        """A check of every typed answer, an `AnswerValidation`; or the import path of one."""
        refuse_on_failure: bool = pydantic.Field(False, strict=True)
        """Whether an answer is refused when its standing could not be told."""

        _a_validation = pydantic.field_validator("validation", mode="before")(a_validation)

    @property
    def may_change_answers(self) -> bool:
        """Whether anything is appended to answers or keeps them from going out."""
        settings = self.settings
        enforces = settings.validation is not None and settings.validation.mode == "enforce"
        revises = bool(settings.claims) and settings.on_contradicted == "revise"
        return bool(settings.limits_travel or settings.standing_line or enforces or revises or settings.refuse_on_failure)

    # --- what is known ---

    def initial(self) -> Reading:
        """Nothing."""
        return Reading()

    def fold(self, state: Reading, event: Event) -> Reading:
        """What is known after an event."""
        step = STEPS.get(event.name)
        if step is not None:
            step(state, event, event.payload)
        return state

    @classmethod
    def assessment(cls, source: MemoSource, *, rows_at: Mapping[str, str] | None = None) -> Assessment | None:
        """The standing of the last answer: a pure function of its record, whether the plugin was on or not.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
            rows_at: by tool, the key of its result under which its rows stand; beside what the record says of that.

        Returns:
            The assessment; None before the first turn, while one goes on, and where the answer was refused.

        Raises:
            TypeError: ``rows_at`` is no mapping of tools to keys.
        """
        _check_rows_at(rows_at)
        reading: Reading = cls.memo_of(source)
        ended = reading.turn.ended
        if ended is None or ended.data.get("status") == "refused":
            return None
        return assess(reading, rows_at=rows_at)

    @classmethod
    def coverage(cls, source: MemoSource) -> AnswerCoverage | None:
        """What the results of the last turn were about, and what was not looked at; as data, nothing cut.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.

        Returns:
            The coverage; None when nothing was declared and nothing assumed.
        """
        record = record_of(source)
        return coverage_of(cls.memo_of(record), record.children) or None

    @classmethod
    def claims(cls, source: MemoSource) -> tuple[ClaimReport, ...]:
        """What the declared claims of the last answer came to.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
        """
        return claims_of(cls.memo_of(source))

    @classmethod
    def validation(cls, source: MemoSource) -> ValidationReport | None:
        """What the application's check of the last answer came to; None when it never ran, which is no pass.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
        """
        return validation_of(cls.memo_of(source))

    # --- building, and the turn ---

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """See that what the settings need is there."""
        if self.settings.standing_line and agent.output_type is not None:
            agent.problem("standing_line is for answers in prose, and this agent has an output type; read Answer.assessment(result)")
        for setting in ("claims", "validation"):
            if getattr(self.settings, setting) and agent.output_type is None:
                agent.problem(f"{setting} needs an output type: of prose nothing can be held against anything; pass output_type=...")

    @hookimpl
    def admit_input(self, message: Message, run: Run[Any]) -> None:
        """Put on the record what the application declares, when it is not there."""
        rows_at = self.settings.rows_at
        if rows_at and run.memo(self).rows_at != rows_at:
            run.emit(AnswerArmed(tuple([RowsAt(tool, key) for tool, key in rows_at.items()])))

    # --- results ---

    @hookimpl(moment="after_result", phase="rewrite", per="batch")
    def serve(self, batch: Batch, run: Run[Any]) -> dict[str, Replace] | None:
        """Let the model read of a declaration from elsewhere what it may read."""
        pending = run.memo(self).pending
        if not pending:
            return None
        verdicts = {}
        for call in batch.calls:
            result = batch.results.get(call.id)
            known = pending.get(call.id)
            if result is None or known is None or holds_envelopes(known.private) or '"af_' not in result.content:
                continue  # what this package made is written for the model already
            data = parse(result.content)
            read = served(data)
            if read is not data and envelopes_of(result.content):
                verdicts[call.id] = Replace(as_text(read))
        return verdicts or None

    @hookimpl(moment="after_result", phase="judge", per="batch")
    def declare(self, batch: Batch, run: Run[Any]) -> None:
        """File which results declare something."""
        children = run.record.children
        for call in batch.calls if children else ():
            if call.id in children and call.id in batch.results:
                nested = assess(reading_of(children[call.id]))
                run.emit(NestedAssessed(nested.standing, nested.kinds), call_id=call.id)
        pending = run.memo(self).pending
        if not pending:
            return
        for call_id, known in list(pending.items()):
            result = batch.results.get(call_id)
            found = () if result is None else envelopes_of(known.content, known.private)
            if not found or result is None:
                continue
            value = result.value
            faults = sum(len(envelope.faults) for envelope in found)
            if faults:
                _warn_once(run.cache(self), known.tool, faults)
            run.emit(
                CoverageDeclared(
                    known.seq,
                    tuple([envelope.kind for envelope in found]),
                    known.tool,
                    sum(len(envelope.checked) for envelope in found),
                    sum(len(envelope.not_checked) for envelope in found),
                    sum(len(envelope.cannot_cover) for envelope in found),
                    any(envelope.period is not None for envelope in found),
                    isinstance(value, ToolReturn) and isinstance(value.private, Minted),
                    faults,
                    sum(envelope.left_off for envelope in found),
                ),
                call_id=call_id,
            )

    # --- answers ---

    @hookimpl(moment="assess_answer", phase="claims")
    def weigh(self, draft: AnswerDraft, run: Run[Any]) -> Revise | None:
        """Hold what a typed answer claims against the facts."""
        settings = self.settings
        if not settings.claims:
            return None
        facts = Facts.of(run.memo(self), frozenset(settings.trusted_tools))
        fits = draft.output is not None
        found = check_claims(settings.claims, parse(draft.text) if fits else None, facts)
        for report in found:
            run.emit(claim_event(report))
        wrong = [report for report in found if report.disposition == "checked-fail"]
        if not wrong or settings.on_contradicted == "flag":
            return None
        return Revise([contradiction(report, settings.claims[report.field]) for report in wrong], key="claims")

    @hookimpl(moment="assess_answer", phase="claims")
    async def validate(self, draft: AnswerDraft, run: Run[Any]) -> Refuse | None:
        """Let the application check a typed answer."""
        validation: AnswerValidation | None = self.settings.validation
        if validation is None:
            return None
        report = await validate(validation, draft.text, scope=scope_of(run), fits=draft.output is not None)
        run.emit(validated_event(report))
        return Refuse(AnswerValidationError(report)) if validation.mode == "enforce" and report.status != "passed" else None

    @hookimpl(moment="assess_answer", phase="append")
    def stand(self, draft: AnswerDraft, run: Run[Any]) -> Replace | None:
        """File the standing, and say what goes with an answer in prose."""
        settings, reading = self.settings, run.memo(self)
        found = assess(reading)
        said = []
        if run.output_type is None and draft.text:
            covered = coverage_of(reading, run.record.children) if settings.limits_travel or settings.standing_line else AnswerCoverage()
            if settings.limits_travel and covered:
                said.append(limits_text(covered, assumed=not settings.standing_line))
            if settings.standing_line:
                said.append(standing_line(found, covered.assumed))
        said = [words for words in said if words]
        checked = tuple([CheckedRow(check.layer, check.check, check.ran, check.of) for check in found.checked])
        run.emit(AnswerAssessed(found.value, found.standing, found.kinds, checked, bool(said)))
        return Replace("\n\n".join((draft.text, *said))) if said else None


def _warn_once(cache: dict[str, Any], tool: str | None, faults: int) -> None:
    warned = cache.setdefault("warned", set())
    if tool not in warned:
        warned.add(tool)
        _log.warning("a result of %r declares something that cannot be read (%d faults); the rest of it is read", tool, faults)


def _check_rows_at(rows_at: Any) -> None:
    if rows_at is None:
        return
    if not isinstance(rows_at, Mapping) or not all(isinstance(item, str) for pair in rows_at.items() for item in pair):
        raise TypeError("rows_at maps the name of a tool to one top-level key of its result, such as {'list_ports': 'ports'}")
