"""What the record says of results and of time, folded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from agentfp.plugin import Event
from agentfp_results.clock import now_of, window_of
from agentfp_results.events import CallWindow, Clock, Coverage, Dispatched, Facts, PeriodJudged, ZoneAnswered, ZoneAsked
from agentfp_results.grammar import Range

PLUGIN = "results"
MEMO_EVENTS = (
    "agentfp.results.*",
    "agentfp.agent.iteration_start",
    "agentfp.inputs.argument",
    "agentfp.pause.request",
    "agentfp.pause.resume",
)


class Row(NamedTuple):
    """An event of a call.

    Args:
        turn: number of the turn.
        iteration: number of the model call in it.
        call_id: the call.
        said: the event.
    """

    turn: int
    iteration: int
    call_id: str
    said: Any


class Ledger:
    """The fold. It reads what it knows of an event and passes over what it does not.

    Attributes:
        clock: of the current turn; None before it is read.
        zone: what the person answered in an earlier turn, or in this one.
        now: the clock's now in nanoseconds.
        bound: periods of the person that calls of this turn were sent with.
        periods: the verdicts over periods, in order.
        windows: of the open batch: the window of each call.
        late: of the open batch: calls that were made later than the turn's now.
        whose: of the open batch: where the value of an argument of a call comes from.
        zone_answers: of the open batch: what was answered to the question of a zone.
        judged: of the open batch: calls whose results were read.
    """

    def __init__(self) -> None:
        self.clock: Clock | None = None
        self.zone: str | None = None
        self.zone_turn = 0
        self.periods: list[Row] = []
        self.clocks: list[tuple[int, Clock]] = []
        self.now = 0
        self.bound: dict[Range, None] = {}
        self._bound_now: list[Range] = []
        self._at = (0, 0)
        self.handlers: Mapping[str, Callable[[Event, Any], None]] = {
            "agentfp.agent.iteration_start": self._begin,
            "agentfp.results.clock": self._clock,
            "agentfp.results.zone_asked": self._zone_asked,
            "agentfp.results.zone_answered": self._zone_answered,
            "agentfp.results.call_window": self._window,
            "agentfp.results.dispatched": self._dispatched,
            "agentfp.results.coverage": self._declared,
            "agentfp.results.period": self._period,
            "agentfp.results.facts": self._declared,
            "agentfp.inputs.argument": self._argument,
            "agentfp.pause.request": self._request,
            "agentfp.pause.resume": self._given,
        }
        self._new_batch()
        self.whose: dict[tuple[str, str], tuple[str, str | None]] = {}

    def _new_batch(self) -> None:
        self.windows: dict[str, CallWindow] = {}
        self.late: dict[str, Dispatched] = {}
        self.asked_for: dict[str, tuple[str, ...]] = {}
        self.zone_answers: list[Any] = []
        self.judged: set[str] = set()
        self._keys: set[str] = set()

    def take(self, event: Event) -> None:
        """Fold one event in. A damaged one changes nothing."""
        handler = self.handlers.get(event.name)
        if handler is None:
            return
        if (event.turn, event.iteration) != self._at:
            if event.turn != self._at[0]:
                self.clock = None
                self.bound, self._bound_now = {}, []
            self.bound.update(dict.fromkeys(self._bound_now))
            self.whose, self._bound_now = {}, []
            self._at = (event.turn, event.iteration)
            self._new_batch()
        try:
            handler(event, event.payload)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            return  # what cannot be read of a damaged record is left out, here and wherever it is folded

    def _begin(self, event: Event, said: Any) -> None:
        """What is of a batch ends here; that it does, ``take`` has seen."""

    def _declared(self, event: Event, said: Any) -> None:
        if isinstance(said.tool, str) and isinstance(said, (Coverage, PeriodJudged, Facts)):
            self.judged.add(event.call_id or "")

    def _period(self, event: Event, said: Any) -> None:
        self._declared(event, said)
        if isinstance(said.tool, str) and isinstance(said, PeriodJudged):
            self.periods.append(Row(event.turn, event.iteration, event.call_id or "", said))

    def _clock(self, event: Event, said: Clock) -> None:
        self.clock = said
        self.now = now_of(said)
        self.clocks.append((event.turn, said))

    def _zone_asked(self, event: Event, said: ZoneAsked) -> None:
        self.asked_for[said.key] = tuple(said.calls)

    def _zone_answered(self, event: Event, said: ZoneAnswered) -> None:
        self.zone, self.zone_turn = said.zone, event.turn

    def _window(self, event: Event, said: CallWindow) -> None:
        self.windows[event.call_id or ""] = said
        window = window_of(said.person) if said.how == "bound" else None
        if window is not None:
            self._bound_now.append(window)

    def _dispatched(self, event: Event, said: Dispatched) -> None:
        self.late[event.call_id or ""] = said

    # --- others' ---

    def _argument(self, event: Event, said: Any) -> None:
        if said.source is not None:
            traced = "reading" if said.reading else said.source
            self.whose[event.call_id or "", said.argument] = (traced, said.matched)

    def _request(self, event: Event, said: Any) -> None:
        self._keys = {question.id for question in said.questions if question.plugin == PLUGIN and not question.path}

    def _given(self, event: Event, said: Any) -> None:
        self.zone_answers += [json.loads(answer.value)["value"] for answer in said.answers if answer.id in self._keys]
