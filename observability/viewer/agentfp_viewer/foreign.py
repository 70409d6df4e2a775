"""Transcripts of other frameworks' agents as recordings: what an installed reader makes of them, judged by an installed judge."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agentfp import AgentfpError
from agentfp.plugin import Message
from agentfp.transcripts import Judgement, Transcript, TranscriptJudge, installed_judges, make_judge, read_transcripts
from agentfp_viewer.recording import NoRecordingError, Recording

MOST = 1_000
"""Transcripts of one file that are shown."""
USUAL = "evidence"


def open_any(path: Path, progress: Callable[[int, int], None] | None = None) -> Recording:
    """Open a recording, a journal, or a transcript that an installed reader knows.

    Args:
        path: the file.
        progress: called with the bytes read so far and the size of the file.

    Raises:
        OSError: it cannot be read.
        NoRecordingError: it is neither; says what it is, and what would read it.
    """
    try:
        return Recording(path, progress)
    except NoRecordingError as error:
        return _foreign(path, error)


def _foreign(path: Path, refused: NoRecordingError) -> Recording:
    problems: list[str] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # what is open stays readable
        made = Path(folder, "transcripts.jsonl")
        try:
            found = _write(path, made, problems)
        except AgentfpError as error:
            raise NoRecordingError(f"{refused}; and no transcript: {error}") from error
        if not found:
            raise NoRecordingError(f"{refused}; and no transcript: {'; '.join(problems) or 'none was found in it'}")
        recording = Recording(made)
    recording.path = path
    recording.problems.extend(problems)
    return recording


def _write(path: Path, made: Path, problems: list[str]) -> int:
    """Write the transcripts of a file as recordings; gives how many there are, and notes what could not be read."""
    found = 0
    with made.open("w", encoding="utf-8") as file:
        for one in read_transcripts([path]):
            if isinstance(one, str):
                problems.append(one)
            elif found < MOST:
                found += 1
                file.writelines(line + "\n" for line in lines_of(one, found))
            else:
                problems.append(f"the first {MOST} transcripts are shown")
                break
    return found


def lines_of(transcript: Transcript, number: int = 1) -> Iterator[str]:
    """A transcript as the lines of a recording; without times, requests and costs, which it does not have.

    Args:
        transcript: the transcript.
        number: its place in its file.
    """
    seq = 0
    run = f"{number}-{transcript.id}"
    header = {"root_id": run, "run_id": run, "first_seq": 0, "started_ns": 0, "agent_id": transcript.id, "origin": transcript.format}
    yield _json({"agentfp": 1, "segment": header})
    judged, problem = _judged(transcript)
    turn = 0
    ids = _CallIds(transcript.messages)
    for index, message in enumerate(transcript.messages):
        turn += message.role == "user"
        for name, call, data in _events(message, index, ids, judged.get(index), failed=message.id in transcript.failed):
            event: dict[str, Any] = {"seq": seq, "name": name, "ts": 0, "off": 0, "turn": turn, "iter": 0}
            if call is not None:
                event["call"] = call
            yield _json({**event, "src": "transcript", "data": data | ({"content_of": seq - 1} if "content_of" in data else {})})
            seq += 1
    for text in (*transcript.problems, *problem):
        row = {"seq": seq, "name": "transcript.read.in_part", "ts": 0, "off": 0, "turn": turn, "iter": 0, "src": "transcript"}
        yield _json({**row, "data": {"reason": text}})
        seq += 1


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()


class _CallIds:
    """Ids of calls that are unique in the transcript, whatever the data has; a result answers the first call of its id that has none."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.of_calls: dict[tuple[int, int], str] = {}
        self.of_results: dict[int, str] = {}
        waiting: defaultdict[str, deque[str]] = defaultdict(deque)
        given: set[str] = set()
        for index, message in enumerate(messages):
            for place, call in enumerate(message.tool_calls):
                own = call.id if call.id and call.id not in given else f"{call.id or 'call'}#{index}.{place}"
                given.add(own)
                self.of_calls[index, place] = own
                waiting[call.id].append(own)
            if message.role == "tool":
                own_calls = waiting[message.tool_call_id or ""]
                self.of_results[index] = own_calls.popleft() if own_calls else f"result#{index}"


def _events(
    message: Message, index: int, ids: _CallIds, judgement: Judgement | None, *, failed: bool
) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    data: dict[str, Any] = {"message_id": message.id, "role": message.role, "author": message.author}
    if message.role == "tool":
        call = ids.of_results[index]
        outcome = "failure" if failed else "success"
        yield "agentfp.tool.ended", call, {"outcome": outcome, "duration_ms": 0, "content": message.content}
        known = call in ids.of_calls.values()
        text = {"content_of": 0} if known else {"content": message.content}
        yield "agentfp.message.added", call, {**data, "tool_call_id": call, "tool_name": message.tool_name, "failed": failed, **text}
        return
    if judgement is not None:
        yield "agentfp.evidence.checked", None, _checked(judgement, ids)
    calls = [
        {"id": ids.of_calls[index, place], "name": call.name, "arguments": call.arguments_json}
        for place, call in enumerate(message.tool_calls)
    ]
    yield "agentfp.message.added", None, {**data, "content": message.content, **({"tool_calls": calls} if calls else {})}
    for call_data in calls:
        yield "agentfp.tool.started", call_data["id"], {"tool": call_data["name"]}


def _judged(transcript: Transcript) -> tuple[dict[int, Judgement], list[str]]:
    """What the usual judge says of the answers, by the index of their messages; nothing where none is installed."""
    judges = installed_judges()
    seen = False
    answers = []
    for index, message in enumerate(transcript.messages):
        seen = seen or message.role == "tool"
        if message.role == "assistant" and seen and message.content.strip():
            answers.append(index)
    if not judges or not answers:
        return {}, []
    name = USUAL if USUAL in judges else next(iter(judges))
    try:
        judge: TranscriptJudge = make_judge(name)
        return {judgement.answer: judgement for judgement in judge.judge(transcript, answers)}, []
    except Exception as error:  # whatever a judge did not foresee: the transcript can be looked at without it
        return {}, [f"judge {name!r} failed on it: {type(error).__name__}: {error}"]


def _checked(judgement: Judgement, ids: _CallIds) -> dict[str, Any]:
    values = [
        {
            "kind": value.kind,
            "verdict": value.verdict,
            "how": value.how,
            "start": value.start,
            "end": value.end,
            "text": value.text,
            "severity": value.severity,
            "derivation": value.derivation or None,
            "path": value.path or None,
            "sources": json.dumps([[s.message, s.path, ids.of_results.get(-1 if s.message is None else s.message)] for s in value.sources]),
        }
        for value in judgement.values
    ]
    counts = {verdict: _count(values, verdict) for verdict in ("supported", "unverifiable", "unsupported")}
    strong = sum(value["verdict"] == "unsupported" and value["severity"] != "weak" for value in values)
    return {"action": "flagged" if counts["unsupported"] else "grounded", **counts, "strong": strong, "values": values}


def _count(values: Iterable[dict[str, Any]], verdict: str) -> int:
    return sum(value["verdict"] == verdict for value in values)
