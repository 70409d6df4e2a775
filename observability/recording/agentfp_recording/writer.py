"""The thread that writes recordings, so that no run waits for a disk: a bounded queue, counted drops, no failure that goes further."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentfp.plugin import ExportedEvent, SegmentHeader
from agentfp_recording.errors import RecordingError
from agentfp_recording.output import ENDED, Lost, Output

log = logging.getLogger("agentfp.recording")
OPEN_FILES = 64
"""Files that are held open; the others are opened again when there is more for them."""
FULL = "the writer is behind and its queue is full"
IDLE_SECONDS = 5.0
"""After so long without events the thread ends; the next event starts one."""


@dataclass(frozen=True, slots=True)
class RecordingStats:
    """What became of the events that were handed in; ``accepted`` is the sum of the others.

    Args:
        accepted: handed in.
        written: in a file.
        dropped: in no file: the queue was full, or the file could not be written.
        waiting: not worked off yet.
        last_error: why the last ones were dropped.
    """

    accepted: int
    written: int
    dropped: int
    waiting: int
    last_error: str | None


class Writer:
    """Writes events to files, in a thread of its own.

    Args:
        path_of: the file of a leg; raises ``RecordingError`` where there can be none.
        make: makes the output of a path, for the run that owns it.
        max_queue: events that may wait; more are dropped and counted.
        gather_seconds: how long events are gathered for one write.
        made: called after a new file was begun.
    """

    def __init__(
        self,
        path_of: Callable[[SegmentHeader], Path],
        make: Callable[[Path, str], Output],
        *,
        max_queue: int = 10_000,
        gather_seconds: float = 0.05,
        made: Callable[[], object] = lambda: None,
    ) -> None:
        self._path_of = path_of
        self._make = make
        self._made = made
        self._max = max_queue
        self._gather = gather_seconds
        self._some = threading.Condition()
        self._queue: deque[tuple[int, ExportedEvent]] = deque()
        self._refused: dict[str, Lost] = {}
        self._urgent = self._stopping = False
        self._thread: threading.Thread | None = None
        self._accepted = self._done = self._written = self._dropped = 0
        self._stuck_at = -1
        self._last_error: str | None = None
        self._outputs: dict[str, Output] = {}
        self._opened: OrderedDict[Output, None] = OrderedDict()
        self._lost: dict[str, Lost] = {}

    # --- called by runs ---

    def put(self, event: ExportedEvent) -> int:
        """Hand an event in.

        Returns:
            How many were handed in up to it, for :meth:`wait`.

        Raises:
            RecordingError: the queue is full, and the event is dropped.
        """
        last = event.name == ENDED
        with self._some:
            self._accepted += 1
            number = self._accepted
            full = len(self._queue) >= self._max and not last  # the end of a run always fits, or its file would stay open
            if full:
                lost = self._lose(event, FULL)
                run = event.header.run_id
                self._refused[run] = lost.joined(self._refused.get(run))
            else:
                self._queue.append((number, event))
                if last or len(self._queue) == 1:
                    self._urgent = self._urgent or last
                    self._some.notify_all()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="agentfp-recording", daemon=True)
                self._thread.start()
        if full:
            raise RecordingError(f"an event is not recorded: {FULL}")
        return number

    def wait(self, number: int, seconds: float) -> bool:
        """Wait until so many events were worked off; not when the last wait was in vain and nothing has moved since.

        Returns:
            Whether they were.
        """
        with self._some:
            if self._done == self._stuck_at:
                return self._done >= number
            if self._some.wait_for(lambda: self._done >= number, seconds):
                return True
            self._stuck_at = self._done
            return False

    def lost(self, run_id: str) -> Lost | None:
        """Events of a run that ends and are in no file; told once."""
        with self._some:
            return self._lost.pop(run_id, None)

    def stats(self) -> RecordingStats:
        """The counts up to now."""
        with self._some:
            return RecordingStats(
                self._accepted, self._written, self._dropped, self._accepted - self._written - self._dropped, self._last_error
            )

    def stop(self, seconds: float = 2.0) -> None:
        """Work off what waits, for a while, and end the thread."""
        with self._some:
            thread = self._thread
            self._stopping = True
            self._some.notify_all()
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():  # collected in the thread itself
            thread.join(seconds)
        with self._some:
            self._stopping = False

    # --- the thread ---

    def _work(self) -> None:
        while True:
            with self._some:
                if not self._some.wait_for(lambda: bool(self._queue) or self._stopping, IDLE_SECONDS) or not self._queue:
                    self._release(0)
                    self._thread = None
                    return
                self._some.wait_for(lambda: self._urgent or self._stopping, self._gather)
                batch = list(self._queue)
                refused = self._refused
                self._queue.clear()
                self._refused = {}
                self._urgent = False
            self._write([event for _, event in batch], refused)
            with self._some:
                self._done = batch[-1][0]
                self._some.notify_all()

    def _write(self, batch: list[ExportedEvent], refused: dict[str, Lost]) -> None:
        """Give each file what is for it, in one go as far as it comes in one go.

        Args:
            batch: what was in the queue.
            refused: what came after it and found the queue full; the end of a run always came in, and its seal counts them.
        """
        some: list[ExportedEvent] = []
        for event in batch:
            ends = event.name == ENDED
            if some and (event.header.root_id != some[-1].header.root_id or some[-1].name == ENDED or (ends and refused)):
                self._write_some(some)
                some = []
            if ends:
                self._count(refused)
            some.append(event)
        self._write_some(some)
        self._count(refused)

    def _count(self, refused: dict[str, Lost]) -> None:
        while refused:
            run, lost = refused.popitem()
            output = self._outputs.get(run)
            if output is not None:
                output.lose(run, lost)

    def _write_some(self, events: list[ExportedEvent]) -> None:
        run = events[-1].header.run_id
        output: Output | None = None
        try:
            output = self._output_of(events[0].header)
            for event in events:  # runs nested in one that is recorded go to its file
                self._outputs.setdefault(event.header.run_id, output)
            fresh = not output.begun
            output.write(events)
        except Exception as error:  # whatever is wrong with a file, the runs and the other files go on
            self._fail(events, output, error)
        else:
            if fresh:
                with contextlib.suppress(OSError):
                    self._made()
            if events[-1].name == ENDED and output.owner == run:
                self._seal(output, events[-1])
            with self._some:
                self._written += len(events)
        if events[-1].name == ENDED:
            self._outputs.pop(run, None)
            if output is not None and output.owner == run:
                output.release()
                self._opened.pop(output, None)

    def _seal(self, output: Output, end: ExportedEvent) -> None:
        try:
            output.seal(end)
        except OSError as error:  # the events are there
            log.warning("a recording is written and not sealed: %s", error.strerror)

    def _output_of(self, header: SegmentHeader) -> Output:
        output = self._outputs.get(header.run_id) or self._outputs.get(header.parent_run or "")
        if output is None:
            output = self._make(self._path_of(header), header.run_id)
        self._outputs[header.run_id] = output
        self._opened[output] = None
        self._opened.move_to_end(output)
        self._release(OPEN_FILES)
        return output

    def _release(self, keep: int) -> None:
        """Close files beyond a number, the longest unused first."""
        while len(self._opened) > keep:
            self._opened.popitem(last=False)[0].release()

    def _fail(self, events: list[ExportedEvent], output: Output | None, error: Exception) -> None:
        why = str(error) if isinstance(error, RecordingError) else f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}"
        for event in events:
            with self._some:
                lost = self._lose(event, why)
            if output is not None:
                output.lose(event.header.run_id, lost)

    def _lose(self, event: ExportedEvent, why: str) -> Lost:
        """Count an event as dropped; with the lock held."""
        lost, run = Lost.of(event, why), event.header.run_id
        self._dropped += 1
        self._last_error = why
        self._lost[run] = lost.joined(self._lost.get(run))
        if self._dropped & (self._dropped - 1) == 0:
            log.warning("%d events are not recorded up to now; the last one because: %s", self._dropped, why)
        return lost
