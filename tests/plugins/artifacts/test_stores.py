"""What holds for the stores beyond the cases: budgets, expiry, other processes, deaths and full disks, and how much memory is used."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp.artifacts import (
    REF,
    ArtifactError,
    ArtifactIntegrityError,
    ArtifactStoreError,
    InvalidArtifactError,
    Origin,
    PutArtifact,
    Scope,
    StreamPut,
    UnknownParentRefError,
    UnreadableArtifactFileError,
)
from agentfp_artifacts import file_artifacts, memory_artifacts, s3_artifacts, sqlite_artifacts
from agentfp_artifacts.stores import file as file_stores
from agentfp_artifacts.stores.known import KnownRows
from agentfp_artifacts.stores.metas import Row, meta_of
from agentfp_artifacts.stores.paths import segment, segments
from agentfp_artifacts.stores.payload import canonical_bytes, restored
from agentfp_artifacts.stores.refs import mint
from agentfp_artifacts.stores.retention import Limits, least_used, plan
from tests.plugins.artifacts.stores import NOW, Clock, Maker

pytestmark = pytest.mark.anyio
SCOPE = Scope("conversation", "Tenant", "principal")


def thing(data: Any = "data", **more: Any) -> PutArtifact:
    return PutArtifact(**{"kind": "k", "media_type": "text/plain", "data": data, **more})


async def kinds(store: Any, scope: Scope = SCOPE) -> list[str]:
    return [meta.kind for meta in (await store.list(scope)).artifacts]


# --- budgets and expiry ---


async def test_what_was_used_least_recently_makes_room(maker: Maker) -> None:
    store = maker(max_count_per_scope=2)
    first = await store.put(SCOPE, thing(kind="first"))
    store.now.ms += 10
    await store.put(SCOPE, thing(kind="second"))
    store.now.ms += 10
    await store.get(SCOPE, first.meta.ref)
    store.now.ms += 10
    third = await store.put(SCOPE, thing(kind="third"))
    by_use = maker.name in ("memory", "sqlite")
    assert [(swept.kind, swept.reason) for swept in third.swept] == [("second" if by_use else "first", "max_count")]
    assert await kinds(store) == (["third", "first"] if by_use else ["third", "second"])


async def test_a_clock_that_goes_back_makes_no_room_with_what_is_new(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, limits = Clock(), {"max_count_per_scope": 3}
    store = maker(clock=clock, **limits)
    for kind in ("a", "b"):
        clock.ms += 1
        await store.put(SCOPE, thing(kind=kind))
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - 3_600_000_000_000)
    clock.ms -= 3_600_000
    swept: list[str] = []
    for kind in ("c", "d", "e", "f"):
        clock.ms += 1
        swept += [one.kind for one in (await store.put(SCOPE, thing(kind=kind))).swept]
    assert swept == ["a", "b", "c"]


async def test_bytes_are_kept_under_their_limit(maker: Maker) -> None:
    store = maker(max_bytes_per_scope=10)
    for index in range(3):
        store.now.ms += 10
        await store.put(SCOPE, thing("1234", kind=f"k{index}"))
    assert await kinds(store) == ["k2", "k1"]
    store.now.ms += 10
    done = await store.put(SCOPE, thing("1234567890", kind="all"))
    assert sorted(swept.kind for swept in done.swept) == ["k1", "k2"]
    await store.put(Scope("other"), thing("1234567890"))
    assert await kinds(store) == ["all"]


async def test_what_has_expired_is_swept_by_a_put_and_by_hand(maker: Maker) -> None:
    store = maker(ttl_s=60)
    await store.put(SCOPE, thing(kind="old"))
    await store.put(Scope("other"), thing(kind="other"))
    store.now.ms += 60_001
    done = await store.put(SCOPE, thing(kind="new"))
    assert [(swept.kind, swept.reason) for swept in done.swept] == [("old", "ttl")]
    assert [swept.kind for swept in await store.sweep()] == ["other"]
    assert await store.sweep() == ()
    assert await kinds(store) == ["new"]


async def test_a_put_does_not_look_at_all_there_is(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    store = maker(ttl_s=60)
    looked: list[Any] = []
    rows = store._rows

    def counted(scope: Scope) -> Any:
        looked.append(scope)
        return rows(scope)

    monkeypatch.setattr(store, "_rows", counted)
    for _ in range(20):
        store.now.ms += 1
        await store.put(SCOPE, thing())
    assert len(looked) <= 1


@pytest.mark.parametrize("name", ["memory", "sqlite"])
async def test_what_states_its_own_end_is_swept_by_a_put_of_a_store_without_limits(name: str, tmp_path: Path) -> None:
    maker = Maker(name, tmp_path)
    store = maker(**({"max_count_per_scope": None, "max_bytes_per_scope": None} if name == "memory" else {}))
    await store.put(SCOPE, thing(kind="old", expires_at=NOW + 10))
    await store.put(SCOPE, thing(kind="stays"))
    store.now.ms += 10
    done = await store.put(SCOPE, thing(kind="new"))
    assert [(swept.kind, swept.reason) for swept in done.swept] == [("old", "ttl")]
    maker.close()


@pytest.mark.parametrize("name", ["file", "s3"])
async def test_a_put_under_a_limit_reads_what_is_new_and_sees_what_others_do(
    name: str, tmp_path: Path, s3_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(name, tmp_path, s3_client)
    clock = Clock()
    store = maker(max_count_per_scope=20, clock=clock)
    other = Maker(name, tmp_path, s3_client)(max_count_per_scope=20, clock=clock)  # another process at the same place
    read: list[Any] = []
    where, reader = (file_stores, "_row_in") if name == "file" else (store, "_headed")
    before = getattr(where, reader)

    def counted(place: Any) -> Any:
        read.append(place)
        return before(place)

    monkeypatch.setattr(where, reader, counted)
    for _ in range(30):
        clock.ms += 1
        await store.put(SCOPE, thing())
    assert len(read) <= 30
    clock.ms += 1
    done = await other.put(SCOPE, thing(kind="of another"))
    assert len(done.swept) == 1
    kept = (await store.list(SCOPE, limit=100)).artifacts
    assert (len(kept), kept[0]) == (20, done.meta)
    await other.delete(SCOPE, done.meta.ref)
    assert (await store.put(SCOPE, thing())).swept == ()


def test_no_more_rows_are_remembered_than_are_to_be() -> None:
    read: list[str] = []

    def reader(name: str) -> Row | None:
        read.append(name)
        return None if name == "gone" else rows(1, 1)[0]

    known = KnownRows(most=3)
    assert len(known.of("a", ["1", "2", "gone"], reader)) == 2
    assert len(known.of("a", ["1", "2"], reader)) == 2
    assert read == ["1", "2", "gone"]
    known.of("b", ["3", "4"], reader)  # a is forgotten
    read.clear()
    known.of("b", ["3", "4"], reader)
    known.of("a", ["1", "2"], reader)
    known.of("c", ["5", "6", "7", "8"], reader)  # more than are remembered at all
    assert read == ["1", "2", "5", "6", "7", "8"]
    assert len(known.of("a", ["1"], reader)) == 1


async def test_a_database_reads_the_rows_that_make_room_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    store = sqlite_artifacts(tmp_path / "a.db", max_count_per_scope=50, max_bytes_per_scope=500, clock=clock)
    read: list[Any] = []
    row = store._row

    def counted(found: Any) -> Any:
        read.append(found)
        return row(found)

    monkeypatch.setattr(store, "_row", counted)
    for _ in range(50):
        clock.ms += 1
        await store.put(SCOPE, thing("1234567890"))
    assert read == []
    done = await store.put(SCOPE, thing("1234567890" * 3))
    assert ([swept.reason for swept in done.swept], len(read)) == (["max_count", "max_bytes", "max_bytes"], 3)
    await store.delete(SCOPE, done.meta.ref)
    done = await store.put(SCOPE, thing("1234567890" * 3))
    assert done.swept == ()
    store.close()


async def test_pages_go_on_past_what_has_expired(maker: Maker) -> None:
    store = maker()
    for index in range(7):
        store.now.ms += 10
        await store.put(SCOPE, thing(kind=f"k{index}", expires_at=None if index in (0, 6) else store.now.ms + 100))
    store.now.ms += 1000
    page = await store.list(SCOPE, limit=2)
    assert ([meta.kind for meta in page.artifacts], page.cursor) == (["k6", "k0"], None)


async def test_a_store_says_no_more_than_the_stated_expiry_and_its_own(maker: Maker) -> None:
    store = maker(ttl_s=60)
    assert (await store.put(SCOPE, thing(expires_at=NOW + 1_000_000))).meta.expires_at == NOW + 60_000
    assert (await store.put(SCOPE, thing(expires_at=NOW + 1000))).meta.expires_at == NOW + 1000


async def test_a_cursor_of_another_sort_is_refused(maker: Maker) -> None:
    with pytest.raises(InvalidArtifactError, match="no cursor"):
        await maker().list(SCOPE, cursor="page 2")


@pytest.mark.parametrize("limit", ["ttl_s", "max_bytes_per_scope", "max_count_per_scope"])
@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), True, "1"])
def test_a_limit_that_is_none_is_refused_at_once(maker: Maker, limit: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"{maker.name}_artifacts: {limit}"):
        maker(**{limit: value})


def rows(count: int, size: int) -> list[Row]:
    found = []
    for index in range(count):
        meta = meta_of({"ref": mint(), "kind": "k", "media_type": "t", "bytes": size, "created_at": index})
        found.append(Row(meta, "text", index, index))
    return found


@given(count=st.integers(0, 20), size=st.integers(0, 50), incoming=st.integers(0, 100), most=st.integers(1, 300), many=st.integers(1, 20))
def test_a_plan_leaves_room_and_lets_go_of_no_more_than_it_must(count: int, size: int, incoming: int, most: int, many: int) -> None:
    known = rows(count, size)
    limits = Limits(None, most, many)
    if incoming > most:
        with pytest.raises(InvalidArtifactError):
            plan(known, incoming, limits, 0)
        return
    swept = plan(known, incoming, limits, 0)
    left = count - len(swept)
    assert [one.ref for one in swept] == [row.meta.ref for row in known[: len(swept)]]
    assert left + 1 <= many
    assert left * size + incoming <= most
    assert not swept or left + 2 > many or (left + 1) * size + incoming > most
    some, others = least_used(known, incoming, limits, count, count * size)
    assert plan(some, incoming, limits, 0, beside=others) == swept


# --- names and bytes ---


@given(
    left=st.tuples(*[st.one_of(st.none(), st.text(max_size=12))] * 2), right=st.tuples(*[st.one_of(st.none(), st.text(max_size=12))] * 2)
)
def test_folders_of_two_scopes_differ_on_a_disk_that_does_not_tell_capitals(left: Any, right: Any) -> None:
    one, other = Scope("c", *left), Scope("c", *right)
    same = tuple(value or None for value in left) == tuple(value or None for value in right)
    assert ([part.lower() for part in segments(one)] == [part.lower() for part in segments(other)]) == same


@given(st.text(max_size=400))
def test_a_folder_is_a_plain_name(value: str) -> None:
    name = segment(value)
    assert 0 < len(name) <= 200
    assert not set(name) & set('./\\:*?"<>| ')


def test_a_long_name_is_no_other_ones_name() -> None:
    assert segment("A" * 200).startswith("=")
    assert segment("A" * 200) != segment("A" * 201)
    assert segment("=") == "%3D"


json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.one_of(st.binary(), json_data))
def test_what_is_stored_comes_back_equal(data: Any) -> None:
    try:
        raw, shape = canonical_bytes(data)
    except InvalidArtifactError:
        assert "\\ud" in json.dumps(data)  # a lone surrogate
        return
    again = restored(raw, shape)
    assert again == data
    assert type(again) is type(data)


def test_refs_are_of_their_grammar_and_do_not_repeat() -> None:
    made = {mint() for _ in range(2000)}
    assert len(made) == 2000
    assert all(REF.fullmatch(ref) for ref in made)


# --- ranges and streams ---


class Counted:
    """A client of S3 that counts the bytes it was given."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def get_object(self, **options: Any) -> Any:
        found = self.client.get_object(**options)
        self.bytes += found["ContentLength"]
        return found


