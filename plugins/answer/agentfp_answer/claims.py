"""Claims of a typed answer, held against the facts that tools' results state. It observes; it never rewrites."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pydantic

from agentfp_answer.envelopes import Envelope, envelopes_of, parse
from agentfp_answer.raw import text
from agentfp_answer.reading import Reading, Result, Row
from agentfp_answer.reports import ClaimReport

_FIELD = re.compile(r"\{answer\.([^{}]+)\}")
_NUMERIC = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?", re.ASCII)
_NOWHERE = object()


class ClaimSpec(pydantic.BaseModel):
    """What a field of an answer claims.

    Args:
        entity: what it is about; ``{answer.FIELD}`` stands for a field of the answer.
        field: what of it.
        round: decimal places to which numbers are compared; exactly when left out.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    entity: str = pydantic.Field(min_length=1)
    field: str = pydantic.Field(min_length=1)
    round: int | None = pydantic.Field(default=None, ge=0, le=12, strict=True)

    @pydantic.field_validator("entity", "field")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("it is not blank")
        return value


class Fact(NamedTuple):
    """What a result states of a thing.

    Args:
        entity: the thing.
        field: what of it.
        value: as JSON data.
        seq: the result.
        tool: whose result it is.
        call_id: of the call.
        measured_at: when it was so.
    """

    entity: str
    field: str
    value: Any
    seq: int
    tool: str | None
    call_id: str | None
    measured_at: Any = None


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a conversation by what they are about, in order: the last one settles."""

    by_key: Mapping[tuple[str, str], Sequence[Fact]]

    @classmethod
    def of(cls, reading: Reading, trusted: frozenset[str] = frozenset()) -> Facts:
        """The facts that tools' authors state.

        Args:
            reading: what the record says.
            trusted: tools whose results may state facts though they come from elsewhere.
        """
        found: dict[tuple[str, str], list[Fact]] = {}
        for result in reading.described:
            if result.seq in reading.minted or result.tool in trusted:
                for fact in facts_of(result):
                    found.setdefault((fact.entity, fact.field), []).append(fact)
        for row in reading.stated:
            for fact in _rows(row):
                found.setdefault((fact.entity, fact.field), []).append(fact)
        return cls({key: sorted(facts, key=lambda fact: fact.seq) for key, facts in found.items()})


def facts_of(result: Result) -> Iterator[Fact]:
    """The facts that a described result states."""
    if result.outcome not in ("success", "partial"):
        return
    for envelope in envelopes_of(result.content, result.private):
        if envelope.kind == "semantics" and envelope.data is not None:
            yield from _stated(result, envelope)


def _stated(result: Result, envelope: Envelope) -> Iterator[Fact]:
    data = envelope.data or {}
    provenance = data.get("provenance")
    when = provenance.get("measured_at") if isinstance(provenance, dict) else None
    for row in data.get("facts") or ():
        for name, value in row.items():
            if name != "entity":
                yield Fact(_key(row["entity"]), name, value, result.seq, result.tool, result.call_id, when)
    for point in data.get("series") or ():
        yield Fact(_key(point["entity"]), str(point["metric"]), point["value"], result.seq, result.tool, result.call_id, point["t"])


def _rows(row: Row) -> Iterator[Fact]:
    """The facts on a row of the plugin over results; it files those only that it may believe."""
    listed = row.data.get("facts")
    for data in listed if isinstance(listed, list) else ():
        if isinstance(data, dict) and isinstance(data.get("entity"), str) and isinstance(data.get("field"), str):
            value = parse(data["value"]) if isinstance(data.get("value"), str) else None
            yield Fact(data["entity"], data["field"], value, row.seq, text(row.data.get("tool")), row.call_id, data.get("measured_at"))


def check_claims(claims: Mapping[str, ClaimSpec], answer: Any, facts: Facts) -> list[ClaimReport]:
    """Hold each declared claim against the facts.

    Args:
        claims: what fields of the answer claim, by their dotted path.
        answer: the answer as JSON data.
        facts: what results state.

    Returns:
        One report for each claim, in order.
    """
    return [_check(path, claim, answer, facts) for path, claim in claims.items()]


def _check(path: str, claim: ClaimSpec, answer: Any, facts: Facts) -> ClaimReport:
    if not isinstance(answer, dict):
        return ClaimReport(path, "unreachable", entity=claim.entity)
    stated = at(answer, path)
    if stated is _NOWHERE:
        return ClaimReport(path, "not-applicable", entity=claim.entity)
    entity = _filled(claim.entity, answer)
    known = [] if entity is None else list(facts.by_key.get((entity, claim.field), ()))
    words = _json(stated)
    if not known or (_unknown(known[-1].value) and not _unknown(stated)):
        return ClaimReport(path, "unreachable", entity=entity, stated=words)
    last = known[-1]
    if _unknown(stated):
        advisory = not _unknown(last.value)
        return ClaimReport(path, "checked-pass", advisory, entity, words, _json(last.value), last.seq)
    if same(stated, last.value, places=claim.round):
        return ClaimReport(path, "checked-pass", False, entity, words, _json(last.value), last.seq)
    earlier = tuple(dict.fromkeys(fact.seq for fact in known[:-1] if _json(fact.value) != _json(last.value)))
    return ClaimReport(path, "checked-fail", False, entity, words, _json(last.value), last.seq, earlier[-20:])


def at(data: Any, path: str) -> Any:
    """What stands at a dotted path; a mark of its own for nothing."""
    for name in path.split("."):
        if isinstance(data, dict) and name in data:
            data = data[name]
        elif isinstance(data, list) and name.isascii() and name.isdecimal() and int(name) < len(data):
            data = data[int(name)]
        else:
            return _NOWHERE
    return data


def _filled(entity: str, answer: Mapping[str, Any]) -> str | None:
    """The entity with fields of the answer put in; None when one of them is not there or is no single value."""
    missing = False

    def put(found: re.Match[str]) -> str:
        nonlocal missing
        value = at(answer, found[1])
        if value is _NOWHERE or value is None or isinstance(value, (dict, list)):
            missing = True
            return ""
        return _key(value)

    made = _FIELD.sub(put, entity)
    return None if missing else made


def same(stated: Any, known: Any, *, places: int | None = None) -> bool:
    """Whether two values are the same: the same JSON, a number and its text, or, where that is said, the same when rounded."""
    if _json(stated) == _json(known):
        return True
    if isinstance(stated, bool) or isinstance(known, bool):
        return False
    if isinstance(stated, str) and not isinstance(known, (int, float)):
        return False
    a, b = _number(stated), _number(known)
    if a is None or b is None:
        return False
    return a == b or (places is not None and round(a, places) == round(b, places))


def _number(value: Any) -> float | int | None:
    if isinstance(value, str):
        text = value.strip()
        if not _NUMERIC.fullmatch(text) or len(text) > 60:
            return None
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value


def _unknown(value: Any) -> bool:
    """Whether a value says of itself that it is not known."""
    if value is None or (isinstance(value, str) and value.strip().lower() == "unknown"):
        return True
    return isinstance(value, dict) and (value.get("unknown") is True or value.get("status") in ("unknown", "not_applicable"))


def _key(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
