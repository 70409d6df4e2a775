"""Journals on disks that fill up, and files that several runs want: the run ends in order, and what is written can be read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agentfp import Journal, Record, RecordFormatError, RunCheckpointError, UsageError, tool
from agentfp.events import Event, RunEnded
from agentfp.plugin import hookimpl
from tests.core.asking import made, plugin
from tests.core.running import call, check_record

pytestmark = pytest.mark.anyio


@tool
async def echo(x: str = "d") -> str:
    """Say it back."""
    await anyio.lowlevel.checkpoint()
    return x


class Disk:
    """A disk with room for so many bytes; ``os.write`` goes there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, file: int, data: Any) -> int:
        if self.room <= 0:
            raise OSError(28, "No space left on device")
        written = self._write(file, bytes(data[: self.room]))
        self.room -= written
        return written


def script() -> list[Any]:
    return [[call("echo"), call("echo", x="e"), call("echo", x="f")], call("echo", x="g"), "done"]


async def size_of(path: Path) -> int:
    await made(*script(), tools=[echo]).run("x", journal=path)
    return path.stat().st_size


@pytest.mark.parametrize("part", range(1, 20))
async def test_a_run_whose_disk_is_full_ends_in_order(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = await size_of(tmp_path / "whole") * part // 20
    finished: list[str] = []
    heard: list[Event] = []
    ends = plugin("p", hook=_finish(finished))
    Disk(monkeypatch, room)
    agent = made(*script(), tools=[echo], plugins=[ends])
    cause: BaseException | None
    try:
        result = await agent.run("x", journal=tmp_path / "j", on_event=heard.append)
    except RunCheckpointError as error:
        cause = error.__cause__
        check_record(error.checkpoint.record)
    except OSError as error:
        cause = error
    else:
        assert result.text == "done"
        cause = None
    monkeypatch.undo()
    assert cause is None or isinstance(cause, OSError)
    if heard:
        assert finished
        assert isinstance(heard[-1].payload, RunEnded)
    assert (await made("again").run("x")).text == "again"


def _finish(finished: list[str]) -> Any:
    return hookimpl(moment="finish_run")(lambda self, outcome: finished.append(outcome))


async def test_an_answer_whose_journal_cannot_be_written_is_in_the_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch, 1_000_000)

    def last(request: Any) -> str:
        disk.room = 0
        return "the answer"

    with pytest.raises(RunCheckpointError) as caught:
        await made(call("echo"), last, tools=[echo]).run("x", journal=tmp_path / "j")
    assert caught.value.checkpoint.record.history[-1].content == "the answer"


def test_a_journal_goes_on_in_the_middle_of_the_line_at_which_the_disk_was_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = made("done").run_sync("x")
    journal = Journal(tmp_path / "j")
    journal.begin(result.record.headers[0])
    disk = Disk(monkeypatch, 50)
    for event in result.record:
        journal.write(event, result.run_id)
    with pytest.raises(OSError, match="No space"):
        journal.flush()
    disk.room = 1_000_000
    journal.close()
    assert list(Record.load(tmp_path / "j").to_lines()) == list(result.record.to_lines())


def test_closing_a_journal_on_a_full_disk_lets_go_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = made("done").run_sync("x")
    journal = Journal(tmp_path / "j")
    journal.begin(result.record.headers[0])
    for event in result.record:
        journal.write(event, result.run_id)
    opened = Path("/proc/self/fd")
    before = len(list(opened.iterdir())) if opened.exists() else 0
    Disk(monkeypatch, 0)
    with pytest.raises(OSError, match="No space"):
        journal.close()
    monkeypatch.undo()
    assert not before or len(list(opened.iterdir())) == before - 1


async def test_two_runs_at_once_do_not_share_a_file_that_neither_knows_to_be_shared(tmp_path: Path) -> None:
    results: list[Any] = []

    async def run() -> None:
        try:
            results.append(await made(*script(), tools=[echo]).run("x", journal=tmp_path / "j"))
        except UsageError as error:
            results.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        tasks.start_soon(run)
    (ran,) = [result for result in results if not isinstance(result, UsageError)]
    assert list(Record.load(tmp_path / "j").to_lines()) == list(ran.record.to_lines())


async def test_a_file_is_free_once_its_run_is_over(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    first = await made("one").run("x", journal=journal)
    with pytest.raises(RunCheckpointError):
        await made(call("echo"), RuntimeError("broke"), tools=[echo]).run("y", journal=journal)
    second = await made("two").run("y", history=first.history, journal=tmp_path / "j")  # the runs above are over
    journal.close()
    assert second.text == "two"


async def test_of_a_file_that_was_used_for_several_conversations_the_last_one_is_read(tmp_path: Path) -> None:
    await made(*script(), tools=[echo]).run("x", journal=tmp_path / "j")
    last = await made("other").run("y", journal=tmp_path / "j")
    loaded = Record.load(tmp_path / "j")
    assert loaded.root_id == last.record.root_id
    assert list(loaded.to_lines()) == list(last.record.to_lines())
    assert loaded.served_at(1).messages == last.record.served_at(1).messages


@pytest.mark.parametrize("junk", [b"junk", b"{}", b"5", b"null", b'{"switch":5}', b'{"segment":5,"agentfp":1}', b"\xff\xfe", b"\x00" * 9])
async def test_junk_between_lines_is_named_by_its_line(junk: bytes, tmp_path: Path) -> None:
    await made(*script(), tools=[echo]).run("x", journal=tmp_path / "j")
    lines = (tmp_path / "j").read_bytes().split(b"\n")
    for index in range(len(lines) - 2):
        (tmp_path / "j").write_bytes(b"\n".join([*lines[:index], junk, *lines[index:]]))
        with pytest.raises(RecordFormatError, match=f"line {index + 1}"):
            Record.load(tmp_path / "j")
