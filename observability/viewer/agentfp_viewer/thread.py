"""One conversation, or one nested run: its events by place in the file, with the rows and the outline that they fold to."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

from agentfp_viewer.fold import Fold


class Thread:
    """The events of one record in a file.

    Args:
        key: tells it from the others of its file.
        root_id: the conversation.
        path: the calls that lead to it, outermost first; empty for the conversation itself.
    """

    def __init__(self, key: str, root_id: str, path: tuple[str, ...]) -> None:
        self.key = key
        self.root_id = root_id
        self.path = path
        self.headers: list[Mapping[str, Any]] = []
        self.seqs = array("q")
        self.offsets = array("q")
        self.sizes = array("q")
        self.fold = Fold()
        self.leg = ""

    def __len__(self) -> int:
        return len(self.seqs)

    def open_leg(self, header: Mapping[str, Any]) -> None:
        """A new leg begins."""
        self.headers.append(header)
        self.leg = str(header.get("run_id", ""))
        self.fold.open_leg(header)

    def add(self, seq: int, offset: int, size: int) -> bool:
        """Note the place of an event; False when it does not come after those before it."""
        if self.seqs and seq <= self.seqs[-1]:
            return False
        self.seqs.append(seq)
        self.offsets.append(offset)
        self.sizes.append(size)
        return True

    def cut(self, seq: int) -> None:
        """Forget the events from this one on: a later leg went on from before it."""
        keep = bisect_left(self.seqs, seq)
        for places in (self.seqs, self.offsets, self.sizes):
            del places[keep:]

    def index_of(self, seq: int) -> int | None:
        """Where an event stands among these."""
        at = bisect_left(self.seqs, seq)
        return at if at < len(self.seqs) and self.seqs[at] == seq else None

    def between(self, first: int, last: int) -> range:
        """The indices of the events with these seqs and those between."""
        return range(bisect_left(self.seqs, first), bisect_left(self.seqs, last + 1))
