"""Recordings of runs and disks that fail: a killed process, a full disk, a slow one, none at all. No run is broken or held up."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentfp import Agent, Journal, MemoryIndex, Record
from agentfp.events import CATALOG
from agentfp.testing import ScriptedModel, call
from agentfp_core.record_reader import RecordReader
from agentfp_recording import Recording, RecordingFile, pack_recording
from tests.observability.recording.scenes import agent_of, plugin_of, same_record, the_file, until

pytestmark = pytest.mark.anyio

KILLED = """
import os, signal, sys, time
from pathlib import Path

import anyio

from agentfp import Agent, tool
from agentfp.testing import ScriptedModel, call
from agentfp_recording import Recording

folder, steps = Path(sys.argv[1]), int(sys.argv[2])


@tool
async def work(number: int) -> str:
    '''Work.'''
    if number == steps:
        if sys.argv[3] == "settled":
            await anyio.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    return "x" * 100


agent = Agent(ScriptedModel([call("work", number=n) for n in range(1, 41)]), tools=[work], plugins=[Recording(folder=folder)])
anyio.run(lambda: agent.run("go", journal=folder / "run.journal"))
"""


@pytest.mark.parametrize("steps", [1, 5, 9])
@pytest.mark.parametrize("how", ["settled", "at once"])
async def test_of_a_killed_run_a_prefix_is_read(tmp_path: Path, steps: int, how: str) -> None:
    (tmp_path / "program.py").write_text(KILLED)
    done = await anyio.run_process([sys.executable, str(tmp_path / "program.py"), str(tmp_path), str(steps), how], check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    live = list(Journal(tmp_path / "run.journal").load())
    if how == "at once" and not list(tmp_path.glob("*.jsonl")):
        return  # it was killed before anything was gathered
    recorded = RecordingFile(the_file(tmp_path))
    read = [event for _, event in recorded]
    assert read == live[: len(read)]
    if how == "settled":
        assert len(read) == len(live)
    assert not recorded.complete
    leg = recorded.facts()["legs"][0]
    assert (leg["complete"], "ended_ns" in leg, "status" in leg) == (False, False, False)
    verified = recorded.verify()
    assert not verified.intact
    assert verified.unsealed_bytes == the_file(tmp_path).stat().st_size


@pytest.mark.parametrize("tail", ["", '{"seq": 5, "na', '{"seq": 5, "name": "' + "x" * 200_000, '{"file": {}}'])
async def test_a_file_that_a_killed_process_left_is_gone_on_with(tmp_path: Path, tail: str) -> None:
    agent = agent_of(tmp_path, "Yes.", "Still yes.")
    first = await agent.run("Is it?")
    path = the_file(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + tail)  # no seal, and a torn line
    second = await agent.run("Sure?", history=first.history)
    recorded = RecordingFile(path)
    assert same_record(recorded.record(), second.record)
    verified = recorded.verify()
    assert [part.intact for part in verified.parts] == [True]
    assert verified.unsealed_bytes >= len("".join(lines[:-1]))
    assert not verified.intact


class Faulty:
    """Stands in for the disk: fails, or waits, where a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.failing = False
        self.short = False
        self.gate = threading.Event()
        self.gate.set()
        self.write = os.write
        monkeypatch.setattr("agentfp_recording.output.os.write", self._write)

    def _write(self, file: int, data: Any) -> int:
        if not self.gate.wait(20):
            raise OSError("nobody opened the gate")
        if self.failing:
            if self.short:
                self.short = False
                return self.write(file, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        return self.write(file, data)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Any:
    faulty = Faulty(monkeypatch)
    yield faulty
    faulty.gate.set()


async def test_a_full_disk_breaks_no_run_and_is_counted(tmp_path: Path, disk: Faulty, caplog: pytest.LogCaptureFixture) -> None:
    agent = agent_of(tmp_path)
    disk.failing = disk.short = True
    with caplog.at_level(logging.WARNING, "agentfp.recording"):
        result = await agent.run("Is A up?")
    assert result.text == "A is up."
    assert result.plugin_failures["recording"] >= 1
    stats = plugin_of(agent).stats
    assert (stats.dropped, stats.written, stats.waiting) == (stats.accepted, 0, 0)
    assert stats.last_error == "OSError: No space left on device"
    assert "not recorded" in caplog.text
    assert all("A is up" not in record.getMessage() for record in caplog.records)


async def test_what_a_full_disk_cost_stands_in_the_file(tmp_path: Path, disk: Faulty) -> None:
    async def fill() -> str:
        """Fill the disk."""
        await until(lambda: not (plugin_of(agent).stats.waiting))
        disk.failing = disk.short = True
        return "full"

    async def clear() -> str:
        """Clear it."""
        await until(lambda: plugin_of(agent).stats.dropped > 0)
        disk.failing = False
        return "clear"

    agent = agent_of(tmp_path, call("fill"), call("clear"), "Done.", tools=[fill, clear])
    result = await agent.run("Go")
    recorded = RecordingFile(the_file(tmp_path))
    (gap,) = recorded.gaps
    whole = [event.seq for event in result.record]
    read = [event.seq for _, event in recorded]
    assert sorted({*read, *range(gap.first_seq, gap.last_seq + 1)}) == whole
    assert gap.count == len(whole) - len(read) == plugin_of(agent).stats.dropped
    assert "No space left" in gap.why
    assert not recorded.complete
    assert recorded.verify().parts[0].intact  # what is there is what was written
    assert result.plugin_failures["recording"] >= 1


async def test_a_disk_that_hangs_holds_a_run_up_only_at_its_end_and_only_once(tmp_path: Path, disk: Faulty) -> None:
    agent = agent_of(tmp_path, "Yes.", "Yes.", settings={"wait_seconds": 0.3})
    disk.gate.clear()
    first = await agent.run("Is it?")
    assert first.text == "Yes."
    assert first.plugin_failures == {"recording": 1}
    assert not plugin_of(agent)._writer.wait(10**9, 3_600.0)  # an hour, if it waited again where the last wait was in vain
    second = await agent.run("Is it?")
    assert second.text == "Yes."
    assert second.plugin_failures == {"recording": 1}
    disk.gate.set()
    await until(lambda: not (plugin_of(agent).stats.waiting))
    for result in (first, second):
        recorded = RecordingFile(tmp_path / f"{result.record.root_id}.jsonl")
        assert [event for _, event in recorded] == list(result.record)[: len(list(recorded))]
        assert recorded.verify().intact


async def test_a_full_queue_drops_and_says_where(tmp_path: Path, disk: Faulty) -> None:
    agent = agent_of(tmp_path, *[call("look", switch=str(n)) for n in range(5)], "Done.", settings={"max_queue": 10, "wait_seconds": 0.1})
    disk.gate.clear()
    result = await agent.run("Go")
    assert result.text == "Done."
    disk.gate.set()
    await until(lambda: not (plugin_of(agent).stats.waiting))
    stats = plugin_of(agent).stats
    assert stats.accepted == stats.written + stats.dropped
    assert stats.dropped >= 10
    recorded = RecordingFile(tmp_path / f"{result.record.root_id}.jsonl")
    read = [event.seq for _, event in recorded]
    missing = {event.seq for event in result.record} - set(read)
    assert len(missing) == stats.dropped == sum(gap.count for gap in recorded.gaps)
    assert all(any(gap.first_seq <= seq <= gap.last_seq for gap in recorded.gaps) for seq in missing)
    assert read[-1] == len(result.record) - 1  # the end always fits, so that the file is sealed
    note = next(about for _, about in recorded.file.notes if "sealed" in about)
    assert note["dropped"] == stats.dropped
    assert result.plugin_failures["recording"] >= stats.dropped


async def test_a_folder_that_cannot_be_made_breaks_no_run(tmp_path: Path) -> None:
    agent = agent_of(tmp_path / "a" / "recs")
    (tmp_path / "a").write_text("in the way")
    result = await agent.run("Is A up?")
    assert result.text == "A is up."
    assert result.plugin_failures["recording"] >= 1
    assert "Not a directory" in str(plugin_of(agent).stats.last_error)


async def test_a_recording_that_is_moved_away_goes_on_in_a_new_file(tmp_path: Path) -> None:
    async def move() -> str:
        """Move the recording away."""
        await until(lambda: bool(list(tmp_path.glob("*.jsonl"))))
        path = the_file(tmp_path)
        path.rename(path.with_suffix(".moved"))
        return "moved"

    result = await agent_of(tmp_path, call("move"), "Done.", tools=[move]).run("Go")
    moved = RecordingFile(next(tmp_path.glob("*.moved")))
    rest = RecordingFile(the_file(tmp_path))
    assert [event for file in (moved, rest) for _, event in file] == list(result.record)
    assert rest.verify().parts[0].intact


async def test_two_writers_of_one_file_do_not_break_it(tmp_path: Path) -> None:
    """As two processes that go on with one conversation at once: each begins a part where the other wrote."""
    first = await agent_of(tmp_path).run("Is A up?")
    text = Record.from_lines(first.record.to_lines())
    results: list[Any] = []

    async def slow() -> str:
        """Take a moment."""
        await anyio.sleep(0.02)
        return "done"

    async def go_on(name: str) -> None:
        other = agent_of(tmp_path, *[call("slow")] * 6, name, tools=[slow], index=MemoryIndex(), settings={"gather_seconds": 0.0})
        results.append(await other.run(name, history=text.history))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(go_on, "one")
        tasks.start_soon(go_on, "two")
    found: dict[str, list[int]] = {}
    reader = RecordReader(dict(CATALOG))
    for number, line in enumerate(the_file(tmp_path).read_bytes().splitlines(), 1):
        event = reader.line(number, line)
        if event is not None and reader.current is not None:
            found.setdefault(reader.current.header.run_id, []).append(event.seq)
    for result in results:
        assert found[result.record.run_id] == [event.seq for event in result.record.of_run(result.record.run_id)]


async def test_the_thread_ends_when_the_agent_is_closed(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    agent = agent_of(tmp_path)
    await agent.run("Is A up?")
    (thread,) = [t for t in set(threading.enumerate()) - before if t.name == "agentfp-recording"]
    plugin_of(agent).close()
    assert not thread.is_alive()
    await agent.replace(model=ScriptedModel(["Yes."])).run("Is it?")  # and begins again when there is more
    plugin_of(agent).close()


AT_EXIT = """
import sys
from agentfp import Agent
from agentfp.testing import ScriptedModel
from agentfp_recording import Recording

# Nobody waits for the disk at the end of the run, and it is not gathered for long: the process must not end before it is written.
plugin = Recording(folder=sys.argv[1], wait_seconds=0.0, gather_seconds=0.5)
Agent(ScriptedModel(["Yes."]), plugins=[plugin]).run_sync("Is it?")
"""


async def test_a_process_that_ends_writes_what_waits(tmp_path: Path) -> None:
    await anyio.run_process([sys.executable, "-c", AT_EXIT, str(tmp_path)])
    recorded = RecordingFile(the_file(tmp_path))
    assert recorded.complete
    assert recorded.verify().intact


async def test_a_plugin_that_nobody_holds_ends_its_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    agent = agent_of(tmp_path)
    await agent.run("Is A up?")
    (thread,) = [t for t in set(threading.enumerate()) - before if t.name == "agentfp-recording"]
    del agent
    gc.collect()
    await until(lambda: not thread.is_alive())


# --- how long they are kept ---------------------------------------------------------------------------------------------


async def aged(folder: Path, days: int) -> Path:
    """A recording that is some days old."""
    before = set(folder.rglob("*.jsonl")) if folder.exists() else set()
    plugin = Recording(folder=folder)
    await Agent(ScriptedModel(["Yes."]), plugins=[plugin]).run("Is it?")
    plugin.close()
    (path,) = set(folder.rglob("*.jsonl")) - before
    when = time.time() - days * 86_400
    os.utime(path, (when, when))
    return path


@pytest.mark.parametrize(("limits", "left"), [({"keep": 2}, 2), ({"keep_days": 15.0}, 2), ({"keep_days": 45.0, "keep": 3}, 3), ({}, 5)])
async def test_the_oldest_recordings_are_removed(tmp_path: Path, limits: dict[str, Any], left: int) -> None:
    old = [await aged(tmp_path, days) for days in (40, 30, 20, 10)]
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text('{"not": "ours"}\n')
    os.utime(foreign, (0, 0))
    await agent_of(tmp_path, "Yes.", settings=limits).run("Is it?")
    there = set(tmp_path.rglob("*.jsonl")) - {foreign}
    assert foreign.exists()
    assert len(there) == left
    assert there >= set(old[len(old) - left + 1 :])


async def test_packed_recordings_are_removed_too(tmp_path: Path) -> None:
    old, young = pack_recording(await aged(tmp_path, 40)), pack_recording(await aged(tmp_path, 10))
    foreign = tmp_path / "foreign.jsonl.xz"
    foreign.write_bytes(b"no xz at all")
    await agent_of(tmp_path, "Yes.", settings={"keep_days": 30.0}).run("Is it?")
    assert not old.exists()
    assert young.exists()
    assert foreign.exists()


async def test_they_may_have_so_many_bytes_in_all(tmp_path: Path) -> None:
    old = [await aged(tmp_path, days) for days in (3, 2)]
    size = old[0].stat().st_size
    await agent_of(tmp_path, "Yes.", settings={"keep_bytes": size * 2 + size // 2}).run("Is it?")
    assert not old[0].exists()
    assert old[1].exists()
