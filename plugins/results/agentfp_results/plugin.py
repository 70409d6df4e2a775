"""The plugin: what happens at each moment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pydantic

from agentfp.plugin import (
    Allow,
    AskPerson,
    Batch,
    ConfigError,
    Deny,
    Event,
    MemoSource,
    Note,
    Plugin,
    Registry,
    Replace,
    RequestDraft,
    Run,
    Tool,
    ToolContext,
    hookimpl,
)
from agentfp_results.clock import RunTime, TimeOptions, clock_of, read_zone, run_time
from agentfp_results.events import EVENTS, Clock, ClockOnResume, PeriodJudged, Span
from agentfp_results.judging import READ, Judge, data_of, declared_beside
from agentfp_results.ledger import MEMO_EVENTS, PLUGIN, Ledger
from agentfp_results.period import ToolPeriod, read_period
from agentfp_results.reading import served
from agentfp_results.windows import Timed, Windows
from agentfp_results.words import time_line


class Results(Plugin):
    """What a tool result covers: which period it read, what it did not look at, and what time it is for the person who asks."""

    name = PLUGIN
    version = "0.1.0"
    events = EVENTS
    memo_events = MEMO_EVENTS

    class Settings(Plugin.Settings):
        """Settings of the results plugin.

        Args:
            zone: the time zone of the people who ask, an IANA name; a run may be given another.
            clock: each turn has a clock, which the model and the tools read; off, periods are compared with nothing.
        """

        zone: str | None = None
        clock: bool = pydantic.Field(True, strict=True)

        @pydantic.field_validator("zone")
        @classmethod
        def _read_zone(cls, value: Any) -> Any:
            return None if value is None else read_zone(value)

    class RunOptions(TimeOptions):
        """The time of one run.

        Args:
            now: an aware datetime, or an instant with a zone as text; None for the beginning of the turn.
            zone: the time zone of the person; None for the settings' one.
            window: the period that the person set on a screen, a pair of instants; the second is not in it.
        """

    # --- the memo ---

    def initial(self) -> Ledger:
        """An empty ledger."""
        return Ledger()

    def fold(self, state: Ledger, event: Event) -> Ledger:
        """The ledger after an event."""
        state.take(event)
        return state

    @classmethod
    def periods(cls, source: MemoSource) -> list[PeriodJudged]:
        """The verdicts over the periods of calls, in order.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
        """
        return [row.said for row in cls.memo_of(source).periods]

    @classmethod
    def clocks(cls, source: MemoSource) -> dict[int, Clock]:
        """The clock of each turn.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
        """
        return dict(cls.memo_of(source).clocks)

    # --- building ---

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """Read every period, so that what is wrong is said before anything runs; give tools the time."""
        agent.when_complete(lambda tools: self._check(tools, agent))
        if self.settings.clock:
            agent.add_capability("time", self._time)

    def _check(self, tools: Mapping[str, Tool[..., Any]], agent: Registry) -> None:
        for tool in tools.values():
            try:
                read_period(tool)
            except ConfigError as error:
                for problem in error.problems:
                    agent.problem(problem)

    def _time(self, context: ToolContext[Any], run: Run[Any]) -> RunTime:
        ledger: Ledger = run.memo(self)
        clock = self._clock(run)
        return run_time(clock, ledger.zone if ledger.zone_turn == run.turn else None)

    # --- the clock ---

    def _clock(self, run: Run[Any]) -> Clock:
        """The turn's clock; the first to ask for it sets it."""
        ledger: Ledger = run.memo(self)
        state = self._state(run)
        if ledger.clock is None:
            made = clock_of(run.options(self), self.settings.zone, ledger.zone if ledger.zone_turn < run.turn else None, run.now())
            run.emit(made, source=self.name)
            state["checked"] = True
            return made
        if not state.get("checked"):
            state["checked"] = True
            self._on_resume(run, ledger.clock)
        return ledger.clock

    def _on_resume(self, run: Run[Any], kept: Clock) -> None:
        """File that a resume was given another time; what it was not given is no difference."""
        options = run.options(self)
        window = None if options.window is None else Span(*options.window)
        differs = (
            (options.now is not None and options.now != kept.now)
            or (options.zone is not None and options.zone != kept.zone)
            or (window is not None and window != kept.window)
        )
        if differs:
            said = ClockOnResume(options.now, options.zone, window, kept.now, kept.zone, kept.window)
            run.emit(said, source=self.name)

    def _state(self, run: Run[Any]) -> dict[str, Any]:
        """What is computed once a leg."""
        cache = run.cache(self)
        if cache.get("run_id") != run.run_id:
            cache.clear()
            cache["run_id"] = run.run_id
            cache["periods"] = {}
        return cache

    def _period(self, run: Run[Any], tool: Tool[..., Any] | None) -> ToolPeriod | None:
        """What a tool says of its period; of one that cannot be read, nothing."""
        if tool is None or not (tool.declarations or tool.metadata):
            return None
        known: dict[str, tuple[Tool[..., Any], ToolPeriod | None]] = self._state(run)["periods"]
        found = known.get(tool.name)
        if found is None or found[0] is not tool:
            try:
                period = read_period(tool)
            except ConfigError:
                period = None
            found = known[tool.name] = (tool, period)
        return found[1]

    def _timed(self, batch: Batch, run: Run[Any]) -> list[Timed]:
        if not self.settings.clock:
            return []
        found = [(call, self._period(run, call.tool)) for call in batch.live]
        return [Timed(call, period) for call, period in found if period is not None]

    # --- the request ---

    @hookimpl(moment="serve_context", phase="annotate")
    def tell_time(self, draft: RequestDraft, run: Run[Any]) -> None:
        """Say what time it is, in the last line of the request."""
        if self.settings.clock:
            clock = self._clock(run)
            state = self._state(run)
            if state.get("told") is not clock:
                state["told"], state["line"] = clock, time_line(clock, clock.window)
            draft.add_late_line("time", state["line"])

    # --- calls ---

    @hookimpl(moment="before_tool", phase="peel", per="batch")
    def fill(self, batch: Batch, run: Run[Any]) -> dict[str, Allow | Deny] | None:
        """Put the turn's period in first of all, so that nobody is asked for what is known."""
        timed = self._timed(batch, run)
        return Windows(run, run.memo(self), self._clock(run)).fill(timed) or None if timed else None

    @hookimpl(moment="before_tool", phase="fill", per="batch")
    def ask_zone(self, batch: Batch, run: Run[Any]) -> dict[str, Allow | Deny] | AskPerson | None:
        """Ask for the person's time zone where a call cannot go without it."""
        timed = self._timed(batch, run)
        return Windows(run, run.memo(self), self._clock(run)).ask_zone(timed) or None if timed else None

    @hookimpl(moment="before_tool", phase="credential", per="batch")
    def dispatch(self, batch: Batch, run: Run[Any]) -> dict[str, Allow | Deny] | None:
        """File which period each call is sent with, right before it is."""
        timed = self._timed(batch, run)
        return Windows(run, run.memo(self), self._clock(run)).dispatch(timed) or None if timed else None

    # --- results ---

    @hookimpl(moment="after_result", phase="rewrite", per="batch")
    def project(self, batch: Batch, run: Run[Any]) -> dict[str, Replace] | None:
        """Serve results without what is for screens only."""
        replaced: dict[str, Replace] = {}
        for call in batch.calls:
            result = batch.results[call.id]
            whole = declared_beside(result) if result.ran and result.outcome in READ else None
            if whole is not None:
                run.scratch(self)[call.id] = whole
                continue
            data = data_of(result, call) if result.ran else None
            if data is None:
                continue
            run.scratch(self)[call.id] = data
            shown = served(data)
            if shown is not data and result.content == result.real:
                replaced[call.id] = Replace(json.dumps(shown, ensure_ascii=False, separators=(",", ":"), default=str))
        return replaced or None

    @hookimpl(moment="after_result", phase="note", per="batch")
    def judge(self, batch: Batch, run: Run[Any]) -> dict[str, Note] | None:
        """File what results declare, and say of which times they settle nothing."""
        notes: dict[str, Note] = {}
        judge: Judge | None = None
        for call in batch.calls:
            result = batch.results[call.id]
            if not result.ran or result.outcome not in READ:
                continue
            data, period = run.scratch(self).get(call.id), self._period(run, call.tool)
            if data is None and period is None:
                continue
            ledger: Ledger = run.memo(self)
            if call.id in ledger.judged:
                continue
            judge = judge or Judge(run, ledger, timed=self.settings.clock)
            text = judge.judge(call, data, period)
            if text and not result.withheld:
                notes[call.id] = Note(text)
        return notes or None


def trusted(metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The metadata of a tool from elsewhere whose declarations are to be believed, such as one of an MCP server of yours.

    Args:
        metadata: what else its metadata holds.
    """
    return {**(metadata or {}), "envelopes": True}
