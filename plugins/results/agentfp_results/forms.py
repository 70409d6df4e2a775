"""The forms in which tools take a period: each writes a range or a length of time into arguments, and reads it back."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, TypeAlias

from agentfp.plugin import ConfigError
from agentfp_results.ends import AS, EDGES, As, Edge, read_ends, types_of, write_ends
from agentfp_results.grammar import UNITS, Length, Range, day, day_of, duration, to_datetime

Window: TypeAlias = "Range | Length"


class Reading(NamedTuple):
    """What times are read by.

    Args:
        now: the run's now.
        zone: the zone for times without one; None where it is not known.
    """

    now: int
    zone: datetime.tzinfo | None = None


class Written(NamedTuple):
    """Arguments that say a window.

    Args:
        arguments: by name.
        rounded: they say a little more than the window.
    """

    arguments: dict[str, Any]
    rounded: bool = False


def as_range(window: Window, now: int) -> Range:
    """A window as a range; a length is one up to now."""
    return window if isinstance(window, Range) else Range(now - window.ns, now)


class _Checked:
    """What forms have in common: their words are checked where they are made."""

    def _one_of(self, name: str, known: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if value not in known:
            label = name.rstrip("_")
            raise ConfigError(f"{type(self).__name__}: {label} is one of {', '.join(known)}, got {value!r}; correct it")


@dataclasses.dataclass(frozen=True, slots=True)
class Bounds(_Checked):
    """Two arguments: from and to.

    Args:
        from_: the argument of the beginning, which is always in the range.
        to: the argument of the end.
        as_: how they are written: ``iso``, ``epoch-ms``, ``epoch-s``, ``date`` or ``wall``.
        edge: whether the end is in the range: ``inclusive`` or ``exclusive``. There is no default, for both are common.
        zone: the argument that takes the zone of ``date`` and ``wall``; None for the run's zone.
    """

    kind: ClassVar[str] = "bounds"
    from_: str
    to: str
    as_: As = "iso"
    edge: Edge | None = None
    zone: str | None = None

    def __post_init__(self) -> None:
        self._one_of("as_", AS)
        if self.edge is None:
            raise ConfigError("Bounds: say whether its end is in the range: edge='inclusive' or edge='exclusive'")
        self._one_of("edge", EDGES)
        if self.from_ == self.to:
            raise ConfigError(f"Bounds: from and to are both {self.from_!r}; name two arguments, or use Joined for one")

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments that say the period."""
        return (self.from_, self.to)

    @property
    def types(self) -> tuple[str, ...]:
        """JSON types that the arguments may have."""
        return types_of(self.as_)

    @property
    def needs_zone(self) -> bool:
        """Whether it cannot be read without a zone."""
        return self.as_ in ("date", "wall")

    def write(self, window: Window, by: Reading) -> Written | None:
        """The arguments that say a window exactly; None where there are none.

        Args:
            window: the period.
            by: when it is now, and the zone that times without one are read in.
        """
        ends = write_ends(as_range(window, by.now), self.as_, self.edge or "exclusive", by.zone)
        return None if ends is None else Written({self.from_: ends[0], self.to: ends[1]}, ends[2])

    def read(self, arguments: Mapping[str, Any], by: Reading) -> Window | None:
        """The window that arguments say.

        Args:
            arguments: of the call.
            by: when it is now, and the zone that times without one are read in.
        """
        return read_ends(arguments.get(self.from_), arguments.get(self.to), self.as_, self.edge or "exclusive", by.zone)


