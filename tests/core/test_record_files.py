"""Files that are no records, or were changed: refused with the line at fault, and never with another error."""

from __future__ import annotations

import contextlib
import gzip
import json
import lzma
import os
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp import (
    Agent,
    Checkpoint,
    CheckpointError,
    History,
    Pause,
    Prices,
    Record,
    RecordError,
    RecordFile,
    RecordFormatError,
    ToolContext,
    tool,
)
from agentfp.testing import ScriptedModel, call
from tests.core.counted import Counter, look, some_run

pytestmark = pytest.mark.anyio


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


async def saved(tmp_path: Path) -> Path:
    path = tmp_path / "record.jsonl"
    (await some_run()).record.save(path)
    return path


async def test_a_torn_last_line_is_left_out_and_said(tmp_path: Path) -> None:
    path = await saved(tmp_path)
    whole, rows = Record.load(path), lines_of(path)
    last = len(rows[-1])
    for cut in (1, last // 2, last - 2):
        path.write_bytes(b"".join(rows[:-1]) + rows[-1][:cut])
        torn = Record.load(path)
        assert torn.torn_line == len(rows)
        assert list(torn) == list(whole)[:-1]
    path.write_bytes(b"".join(rows)[:-1])
    assert list(Record.load(path)) == list(whole), "only the end of the last line is missing"


@pytest.mark.parametrize("at", [1, 2, 5])
@pytest.mark.parametrize(
    "damage", [b'{"seq":', b"\x00\x01\xff\n", b"[]\n", b'"text"\n', b"{}\n", b"17\n", b'{"seq":5,"name":5,"data":{}}\n']
)
async def test_a_damaged_line_is_refused_with_its_number(tmp_path: Path, at: int, damage: bytes) -> None:
    path = await saved(tmp_path)
    rows = lines_of(path)
    rows[at - 1] = damage
    path.write_bytes(b"".join(rows))
    with pytest.raises(RecordFormatError, match=rf"line {at}\b"):
        Record.load(path)


async def test_a_line_that_was_moved_is_refused(tmp_path: Path) -> None:
    path = await saved(tmp_path)
    rows = lines_of(path)
    path.write_bytes(b"".join([*rows[:3], rows[4], rows[3], *rows[5:]]))
    with pytest.raises(RecordFormatError, match="line 5: event 2 comes after event 3"):
        Record.load(path)


@pytest.mark.parametrize("version", [0, 2, "1", None, 10**400, [1]])
def test_another_version_is_refused(version: Any) -> None:
    line = json.dumps({"agentfp": version, "segment": {"root_id": "c", "run_id": "r", "first_seq": 0, "started_ns": 1}})
    with pytest.raises(RecordFormatError, match="line 1: records of version"):
        Record.from_lines([line])
    for kind, read in (("checkpoint", Checkpoint.from_json), ("pause", Pause.from_json)):
        with pytest.raises(CheckpointError, match="version"):
            read(json.dumps({"version": version, "kind": kind, "record": []}))


async def test_a_payload_that_does_not_fit_is_refused_with_line_and_field_and_without_its_value(tmp_path: Path) -> None:
    path = await saved(tmp_path)
    rows = lines_of(path)
    index = next(i for i, row in enumerate(rows) if b"agentfp.tool.ended" in row)
    data = json.loads(rows[index])
    data["data"]["outcome"] = "canary-77"
    rows[index] = json.dumps(data).encode() + b"\n"
    path.write_bytes(b"".join(rows))
    with pytest.raises(
        RecordFormatError, match=rf"line {index + 1}: event 'agentfp.tool.ended' does not fit its type at: outcome"
    ) as refused:
        Record.load(path)
    assert "canary-77" not in str(refused.value)


async def test_fields_of_a_newer_version_are_passed_over(tmp_path: Path) -> None:
    path = await saved(tmp_path)
    rows = [json.loads(row) for row in lines_of(path)]
    for row in rows:
        row["new"] = 1
        row.get("segment", row.get("data", {}))["brand_new"] = [1]
    assert Record.from_lines(rows).history == Record.load(path).history


HEADER = {"root_id": "c", "run_id": "r", "first_seq": 0, "started_ns": 1}
EVENT = {
    "seq": 0,
    "name": "agentfp.agent.turn_start",
    "ts": 1,
    "off": 0,
    "turn": 1,
    "iter": 0,
    "src": "kernel",
    "data": {"message_id": "m"},
}
odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**5000),
    st.floats(),
    st.text(max_size=5),
    st.just("x" * 100_000),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def dumps(value: Any) -> bytes:
    return json.dumps(value if value != 10**5000 else 0).encode()


@given(
    where=st.sampled_from(["header", "event", "identity"]),
    key=st.sampled_from([*HEADER, *EVENT, "path", "redaction", "identity", "call", "app"]),
    value=odd,
)
def test_no_field_of_a_wrong_type_gets_by(where: str, key: str, value: Any) -> None:
    header: dict[str, Any] = {**HEADER, **({key: value} if where == "header" else {})}
    if where == "identity":
        header["identity"] = {"tenant": value}
    row: dict[str, Any] = {**EVENT, **({key: value} if where == "event" else {})}
    try:
        record = Record.from_lines([{"agentfp": 1, "segment": header}, row])
    except RecordFormatError:
        return
    lines = list(record.to_lines())
    assert list(Record.from_lines(lines).to_lines()) == lines
    try:
        assert len(record.history) == 0
    except RecordFormatError:
        return


