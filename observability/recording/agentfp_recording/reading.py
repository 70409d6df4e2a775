"""Reads recordings: who ran with what and how it ended, whether the file is whole, its events one by one, and the record itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agentfp import Record, RecordFile, RecordFormatError
from agentfp.events import Event, RunConfigured, RunEnded
from agentfp.plugin import SegmentHeader
from agentfp_recording import envelope

Privacy: TypeAlias = Literal["full", "redacted", "structure_only"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that are not in the file, and why; ``first_seq`` and ``last_seq`` are the first and the last one of them."""

    run_id: str
    count: int
    first_seq: int
    last_seq: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """One leg of the run, and what it was made of. What is not known of it is None, and not in :meth:`to_dict`.

    Args:
        run_id: the leg.
        complete: whether its end is in the file.
        started_ns: wall clock.
        ended_ns: wall clock; None when its end is not in the file.
        status: how it ended.
        agent_id: the agent's name.
        session_id, principal, tenant: as its caller named them; none is derived from another.
        resumed_from: the leg that it goes on from.
        path: call ids that lead to it, when it is nested.
        events: how many of its events are in the file.
        first_seq: the first of them.
        configuration: provider, model, tools, plugins with versions, limits, and the hash over all settings: names only.
    """

    run_id: str
    complete: bool
    started_ns: int
    ended_ns: int | None = None
    status: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    principal: str | None = None
    tenant: str | None = None
    resumed_from: str | None = None
    path: tuple[str, ...] = ()
    events: int = 0
    first_seq: int = 0
    configuration: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON data, without what is not known."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items() if value not in (None, (), {})}


@dataclass(frozen=True, slots=True)
class Part:
    """A sealed part of a recording: the bytes it covers, and whether its checksum is right and it follows the part that it says."""

    run_id: str
    status: str
    begin: int
    end: int
    intact: bool


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a recording is what was written.

    Args:
        parts: what is sealed.
        unsealed_bytes: what no seal covers: of a run that was killed or goes on, or added by somebody.
        problem: what is wrong with the file.
        torn_line: number of its last line, when it is torn.
        changed_calls: model calls whose request does not hash to its receipt, with the path to its run; None when
            that was not looked at: a copy that was redacted, a damaged one, or one that lacks the conversation's first legs.
    """

    parts: tuple[Part, ...]
    unsealed_bytes: int
    problem: str | None
    torn_line: int | None
    changed_calls: tuple[tuple[str, int], ...] | None

    @property
    def intact(self) -> bool:
        """Whether all of it is sealed and nothing was changed."""
        whole = not self.unsealed_bytes and self.problem is None and self.torn_line is None
        return whole and bool(self.parts) and all(part.intact for part in self.parts) and not self.changed_calls


class RecordingFile:
    """A recording, a saved record or a journal; it is read anew for each question, in memory that does not grow with it.

    Args:
        path: the file.

    Attributes:
        path: the file.
        file: its events and steps; see :class:`agentfp.RecordFile`.

    Raises:
        RecordFormatError: there is nothing of a record in it.
        OSError: it cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.file = RecordFile(path)
        for _, note in self.file.notes:
            family, _, version = str(note.get("format", "")).partition("/") if isinstance(note, Mapping) else ("", "", "")
            if family and f"{family}/{version}" != envelope.FORMAT:
                raise RecordFormatError(
                    f"{self.path}: a part of it is {family} of version {version!r}; this library reads {envelope.FORMAT}"
                )
        self._legs: list[Leg] | None = None

    def __iter__(self) -> Iterator[tuple[SegmentHeader, Event]]:
        return iter(self.file)

    def record(self) -> Record:
        """The record, in memory.

        Raises:
            RecordFormatError: the file is damaged.
        """
        return Record.load(self.path, types=self.file.types.values())

    @property
    def legs(self) -> list[Leg]:
        """The legs of the conversation, nested ones too, in the order in which they began."""
        if self._legs is None:
            self._legs = self._read_legs()
        return self._legs

    @property
    def from_the_start(self) -> bool:
        """Whether the first leg of the conversation is in it, which a leg that was resumed elsewhere lacks."""
        return not self.file.headers[0].first_seq

    @property
    def complete(self) -> bool:
        """Whether every leg that began has its end in the file, and nothing is missing in between."""
        return all(leg.complete for leg in self.legs) and not self.gaps and self.file.problem is None

    @property
    def gaps(self) -> list[Gap]:
        """Events that were not recorded."""
        found = []
        for _, note in self.file.notes:
            lost = note.get("dropped") if isinstance(note, Mapping) else None
            if isinstance(lost, Mapping):
                count, first, last = _number(lost.get("count")), _number(lost.get("first_seq")), _number(lost.get("last_seq"))
                found.append(Gap(str(lost.get("run_id", "")), count, first, last, str(lost.get("why", ""))))
        return found

    @property
    def producers(self) -> list[Mapping[str, str]]:
        """The versions that wrote it, each once; empty for a file that is no recording."""
        found = [note["producer"] for _, note in self.file.notes if isinstance(note, Mapping) and isinstance(note.get("producer"), Mapping)]
        return [producer for index, producer in enumerate(found) if producer not in found[:index]]

    @property
    def privacy(self) -> Privacy:
        """``full``, ``redacted`` where something was masked, ``structure_only`` where all content was."""
        return "structure_only" if "content" in self.file.redacted else "redacted" if self.file.redacted else "full"

    def facts(self) -> dict[str, Any]:
        """What is known of the recording, as JSON data; what is not known is not there."""
        return {
            "conversation": self.file.root_id,
            "complete": self.complete,
            "legs": [leg.to_dict() for leg in self.legs],
            "dropped_events": sum(gap.count for gap in self.gaps),
            "gaps": [{f.name: getattr(gap, f.name) for f in fields(Gap)} for gap in self.gaps],
            "privacy": {"mode": self.privacy, "policies": list(self.file.redacted)},
            "producers": [dict(producer) for producer in self.producers],
            **({} if self.file.torn_line is None else {"torn_line": self.file.torn_line}),
            **({} if self.file.problem is None else {"problem": self.file.problem}),
        }

    def _read_legs(self) -> list[Leg]:
        counts: dict[str, int] = {}
        firsts: dict[str, int] = {}
        ends: dict[str, tuple[int, str]] = {}
        configured: dict[str, Mapping[str, Any]] = {}
        for header, event in self.file:
            run = header.run_id
            counts[run] = counts.get(run, 0) + 1
            firsts.setdefault(run, event.seq)
            if isinstance(event.payload, RunConfigured):
                configured[run] = _configuration(event.payload)
            elif isinstance(event.payload, RunEnded):
                ends[run] = (event.ts_ns, event.payload.status)
        return [
            _leg(h, counts.get(h.run_id, 0), firsts.get(h.run_id, h.first_seq), ends.get(h.run_id), configured.get(h.run_id, {}))
            for h in self.file.headers
        ]

    def verify(self, *, requests: bool = True) -> Verification:
        """Check the checksums of the file, and that each request can be rebuilt and hashes to its receipt.

        Args:
            requests: whether the requests are rebuilt: that takes as much memory as the messages of the conversation. The checksums take
                none to speak of.
        """
        with self.file.lines() as lines:
            parts, unsealed = _check_seals(lines)
        unproved: tuple[tuple[str, int], ...] | None = None
        problem = self.file.problem
        if requests and not self.file.redacted and problem is None and self.from_the_start:
            found: list[tuple[str, int]] = []
            for path in dict.fromkeys(header.path for header in self.file.headers):
                try:
                    found += [("/".join(path), call) for call in self.file.changed_calls(path)]
                except RecordFormatError as error:
                    problem = problem or str(error)
            unproved = tuple(found)
        return Verification(tuple(parts), unsealed, problem or self.file.problem, self.file.torn_line, unproved)