async def test_a_range_reads_that_range_of_an_object(s3_client: Any, tmp_path: Path) -> None:
    counted = Counted(s3_client)
    store = s3_artifacts("bucket", prefix=tmp_path.name, client=counted)
    meta = (await store.put(SCOPE, thing(b"0123456789" * 100_000))).meta
    part = await store.get_range(SCOPE, meta.ref, 500_000, 10_000)
    assert part is not None
    assert part.data == b"0123456789" * 1000
    assert counted.bytes == 10_000


MEMORY = """
import asyncio, sys
import boto3
from botocore.config import Config
from agentfp.artifacts import Scope, StreamPut
from agentfp_artifacts import file_artifacts, s3_artifacts

MIB = 1024 * 1024
name, where, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
BLOCKS = [bytes([index]) * MIB for index in range(8)]

def made():
    if name == "file":
        return file_artifacts(where)
    session = boto3.session.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    patient = Config(read_timeout=600)  # the service here puts a gibibyte together on the same few cores
    return s3_artifacts("bucket", prefix="large", client=session.client("s3", endpoint_url=where, config=patient))

async def chunks():
    for index in range(count):
        yield BLOCKS[index % 8]

async def main():
    store = made()
    item = StreamPut(kind="k", media_type="application/octet-stream", bytes=count * MIB)
    done = await store.put_stream(Scope("c"), item, chunks())
    found = await store.get_stream(Scope("c"), done.meta.ref)
    got = 0
    async for chunk in found.body:
        at = got % MIB
        assert chunk == BLOCKS[got // MIB % 8][at : at + len(chunk)] or len(chunk) + at > MIB
        got += len(chunk)
    assert got == count * MIB
    part = await store.get_range(Scope("c"), done.meta.ref, 40 * MIB - 5, 10_000)
    assert part.data == bytes([7]) * 5 + bytes([0]) * 9_995
    await store.delete(Scope("c"), done.meta.ref)

def most():
    # MiB at most; what getrusage says counts the process that started this one
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024

before = most()
asyncio.run(main())
print(most() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="how memory is counted differs elsewhere")
@pytest.mark.parametrize("name", ["file", "s3"])
def test_a_gibibyte_goes_through_in_little_memory(name: str, tmp_path: Path, s3_client: Any) -> None:
    where = str(tmp_path) if name == "file" else s3_client.meta.endpoint_url
    command = [sys.executable, "-c", MEMORY, name, where, "1024"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 100  # MiB above what it was before


async def test_a_stream_that_breaks_leaves_nothing(maker: Maker) -> None:
    store = maker()
    if not hasattr(store, "put_stream"):
        assert maker.name == "sqlite"
        return

    async def broken() -> AsyncIterator[bytes]:
        yield b"x" * 10_000_000
        raise OSError("the line is down")

    with pytest.raises((OSError, ArtifactStoreError)):
        await store.put_stream(SCOPE, StreamPut(kind="k", media_type="t", bytes=20_000_000), broken())
    assert await kinds(store) == []
    if maker.name == "file":
        assert [path for path in store.directory.rglob("*") if path.is_file()] == []
    if maker.name == "s3":
        assert maker.s3.list_multipart_uploads(Bucket="bucket").get("Uploads", []) == []


async def test_a_large_stream_goes_to_a_bucket_in_parts(s3_client: Any, tmp_path: Path) -> None:
    store = s3_artifacts("bucket", prefix=tmp_path.name, client=s3_client)

    async def chunks() -> AsyncIterator[bytes]:
        for index in range(20):
            yield bytes([index]) * 1_000_000

    done = await store.put_stream(SCOPE, StreamPut(kind="k", media_type="t", bytes=20_000_000), chunks())
    part = await store.get_range(SCOPE, done.meta.ref, 8_999_999, 2)
    assert part is not None
    assert part.data == bytes([8, 9])


# --- processes, deaths, full disks ---

WRITER = """
import asyncio, sys
from agentfp.artifacts import PutArtifact, Scope
from agentfp_artifacts import file_artifacts, sqlite_artifacts

