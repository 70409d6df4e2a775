"""The billed calls of a record: a fold over its events, the same live and saved, nested runs with it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias

from agentfp.events import CallFailed, CostTick, CostUnpriced, HelperReplied, LlmEnd, RunConfigured, Served, ToolStarted
from agentfp.plugin import Event, Record, Usage
from agentfp_cost.amounts import amount_in

NESTED = "nested"
_Reported: TypeAlias = LlmEnd | HelperReplied | CallFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledCall:
    """One call of a model that used tokens.

    Args:
        provider: who bills.
        model: the model that answered.
        purpose: ``main``, ``failed`` (tokens of a call that failed), ``nested``, or the word of the plugin that called.
        usage: the tokens.
        usd: dollars; None where they are not known.
        turn: the turn of the conversation.
        iteration: the model call of the turn.
        path: ids of the calls that lead to the nested run, from the outside.
        day: when it was made, by UTC; None where it is not known.
        key: tells it from every other call, also where recordings of one conversation share it.
    """

    provider: str | None
    model: str | None
    purpose: str
    usage: Usage
    usd: Decimal | None = None
    turn: int = 0
    iteration: int = 0
    path: tuple[str, ...] = ()
    day: datetime.date | None = None
    key: tuple[object, ...] = ()


def billed_calls(record: Record, path: tuple[str, ...] = (), turn: int | None = None) -> Iterator[BilledCall]:
    """The calls that a record tells of, in order; those of nested runs stand behind their parent's.

    Args:
        record: the record.
        path: of a nested run, where it hangs.
        turn: of a nested run, the turn of the conversation that it belongs to.
    """
    here = BilledCall(provider=None, model=None, purpose="main", usage=Usage(), path=path)
    open_call: BilledCall | None = None
    turns: dict[str, int] = {}
    provider: str | None = None
    model: str | None = None
    for event in record:
        payload = event.payload
        if isinstance(payload, (RunConfigured, Served)):
            provider, model = payload.provider or provider, payload.model or model
        elif isinstance(payload, (LlmEnd, HelperReplied, CallFailed)):
            if open_call is not None:
                yield open_call
            told_below = isinstance(payload, HelperReplied) and payload.purpose == NESTED and bool(record.children)
            place = replace(here, turn=event.turn if turn is None else turn, provider=provider, model=model)
            open_call = None if told_below else _call(event, payload, place, record.root_id)
        elif isinstance(payload, (CostTick, CostUnpriced)) and open_call is not None:
            usd = amount_in(payload.usd) if isinstance(payload, CostTick) else None
            yield replace(open_call, provider=payload.provider, model=payload.model, usd=usd)
            open_call = None
        elif isinstance(payload, ToolStarted) and event.call_id is not None:
            turns[event.call_id] = event.turn
    if open_call is not None:
        yield open_call
    for call_id, child in record.children.items():
        yield from billed_calls(child, (*path, call_id), turns.get(call_id, 0) if turn is None else turn)


def _call(event: Event, payload: _Reported, place: BilledCall, root_id: str) -> BilledCall:
    """The call that an event tells of; ``place`` is where in the conversation, and what the run's own calls go to."""
    usage = Usage(
        payload.input_tokens, payload.output_tokens, payload.cache_read_tokens, payload.cache_write_tokens, payload.thinking_tokens
    )
    key = (root_id, *place.path, event.seq, event.ts_ns)
    made = replace(place, usage=usage, iteration=event.iteration, day=_day(event, payload), key=key)
    if isinstance(payload, LlmEnd):
        return made
    purpose = payload.purpose if isinstance(payload, HelperReplied) else "failed"
    return replace(made, purpose=purpose, provider=payload.provider, model=payload.model)


def _day(event: Event, payload: _Reported) -> datetime.date | None:
    """When the call began, which is the day whose price it has."""
    took_ms = 0 if isinstance(payload, CallFailed) else payload.duration_ms
    try:
        return datetime.datetime.fromtimestamp((event.ts_ns - took_ms * 1_000_000) // 1_000_000_000, datetime.UTC).date()
    except (ValueError, OverflowError, OSError):  # a recording from anywhere
        return None
