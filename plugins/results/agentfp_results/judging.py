"""Reads the results of a batch: files what they declare, and judges whether the period that was asked for was read and is held."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentfp import ToolReturn
from agentfp.plugin import CallView, ResultView, Run
from agentfp_results.clock import span_of, window_of
from agentfp_results.events import CallWindow, Coverage, Fact, Facts, LimitItem, PeriodDeclared, PeriodJudged, Span
from agentfp_results.grammar import MILLISECOND, Range
from agentfp_results.held import Declared, least_held
from agentfp_results.ledger import Ledger
from agentfp_results.period import ToolPeriod
from agentfp_results.ranges import differences
from agentfp_results.reading import Envelope, envelopes_of, leading_object
from agentfp_results.wire import COVERAGE, DEPTH_MOST, ENVELOPES
from agentfp_results.words import VERDICTS, differs_note

READ = ("success", "partial", "absent")
"""Outcomes of calls that have a result."""
TRUSTED = "envelopes"
"""Key of a tool's metadata: true where what a tool that is not the application's own declares is to be believed."""
FACTS_MOST, CHARS_MOST = 1_000, 400


def data_of(result: ResultView, call: CallView) -> Any:
    """The result as data, where it may declare something; None for prose and for tools whose declarations are not believed.

    A text of the application's own tool is prose, whatever it looks like, for it may repeat what somebody else wrote.
    """
    tool, value = call.tool, result.value
    if tool is None or result.outcome not in READ:
        return None
    if isinstance(value, ToolReturn):
        value = value.content
    own = tool.source == "code" and (isinstance(value, Mapping) or (value is None and result.value is None))
    if not own and tool.metadata.get(TRUSTED) is not True:
        return None
    found = leading_object(result.real)
    return value if found is None and isinstance(value, Mapping) and _is_marked(value) else found


def declared_beside(result: ResultView) -> Any:
    """What the author's declarations put beside a result, where it stands whole: nested as it would be in a result; None for nothing."""
    value = result.value
    listed = value.private.get(ENVELOPES) if isinstance(value, ToolReturn) and isinstance(value.private, Mapping) else None
    if not isinstance(listed, list):
        return None
    data: Any = None
    for envelope in reversed(listed[:DEPTH_MOST]):
        data = {COVERAGE: envelope[COVERAGE], "result": data} if isinstance(envelope, Mapping) and COVERAGE in envelope else envelope
    return data


def _is_marked(value: Mapping[Any, Any]) -> bool:
    return any(isinstance(key, str) and key.startswith("af_") for key in value)