@dataclasses.dataclass(frozen=True, slots=True)
class Joined(_Checked):
    """One argument with both ends in it, such as ``2027-03-04T09:15:00Z..2027-03-04T11:00:00Z``.

    Args:
        argument: the argument.
        as_: how each end is written.
        joiner: what stands between them.
        edge: whether the end is in the range.
        zone: the argument that takes the zone of ``date`` and ``wall``.
    """

    kind: ClassVar[str] = "joined"
    argument: str
    as_: As = "iso"
    joiner: str = ".."
    edge: Edge = "inclusive"
    zone: str | None = None

    def __post_init__(self) -> None:
        self._one_of("as_", AS)
        self._one_of("edge", EDGES)
        self._one_of("joiner", ("..", "/"))

    @property
    def arguments(self) -> tuple[str, ...]:
        """The argument that says the period."""
        return (self.argument,)

    @property
    def types(self) -> tuple[str, ...]:
        """JSON types that the argument may have."""
        return ("string",)

    @property
    def needs_zone(self) -> bool:
        """Whether it cannot be read without a zone."""
        return self.as_ in ("date", "wall")

    def write(self, window: Window, by: Reading) -> Written | None:
        """The argument that says a window exactly; None where there is none.

        Args:
            window: the period.
            by: when it is now, and the zone that times without one are read in.
        """
        ends = write_ends(as_range(window, by.now), self.as_, self.edge, by.zone)
        return None if ends is None else Written({self.argument: f"{ends[0]}{self.joiner}{ends[1]}"}, ends[2])

    def read(self, arguments: Mapping[str, Any], by: Reading) -> Window | None:
        """The window that the argument says.

        Args:
            arguments: of the call.
            by: when it is now, and the zone that times without one are read in.
        """
        value = arguments.get(self.argument)
        start, joiner, end = value.partition(self.joiner) if isinstance(value, str) else ("", "", "")
        if not joiner:
            return None
        if self.as_ in ("epoch-ms", "epoch-s"):
            if not (start.isascii() and end.isascii() and start.isdigit() and end.isdigit() and len(start) < 16 and len(end) < 16):
                return None
            return read_ends(int(start), int(end), self.as_, self.edge, by.zone)
        return read_ends(start, end, self.as_, self.edge, by.zone)


@dataclasses.dataclass(frozen=True, slots=True)
class Object(_Checked):
    """One argument that is an object with two keys.

    Args:
        argument: the argument.
        from_: the key of the beginning.
        to: the key of the end.
        as_: how they are written.
        edge: whether the end is in the range; there is no default.
        zone: the argument that takes the zone of ``date`` and ``wall``.
    """

    kind: ClassVar[str] = "object"
    argument: str
    from_: str = "from"
    to: str = "to"
    as_: As = "iso"
    edge: Edge | None = None
    zone: str | None = None

    def __post_init__(self) -> None:
        self._one_of("as_", AS)
        if self.edge is None:
            raise ConfigError("Object: say whether its end is in the range: edge='inclusive' or edge='exclusive'")
        self._one_of("edge", EDGES)
        if self.from_ == self.to:
            raise ConfigError(f"Object: from and to are both the key {self.from_!r}; name two keys")

    @property
    def arguments(self) -> tuple[str, ...]:
        """The argument that says the period."""
        return (self.argument,)

    @property
    def types(self) -> tuple[str, ...]:
        """JSON types that the argument may have."""
        return ("object",)

    @property
    def needs_zone(self) -> bool:
        """Whether it cannot be read without a zone."""
        return self.as_ in ("date", "wall")

    def write(self, window: Window, by: Reading) -> Written | None:
        """The argument that says a window exactly; None where there is none.

        Args:
            window: the period.
            by: when it is now, and the zone that times without one are read in.
        """
        ends = write_ends(as_range(window, by.now), self.as_, self.edge or "exclusive", by.zone)
        return None if ends is None else Written({self.argument: {self.from_: ends[0], self.to: ends[1]}}, ends[2])

    def read(self, arguments: Mapping[str, Any], by: Reading) -> Window | None:
        """The window that the argument says.

        Args:
            arguments: of the call.
            by: when it is now, and the zone that times without one are read in.
        """
        value = arguments.get(self.argument)
        if not isinstance(value, Mapping):
            return None
        return read_ends(value.get(self.from_), value.get(self.to), self.as_, self.edge or "exclusive", by.zone)


