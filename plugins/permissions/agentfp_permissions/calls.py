"""A call as checkers and reports see it, and calls in a row without copying them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call that was proposed.

    Args:
        call_id: its id.
        tool: the tool's name.
        arguments_json: with what it ran, or would have run.
        turn: of the conversation, from 1.
        iteration: the model call of the turn that proposed it, from 1.
        state: ``proposed``, ``in_flight`` once it runs or, for a later call of the same reply, was let through; or its outcome.
    """

    call_id: str
    tool: str
    arguments_json: str
    turn: int
    iteration: int
    state: str = "proposed"


class CallSequence(Sequence[PastCall]):
    """A piece of a growing list of calls, and some calls behind it; a view, no copy.

    Args:
        calls: the list.
        begin: where the piece begins.
        behind: calls that come after it.
        end: where it ends; by default where the list ends now.
    """

    __slots__ = ("_begin", "_behind", "_calls", "_count")

    def __init__(self, calls: Sequence[PastCall], begin: int, behind: tuple[PastCall, ...] = (), end: int | None = None) -> None:
        self._calls = calls
        self._begin = begin
        self._behind = behind
        self._count = (len(calls) if end is None else end) - begin

    def __len__(self) -> int:
        return self._count + len(self._behind)

    @overload
    def __getitem__(self, index: int) -> PastCall: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PastCall]: ...
    def __getitem__(self, index: int | slice) -> PastCall | Sequence[PastCall]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(index)
        return self._calls[self._begin + at] if at < self._count else self._behind[at - self._count]