@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.text(max_size=50).map(str.encode),
        st.sampled_from(
            [
                b"[" * 100_000,
                b'{"a":' * 50_000,
                b"1" * 100_000,
                b"\n" * 1000,
                b"\xef\xbb\xbf{}",
                b"null",
                b'{"segment":{}}',
                b'{"switch":[]}',
            ]
        ),
        st.lists(
            st.sampled_from(
                [dumps({"agentfp": 1, "segment": HEADER}), dumps(EVENT), dumps({"switch": "r"}), dumps({"switch": {}}), b"\xff"]
            )
        ).map(b"\n".join),
    )
)
def test_hostile_bytes_are_a_record_or_a_record_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.jsonl"
    path.write_bytes(data)
    with contextlib.suppress(RecordError):
        assert len(Record.load(path).history) == 0
    for read in (Pause.from_json, Checkpoint.from_json, History.from_json):
        with contextlib.suppress(CheckpointError):
            read(data)


def change(data: Any, path: list[Any], value: Any) -> Any:
    """A copy of JSON data with one place of it changed; a path leads as far as it goes."""
    if not path or not isinstance(data, (dict, list)) or not data:
        return value
    if isinstance(data, dict):
        key = sorted(data)[path[0] % len(data)]
        return {**data, key: change(data[key], path[1:], value)}
    index = path[0] % len(data)
    return [*data[:index], change(data[index], path[1:], value), *data[index + 1 :]]


async def pause_text() -> str:
    @tool
    async def ask(ctx: ToolContext[Any], word: str) -> str:
        """Ask."""
        ctx.ask_human("Which one?", context={"a": 1})

    prices = {"script": Prices(input=Decimal("0.001"), output=Decimal(1))}
    told = [{"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"}]
    model = ScriptedModel([call("look"), [call("ask", word="w"), call("look")]])
    result = await Agent(model, tools=[ask, look], plugins=[Counter()], prices=prices).run("Go on", history=told)
    assert result.pause is not None
    return result.pause.to_json()


@pytest.fixture(scope="module")
def stored_pause() -> str:
    import anyio

    return anyio.run(pause_text)


@given(steps=st.lists(st.integers(0, 60), min_size=1, max_size=6), value=odd)
def test_a_pause_that_somebody_changed_is_a_pause_or_a_checkpoint_error(stored_pause: str, steps: list[int], value: Any) -> None:
    changed = json.dumps(change(json.loads(stored_pause), steps, value if value != 10**5000 else 7))
    try:
        pause = Pause.from_json(changed)
    except CheckpointError:
        return
    assert pause.id
    assert Pause.from_json(pause.to_json()).id == pause.id


@pytest.mark.parametrize("rows", [None, {}, "text", ["text"], [5], [[]], [None]])
def test_a_checkpoint_holds_a_list_of_objects(rows: Any) -> None:
    with pytest.raises(CheckpointError):
        Checkpoint.from_json(json.dumps({"version": 1, "kind": "checkpoint", "record": rows}))


async def test_a_stray_text_in_a_checkpoint_is_no_torn_line() -> None:
    text = Checkpoint((await some_run()).record).to_json()
    with pytest.raises(CheckpointError):
        Checkpoint.from_json(text[:-2] + ',"{"]}')


@pytest.mark.parametrize("line", [None, 5, ["x"], True])
def test_a_line_that_is_neither_text_nor_an_object_is_told(line: Any) -> None:
    with pytest.raises(RecordFormatError, match=r"line 1 holds a .* where an object belongs"):
        Record.from_lines([line])


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
async def test_a_packed_file_that_is_cut_off_is_a_record_error(pack: Any, tmp_path: Path) -> None:
    packed = pack((await saved(tmp_path)).read_bytes())
    for cut in (0, 40, len(packed) // 2, 1):
        path = tmp_path / f"cut{cut}.jsonl"
        path.write_bytes(packed[: len(packed) - cut])
        if cut:
            with pytest.raises(RecordFormatError, match="cannot be unpacked to its end"):
                Record.load(path)
        else:
            assert len(Record.load(path)) > 1


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
async def test_what_comes_before_the_cut_of_a_packed_file_is_read_event_by_event(pack: Any, tmp_path: Path) -> None:
    whole = await saved(tmp_path)
    packed = pack(whole.read_bytes())
    cut = tmp_path / "cut.jsonl"
    seen = set()
    for share in (0.6, 0.7, 0.8, 0.9):
        cut.write_bytes(packed[: int(len(packed) * share)])
        with contextlib.suppress(RecordFormatError):  # not even its first line is whole
            file = RecordFile(cut)
            assert "cannot be unpacked to its end" in str(file.problem)
            events = [event for _, event in file]
            assert events == [event for _, event in RecordFile(whole)][: len(events)]
            seen.add(len(events))
    assert len(seen) > 1


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bytes])
async def test_a_record_may_come_through_a_pipe(pack: Any, tmp_path: Path) -> None:
    """A pipe can be read once only, packed or not."""
    path = await saved(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(pack(path.read_bytes())))
    writer.start()
    loaded = Record.load(pipe)
    writer.join()
    assert list(loaded) == list(Record.load(path))