@dataclasses.dataclass(frozen=True, slots=True)
class Day(_Checked):
    """One argument that is a calendar day, such as ``2027-03-04``.

    Args:
        argument: the argument.
        zone: the argument that takes the zone; None for the run's zone.
    """

    kind: ClassVar[str] = "day"
    argument: str
    zone: str | None = None

    @property
    def arguments(self) -> tuple[str, ...]:
        """The argument that says the period."""
        return (self.argument,)

    @property
    def types(self) -> tuple[str, ...]:
        """JSON types that the argument may have."""
        return ("string",)

    @property
    def needs_zone(self) -> bool:
        """A day is one of a zone."""
        return True

    def write(self, window: Window, by: Reading) -> Written | None:
        """The argument that says a whole day; None for anything else.

        Args:
            window: the period.
            by: when it is now, and the zone that times without one are read in.
        """
        around = self.around(as_range(window, by.now), by)
        return around[0] if around is not None and around[1] == as_range(window, by.now) else None

    def around(self, window: Range, by: Reading) -> tuple[Written, Range] | None:
        """The day that a range is in; None where it is in several.

        Args:
            window: the period.
            by: when it is now, and the zone that times without one are read in.
        """
        if by.zone is None:
            return None
        try:
            first = to_datetime(window.start, by.zone).date()
            whole = day_of(first, by.zone)
        except (OverflowError, ValueError):
            return None
        return (Written({self.argument: first.isoformat()}), whole) if window.end <= whole.end else None

    def read(self, arguments: Mapping[str, Any], by: Reading) -> Window | None:
        """The day that the argument says.

        Args:
            arguments: of the call.
            by: when it is now, and the zone that times without one are read in.
        """
        return None if by.zone is None else day(arguments.get(self.argument), by.zone)


@dataclasses.dataclass(frozen=True, slots=True)
class Lookback(_Checked):
    """One argument that says how far back from now, such as ``45m``, or ``-45m`` when it is signed.

    Args:
        argument: the argument.
        signed: whether it carries a minus.
        units: the units that it takes, of ``smhdw``.
    """

    kind: ClassVar[str] = "lookback"
    argument: str
    signed: bool = False
    units: str = "mhdw"
    zone: ClassVar[str | None] = None
    needs_zone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.units, str) or not self.units or any(unit not in UNITS for unit in self.units):
            raise ConfigError(f"Lookback: units are letters of {''.join(UNITS)}, got {self.units!r}; correct it")

    @property
    def arguments(self) -> tuple[str, ...]:
        """The argument that says the period."""
        return (self.argument,)

    @property
    def types(self) -> tuple[str, ...]:
        """JSON types that the argument may have."""
        return ("string",)

    def write(self, window: Window, by: Reading) -> Written | None:
        """The argument that says a length, in its own unit or in the largest that fits.

        Args:
            window: the period.
            by: when it is now, and the zone that times without one are read in.
        """
        if not isinstance(window, Length):
            return None
        if window.unit in self.units:
            return Written({self.argument: self._text(window)})
        for unit in sorted(self.units, key=lambda one: -UNITS[one]):
            if window.ns % UNITS[unit] == 0:
                return Written({self.argument: self._text(Length(window.ns // UNITS[unit], unit))})
        return None

    def covering(self, window: Range, by: Reading) -> tuple[Written, Length] | None:
        """The smallest look-back that has the whole range in it.

        Args:
            window: the period.
            by: when it is now, and the zone that times without one are read in.
        """
        needed = by.now - window.start
        if needed <= 0:
            return None
        sizes = [Length(-(-needed // UNITS[unit]), unit) for unit in self.units]
        best = min(sizes, key=lambda length: (length.ns, -UNITS[length.unit]))
        return Written({self.argument: self._text(best)}, rounded=best.ns != needed), best

    def read(self, arguments: Mapping[str, Any], by: Reading) -> Window | None:
        """The length that the argument says.

        Args:
            arguments: of the call.
            by: when it is now, and the zone that times without one are read in.
        """
        value = arguments.get(self.argument)
        if self.signed:
            value = value[1:] if isinstance(value, str) and value.startswith("-") else None
        return duration(value, self.units)

    def _text(self, length: Length) -> str:
        return f"-{length.text()}" if self.signed else length.text()


Form: TypeAlias = Bounds | Joined | Object | Day | Lookback
