"""Rebuilds what a model was served from the record alone, and checks it against the receipt that was filed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from agentfp_core.errors import RecordFormatError
from agentfp_core.events.context import Blob, Served
from agentfp_core.served import ServedState, digest
from agentfp_core.state import RunState

if TYPE_CHECKING:
    from agentfp_core.events.base import Event
    from agentfp_core.model import ModelRequest
    from agentfp_core.record import Record


def served_event(record: Record, call: int) -> Served:
    """The event of one model call.

    Raises:
        RecordFormatError: there was no such call.
    """
    for payload in record.of(Served):
        if payload.call == call:
            return payload
    raise RecordFormatError(f"the record holds no model call {call}; it has {len(record.of(Served))}")


def served_at(record: Record, call: int) -> ModelRequest:
    """Rebuild one request from the record; see :meth:`Record.served_at`."""
    return rebuild(record, record.root_id, record.redacted, call)


def rebuild(events: Iterable[Event], root_id: str, redacted: Sequence[str], call: int) -> ModelRequest:
    """Rebuild the request of one model call.

    Args:
        events: of the record, from its first on.
        root_id: the conversation.
        redacted: names of policies that were applied to them.
        call: number of the model call.

    Raises:
        RecordFormatError: there was no such call, or it cannot be rebuilt.
    """
    state, calls = _state(root_id, redacted), 0
    for event in _unchanged(events, root_id):
        state.replay(event)
        if not isinstance(event.payload, Served):
            continue
        calls += 1
        if event.payload.call != call:
            continue
        if state.served.receipt() != event.payload.receipt:
            raise RecordFormatError(
                f"model call {call} cannot be rebuilt: its receipt does not match; the record was changed or parts of it are missing"
            )
        try:
            return state.served.request()
        except (KeyError, TypeError, ValueError) as error:
            raise RecordFormatError(f"model call {call} cannot be rebuilt: a text that it is made of is missing or changed") from error
    raise RecordFormatError(f"the record holds no model call {call}; it has {calls}")


def changed_calls(events: Iterable[Event], root_id: str, redacted: Sequence[str]) -> list[int]:
    """The model calls whose request does not hash to the receipt that was filed; see :func:`rebuild`."""
    state, found = _state(root_id, redacted), []
    for event in _unchanged(events, root_id):
        state.replay(event)
        if isinstance(event.payload, Served) and not _proved(state.served, event.payload):
            found.append(event.payload.call)
    return found


def _proved(state: ServedState, served: Served) -> bool:
    try:
        state.request()
    except (KeyError, TypeError, ValueError):  # a text that it is made of is missing
        return False
    return state.receipt() == served.receipt


def _unchanged(events: Iterable[Event], root_id: str) -> Iterator[Event]:
    """The events without texts that do not hash to their digest: the receipt is over the digests alone.

    Raises:
        RecordFormatError: they begin in the middle of a conversation, so nothing can be rebuilt of them.
    """
    first = True
    for event in events:
        if first and event.seq:
            raise RecordFormatError(
                f"the record begins with event {event.seq}: the legs before it are not in it, so its requests cannot be rebuilt"
            )
        first = False
        if not isinstance(event.payload, Blob) or digest(root_id, "blob", event.payload.body) == event.payload.digest:
            yield event


def _state(root_id: str, redacted: Sequence[str]) -> RunState:
    if redacted:
        raise RecordFormatError(
            f"this copy of the record was redacted by {', '.join(redacted)}; "
            "a request can be rebuilt from the live record or the journal only"
        )
    return RunState(root_id)
