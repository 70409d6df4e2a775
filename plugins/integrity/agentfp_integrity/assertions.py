"""What is asserted of a thing, and which assertions contradict each other."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Absence: TypeAlias = Literal["unknown", "not-applicable"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A value with what is known of it. An absence is never shown as 0 or as nothing.

    Args:
        value: the value, when it is known.
        absence: why there is none.
        reason: of an unknown one, in words.
        evidence: what says so.
    """

    value: Any = None
    absence: Absence | None = None
    reason: str | None = None
    evidence: Any = None

    @property
    def is_known(self) -> bool:
        """Whether there is a value."""
        return self.absence is None

    def value_or(self, default: Any) -> Any:
        """The value, or this in its place."""
        return self.value if self.is_known else default

    def __str__(self) -> str:
        if self.absence == "not-applicable":
            return "not applicable"
        return str(self.value) if self.is_known else f"unknown ({self.reason})"


def known(value: Any, evidence: Any = None) -> Claim:
    """A value that is known.

    Args:
        value: the value.
        evidence: what it rests on: JSON data of the application's own.
    """
    return Claim(value, evidence=evidence)


def unknown(reason: str, evidence: Any = None) -> Claim:
    """A value that nobody knows, and why.

    Args:
        reason: why, in words.
        evidence: what that rests on: JSON data of the application's own.
    """
    return Claim(None, "unknown", reason, evidence)


def not_applicable(evidence: Any = None) -> Claim:
    """A value that there cannot be."""
    return Claim(None, "not-applicable", None, evidence)


@dataclass(frozen=True, slots=True)
class Assertion:
    """Something that is said of a thing.

    Args:
        subject: the thing: its kind and id.
        predicate: what is said of it.
        value: JSON data, or a :class:`Claim`.
        epoch: the version of the world that it is about.
        stratum: ``asserted`` now, or ``quoted`` from before.
        provenance: who says so.
        synthetic: made up for a test of a check.
    """

    subject: tuple[str, str]
    predicate: str
    value: Any
    epoch: int | None = None
    stratum: Literal["asserted", "quoted"] = "asserted"
    provenance: str = ""
    synthetic: bool = False


@dataclass(frozen=True, slots=True)
class Conflict:
    """Assertions that cannot all hold.

    Args:
        subject: the thing.
        predicate: what is said of it.
        epoch: in which version of the world.
        witnesses: the assertions, in order.
    """

    subject: tuple[str, str]
    predicate: str
    epoch: int | None
    witnesses: tuple[Assertion, ...]


def conflicts_of(assertions: Iterable[Assertion], *, multi_valued: Collection[str] = ()) -> list[Conflict]:
    """The contradictions among assertions.

    Args:
        assertions: what is said; quoted history, unknown values and those that cannot be contradict nothing.
        multi_valued: predicates that may have several values.
    """
    groups: dict[tuple[tuple[str, str], str, int | None], list[tuple[str, Assertion]]] = {}
    for assertion in assertions:
        value = assertion.value
        if isinstance(value, Claim):
            if not value.is_known:
                continue
            value = value.value
        if assertion.stratum == "asserted" and assertion.predicate not in multi_valued:
            key = (assertion.subject, assertion.predicate, assertion.epoch)
            groups.setdefault(key, []).append((json.dumps(value, sort_keys=True, default=str), assertion))
    return [
        Conflict(*key, tuple([assertion for _, assertion in members]))
        for key, members in groups.items()
        if len({value for value, _ in members}) > 1
    ]
