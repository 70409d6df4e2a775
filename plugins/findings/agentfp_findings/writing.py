"""Files what the model declared: standings with what follows from them, why a call is made, values that rest on set-aside results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from agentfp.plugin import CallView, Run
from agentfp_findings.carriers import data_words, spelling
from agentfp_findings.conflicts import Key, key_hash, stated
from agentfp_findings.declaration import Declaration, Verdict
from agentfp_findings.events import (
    Carrier,
    ConflictFound,
    Contingent,
    Declared,
    Malformed,
    StandingDeclared,
    UnsettledByAbsence,
)
from agentfp_findings.ledger import Ledger, field_of
from agentfp_findings.text import clean, clipped
from agentfp_findings.words import SET_ASIDE

CALL, ANSWER = "tool-call", "answer"
VALUE_CHARS = 120
CHECKED = "agentfp.evidence.checked"
PLACES_NAMED = 4
"""Places that the gate names of a value at most."""


def file_standings(run: Run[Any], ledger: Ledger, verdicts: Sequence[Verdict], call_id: str | None) -> None:
    """File the standings of one declaration.

    Args:
        run: the run.
        ledger: its ledger.
        verdicts: what was declared.
        call_id: the call that it was declared on; None for an answer.
    """
    declared_on = CALL if call_id is not None else ANSWER
    rows = [_standing(run, ledger, verdict, declared_on) for verdict in verdicts]
    conflicts: list[Key] = []
    for row in rows:
        if row.standing == "fact":  # nothing else brings a conflict about
            conflicts = ledger.conflicts.to_come({row.id: stated(row.assertions) if row.standing == "fact" else () for row in rows})
            break
    if conflicts:
        rows[0].conflict_keys = tuple([key_hash(run.root_id, key) for key in conflicts])
    for row in rows:
        run.emit(row, call_id=call_id)
        if row.standing == "ruled-out" and row.result is not None and (limits := ledger.limits(row.result)) is not None:
            run.emit(UnsettledByAbsence(row.result, row.tool, *limits), call_id=call_id)
    for key in conflicts:
        run.emit(ConflictFound(key_hash(run.root_id, key), *key, tuple(ledger.conflicts.witnesses(key))), call_id=call_id)


def _standing(run: Run[Any], ledger: Ledger, verdict: Verdict, declared_on: str) -> StandingDeclared:
    call_id = verdict.tool_call_id
    row = StandingDeclared(verdict.standing, declared_on)
    row.sought, row.settles, row.line = verdict.sought, verdict.settles, verdict.line
    row.assertions, row.assertion_count = verdict.assertions, len(verdict.assertions)
    result = ledger.results.get(call_id)
    if result is None:
        row.unknown_id, row.named = True, call_id
    else:
        row.result, row.ref = call_id, result.ref
        row.tool = result.tool if result.tool in run.agent.tools else None
    judged = ledger.judgments.get(call_id)
    if judged is not None:
        row.agrees = judged.standing == verdict.standing
    return row


def file_basis(run: Run[Any], call: CallView, declaration: Declaration | None, malformed: int) -> None:
    """File why a call is made; of a declaration without a basis only how much of it could not be read."""
    if declaration is None or declaration.basis is None:
        if malformed:
            run.emit(Malformed(CALL, malformed), call_id=call.id)
        return
    proposition, predicts = declaration.proposition, declaration.predicts
    run.emit(
        Declared(
            tool=None if call.tool is None else call.tool.name,
            basis=declaration.basis,
            expect=declaration.expect,
            has_proposition=proposition is not None,
            malformed=malformed,
            proposition=None if proposition is None else clipped(proposition),
            predicts=None if predicts is None else clipped(predicts),
        ),
        call_id=call.id,
    )


# --- values that rest on set-aside results ------------------------------------------------------------------------------


class Used(NamedTuple):
    """A value that the model uses.

    Args:
        text: as it is written.
        spellings: in which it is looked for.
        carriers: results that are known to hold it.
    """

    text: str
    spellings: tuple[str, ...]
    carriers: tuple[str, ...] = ()


def contingent_arguments(run: Run[Any], ledger: Ledger, call: CallView, arguments: dict[str, Any]) -> None:
    """File the values in a call's arguments that only set-aside results carry."""
    words = dict.fromkeys(word for text in _leaves(arguments) for word in data_words(text))
    _file(run, ledger, [Used(word, (word,)) for word in words], CALL, call.id)


def contingent_answer(run: Run[Any], ledger: Ledger, text: str) -> None:
    """File the values of an answer that only set-aside results carry: those that the evidence gate found grounded, where it was asked."""
    values = _grounded(run)
    _file(run, ledger, [Used(word, (word,)) for word in data_words(text)] if values is None else values, ANSWER, None)


def _file(run: Run[Any], ledger: Ledger, values: Iterable[Used], declared_on: str, call_id: str | None) -> None:
    if ledger.carriers is None:
        return
    filed: set[str] = set()
    for value in values:
        if (plain := spelling(value.text)) in filed:
            continue
        filed.add(plain)
        carriers = ledger.carriers.of(value.spellings, value.carriers)
        standings = [ledger.standing_of(carrier) for carrier in carriers or ()]
        if carriers and all(standing in SET_ASIDE for standing in standings):
            found = tuple([Carrier(carrier, str(standing)) for carrier, standing in zip(carriers, standings, strict=True)])
            run.emit(Contingent(declared_on, found, len(value.text), clipped(clean(value.text), VALUE_CHARS)), call_id=call_id)


def _grounded(run: Run[Any]) -> list[Used] | None:
    """The grounded values of the gate's verdict over this answer; None when there is no verdict."""
    for event in reversed(run.record):
        if event.name == CHECKED:
            values = field_of(event.payload, "values")
            if field_of(event.payload, "truncated") or not isinstance(values, (tuple, list)):
                return []
            supported = [item for item in values if field_of_item(item, "verdict") == "supported"]
            return [used for item in supported if (used := _used(item)) is not None]
        if event.name == "agentfp.agent.iteration_start":
            return None
    return None


def _used(item: Any) -> Used | None:
    """A value as the gate names it; None for one that does not rest on results alone."""
    text, sources = field_of_item(item, "text"), _sources(field_of_item(item, "sources"))
    if not isinstance(text, str) or any(call_id is None for call_id in sources):
        return None
    # Of a value that was derived, and of one that stands in many places, the gate does not name every result that holds it.
    whole = field_of_item(item, "how") == "exact" and len(sources) < PLACES_NAMED
    return Used(text, (text, *data_words(text)), tuple([str(call_id) for call_id in sources]) if whole else ())


def _sources(text: Any) -> list[str | None]:
    """The calls that a value comes from, one for each place; None for what the person or the application said."""
    try:
        return [call_id for _, _, call_id in json.loads(text or "[]")]
    except (TypeError, ValueError):  # a masked copy
        return []


def field_of_item(item: Any, name: str) -> Any:
    """A field of a part of another plugin's event: an object, or a mapping where its class is unknown here."""
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def _leaves(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
