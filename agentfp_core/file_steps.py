"""The steps of a record's file, each as soon as nothing can be added to it, so that a file of any size can be walked through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentfp_core.steps import Step, StepFold

if TYPE_CHECKING:
    from agentfp_core.record_file import RecordFile
    from agentfp_core.segments import SegmentHeader


class FileSteps:
    """The steps of a file of any size: iterate, and each is given as soon as nothing can be added to it, in order.

    Args:
        file: the file.
        path: call ids that lead to a nested run; only its steps are given then.

    Attributes:
        file: the file.
        path: what was given.
    """

    def __init__(self, file: RecordFile, path: tuple[str, ...] = ()) -> None:
        self.file = file
        self.path = path
        self._walkers: dict[tuple[str, ...], StepFold] = {path: StepFold()}
        self._nested = {header.path for header in file.headers if len(header.path) > len(path)}

    @property
    def events(self) -> int:
        """How many were read, without those of nested runs."""
        return self._walkers[self.path].events

    @property
    def unknown(self) -> dict[str, int]:
        """Events of types that are not installed, counted by name."""
        return self._walkers[self.path].unknown

    def __iter__(self) -> Iterator[Step]:
        top = self._walkers[self.path]
        early: set[tuple[str, ...]] = set()
        for header, event in self.file:
            path = header.path
            if path[: len(self.path)] != self.path or any(path[: len(done)] == done for done in early):
                continue
            self._walker(header).take(event)
            for step in top.finished():
                early |= self._fetch(step)
                yield step
        for step in top.finished(last=True):
            self._fetch(step)
            yield step

    def _fetch(self, step: Step) -> set[tuple[str, ...]]:
        """Read what nested runs of a step did that stands further on in the file; gives their paths."""
        paths = {(*self.path, call["id"]) for call in step.get("calls", ()) if "nested" not in call} & self._nested
        for path in paths:
            call = next(call for call in step["calls"] if call["id"] == path[-1])
            for header, event in self.file.nested(path):
                if path not in self._walkers:
                    self._attach(call, header)
                self._walker(header).take(event)
        return paths

    def _walker(self, header: SegmentHeader) -> StepFold:
        found = self._walkers.get(header.path)
        if found is None:
            outer = self._walkers.get(header.path[:-1])
            found = self._attach({} if outer is None else outer.calls.get(header.path[-1], {}), header)
        return found

    def _attach(self, call: Step, header: SegmentHeader) -> StepFold:
        made = self._walkers[header.path] = StepFold()
        call["nested"] = {
            "conversation": header.root_id,
            "redacted": list(header.redaction),
            "steps": made.steps,
            "unknown_events": made.unknown,
        }
        return made
