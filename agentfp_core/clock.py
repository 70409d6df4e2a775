"""Time and ids, injected everywhere, so that a record can be byte-stable in a test."""

from __future__ import annotations

import datetime
import itertools
import os
import secrets
import time
from typing import Protocol


class Clock(Protocol):
    """Where a run gets its time from."""

    def now(self) -> datetime.datetime:
        """The wall clock, aware, in UTC."""

    def time_ns(self) -> int:
        """The wall clock in nanoseconds since 1970."""

    def monotonic_ns(self) -> int:
        """A clock that never goes back, in nanoseconds."""


class SystemClock:
    """The machine's clocks."""

    __slots__ = ()

    time_ns = staticmethod(time.time_ns)
    monotonic_ns = staticmethod(time.perf_counter_ns)

    def now(self) -> datetime.datetime:
        """The wall clock, aware, in UTC."""
        return datetime.datetime.now(datetime.UTC)


class Ids(Protocol):
    """Where a run gets its ids from."""

    def new(self, prefix: str) -> str:
        """A fresh id such as ``run_5f3c...``, unique in the world (or in the test)."""


class RandomIds:
    """Ids of 80 random bits, drawn once, and a count: ``run_5f3c..._1``. Cheap, and unique in the world."""

    __slots__ = ("_base", "_count", "_pid")

    def __init__(self) -> None:
        self._draw()

    def _draw(self) -> None:
        self._base = secrets.token_hex(10)
        self._count = itertools.count(1)
        self._pid = os.getpid()

    def new(self, prefix: str) -> str:
        """A fresh id; a forked process draws anew."""
        if self._pid != os.getpid():
            self._draw()
        return f"{prefix}_{self._base}{next(self._count):x}"


class StepClock:
    """A clock for tests: each reading is a fixed step after the one before.

    Args:
        start: the first reading.
        step_ns: nanoseconds between readings.
    """

    def __init__(self, start: datetime.datetime | None = None, step_ns: int = 1_000_000) -> None:
        begin = start or datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
        self._ns = int(begin.timestamp() * 1e9)
        self._step = step_ns

    def now(self) -> datetime.datetime:
        """The next reading."""
        return datetime.datetime.fromtimestamp(self.time_ns() / 1e9, datetime.UTC)

    def time_ns(self) -> int:
        """The next reading in nanoseconds."""
        self._ns += self._step
        return self._ns

    def monotonic_ns(self) -> int:
        """The next reading in nanoseconds."""
        return self.time_ns()


class CountingIds:
    """Ids for tests: ``run_1``, ``m_2`` and so on."""

    def __init__(self) -> None:
        self._count = itertools.count(1)

    def new(self, prefix: str) -> str:
        """The next id."""
        return f"{prefix}_{next(self._count)}"