def _number(value: Any) -> int:
    """What stands in a file in a number's place; somebody may have written anything there."""
    return value if isinstance(value, int) else 0


def _leg(header: SegmentHeader, events: int, first: int, end: tuple[int, str] | None, configuration: Mapping[str, Any]) -> Leg:
    identity = header.identity
    return Leg(
        run_id=header.run_id,
        complete=end is not None,
        started_ns=header.started_ns,
        ended_ns=None if end is None else end[0],
        status=None if end is None else end[1],
        agent_id=header.agent_id,
        session_id=header.session_id,
        principal=None if identity is None else identity.principal,
        tenant=None if identity is None else identity.tenant,
        resumed_from=header.resumed_from,
        path=header.path,
        events=events,
        first_seq=first,
        configuration=configuration,
    )


def _configuration(payload: RunConfigured) -> dict[str, Any]:
    return {
        "provider": payload.provider,
        "model": payload.model,
        "tools": list(payload.tools),
        "plugins": [{"name": plugin.name, "version": plugin.version} for plugin in payload.plugins],
        "max_iterations": payload.max_iterations,
        "config_hash": payload.config_hash,
    }


def _check_seals(lines: Iterable[bytes]) -> tuple[list[Part], int]:
    """Go through the file once: the sealed parts, and how many bytes no seal covers, seals themselves left out."""
    parts: list[Part] = []
    at, covered, unsealed, previous = 0, 0, 0, ""
    opened, hashed = 0, hashlib.sha256(b"")
    for line in lines:
        note = _note(line)
        if note is not None and "format" in note:
            opened = at
            hashed = hashlib.sha256((previous if at == covered else "").encode())
        if note is not None and "sealed" in note:
            link = previous if opened == covered else ""
            intact = note.get("bytes") == [opened, at] and note.get("previous") == link and note.get("sha256") == hashed.hexdigest()
            parts.append(Part(str(note.get("sealed")), str(note.get("status", "")), opened, at, intact))
            unsealed += opened - covered
            previous, covered = str(note.get("sha256", "")), at + len(line)
            opened, hashed = covered, hashlib.sha256(previous.encode())
        else:
            hashed.update(line)
        at += len(line)
    return parts, unsealed + at - covered


def _note(line: bytes) -> Mapping[str, Any] | None:
    if not line.startswith(envelope.HEAD):
        return None
    try:
        note = json.loads(line)["file"]
    except ValueError:
        return None
    return note if isinstance(note, Mapping) else None


def open_recording(path: str | Path) -> RecordingFile:
    """Open a recording; see :class:`RecordingFile`."""
    return RecordingFile(path)