async def main():
    made = {"file": file_artifacts, "sqlite": sqlite_artifacts}[sys.argv[1]]
    store = made(sys.argv[2], **({"max_count_per_scope": int(sys.argv[4])} if len(sys.argv) > 4 else {}))
    for index in range(int(sys.argv[3])):
        item = PutArtifact(kind="k", media_type="text/plain", data=f"{index:06d}" * 20_000, digest="sha-256")
        done = await store.put(Scope("c"), item)
        print(done.meta.ref, flush=True)
    store.close()

asyncio.run(main())
"""
MAKERS: dict[str, Any] = {"file": file_artifacts, "sqlite": sqlite_artifacts}


def writer(name: str, where: Path, count: int, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, name, str(where), str(count), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", MAKERS)
async def test_eight_processes_that_write_at_once_lose_nothing(name: str, tmp_path: Path) -> None:
    where = tmp_path / "store"
    writers = [writer(name, where, 12) for _ in range(8)]
    written = set()
    for process in writers:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        written |= set(out.split())
    assert len(written) == 96
    store = MAKERS[name](where)
    assert {meta.ref for meta in (await store.list(Scope("c"), limit=1000)).artifacts} == written
    for ref in written:
        found = await store.get(Scope("c"), ref)  # which verifies it
        assert found is not None
    store.close()


@pytest.mark.parametrize("name", MAKERS)
async def test_processes_that_write_at_once_keep_to_the_limit_together(name: str, tmp_path: Path) -> None:
    where = tmp_path / "store"
    for process in [writer(name, where, 10, "5") for _ in range(4)]:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    store = MAKERS[name](where)
    assert len((await store.list(Scope("c"), limit=1000)).artifacts) == 5
    store.close()


@pytest.mark.parametrize("name", MAKERS)
async def test_a_process_that_is_killed_in_a_put_leaves_whole_artifacts(name: str, tmp_path: Path) -> None:
    where = tmp_path / "store"
    written: list[str] = []
    for delay in (0.0, 0.003, 0.011):
        process = writer(name, where, 10_000)
        assert process.stdout is not None
        written.append(process.stdout.readline().strip())
        await anyio.sleep(delay)
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()  # `communicate` would miss what `readline` has read ahead
        process.communicate(timeout=30)
        written += [line for line in rest.split() if REF.fullmatch(line)]
    store = MAKERS[name](where)
    found = [meta.ref for meta in (await store.list(Scope("c"), limit=1000)).artifacts]
    assert set(written) <= set(found)
    assert len(found) <= len(written) + 3
    for ref in found:
        assert await store.get(Scope("c"), ref) is not None
    if name == "file":
        for path in where.rglob("*"):
            os.utime(path, (1, 1))
        await store.sweep()
        assert sorted(path.stem for path in where.rglob("*") if path.suffix == ".bin") == sorted(found)
        assert not list(where.rglob("*.tmp"))
    store.close()


FULL = """
import asyncio, resource, sys
from agentfp.artifacts import ArtifactStoreError, PutArtifact, Scope, StreamPut
from agentfp_artifacts import file_artifacts

