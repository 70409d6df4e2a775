"""The plugin: what happens at each moment. It watches; only columns that do not fit are kept from the model, where that is set."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Mapping
from typing import Any

from agentfp.plugin import AnswerDraft, Batch, Event, MemoSource, Plugin, Refuse, Registry, Run, Tool, Withhold, hookimpl
from agentfp_integrity import canaries
from agentfp_integrity.checks import arguments, claims, columns, lookups, references, turns, wire
from agentfp_integrity.declaring import KEY, Declared, declared_of, read_declared
from agentfp_integrity.errors import CheckerDeadError
from agentfp_integrity.events import EVENTS, DispositionFiled, ExternalGroundUsed
from agentfp_integrity.filing import file_finding, findings_of, report_of
from agentfp_integrity.findings import Disposition, Finding
from agentfp_integrity.grounds import Grounds
from agentfp_integrity.leaves import offered
from agentfp_integrity.ledger import Ledger
from agentfp_integrity.reports import CheckReport
from agentfp_integrity.settings import IntegritySettings, grounds_of
from agentfp_integrity.state import LISTENED, STEPS, State

_log = logging.getLogger("agentfp.integrity")


class Integrity(Plugin):
    """Checks what a run is served and does, and says of every check whether it looked."""

    name = "integrity"
    version = "0.1.0"
    events = EVENTS
    memo_events = LISTENED

    class Settings(IntegritySettings):
        """Settings of the integrity plugin."""

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        own: Integrity.Settings = self.settings
        names = dict.fromkeys([*own.arguments_from, *own.result_columns])
        read = {name: read_declared(_given(own, name), name) for name in names}
        self.own: Mapping[str, Declared] = {name: found for name, (found, _) in read.items()}
        self.problems = [problem for _, wrong in read.values() for problem in wrong]

    @property
    def may_change_answers(self) -> bool:
        """It looks at answers and changes none."""
        return False

    def initial(self) -> State:
        """Nothing known."""
        return State()

    def fold(self, state: State, event: Event) -> State:
        """What is known after an event."""
        step = STEPS.get(event.name)
        if step is not None:
            step(state, event, event.payload)
        return state

    @classmethod
    def findings(cls, source: MemoSource) -> tuple[Finding, ...]:
        """What was found, in order.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
        """
        return findings_of(source)

    @classmethod
    def report(cls, source: MemoSource) -> tuple[CheckReport, ...]:
        """What every check did in the last turn, all legs of it together.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
        """
        return report_of(source)

    # --- building ---

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """See that what tools and settings declare can be."""
        for problem in self.problems:
            agent.problem(problem)
        agent.when_complete(lambda tools: self._check(tools, agent))
        if self.settings.notice_prior_turn_evidence and "evidence" not in agent.plugins:
            agent.problem("notice_prior_turn_evidence needs the plugin 'evidence', which is off; switch it on, or leave the setting out")

    def _check(self, tools: Mapping[str, Tool[..., Any]], agent: Registry) -> None:
        for tool in tools.values():
            if KEY in tool.metadata:
                for problem in read_declared(tool.metadata[KEY], tool.name)[1]:
                    agent.problem(problem)

    # --- what is declared, and the ledger of the leg ---

    def _declared(self, run: Run[Any]) -> dict[str, Declared]:
        """The tools of which something is declared; read anew when the tools change."""
        cache = run.cache(self)
        if cache.get("tools") is not run.tools:
            found = {name: declared_of(tool, self.own) for name, tool in run.tools.items()}
            cache["tools"], cache["declared"] = run.tools, {name: declared for name, declared in found.items() if declared}
        made: dict[str, Declared] = cache["declared"]
        return made

    def _ledger(self, run: Run[Any]) -> Ledger:
        """The ledger of this leg, made at its first moment."""
        cache = run.cache(self)
        ledger: Ledger | None = cache.get("ledger")
        if ledger is None or ledger.leg != run.run_id:
            ledger = cache["ledger"] = Ledger(run.run_id, self._armed(run))
            if self.settings.posture == "dev":
                canaries.release(ledger)
        return ledger

    def _armed(self, run: Run[Any]) -> set[tuple[str, str]]:
        settings, declared = self.settings, self._declared(run).values()
        armed = {("invariant-violation", "wire")}
        if any(tool.arguments_from for tool in declared):
            armed |= {("dangling-reference", "compose"), ("unsupported-argument", "choice")}
            if settings.notice_empty_lookups:
                armed.add(("empty-lookup", "write"))
        if settings.check_column_types != "off" and any(tool.columns for tool in declared):
            armed |= {("column-type-mismatch", "write"), ("missing-column", "write")}
        if settings.notice_prior_turn_evidence:
            armed.add(("prior-turn-evidence", "claim"))
        return armed

    def _grounds(self, run: Run[Any]) -> Grounds:
        """What the conversation holds; only what is new is read."""
        cache, history = run.cache(self), run.history
        grounds: Grounds | None = cache.get("grounds")
        if grounds is None or grounds.read > len(history):  # an answer that was refused leaves the history
            grounds = cache["grounds"] = Grounds()
        grounds.add(history[grounds.read :])
        return grounds

    # --- the request, when its reply is there ---

    def _look_at_request(self, run: Run[Any], ledger: Ledger) -> None:
        state: State = run.memo(self)
        if ledger.judged == state.request:
            return
        ledger.judged = state.request
        if state.stated is None:
            ledger.note(wire.KIND, "wire", "unreachable")
        else:
            found = wire.judge(state.tools, state.stated)
            self._file(run, ledger, wire.KIND, "wire", found)
        if (references.KIND, "compose") in ledger.armed:
            self._look_at_references(run, ledger, state)

    def _look_at_references(self, run: Run[Any], ledger: Ledger, state: State) -> None:
        declared = self._declared(run)
        if not state.gone:
            ledger.note(references.KIND, "compose", "not-applicable")
            return
        for name in state.tools:
            sources = declared[name].arguments_from if name in declared else ()
            if sources:
                found = references.judge(name, sources, state.dropped, state.present)
                self._file(run, ledger, references.KIND, "compose", [] if found is None else [found])

    @hookimpl(moment="before_tool", phase="peel", per="batch")
    def choose(self, batch: Batch, run: Run[Any]) -> None:
        """Look at the request, and where the arguments of its reply are from. Whatever goes wrong here refuses no call."""
        ledger = self._ledger(run)
        try:
            self._look_at_request(run, ledger)
            if (arguments.KIND, "choice") in ledger.armed:
                self._look_at_arguments(batch, run, ledger)
        except Exception:  # a watcher must not refuse calls
            _log.exception("a check of the integrity plugin failed")
            ledger.note(arguments.KIND, "choice", "unreachable")

    def _look_at_arguments(self, batch: Batch, run: Run[Any], ledger: Ledger) -> None:
        declared = self._declared(run)
        calls = [call for call in batch.calls if call.name in declared and declared[call.name].arguments_from]
        if not calls:
            ledger.note(arguments.KIND, "choice", "not-applicable")
            return
        state: State = run.memo(self)
        grounds = self._grounds(run)
        pieces = [state.blobs.get(digest, "") for digest in state.pieces]
        vouched = grounds_of(self.settings.external_grounds)
        for call in calls:
            tool = call.tool
            if tool is None:
                continue
            proposed = {key: value for key, value in call.proposed.arguments.items() if tool.raw or key in tool.parameters}
            found = arguments.judge(
                call.name,
                call.id,
                proposed,
                offered=self._offered(run, call.name, tool.parameters_json),
                ground=lambda leaf: grounds.look(leaf, left=state.gone, pieces=pieces),
                own=grounds.in_own_words,
                external=lambda leaf: next((g.source for g in vouched if leaf.casefold() in g.value), None),
            )
            for external in found.external:
                run.emit(ExternalGroundUsed(call.name, external.path, external.source), call_id=call.id)
            if found.findings:
                self._file(run, ledger, arguments.KIND, "choice", found.findings)
            else:
                clear: Disposition = "unreachable" if found.unclear else "checked-pass" if found.looked else "not-applicable"
                self._note(run, ledger, arguments.KIND, "choice", clear, found.inside)

    def _offered(self, run: Run[Any], name: str, schema: str) -> frozenset[str]:
        cache = run.cache(self).setdefault("offered", {})
        if name not in cache or cache[name][0] is not schema:
            cache[name] = (schema, offered(schema))
        made: frozenset[str] = cache[name][1]
        return made

    # --- results ---

    @hookimpl(moment="after_result", phase="check", per="batch")
    def enforce(self, batch: Batch, run: Run[Any]) -> dict[str, Withhold] | None:
        """Keep results from the model whose columns do not fit, where that is set."""
        if self.settings.check_column_types != "enforce":
            return None
        return self._look_at_columns(batch, run) or None

    @hookimpl(moment="after_result", phase="judge", per="batch")
    def watch(self, batch: Batch, run: Run[Any]) -> None:
        """Look at the columns of results, and at look-ups that found nothing."""
        ledger = self._ledger(run)
        if self.settings.check_column_types == "warn":
            self._look_at_columns(batch, run)
        if (lookups.KIND, "write") in ledger.armed:
            self._look_at_lookups(batch, run, ledger)

    def _look_at_columns(self, batch: Batch, run: Run[Any]) -> dict[str, Withhold]:
        ledger, declared = self._ledger(run), self._declared(run)
        if (columns.MISMATCH, "write") not in ledger.armed:
            return {}
        withheld = {}
        for call in batch.calls:
            result = batch.results.get(call.id)
            wanted = declared[call.name].columns if call.name in declared else {}
            rows = None if result is None or not wanted or not result.ran else columns.rows_of(result.value, result.real)
            if rows is None or result is None or result.outcome not in ("success", "partial"):
                for kind in (columns.MISMATCH, columns.MISSING):
                    ledger.note(kind, "write", "not-applicable")
                continue
            found = columns.judge(call.name, call.id, wanted, rows)
            for kind in (columns.MISMATCH, columns.MISSING):
                self._file(run, ledger, kind, "write", [finding for finding in found if finding.kind == kind])
            if found:
                withheld[call.id] = Withhold("columns are not of the types that are declared", columns.instead(call.name, found))
        return withheld

    def _look_at_lookups(self, batch: Batch, run: Run[Any], ledger: Ledger) -> None:
        declared, grounds = self._declared(run), None
        for call in batch.calls:
            sources = declared[call.name].arguments_from if call.name in declared else ()
            result = batch.results.get(call.id)
            settled = result is not None and result.ran and result.outcome in ("success", "partial", "absent")
            empty = lookups.is_empty(result.outcome, result.real, result.value) if sources and settled and result is not None else None
            if empty is not True:
                ledger.note(lookups.KIND, "write", "not-applicable" if empty is None else "checked-pass")
                continue
            grounds = self._grounds(run) if grounds is None else grounds
            if not grounds.has_results(sources):
                ledger.note(lookups.KIND, "write", "unreachable")
                continue
            found = lookups.judge(call.name, call.id, call.arguments, functools.partial(grounds.results_with, sources))
            self._file(run, ledger, lookups.KIND, "write", found)

    # --- answers ---

    @hookimpl(moment="assess_answer", phase="procedure")
    def look(self, draft: AnswerDraft, run: Run[Any]) -> None:
        """Look at the request that a would-be answer replies to."""
        self._look_at_request(run, self._ledger(run))

    @hookimpl(moment="assess_answer", phase="stand")
    def stand(self, draft: AnswerDraft, run: Run[Any]) -> None:
        """Look at what an answer claims, and at the turn that it stands on."""
        ledger, state = self._ledger(run), run.memo(self)
        for row in state.claims:
            ledger.arm(claims.KIND, "claim")
            read = claims.ClaimRow(row.field, row.disposition, row.advisory, row.entity, row.stated, row.known)
            disposition, finding = claims.judge(read)
            self._note(run, ledger, claims.KIND, "claim", disposition, [] if finding is None else [finding])
        if (turns.KIND, "claim") in ledger.armed:
            disposition, finding = self._look_back(run, state)
            self._note(run, ledger, turns.KIND, "claim", disposition, [] if finding is None else [finding])

    def _look_back(self, run: Run[Any], state: State) -> tuple[Disposition, Finding | None]:
        judged, history = state.evidence, run.history
        if judged is None:
            return "unreachable", None
        newest = None
        if judged.from_prior_turns and not judged.from_this_turn:
            places = [place for row in judged.values if row.verdict == "supported" for place in _places(row.sources)]
            found = [history[p].turn for p in places if 0 <= p < len(history) and history[p].role == "tool"]
            newest = max(found, default=None)
        results = sum(1 for message in reversed(history) if message.role == "tool" and message.turn == run.turn) if newest else 0
        grounded = turns.Grounded(run.turn, judged.from_this_turn, judged.from_prior_turns, newest, results, judged.truncated)
        return turns.judge(grounded)

    # --- the end of a leg ---

    @hookimpl
    def finish_run(self, run: Run[Any], outcome: str) -> Refuse | None:
        """File what every check did; in the posture `dev`, an answer of a run whose checks were not alive does not go out."""
        ledger, state = self._ledger(run), run.memo(self)
        work, settings = state.work, self.settings
        for (check, seam), counts in ledger.counts.items():
            there = {"write": work.results, "choice": work.batches, "claim": work.drafts}.get(seam, work.replies)
            if not counts.filed and not there:
                ledger.note(check, seam, "not-applicable")  # there was nothing to look at
        run.emit(DispositionFiled(settings.posture, work.replies > 0, ledger.rows()))
        dead = ledger.dead() if settings.posture == "dev" and work.replies else None
        if dead is not None and outcome in ("answered", "stopped_early"):
            return Refuse(CheckerDeadError(*dead))
        return None

    # --- filing ---

    def _file(self, run: Run[Any], ledger: Ledger, check: str, seam: str, found: list[Finding]) -> None:
        self._note(run, ledger, check, seam, "checked-fail" if found else "checked-pass", found)

    def _note(self, run: Run[Any], ledger: Ledger, check: str, seam: str, disposition: Disposition, found: list[Finding]) -> None:
        if not found:
            ledger.note(check, seam, disposition)
            return
        ledger.note(check, seam, disposition, at_ms=run.clock.time_ns() // 1_000_000)
        known = run.memo(self).found
        for finding in found:
            if finding.identity not in known:
                file_finding(run, finding)


def _given(settings: IntegritySettings, name: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if name in settings.arguments_from:
        given["arguments_from"] = settings.arguments_from[name]
    if name in settings.result_columns:
        given["result_columns"] = settings.result_columns[name]
    return given


def _places(sources: str | None) -> list[int]:
    """The messages that a value's sources name."""
    try:
        return [entry[0] for entry in json.loads(sources or "[]") if isinstance(entry[0], int)]
    except (ValueError, TypeError, IndexError):
        return []
