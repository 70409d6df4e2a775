"""The recorder: a ring of the newest facts, and counters that add up at every moment."""

from __future__ import annotations

import heapq
import threading
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from agentfp_trust.facts import KEPT, UnfitError, fact_of

NAME = "TrustBoundaries"
DESCRIPTION = "Who decided what at the security boundaries of an agent. It observes: it neither enforces, nor proves that something ran."
VERSION = 2


@dataclass(frozen=True, slots=True)
class Counters:
    """What became of what was seen: ``observed`` is the sum of the others, at every moment.

    Args:
        observed: events of a kind that is kept.
        retained: facts that are there.
        evicted: facts that made room.
        invalid: events whose fields do not fit.
        oversized: events with more than a fact may hold.
        pending: being looked at.
    """

    observed: int = 0
    retained: int = 0
    evicted: int = 0
    invalid: int = 0
    oversized: int = 0
    pending: int = 0


class Recorder:
    """Keeps the newest facts, in the order in which they were seen. May be used by several threads.

    Args:
        max_facts: how many.
        id: of the capture; made when left out.
    """

    def __init__(self, max_facts: int, id: str | None = None) -> None:
        self._max = max_facts
        self._lock = threading.Lock()
        self._begin(id or uuid.uuid4().hex)

    def _begin(self, id: str) -> None:
        self._id = id
        self._facts: list[tuple[int, dict[str, Any]]] = []
        self._observed = self._evicted = self._invalid = self._oversized = self._pending = 0

    def observe(self, name: str, data: Mapping[str, Any], origin: Mapping[str, Any]) -> None:
        """Look at an event. One of another kind is not seen.

        Args:
            name: of the event.
            data: its fields; only plain ones are read.
            origin: where it comes from.
        """
        if name not in KEPT:
            return
        with self._lock:
            capture, number = self._id, self._observed  # the place in the order is taken before the event is looked at
            self._observed += 1
            self._pending += 1
        wrong: str | None = None
        fact: dict[str, Any] = {}
        try:
            fact = fact_of(name, data, origin)
        except UnfitError as error:
            wrong = error.wrong
        except Exception:  # whatever a foreign object does when it is read
            wrong = "invalid"
        with self._lock:
            if capture != self._id:
                return  # it belongs to a capture that was begun anew since
            self._pending -= 1
            if wrong == "oversized":
                self._oversized += 1
            elif wrong is not None:
                self._invalid += 1
            else:
                self._keep(number, fact)

    def _keep(self, number: int, fact: dict[str, Any]) -> None:
        if len(self._facts) < self._max:
            heapq.heappush(self._facts, (number, fact))
            return
        self._evicted += 1
        if number > self._facts[0][0]:  # a late one that is older than all that are kept makes no room
            heapq.heapreplace(self._facts, (number, fact))

    @property
    def counters(self) -> Counters:
        """What became of what was seen up to now."""
        with self._lock:
            return self._counters()

    def _counters(self) -> Counters:
        return Counters(self._observed, len(self._facts), self._evicted, self._invalid, self._oversized, self._pending)

    def snapshot(self, *, bridged: tuple[str, ...] = ()) -> dict[str, Any]:
        """All facts and counters, as JSON data of the caller's own.

        Args:
            bridged: plugins that decide and were on, so that an empty list can be read.
        """
        with self._lock:
            facts = sorted(self._facts, key=lambda each: each[0])
            counters = self._counters()
            capture = self._id
        return {
            "name": NAME,
            "description": DESCRIPTION,
            "meta": {"version": VERSION},
            "data": {
                "capture_id": capture,
                "facts": [{"number": number, **fact, "origin": _copied(fact["origin"])} for number, fact in facts],
                "counters": asdict(counters),
                "last_observed": counters.observed - 1 if counters.observed else None,
                "first_retained": facts[0][0] if facts else None,
                "last_retained": facts[-1][0] if facts else None,
                "coverage": list(bridged),
            },
        }

    def reset(self) -> None:
        """Begin a new capture, without facts and with counters at 0. What is looked at just now belongs to the old one."""
        with self._lock:
            self._begin(uuid.uuid4().hex)


def _copied(origin: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, list) else value for name, value in origin.items()}
