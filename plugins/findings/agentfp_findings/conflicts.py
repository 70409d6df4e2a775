"""Which facts contradict each other: the values that current facts state of one thing, counted as they come and go."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from agentfp_findings.events import Assertion

Key: TypeAlias = tuple[str, str, str]
"""Kind and id of the subject, and the predicate."""
Stated: TypeAlias = tuple[tuple[Key, str], ...]
"""What one result states: values by key, as canonical JSON."""


def stated(assertions: Iterable[Assertion]) -> Stated:
    """What assertions state. A value that says of itself that it is unknown contradicts nothing."""
    return tuple([((a.kind, a.id, a.predicate), a.value) for a in assertions if not _unknown(a.value)])


def _unknown(value: str) -> bool:
    try:
        data = json.loads(value)
    except ValueError:  # a masked copy: what it was cannot be compared
        return True
    return isinstance(data, dict) and data.get("unknown") is True


def key_hash(salt: str, key: Key) -> str:
    """A digest of a key, salted with the conversation, since the key holds words that the model chose."""
    return hashlib.sha256(json.dumps([salt, *key]).encode()).hexdigest()[:16]


class Conflicts:
    """The values of current facts by key.

    Attributes:
        known: keys for which a conflict is on the record.
    """

    __slots__ = ("_by_result", "_open", "_values", "known")

    def __init__(self) -> None:
        self._by_result: dict[str, Stated] = {}
        self._values: dict[Key, dict[str, dict[str, int]]] = {}
        self._open: dict[Key, None] = {}
        self.known: dict[Key, None] = {}

    def put(self, result: str, states: Stated) -> None:
        """Replace what a result states."""
        for key, value in self._by_result.pop(result, ()):
            witnesses = self._values[key][value]
            witnesses[result] -= 1
            if not witnesses[result]:
                del witnesses[result]
            if not witnesses:
                del self._values[key][value]
            if not self._values[key]:
                del self._values[key]
            self._look(key)
        if states:
            self._by_result[result] = states
        for key, value in states:
            witnesses = self._values.setdefault(key, {}).setdefault(value, {})
            witnesses[result] = witnesses.get(result, 0) + 1
            self._look(key)

    def _look(self, key: Key) -> None:
        if len(self._values.get(key, ())) > 1:
            self._open.setdefault(key)
        else:
            self._open.pop(key, None)

    def __iter__(self) -> Iterator[Key]:
        """The keys in conflict now, the oldest conflict first."""
        return iter(self._open)

    def __len__(self) -> int:
        return len(self._open)

    def witnesses(self, key: Key) -> list[str]:
        """The results that state something of a key."""
        return list(dict.fromkeys(result for witnesses in self._values.get(key, {}).values() for result in witnesses))

    def to_come(self, write: Mapping[str, Stated]) -> list[Key]:
        """The keys that a write brings into conflict for the first time.

        Args:
            write: what each result states after it.
        """
        touched: dict[Key, None] = {}
        for result, states in write.items():
            touched.update(dict.fromkeys(key for key, _ in (*self._by_result.get(result, ()), *states)))
        found = []
        for key in touched:
            values = {value for other, value in ((k, v) for states in write.values() for k, v in states) if other == key}
            for value, witnesses in self._values.get(key, {}).items():
                if len(witnesses) > len(write) or any(result not in write for result in witnesses):
                    values.add(value)
            if len(values) > 1 and key not in self.known:
                found.append(key)
        return found
