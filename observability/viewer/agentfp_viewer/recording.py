"""A recording that is open: the places of its events, the threads in it, and what the page asks of it. Nothing of the file is held."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pydantic_core

from agentfp import AgentfpError
from agentfp_viewer.fold import WANTED
from agentfp_viewer.lines import Line, LineFile
from agentfp_viewer.thread import Thread
from agentfp_viewer.words import QUIET

BIG = 64 * 1024
"""Of longer lines only the head is parsed while the file is read."""
HEAD = 16 * 1024
CUT = 400_000
"""Characters of one text that the page is sent; the rest is there for the asking."""
_HEAD = re.compile(rb'\{"seq":(\d{1,18}),"name":"([\w.:-]+)"')
_FIRST_KEYS = 12
MAX_PROBLEMS = 50


class NoRecordingError(AgentfpError):
    """A file holds nothing that could be shown as a recording."""

    code: ClassVar[str] = "ERR_NO_RECORDING"


class Recording:
    """A recording, a journal, or a file that a run still writes to.

    Args:
        path: the file.
        progress: called with the bytes read so far and the size of the file.

    Raises:
        OSError: it cannot be read.
        NoRecordingError: there is no event and no header in it; says what there is.
    """

    def __init__(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        self.path = path
        self._progress = progress
        self._lock = threading.Lock()
        self.generation = 0
        self._begin()
        self.refresh()
        if not self.threads:
            said = f"it begins with {self._first or 'no JSON object'}" if self._file.size else "there is nothing in it"
            self.close()
            raise NoRecordingError(f"{path} is no recording: {said}")

    def _begin(self) -> None:
        self._file = LineFile(self.path, self._progress)
        self.threads: dict[str, Thread] = {}
        self.problems: list[str] = []
        self.others: list[Any] = []
        self.notes: dict[str, Any] = {}
        self.torn = False
        self._segments: dict[str, tuple[Thread, Mapping[str, Any]]] = {}
        self._current: tuple[Thread, Mapping[str, Any]] | None = None
        self._first = ""
        self._more_problems = 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._file.size

    @property
    def idle_s(self) -> float | None:
        """Seconds since the file was written to; None when it is gone, or is a copy."""
        try:
            return max(time.time() - self.path.stat().st_mtime, 0)
        except OSError:
            return None

    # --- reading the file ---

    def refresh(self) -> bool:
        """Take in what was written since; True when there was something."""
        with self._lock:
            if self._file.was_replaced:
                self._file.close()
                self.generation += 1
                self._begin()
            news = False
            torn = False
            for line in self._file.new_lines():
                if line.whole or _is_json(line.text):
                    if not line.whole:
                        self._file.take_last(line)
                    news = True
                    self._take(line)
                else:
                    torn = True
                    self._first = self._first or "text that is not JSON"
            changed, self.torn = torn != self.torn, torn
            return news or changed

    def _take(self, line: Line) -> None:
        text = line.text.removeprefix(b"\xef\xbb\xbf") if line.number == 1 else line.text
        if not text.strip():
            return
        head = _HEAD.match(text)
        if head is not None and self._current is not None:
            name = head[2].decode()
            if name in QUIET or (name not in WANTED and len(text) > BIG):
                self._event(line, {"seq": int(head[1]), "name": name})
                return
        data = self._parse(line, text, big=head is not None)
        if isinstance(data, Mapping):
            self._object(line, data)
        elif data is not None:
            self._problem(f"line {line.number} holds no object; it is left out")

    def _parse(self, line: Line, text: bytes, *, big: bool) -> Any:
        try:
            if big and len(text) > BIG:
                data = pydantic_core.from_json(text[:HEAD], allow_partial="trailing-strings")
                if isinstance(data, Mapping) and _tells_enough(data):
                    return data
            return pydantic_core.from_json(text)
        except ValueError:
            self._problem(f"line {line.number} is not JSON; it is left out")
            if not self._first:
                self._first = "text that is not JSON"
            return None

    def _object(self, line: Line, data: Mapping[str, Any]) -> None:
        if isinstance(data.get("segment"), Mapping):
            self._header(line, data)
        elif "switch" in data:
            self._current = self._segments.get(str(data["switch"]), self._current)
        elif isinstance(data.get("seq"), int) and isinstance(data.get("name"), str):
            self._event(line, data)
        elif isinstance(data.get("file"), Mapping):
            self._note(data["file"])
        else:
            if not self._first:
                self._first = f"an object with the fields {', '.join(map(repr, list(data)[:_FIRST_KEYS]))}"
            if self.threads and len(self.others) < MAX_PROBLEMS:
                self.others.append(data)

    def _note(self, note: Mapping[str, Any]) -> None:
        """A line about the file itself: who wrote it, what was lost, that it is whole up to here."""
        lost = note.get("dropped")
        if isinstance(lost, Mapping):
            places = f"between {lost.get('first_seq')} and {lost.get('last_seq')}"
            self._problem(f"{lost.get('count')} events {places} are not in the file: {lost.get('why')}")
        if note.get("detail") == "lean" and self.notes.get("detail") != "lean":
            self._problem("this recording is lean: names, numbers and digests, and nothing of what was said")
        self.notes |= {name: note[name] for name in ("format", "detail", "sealed", "status") if isinstance(note.get(name), str)}

    def _header(self, line: Line, data: Mapping[str, Any]) -> None:
        header = data["segment"]
        if data.get("agentfp") != 1:
            self._problem(f"line {line.number}: a header of version {data.get('agentfp')!r}; this library reads version 1")
        run_id, root = str(header.get("run_id")), str(header.get("root_id"))
        if run_id in self._segments:
            self._current = self._segments[run_id]
            return
        path = tuple(str(step) for step in header.get("path") or ())
        key = self._key(root, path)
        thread = self.threads.get(key)
        if thread is None:
            thread = self.threads[key] = Thread(key, root, path)
        first = header.get("first_seq")
        if isinstance(first, int) and thread.seqs and first <= thread.seqs[-1]:
            self._branch(thread, first)
        thread.open_leg(header)
        self._current = self._segments[run_id] = (thread, header)

    def _key(self, root: str, path: tuple[str, ...]) -> str:
        roots = list(dict.fromkeys(thread.root_id for thread in self.threads.values()))
        number = roots.index(root) if root in roots else len(roots)
        return "/".join([str(number), *path])

    def _branch(self, thread: Thread, first: int) -> None:
        """A leg goes on from the middle of what is there: the later one counts."""
        self._problem(f"a later leg went on from event {first}; what had come after it in the earlier one is left out")
        thread.cut(first)
        headers, thread.headers = thread.headers, []
        thread.fold = type(thread.fold)()
        for header in headers:
            thread.open_leg(header)
        for index in range(len(thread)):
            thread.fold.take(self._read(thread, index))

    def _event(self, line: Line, data: Mapping[str, Any]) -> None:
        if self._current is None:
            thread = self.threads.setdefault("0", Thread("0", "", ()))
            self._problem(f"line {line.number}: events without a segment header; the begin of the file is missing")
            self._current = self._segments[""] = (thread, {})
        thread = self._current[0]
        if not thread.add(data["seq"], line.offset, len(line.text)):
            self._problem(f"line {line.number}: event {data['seq']} comes after event {thread.seqs[-1]}; it is left out")
            return
        try:
            thread.fold.take(data)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            self._problem(f"line {line.number}: event {data['seq']} ({data['name']}) cannot be read: {type(error).__name__}")

    def _problem(self, text: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(text)
        else:
            self._more_problems += 1

    # --- what the page asks ---

    def thread(self, key: str) -> Thread:
        """A thread by its key.

        Raises:
            KeyError: there is none.
        """
        return self.threads[key]

    def event(self, thread: Thread, seq: int) -> bytes | None:
        """An event as it stands in the file."""
        index = thread.index_of(seq)
        return None if index is None else self._file.read(thread.offsets[index], thread.sizes[index])

    def events(self, thread: Thread, indices: Iterator[int] | range, limit: int = 16 << 20) -> Iterator[Mapping[str, Any]]:
        """Some events, long texts cut; they end early where they are larger than the limit in bytes, but not before the first.

        Args:
            thread: whose.
            indices: of the events.
            limit: bytes.
        """
        size = 0
        for index in indices:
            size += min(thread.sizes[index], 4 * CUT)
            yield self._read(thread, index)
            if size > limit:
                return

    def _read(self, thread: Thread, index: int) -> Mapping[str, Any]:
        text = self._file.read(thread.offsets[index], thread.sizes[index])
        try:
            data = pydantic_core.from_json(text)
        except ValueError:
            return {"seq": thread.seqs[index], "name": "unreadable", "src": "", "data": {}}
        return cut(data) if len(text) > CUT else data  # type: ignore[no-any-return]

    def search(self, text: str, first: Thread | None = None, limit: int = 200) -> Iterator[dict[str, Any]]:
        """The events in which a text stands, with the text around it; upper and lower case are the same.

        Args:
            text: what to look for.
            first: the thread to begin with; the others follow.
            limit: how many to find at most.
        """
        forms = forms_of(text)
        threads = [thread for thread in self.threads.values() if thread is not first]
        for thread in threads if first is None else [first, *threads]:
            for index in range(len(thread)):
                found = _found(self._file.read(thread.offsets[index], thread.sizes[index]), forms)
                if found is not None:
                    yield {"thread": thread.key, "seq": thread.seqs[index], **found}
                    limit -= 1
                    if limit <= 0:
                        return

    def record_lines(self) -> list[bytes]:
        """The lines that are of the record, without those about the file."""
        text = self._file.read(0, self.size)
        return [line for line in text.split(b"\n") if not line.startswith(b'{"file":')]

    def told(self) -> list[str]:
        """What is wrong with the file, in sentences."""
        found = list(self.problems)
        if self._more_problems:
            found.append(f"and {self._more_problems} more like these")
        if self.torn:
            found.append("the last line is torn: the run still writes it, or was killed while it did")
        return found


def _found(line: bytes, forms: list[str]) -> dict[str, Any] | None:
    """The first place of a text in the payload of an event."""
    text = line.decode("utf-8", "replace")
    folded = text.lower()
    body = max(folded.find('"data":'), 0)
    for form in forms:
        at = folded.find(form, body)
        if at >= 0:
            return {"around": text[max(at - 60, 0) : at + len(form) + 100], "at": min(at, 60)}
    return None


def _is_json(text: bytes) -> bool:
    try:
        pydantic_core.from_json(text)
    except ValueError:
        return False
    return True


def _tells_enough(data: Mapping[str, Any]) -> bool:
    """Whether the head of a long event tells what a row needs of it: who, and of a result how it ended."""
    name, body = data.get("name"), data.get("data")
    if not isinstance(body, Mapping) or not isinstance(data.get("seq"), int):
        return False
    if name == "agentfp.tool.ended":
        return "content" in body and "duration_ms" in body
    if name == "agentfp.context.blob":
        return "digest" in body
    return name == "agentfp.message.added" and body.get("role") in ("user", "system") and "content" in body


def cut(value: Any, size: int = CUT) -> Any:
    """JSON data with texts that are too long for a page cut; what is left out is told in the text's place."""
    if isinstance(value, str):
        return value if len(value) <= size else {"$cut": len(value), "text": value[:size]}
    if isinstance(value, list):
        return [cut(item, size) for item in value]
    if isinstance(value, dict):
        return {key: cut(item, size) for key, item in value.items()}
    return value


def forms_of(text: str) -> list[str]:
    """How a text may stand in a line: as it is in JSON, and as it is in JSON that stands in a text."""
    once = json.dumps(text.lower(), ensure_ascii=False)[1:-1]
    twice = json.dumps(once, ensure_ascii=False)[1:-1]
    return list(dict.fromkeys([once, twice]))
