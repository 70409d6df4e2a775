"""The plugin: what happens at each moment."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from typing import Any

from agentfp.plugin import (
    Allow,
    AnswerDraft,
    Batch,
    CallView,
    Event,
    MemoSource,
    Plugin,
    Registry,
    RequestDraft,
    ReservedArgumentError,
    Run,
    Tool,
    hookimpl,
)
from agentfp_findings.declaration import Declaration, may_declare, read_declaration, split
from agentfp_findings.events import EVENTS, FrameSkipped, Malformed
from agentfp_findings.frame import frame, offer_line
from agentfp_findings.judging import judge_results
from agentfp_findings.ledger import EVIDENCE, MEMO_EVENTS, Ledger
from agentfp_findings.peeling import AnswerPeeler
from agentfp_findings.rows import LedgerFold, Row, fold_of, rows_of
from agentfp_findings.settings import FindingsSettings
from agentfp_findings.text import quoted
from agentfp_findings.words import COLLAPSED, HEADER, INSTRUCTION, INSTRUCTION_EVIDENCE, KEY, fragment, ticket
from agentfp_findings.writing import ANSWER, contingent_answer, contingent_arguments, file_basis, file_standings

FRAGMENT = fragment()


class Findings(Plugin):
    """The model says what each tool result is to it, on the record, and requests are built from that."""

    name = "findings"
    version = "0.1.0"
    events = EVENTS
    memo_events = MEMO_EVENTS

    class Settings(FindingsSettings):
        """Settings of the findings plugin."""

    @property
    def may_change_answers(self) -> bool:
        """It takes its notes out as a reply filter, and otherwise only looks."""
        return False

    # --- the ledger ---

    def initial(self) -> Ledger:
        """An empty ledger."""
        return Ledger(self.settings.keep_ledger_facts)

    def fold(self, state: Ledger, event: Event) -> Ledger:
        """The ledger after an event."""
        handler = state.handlers.get(event.name)
        if handler is not None:
            handler(event, event.payload)
        return state

    @classmethod
    def ledger(cls, source: MemoSource) -> list[Row] | None:
        """The rows of a ledger, in order, also those that other plugins file there.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.

        Returns:
            Copies of the rows; None when there is none. Pass over a kind that you do not know.
        """
        return rows_of(source)

    @classmethod
    def standings(cls, source: MemoSource) -> LedgerFold:
        """What the rows of a ledger come to: current standings, judgments, facts, conflicts.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
        """
        return fold_of(cls.memo_of(source))

    # --- building ---

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """Claim the reserved argument, and see that what the settings need is there."""
        agent.add_reply_filter(lambda run: _Filter(self, run))
        if self.settings.argument_sources and "inputs" not in agent.plugins:
            agent.problem("argument_sources needs the plugin 'inputs', which is off; switch it on too, or leave the setting out")
        agent.when_complete(self._check)

    def _check(self, tools: Mapping[str, Tool[..., Any]]) -> None:
        owners = [tool.name for tool in tools.values() if KEY in tool.parameters and not tool.raw]
        if owners:
            names = ", ".join(map(repr, owners))
            raise ReservedArgumentError(f"{names} has a parameter {KEY!r}, which plugin {self.name!r} reserves; rename it")

    # --- the request ---

    @hookimpl(moment="serve_context", phase="compose")
    def ask(self, draft: RequestDraft, run: Run[Any]) -> None:
        """Tell the model of the ledger, and give it a place in each tool's schema."""
        ledger: Ledger = run.memo(self)
        if not ledger.has_tools:
            return
        draft.add_piece("instruction", INSTRUCTION + INSTRUCTION_EVIDENCE if EVIDENCE in ledger.plugins else INSTRUCTION)
        if self.settings.offer == "enum":
            ids, left_off = ledger.offer()
            draft.decorate_tools(KEY, fragment([json.loads(text) for text in ids], left_off))
        elif ledger.first:
            draft.decorate_tools(KEY, FRAGMENT)

    @hookimpl(moment="serve_context", phase="overlay")
    def serve(self, draft: RequestDraft, run: Run[Any]) -> None:
        """Serve the ledger, and results that were set aside in short."""
        ledger: Ledger = run.memo(self)
        if not ledger.has_tools:
            return
        for call_id in ledger.current if ledger.first else ledger.changed:
            self._collapse(draft, ledger, call_id)
        settings = self.settings
        standings, ids, too_long = frame(ledger, most=settings.max_context_bytes, ask=settings.answer_ask == "quote-facts")
        if too_long is not None and not ledger.skipped:
            run.emit(FrameSkipped(too_long, settings.max_context_bytes))
        if standings or ids:
            draft.add_piece("header", HEADER, quoted=True)
        if standings:
            draft.add_piece("standings", standings, quoted=True)
        if settings.offer == "text" and (offer := offer_line(*ledger.offer())):
            ids = f"{ids}\n\n{offer}" if ids else offer
        if ids:
            draft.add_piece("ids", ids, quoted=True)

    def _collapse(self, draft: RequestDraft, ledger: Ledger, call_id: str) -> None:
        result = ledger.results.get(call_id)
        if result is None:
            return
        standing = ledger.current[call_id].standing
        if standing in COLLAPSED or (standing == "fact" and self.settings.serve == "ledger-only"):
            ref = None if result.ref is None else quoted(result.ref)
            draft.ticket(result.message_id, ticket(standing, result.quoted, ref))
        elif result.message_id in ledger.ticketed:
            draft.restore_message(result.message_id)

    # --- calls ---

    @hookimpl(moment="before_tool", phase="peel", per="batch")
    def peel(self, batch: Batch, run: Run[Any]) -> dict[str, Allow] | None:
        """Take the declarations out of the calls and file them: first what earlier results are, then why each call is made."""
        ledger: Ledger = run.memo(self)
        verdicts: dict[str, Allow] = {}
        found: list[tuple[CallView, dict[str, Any], Declaration | None, int]] = []
        for call in batch.live:
            if not may_declare(call.arguments_json) or (call.tool is not None and KEY in call.tool.parameters):
                continue
            arguments = call.arguments
            kept, declaration, malformed = split(arguments)
            if kept is arguments:
                continue
            verdicts[call.id] = Allow(kept)
            if call.id not in ledger.handled:  # a run that broke off right here has filed it already
                found.append((call, kept, declaration, malformed))
        for call, _, declaration, _ in found:
            if declaration is not None and declaration.previous:
                file_standings(run, ledger, declaration.previous, call.id)
        for call, _, declaration, malformed in found:
            file_basis(run, call, declaration, malformed)
        if ledger.carriers is not None and ledger.any_set_aside:
            kept_of = {call.id: kept for call, kept, _, _ in found}
            for call in batch.live:
                contingent_arguments(run, ledger, call, kept_of.get(call.id) or call.arguments)
        return verdicts or None

    # --- results ---

    @hookimpl(moment="after_result", phase="judge", per="batch")
    def judge(self, batch: Batch, run: Run[Any]) -> Awaitable[None] | None:
        """Ask the judge, if there is one, what each result is."""
        if self.settings.judge is None:
            return None
        ledger: Ledger = run.memo(self)
        pairs = [(call, batch.results[call.id]) for call in batch.calls if call.id not in ledger.judgments]
        return judge_results(self.settings.judge, pairs, run, ledger.asked, ledger.question)

    # --- answers ---

    @hookimpl(moment="assess_answer", phase="rewrite")
    def read_notes(self, run: Run[Any]) -> None:
        """File what an answer declares."""
        peeler: AnswerPeeler | None = run.scratch(self).get("answer")
        if peeler is None or not (peeler.notes or peeler.malformed):
            return
        malformed = peeler.malformed
        for note in peeler.notes:
            declaration, wrong = read_declaration(note)
            malformed += wrong
            if declaration is not None and declaration.previous:
                file_standings(run, run.memo(self), declaration.previous, None)
        if malformed:
            run.emit(Malformed(ANSWER, malformed))

    @hookimpl(moment="assess_answer", phase="stand")
    def rests_on(self, draft: AnswerDraft, run: Run[Any]) -> None:
        """File the values of an answer that only set-aside results carry."""
        ledger: Ledger = run.memo(self)
        if ledger.carriers is not None and ledger.any_set_aside and draft.text:
            contingent_answer(run, ledger, draft.text)


class _Filter(AnswerPeeler):
    """The peeler of one reply; what it finds is read when the reply turns out to be the answer."""

    def __init__(self, plugin: Findings, run: Run[Any]) -> None:
        super().__init__()
        run.scratch(plugin)["answer"] = self