class Judge:
    """Judges the results of one batch.

    Args:
        run: the run.
        ledger: the fold of its record.
        timed: the turn has a clock, so that what was asked for is known.
    """

    def __init__(self, run: Run[Any], ledger: Ledger, *, timed: bool) -> None:
        self._run = run
        self._ledger = ledger
        self._timed = timed

    def judge(self, call: CallView, data: Any, period: ToolPeriod | None) -> str:
        """File what a result declares and the verdict over its period.

        Args:
            call: the call.
            data: the result as data; None where it declares nothing.
            period: the tool's period; None where it says nothing of one.

        Returns:
            What the model reads of it; an empty text for nothing.
        """
        envelopes = envelopes_of(data) if data is not None else []
        for envelope in envelopes:
            self._file(call, envelope)
        held = least_held([envelope.period for envelope in envelopes if envelope.period is not None])
        if held is None and period is None:
            return ""
        judged = PeriodJudged(call.name, "undeclared" if held is None else held[0])
        said = self._ledger.windows.get(call.id)
        if period is not None:
            judged.argument = said.argument if said is not None and said.argument is not None else period.argument
        if held is not None:
            judged.declared = declared_part(held[1])
        if self._timed and period is not None and said is not None:
            self._compare(call.id, judged, said, period, None if held is None else held[1])
        self._run.emit(judged, call_id=call.id)
        notes = [VERDICTS.get(judged.verdict, "")]
        if judged.differs:
            notes.append(differs_note(judged.missing, judged.extra))
        return " ".join(note for note in notes if note)

    # --- time ---

    def _compare(self, call_id: str, judged: PeriodJudged, said: CallWindow, period: ToolPeriod, declared: Declared | None) -> None:
        """Compare what was asked for with what was read."""
        late = self._ledger.late.get(call_id)
        if declared is None and late is None and not said.widened and period.retention is None:
            return  # what was asked for is what was read, as far as is known
        asked = window_of(said.person) or window_of(said.asked)
        step = MILLISECOND if period.granularity is None else period.granularity.ns
        judged.shifted = late is not None and late.outcome == "shifted"
        read = asked
        if declared is not None:
            read = Range(declared.queried.start, declared.queried.end + step)
        elif said.widened and not said.trimmed_by_tool:
            read = window_of(said.sent)
        elif late is not None and judged.shifted and asked is not None:
            read = Range(asked.start + late.drift_ms * MILLISECOND, asked.end + late.drift_ms * MILLISECOND)
        if asked is not None and read is not None:
            missing, extra = differences(asked, read, lookback=said.lookback is not None, step=step)
            if declared is not None:  # its last reading stands for all up to the next one
                extra = [piece for piece in extra if piece.end - piece.start > step]
            judged.missing, judged.extra = _spans(missing), _spans(extra)
            judged.differs = bool(missing or extra)
        if period.retention is not None and read is not None:
            oldest = self._ledger.now - period.retention.ns
            judged.beyond_retention = read.end <= oldest
            judged.partly_beyond_retention = read.start < oldest < read.end

    # --- envelopes ---

    def _file(self, call: CallView, envelope: Envelope) -> None:
        if envelope.kind == "described":
            self._run.emit(facts_of(call.name, envelope.data), call_id=call.id)
            if not (envelope.checked or envelope.not_checked or envelope.cannot_cover or envelope.period or envelope.dropped):
                return
        self._run.emit(
            Coverage(
                call.name,
                "absence" if envelope.kind == "absent" else "ledger",
                _items(envelope.checked),
                _items(envelope.not_checked),
                _items(envelope.cannot_cover),
                None if envelope.looked_for is None else _clip(envelope.looked_for),
                None if envelope.period is None else declared_part(envelope.period),
                None if envelope.provenance is None else _clip(json_text(envelope.provenance), 2_000),
                len(envelope.dropped),
            ),
            call_id=call.id,
        )


def _spans(pieces: list[Range]) -> tuple[Span, ...]:
    return tuple([span for piece in pieces if (span := span_of(piece)) is not None])


def _items(items: tuple[Any, ...]) -> tuple[LimitItem, ...]:
    made = []
    for item in items:
        if isinstance(item, str):
            made.append(LimitItem(_clip(item)))
        else:
            why, short = item.get("why"), item.get("short")
            made.append(LimitItem(_clip(item["what"]), None if why is None else _clip(why), short, item.get("kind")))
    return tuple(made)


def declared_part(declared: Declared) -> PeriodDeclared:
    """A period for the record, as it was written."""
    queried, held = declared.data["queried"], declared.data.get("held")
    start, end = (held["from"], held["to"]) if isinstance(held, Mapping) else (None, None)
    return PeriodDeclared(queried["from"], queried["to"], start, end, declared.data.get("read_at"))


def facts_of(tool: str, data: Mapping[str, Any]) -> Facts:
    """The values of a described result, one row for each: of facts each field, of series each point."""
    provenance = data.get("provenance")
    measured = provenance.get("measured_at") if isinstance(provenance, Mapping) else None
    source = provenance.get("source") if isinstance(provenance, Mapping) else None
    rows: list[Fact] = []
    left_out = 0
    for item in data.get("facts") or ():
        for field, value in item.items():
            if field != "entity":
                left_out += len(rows) >= FACTS_MOST
                if len(rows) < FACTS_MOST:
                    rows.append(Fact(_clip(item["entity"]), _clip(str(field)), _clip(json_text(value)), _text_or_none(measured)))
    for point in data.get("series") or ():
        left_out += len(rows) >= FACTS_MOST
        if len(rows) < FACTS_MOST:
            rows.append(Fact(_clip(point["entity"]), _clip(point["metric"]), _clip(json_text(point["value"])), str(point["t"])[:80]))
    return Facts(tool, tuple(rows), _text_or_none(source), len(data.get("edges") or ()), left_out)


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _clip(value if isinstance(value, str) else json_text(value))


def json_text(value: Any) -> str:
    """A value as canonical JSON text; of what is none, the name of its type."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(f"[{type(value).__name__}]")


def _clip(text: str, most: int = CHARS_MOST) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
