"""Recordings are read back: damaged ones as far as they can be, large ones in flat memory, changed ones told apart."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentfp import Agent, Limits, Record, RecordFormatError, conversation_redaction
from agentfp.testing import ScriptedModel, call
from agentfp_recording import UnsafeRecordingIdError, diff, open_recording, pack_recording, save_recording
from tests.observability.recording.scenes import agent_of, look, same_record, the_file

pytestmark = pytest.mark.anyio


@pytest.fixture
async def recorded(tmp_path: Path) -> tuple[Path, Record]:
    result = await agent_of(tmp_path).run("Is A up?")
    return the_file(tmp_path), result.record


# --- damage ---------------------------------------------------------------------------------------------------------------


async def test_a_torn_last_line_is_left_out_and_told(recorded: tuple[Path, Record]) -> None:
    path, record = recorded
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]) + lines[-2][:40])
    file = open_recording(path)
    assert [event for _, event in file] == list(record)[:-1]
    assert file.file.torn_line == len(lines) - 1
    assert file.facts()["torn_line"] == len(lines) - 1
    assert not file.complete
    assert not file.verify().intact


async def test_of_a_file_without_its_header_the_events_are_read(recorded: tuple[Path, Record]) -> None:
    path, record = recorded
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[3:]))
    file = open_recording(path)
    assert [event for _, event in file] == list(record)[1:]
    assert file.file.problem is not None
    assert "first header is missing" in file.file.problem
    assert "problem" in file.facts()
    assert [step["kind"] for step in file.file.steps()] == ["message", "model_call", "model_call", "end"]
    with pytest.raises(RecordFormatError, match="begins with the header of a run"):
        file.record()


@pytest.mark.parametrize("broken", [b"no JSON\n", b"[1]\n", b'{"seq": "x"}\n', b'{"switch": "nobody"}\n', b"\xff\xfe\n"])
async def test_a_file_that_is_broken_in_the_middle_is_read_up_to_there(recorded: tuple[Path, Record], broken: bytes) -> None:
    path, record = recorded
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:12], broken, *lines[12:]]))
    file = open_recording(path)
    assert [event for _, event in file] == list(record)[:10]
    assert file.file.problem is not None
    assert "line 13" in file.file.problem
    assert len(list(file.file.steps())) >= 2
    assert not file.verify().intact


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "there is nothing in it"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "no record"),
        (b"hello\n", "no record"),
        (b'{\n  "a": 1\n}\n', "no record"),
        (b'[{"role": "user"}]\n', "no record"),
        (b'{"role": "user", "content": "Hi"}\n', "no record"),
        (b'{"agentfp": 7, "segment": {}}\n', "version 7"),
        (
            b'{"file":{"format":"agentfp.recording/9"}}\n{"agentfp":1,"segment":{"root_id":"c","run_id":"r","first_seq":0,"started_ns":0}}\n',
            "9",
        ),
        (b'{"file":{"format":"agentfp.recording/1"}}\n', "there is no run in it"),
    ],
)
def test_a_foreign_file_is_refused_in_clear_words(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(RecordFormatError, match=said):
        open_recording(tmp_path / "x.jsonl")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_recording(tmp_path / "x.jsonl")


# --- changes --------------------------------------------------------------------------------------------------------------


async def test_a_changed_byte_is_found(recorded: tuple[Path, Record]) -> None:
    path, _ = recorded
    assert open_recording(path).verify().intact
    path.write_text(path.read_text().replace('"A is up."', '"A is in."'))
    verified = open_recording(path).verify()
    assert [part.intact for part in verified.parts] == [False]
    assert not verified.intact


async def test_a_changed_text_that_was_served_is_found_without_the_checksum(recorded: tuple[Path, Record]) -> None:
    path, _ = recorded
    path.write_text(path.read_text().replace('"content":"A is up"', '"content":"A is down"'))
    assert open_recording(path).verify().changed_calls == (("", 2),)


async def test_parts_that_were_taken_out_or_exchanged_are_found(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, "One.", "Two.", "Three.")
    result = await agent.run("1")
    for text in ("2", "3"):
        result = await agent.run(text, history=result.history)
    path = the_file(tmp_path)
    whole = path.read_bytes()
    parts = open_recording(path).verify().parts
    assert len(parts) == 3
    second = whole.index(b"\n", parts[0].end) + 1, whole.index(b"\n", parts[1].end) + 1
    path.write_bytes(whole[: second[0]] + whole[second[1] :])
    assert not open_recording(path).verify().parts[1].intact
    path.write_bytes(whole + b'{"file":{"added":1}}\n')
    verified = open_recording(path).verify()
    assert all(part.intact for part in verified.parts)
    assert (verified.unsealed_bytes, verified.intact) == (21, False)


async def test_of_a_nested_run_requests_are_proved_too(tmp_path: Path) -> None:
    inner = Agent(ScriptedModel([call("look", switch="B"), "B is up."]), tools=[look], name="network")
    outer = agent_of(tmp_path, call("network", id="c1", request="B?"), "Yes.", tools=[inner.as_tool("network", "Knows switches.")])
    await outer.run("Is B up?")
    path = the_file(tmp_path)
    file = open_recording(path)
    assert file.verify().intact
    assert file.file.served_at(1, ("c1",)).messages[0].text == "B?"
    path.write_text(path.read_text().replace('"content":"B is up"', '"content":"B is no"'))
    assert open_recording(path).verify().changed_calls == (("c1", 2),)


# --- saved afterwards -----------------------------------------------------------------------------------------------------


async def test_a_run_can_be_recorded_afterwards(tmp_path: Path) -> None:
    inner = Agent(ScriptedModel([call("look", switch="B"), "B is up."]), tools=[look], name="network")
    agent = Agent(ScriptedModel([call("network", request="B?"), "Yes."]), tools=[inner.as_tool("network", "Knows.")])
    result = await agent.run("Is B up?")
    path = save_recording(result, tmp_path)
    assert path.name == f"{result.record.root_id}.jsonl"
    assert same_record(open_recording(path).record(), result.record)
    assert open_recording(path).verify().intact
    assert open_recording(path).complete
    steps = list(open_recording(path).file.steps())
    assert steps == result.record.steps()
    (called,) = [c for step in steps for c in step.get("calls", ()) if c["tool"] == "network"]
    assert called["nested"]["steps"]
    save_recording(result, tmp_path, policy=conversation_redaction())
    assert [p.name for p in tmp_path.iterdir()] == [path.name]  # one file, the newer one
    assert open_recording(path).privacy == "structure_only"


async def test_saving_under_an_unsafe_id_is_refused(tmp_path: Path) -> None:
    class Fixed:
        def new(self, prefix: str) -> str:
            return "Run-A"

    result = await Agent(ScriptedModel(["Yes."]), ids=Fixed()).run("Is it?")
    with pytest.raises(UnsafeRecordingIdError, match="'Run-A'"):
        save_recording(result, tmp_path)
    assert not list(tmp_path.iterdir())


async def test_content_is_stored_once_however_often_it_is_served(tmp_path: Path) -> None:
    """A long system text and tools stand in the file once; each call adds what it adds."""
    instructions = "Be brief. " * 1_000

    def rows() -> list[dict[str, int]]:
        """Rows."""
        return [{"row": number} for number in range(1_000)]

    sizes = {}
    for calls in (1, 40):
        folder = tmp_path / str(calls)
        agent = agent_of(folder, *[call("rows")] * calls, "Done.", tools=[rows], instructions=instructions)
        await agent.run("Go", limits=Limits(iterations=50))
        sizes[calls] = the_file(folder).stat().st_size
    one_result = len(json.dumps([{"row": number} for number in range(1_000)]))
    assert sizes[40] < sizes[1] + 40 * (one_result * 1.5 + 3_000)


async def test_a_packed_recording_is_read_as_it_is(tmp_path: Path) -> None:
    def rows() -> list[dict[str, int]]:
        """Rows."""
        return [{"row": number * 7919} for number in range(1_000)]

    agent = agent_of(tmp_path, *[call("rows")] * 40, "Done.", tools=[rows])
    result = await agent.run("Go", limits=Limits(iterations=50))
    path = the_file(tmp_path)
    plain, steps = path.read_bytes(), list(open_recording(path).file.steps())
    packed = pack_recording(path)
    assert not path.exists()
    assert lzma.decompress(packed.read_bytes()) == plain
    assert packed.stat().st_size < 2 * len(json.dumps(rows()))  # forty results, and less than two of them
    recording = open_recording(packed)
    assert same_record(recording.record(), result.record)
    assert list(recording.file.steps()) == steps
    assert recording.verify().intact
    assert diff(packed, save_recording(result, tmp_path)).same


async def test_a_packed_recording_is_as_old_as_it_was(tmp_path: Path) -> None:
    await agent_of(tmp_path).run("Is A up?")
    path = the_file(tmp_path)
    os.utime(path, (1_000, 1_000))
    assert pack_recording(path).stat().st_mtime == 1_000


async def test_one_packed_with_gzip_is_read_as_it_is(tmp_path: Path) -> None:
    result = await agent_of(tmp_path).run("Is A up?")
    plain = the_file(tmp_path)
    packed = tmp_path / "run.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert same_record(open_recording(packed).record(), result.record)
    assert open_recording(packed).verify().intact
    packed.write_bytes(b"\x1f\x8b no gzip at all")
    with pytest.raises(RecordFormatError, match="cannot be unpacked"):
        open_recording(packed)


async def test_a_file_may_say_anything_of_itself(tmp_path: Path) -> None:
    await agent_of(tmp_path).run("Is A up?")
    path = the_file(tmp_path)
    path.write_bytes(b'{"file":{"dropped":{"count":"x","why":3,"run_id":[]}}}\n' + path.read_bytes())
    facts = open_recording(path).facts()
    assert facts["dropped_events"] == 0
    assert facts["gaps"] == [{"run_id": "[]", "count": 0, "first_seq": 0, "last_seq": 0, "why": "3"}]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
async def test_a_packed_file_that_is_cut_off_says_so_and_is_read_as_far_as_it_goes(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    await agent_of(tmp_path).run("Is A up?")
    packed, whole = tmp_path / "cut.jsonl", pack(the_file(tmp_path).read_bytes())
    packed.write_bytes(whole[: len(whole) * 9 // 10])
    recording = open_recording(packed)
    assert "cannot be unpacked to its end" in str(recording.file.problem)
    verified = recording.verify()
    assert (verified.intact, "cannot be unpacked" in str(verified.problem)) == (False, True)
    with pytest.raises(RecordFormatError, match="cannot be unpacked"):
        recording.record()


# --- size -----------------------------------------------------------------------------------------------------------------

FLAT = """
import json, resource, sys
from agentfp_recording import open_recording, tell
from agentfp_recording.diff import diff