async def chunks():
    yield b"x" * 60_000
    yield b"x" * 60_000

async def main():
    store = file_artifacts(sys.argv[1], max_count_per_scope=1)
    kept = await store.put(Scope("c"), PutArtifact(kind="k", media_type="t", data="small"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    for put in (
        store.put(Scope("c"), PutArtifact(kind="k", media_type="t", data="x" * 120_000)),
        store.put_stream(Scope("c"), StreamPut(kind="k", media_type="t", bytes=120_000), chunks()),
    ):
        try:
            await put
        except ArtifactStoreError as error:
            print(error.code, type(error.__cause__).__name__)
    print([meta.ref for meta in (await store.list(Scope("c"))).artifacts] == [kept.meta.ref])

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_a_file_that_cannot_be_written_is_a_typed_error_and_evicts_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["ERR_ARTIFACT_STORE OSError"] * 2 + ["True"]
    assert len([path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"]) == 2


async def test_a_full_database_is_a_typed_error_and_evicts_nothing(tmp_path: Path) -> None:
    store = sqlite_artifacts(tmp_path / "a.db", max_count_per_scope=1)
    kept = await store.put(SCOPE, thing("small"))
    with store._connection("test") as connection:
        connection.execute("PRAGMA max_page_count = 20")
    with pytest.raises(ArtifactStoreError, match="SQLITE_FULL") as caught:
        await store.put(SCOPE, thing("x" * 500_000))
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    assert [meta.ref for meta in (await store.list(SCOPE)).artifacts] == [kept.meta.ref]
    store.close()


# --- what is not ours, or newer ---


async def test_a_damaged_or_newer_file_is_told_and_not_taken_for_nothing(tmp_path: Path) -> None:
    store = file_artifacts(tmp_path)
    meta = (await store.put(SCOPE, thing())).meta
    (path,) = tmp_path.rglob("*.json")
    good = path.read_text()
    for text, problem in ((good[:20], "damaged"), ("{}", "damaged"), (good.replace('"format": 1', '"format": 2'), "format 2")):
        path.write_text(text)
        for verb in (store.head, store.get):
            with pytest.raises(UnreadableArtifactFileError, match=problem) as raised:
                await verb(SCOPE, meta.ref)
            assert raised.value.file == str(path)
            assert "enant" not in str(raised.value)
            assert "principal" not in str(raised.value)
    path.write_text(good)
    (path.parent / "notes.json").write_text("not ours")
    (path.parent / "thumbs.db").write_text("not ours")
    assert await kinds(store) == ["k"]
    path.with_suffix(".bin").unlink()
    with pytest.raises(UnreadableArtifactFileError, match="data is not there"):
        await store.get(SCOPE, meta.ref)
    assert (path.stat().st_mode & 0o077, path.parent.stat().st_mode & 0o077) == (0, 0)


FIELDS = ("ref", "kind", "media_type", "bytes", "created_at", "expires_at", "label", "digest", "parent_refs", "origin")
AS_GOOD_AS_NONE: dict[str, list[Any]] = {"expires_at": [None], "label": [None], "digest": [None], "parent_refs": [{}], "origin": [None, {}]}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("odd", [{}, 1.5, [[]], None], ids=["object", "number", "list", "nothing"])
async def test_a_file_that_is_damaged_in_one_place_is_told(tmp_path: Path, field: str, odd: Any) -> None:
    store = file_artifacts(tmp_path)
    parent = (await store.put(SCOPE, thing())).meta
    item = thing(label="l", digest="sha-256", expires_at=2**50, parent_refs=[parent.ref], origin=Origin("r", "c"))
    ref = (await store.put(SCOPE, item)).meta.ref
    (path,) = tmp_path.rglob(f"{ref}.json")
    found = json.loads(path.read_text())
    found["meta"][field] = odd
    path.write_text(json.dumps(found))
    if odd in AS_GOOD_AS_NONE.get(field, []):
        assert await store.head(SCOPE, ref) is not None
        return
    for verb in (store.head(SCOPE, ref), store.get(SCOPE, ref), store.list(SCOPE)):
        with pytest.raises(UnreadableArtifactFileError, match="damaged"):
            await verb


@pytest.mark.parametrize(
    "error",
    [
        UnreadableArtifactFileError("a/b.json", "it is damaged"),
        ArtifactIntegrityError("art", "sha-256:a", "sha-256:b"),
        UnknownParentRefError(["art"]),
    ],
)
def test_an_error_comes_out_of_another_process_as_it_was(error: ArtifactError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


async def test_a_database_of_another_program_or_version_is_refused(tmp_path: Path) -> None:
    for name, statements, problem in (
        ("newer.db", ["PRAGMA user_version = 2"], "version 2"),
        ("other.db", ["CREATE TABLE artifacts (a, b)"], "another program's"),
    ):
        with sqlite3.connect(tmp_path / name) as other:
            for statement in statements:
                other.execute(statement)
        other.close()
        store = sqlite_artifacts(tmp_path / name)
        with pytest.raises(UnreadableArtifactFileError, match=problem):
            await store.put(SCOPE, thing())
        store.close()
    (tmp_path / "text.db").write_text("this is no database, but a text of some length\n" * 100)
    with pytest.raises(ArtifactStoreError, match="SQLITE_NOTADB"):
        await sqlite_artifacts(tmp_path / "text.db").head(SCOPE, mint())


@pytest.mark.parametrize("file", ["", "  ", ":memory:", "file::memory:?cache=shared"])
def test_a_database_is_a_file(file: str) -> None:
    with pytest.raises(TypeError, match="no file of its own"):
        sqlite_artifacts(file)


@pytest.mark.parametrize("prefix", ["/", "//", "a/../b", ".."])
def test_a_prefix_is_a_plain_one(prefix: str) -> None:
    with pytest.raises(TypeError, match="no prefix"):
        s3_artifacts("bucket", prefix=prefix, client=object())


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('{"v": 2}', "it has version 2"),
        ("{", "it is damaged"),
        ("[]", "it is damaged"),
        ('{"v": 1, "shape": "text", "seq": 1, "meta": {}}', "it is damaged"),
    ],
)
async def test_an_object_that_cannot_be_read_is_told_and_not_taken_for_nothing(
    entry: str, words: str, s3_client: Any, tmp_path: Path
) -> None:
    store = Maker("s3", tmp_path, s3_client)()
    scope = Scope("c", "Tenant-9")
    old = (await store.put(scope, thing(expires_at=NOW + 10))).meta
    ref = mint()
    s3_client.put_object(Bucket="bucket", Key=store._key(scope, ref), Body=b"x", Metadata={"agentfp-artifact": entry})
    s3_client.put_object(Bucket="bucket", Key=store._key(scope, mint()), Body=b"somebody else's")
    for asked in (store.get(scope, ref), store.head(scope, ref), store.list(scope)):
        with pytest.raises(UnreadableArtifactFileError, match=words) as raised:
            await asked
        assert "enant-9" not in str(raised.value)
    store.now.ms += 10
    assert [swept.ref for swept in await store.sweep()] == [old.ref]


FORKS = """
import asyncio, os, sys
from agentfp.artifacts import PutArtifact, Scope
from agentfp_artifacts import sqlite_artifacts

store = sqlite_artifacts(sys.argv[1])

def put(count):
    async def puts():
        for number in range(count):
            await store.put(Scope("c"), PutArtifact(kind="k", media_type="t", data=number))
    asyncio.run(puts())

put(1)
store._lock.acquire()  # as a thread of the parent may while it forks
parents, children = store._open, []
for _ in range(3):
    child = os.fork()
    if child == 0:
        import threading
        worker = threading.Thread(target=put, args=(10,))
        worker.start()
        worker.join(30)
        os._exit(0 if store._open is not parents and not worker.is_alive() else 1)
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children])
store._lock.release()
put(1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
async def test_a_store_that_was_open_before_a_fork_is_opened_anew_after_it(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    script = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKS, str(file)]
    done = await anyio.run_process(script, check=True)
    assert done.stdout.decode().strip() == "[0, 0, 0]"
    store = sqlite_artifacts(file)
    assert len((await store.list(Scope("c"), limit=100)).artifacts) == 32
    store.close()


async def test_what_the_service_says_stands_in_no_error(s3_client: Any) -> None:
    store = s3_artifacts("no-such-bucket", client=s3_client)
    scope = Scope("c", "tenant-secret", "p")
    with pytest.raises(ArtifactStoreError, match="NoSuchBucket") as caught:
        await store.put(scope, thing("data-secret"))
    assert caught.value.__cause__ is None
    assert "secret" not in f"{caught.value} {caught.value!r}"
    with pytest.raises(InvalidArtifactError, match="label is too long"):
        await store.put(scope, thing(label="l" * 2000))


async def test_recording_a_read_is_no_business_of_a_store_without_limits(tmp_path: Path) -> None:
    store = sqlite_artifacts(tmp_path / "a.db")
    meta = (await store.put(SCOPE, thing())).meta
    assert store._open is not None
    before = store._open.total_changes
    await store.get(SCOPE, meta.ref)
    assert store._open.total_changes == before
    store.close()


async def test_what_is_put_cannot_be_changed_from_outside() -> None:
    store = memory_artifacts()
    data = {"rows": [1]}
    meta = (await store.put(SCOPE, thing(data))).meta
    data["rows"].append(2)
    first = await store.get(SCOPE, meta.ref)
    assert first is not None
    first.data["rows"].append(3)
    again = await store.get(SCOPE, meta.ref)
    assert again is not None
    assert again.data == {"rows": [1]}
