"""The period of each call: filled where the turn has exactly one, read where the call says one, redrawn where time went on."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from agentfp.plugin import Allow, AskField, AskPerson, CallView, Deny, Run
from agentfp_results.clock import span_of, window_of
from agentfp_results.conversion import STEP, Converted, Refused, convert, read_back, says_something, skipped
from agentfp_results.events import CallWindow, Clock, Dispatched, How, WhyNot, ZoneAnswered, ZoneAsked
from agentfp_results.forms import Form, Lookback, Reading, Window, as_range
from agentfp_results.grammar import MILLISECOND, Length, Range, iso, of_datetime, zone
from agentfp_results.ledger import Ledger
from agentfp_results.period import ToolPeriod
from agentfp_results.words import ZONE_AGAIN, ZONE_QUESTION, refused

TIMES_MOST = 3
Verdicts = dict[str, "Allow | Deny"]


class Timed(NamedTuple):
    """A call of a tool with a period."""

    call: CallView
    period: ToolPeriod


class Windows:
    """The periods of one batch.

    Args:
        run: the run.
        ledger: the fold of its record.
        clock: the turn's clock.
    """

    def __init__(self, run: Run[Any], ledger: Ledger, clock: Clock) -> None:
        self._run = run
        self._ledger = ledger
        self._clock = clock

    # --- phase peel ---

    def fill(self, calls: list[Timed]) -> Verdicts:
        """Put the turn's one window into calls that say no period, and the zone into those that need it."""
        verdicts: Verdicts = {}
        for call, period in calls:
            arguments = call.arguments
            filled: Mapping[str, Any] = {}
            if not says_something(arguments, period):
                window = self._only_window()
                if window is None or self._zone_missing(period, arguments, writing=True):
                    continue
                found = self._say(call, period, arguments, window)
                if isinstance(found, Deny):
                    verdicts[call.id] = found
                    continue
                filled = found
            origin: Literal["person", "app"] = "person" if filled else "app"
            if period.needs_zone:
                filled = {**filled, **self._zone_argument(period, {**arguments, **filled})}
            if filled:
                verdicts[call.id] = Allow({**arguments, **filled}, origin=origin)
        return verdicts

    def _only_window(self) -> Range | None:
        """The one window of the turn; None when there is none, or several."""
        found = self._windows()
        return next(iter(found)) if len(found) == 1 else None

    def _windows(self) -> dict[Range, None]:
        """The person's windows of the turn: what was set on the screen, and what calls were bound to."""
        found: dict[Range, None] = {}
        control = window_of(self._clock.window)
        if control is not None:
            found[control] = None
        return {**found, **self._ledger.bound}

    def _say(self, call: CallView, period: ToolPeriod, arguments: Mapping[str, Any], window: Range) -> Mapping[str, Any] | Deny:
        converted = convert(window, period, self._reading(period, arguments))
        if isinstance(converted, Refused):
            said = CallWindow(call.name, "refused", argument=converted.argument, refused=converted.why, person=span_of(window))
            self._run.emit(said, call_id=call.id)
            words, why = refused(call.name, converted.argument, converted.why), f"results:{converted.why}"
            return Deny(f"the person's period cannot be sent to {call.name!r}: {converted.why}", tell_model=words, rule=why)
        self._file_filled(call, period, window, converted)
        return converted.arguments

    def _file_filled(self, call: CallView, period: ToolPeriod, window: Range, converted: Converted) -> None:
        now = self._ledger.now
        self._run.emit(
            CallWindow(
                call.name,
                "filled",
                argument=converted.form.arguments[0],
                form=converted.form.kind,
                by="control" if self._clock.window is not None else "value",
                asked=span_of(window),
                person=span_of(window),
                sent=span_of(as_range(converted.sent, now)),
                lookback=converted.sent.text() if isinstance(converted.sent, Length) else None,
                rounded=converted.rounded,
                widened=converted.widened,
                trimmed_by_tool=(converted.widened or converted.rounded) and period.filters_to_asked,
                partly_beyond_retention=converted.partly_beyond_retention,
            ),
            call_id=call.id,
        )

    # --- zones ---

    def _zone_name(self) -> str | None:
        """The zone that serves this turn's calls: the clock's, or what the person answered since."""
        answered = self._ledger.zone if self._ledger.zone_turn == self._run.turn else None
        return self._clock.zone or answered

    def _reading(self, period: ToolPeriod, arguments: Mapping[str, Any]) -> Reading:
        for form in period.forms:
            if form.zone is not None and arguments.get(form.zone) is not None and zone(arguments[form.zone]) is not None:
                return Reading(self._ledger.now, zone(arguments[form.zone]))
        return Reading(self._ledger.now, zone(self._zone_name()))

    def _zone_missing(self, period: ToolPeriod, arguments: Mapping[str, Any], *, writing: bool) -> bool:
        """Whether no time can be told before the person said their zone."""
        if self._reading(period, arguments).zone is not None:
            return False
        said = [form for form in period.forms if all(arguments.get(name) is not None for name in form.arguments)]
        return all(form.needs_zone for form in period.forms) if writing else any(form.needs_zone for form in said)

    def _zone_argument(self, period: ToolPeriod, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The argument that takes the zone, where the call leaves it out."""
        name = self._zone_name()
        form = next((form for form in period.forms if form.zone is not None and form.needs_zone), None)
        if name is None or form is None or form.zone is None or arguments.get(form.zone) is not None:
            return {}
        return {form.zone: name} if says_something(arguments, period) else {}

    # --- phase fill ---

    def ask_zone(self, calls: list[Timed]) -> Verdicts | AskPerson:
        """Ask the person's zone where a call needs it; refuse a time that the zone's clocks skip."""
        calls = [timed for timed in calls if timed.period.needs_zone]
        needing = [timed for timed in calls if self._needs_zone(timed)]
        verdicts: Verdicts = {}
        if needing:
            if self._zone_name() is None:
                answer = next((given for given in reversed(self._ledger.zone_answers) if zone(given) is not None), None)
                if answer is None and len(self._ledger.zone_answers) < TIMES_MOST:
                    return self._zone_question(needing)
                if answer is None:
                    words = "The person was asked for their time zone, and named none that is known. The call did not run."
                    return {call.id: Deny("no time zone", tell_model=words, rule="results:no-zone") for call, _ in needing}
                self._run.emit(ZoneAnswered(str(answer)))
            verdicts = self.fill(needing)
        for call, period in calls:
            if call.id not in verdicts and says_something(call.arguments, period):
                argument = skipped(call.arguments, period, self._reading(period, call.arguments).zone)
                if argument is not None:
                    verdicts[call.id] = self._in_gap(call, argument)
        return verdicts

    def _in_gap(self, call: CallView, argument: str) -> Deny:
        self._run.emit(CallWindow(call.name, "refused", argument=argument, refused="dst-gap"), call_id=call.id)
        words = refused(call.name, argument, "dst-gap")
        return Deny(f"{argument!r} of {call.name!r} is a time that the zone skips", tell_model=words, rule="results:dst-gap")

    def _needs_zone(self, timed: Timed) -> bool:
        call, period = timed
        arguments = call.arguments
        if says_something(arguments, period):
            return self._zone_missing(period, arguments, writing=False)
        return self._only_window() is not None and self._zone_missing(period, arguments, writing=True)

    def _zone_question(self, needing: list[Timed]) -> AskPerson:
        again = len(self._ledger.zone_answers)
        key = f"zone{again + 1}"
        call_id = needing[0].call.id if len(needing) == 1 else None
        self._run.emit(ZoneAsked(key, tuple([call.id for call, _ in needing])))
        field = AskField(key, ZONE_AGAIN if again else ZONE_QUESTION, schema={"type": "string"}, call_id=call_id)
        return AskPerson([field], {"agentfp": {"ask": "zone", "format": "zone"}})

    # --- phase credential ---

    def dispatch(self, calls: list[Timed]) -> Verdicts:
        """File whose period each call is sent with; say a look-back of ours anew where time went on since."""
        verdicts: Verdicts = {}
        wall_clock: int | None = None
        for call, period in calls:
            arguments = call.arguments
            said = self._ledger.windows.get(call.id)
            found = read_back(arguments, period, self._reading(period, arguments))
            if said is None or said.how != "filled":
                self._file_sent(call, period, arguments, found)
            if found is not None and isinstance(found[0], Length):
                if wall_clock is None:
                    wall_clock = of_datetime(self._run.now().astimezone(datetime.UTC))
                drift = wall_clock - self._ledger.now
                if abs(drift) > (period.granularity.ns if period.granularity is not None else STEP):
                    redrawn = self._redrawn(said, period, arguments, found) if said is not None and said.how == "filled" else None
                    outcome: Literal["redrawn", "shifted"] = "shifted" if redrawn is None else "redrawn"
                    self._run.emit(Dispatched(call.name, iso(wall_clock, step=1), drift // MILLISECOND, outcome), call_id=call.id)
                    if redrawn is not None:
                        verdicts[call.id] = Allow(redrawn, origin="person")
        return verdicts

    def _file_sent(self, call: CallView, period: ToolPeriod, arguments: Mapping[str, Any], found: tuple[Window, Form] | None) -> None:
        windows = self._windows()
        if found is None:
            if says_something(arguments, period):
                said = CallWindow(call.name, "unread", argument=period.argument)
            else:
                why: WhyNot = "several-mentions" if len(windows) > 1 else "no-zone" if windows else "no-window"
                said = CallWindow(call.name, "not-filled", argument=period.argument, why=why)
            self._run.emit(said, call_id=call.id)
            return
        window, form = found
        sent = as_range(window, self._ledger.now)
        argument = form.arguments[0]
        whose, matched = self._ledger.whose.get((call.id, argument), ("model", None))
        only = next(iter(windows)) if len(windows) == 1 else None
        by: Any = None
        how: How = "model"
        person: Range | None = None
        if whose in ("said", "answered"):
            how, by, person = "bound", "quote" if matched == "quote" else "value", sent
        elif only is not None:
            how, by, person = ("bound", "value", sent) if only == sent else ("model-chosen", None, only)
        span = span_of(sent)
        self._run.emit(
            CallWindow(
                call.name,
                how,
                argument=argument,
                form=form.kind,
                by=by,
                asked=span,
                person=span if person == sent else span_of(person),
                sent=span,
                lookback=window.text() if isinstance(window, Length) else None,
                partly_beyond_retention=period.retention is not None and sent.start < self._ledger.now - period.retention.ns,
            ),
            call_id=call.id,
        )

    def _redrawn(
        self, said: CallWindow, period: ToolPeriod, arguments: Mapping[str, Any], found: tuple[Window, Form]
    ) -> dict[str, Any] | None:
        """The same window in the first form that does not count from now; None where no form holds it."""
        window = window_of(said.person) or as_range(found[0], self._ledger.now)
        others = {name: value for name, value in arguments.items() if name not in found[1].arguments}
        for form in period.forms:
            written = None if isinstance(form, Lookback) else form.write(window, self._reading(period, arguments))
            if written is not None:
                return {**others, **written.arguments}
        return None