def high():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

small, large = sys.argv[1:]
def read(path):
    file = open_recording(path)
    events = sum(1 for _ in file)
    steps = sum(1 for _ in file.file.steps())
    lines = sum(1 for _ in tell(file))
    file.verify(requests=False)
    assert diff(path, path).same
    return events, steps, lines, file.complete

read(small)
before = high()
found = read(large)
print(json.dumps([found, high() - before]))
"""


def grown(path: Path, turns: int, chars: int) -> int:
    """Write the recording of a conversation of many turns, by the lines of a real one; gives its bytes."""
    lines = path.read_text().splitlines()
    head = [line for line in lines if line.startswith(('{"file":{"format', '{"agentfp'))]
    events = [json.loads(line) for line in lines if line.startswith('{"seq"')]
    begin = next(i for i, e in enumerate(events) if e["name"] == "agentfp.message.added")
    turn = [e for e in events[begin:] if e["name"] not in ("agentfp.run.ended", "agentfp.context.blob")]
    seq = begin
    with path.open("w") as file:
        file.writelines(line + "\n" for line in head)
        file.writelines(json.dumps(event) + "\n" for event in events[:begin])
        for number in range(turns):
            base = seq - begin
            for event in turn:
                data = dict(event["data"])
                if data.get("content_of") is not None:
                    data["content_of"] = seq - 1
                if "content" in data and event["name"] == "agentfp.tool.ended":
                    data["content"] = "x" * chars
                if "message_id" in data:
                    data["message_id"] = f"m_{base}_{data['message_id']}"
                made = {**event, "seq": seq, "turn": number + 1, "data": data}
                file.write(json.dumps(made) + "\n")
                seq += 1
        file.write(json.dumps({**events[-1], "seq": seq}) + "\n")
    return path.stat().st_size


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_a_large_recording_is_read_in_flat_memory(tmp_path: Path) -> None:
    agent = agent_of(tmp_path / "small")
    agent.run_sync("Is A up?")
    small = the_file(tmp_path / "small")
    large = tmp_path / "large.jsonl"
    large.write_bytes(small.read_bytes())
    size = grown(large, 400, 100_000)
    assert size > 40_000_000
    done = subprocess.run([sys.executable, "-c", FLAT, small, large], capture_output=True, check=True, text=True)
    (events, steps, lines, complete), more = json.loads(done.stdout)
    assert events > 5_000
    assert complete
    assert steps > 1_000
    assert lines > 2_000
    assert more < 20_000, f"{more} KiB more for {size} bytes"
