"""What the stores make of input that nobody thought of, and of disks that take nothing more: the same, whichever store it is."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentfp.artifacts import ArtifactStoreError, InvalidArtifactError, Origin, PutArtifact, Scope, StreamPut, UnreadableArtifactFileError
from agentfp_artifacts import file_artifacts, memory_artifacts, sqlite_artifacts
from agentfp_artifacts.masking import without_secrets
from tests.plugins.artifacts.stores import NOW, Clock, Maker

pytestmark = pytest.mark.anyio
SCOPE = Scope("conversation", "Tenant", "principal")


def thing(data: Any = "data", **more: Any) -> PutArtifact:
    return PutArtifact(**{"kind": "k", "media_type": "text/plain", "data": data, **more})


def nested(depth: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


ODD: dict[str, dict[str, Any]] = {
    "a number of too many digits": {"data": {"n": 10**5000}},
    "deeper than a reader can go": {"data": nested(990)},
    "a label that is no text": {"label": object()},
    "a label with a lone surrogate": {"label": "\ud800"},
    "a kind with a lone surrogate": {"kind": "k\ud800"},
    "a media type with a lone surrogate": {"media_type": "\udfff/x"},
    "an expiry that no database can hold": {"expires_at": 10**30},
    "no list of parents": {"parent_refs": None},
    "a ref as a list of parents": {"parent_refs": "art_" + "a" * 22},
    "a parent that is no text": {"parent_refs": [5]},
    "an origin of another sort": {"origin": "run"},
    "an origin of no text": {"origin": Origin("run", 5)},  # type: ignore[arg-type]
    "an origin with a lone surrogate": {"origin": Origin("\ud800")},
}


@pytest.mark.parametrize("odd", ODD)
async def test_what_cannot_be_kept_is_refused_and_nothing_is_stored(maker: Maker, odd: str) -> None:
    store = maker()
    with pytest.raises(InvalidArtifactError):
        await store.put(SCOPE, thing(**ODD[odd]))
    assert (await store.list(SCOPE)).artifacts == ()
    if maker.name == "file":
        assert [path for path in store.directory.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("data", ["", b"", None, -0.0, 10**4299, nested(400), "\0", {"": []}])
async def test_what_is_odd_and_can_be_kept_comes_back(maker: Maker, data: Any) -> None:
    store = maker()
    meta = (await store.put(SCOPE, thing(data, expires_at=NOW + 60_000.5))).meta
    assert meta.expires_at == NOW + 60_000
    found = await store.get(SCOPE, meta.ref)
    assert found is not None
    assert (found.data, found.meta) == (data, meta)


@pytest.mark.parametrize(
    ("offset", "length", "part"), [(0, 10**30, b"hello"), (10**30, 5, b""), (2**63, 1, b""), (-5, 3, b"hel"), (4, 2**63, b"o")]
)
async def test_a_range_ends_where_the_artifact_does(maker: Maker, offset: int, length: int, part: bytes) -> None:
    store = maker()
    meta = (await store.put(SCOPE, thing("hello"))).meta
    found = await store.get_range(SCOPE, meta.ref, offset, length)
    assert found is not None
    assert found.data == part


@pytest.mark.parametrize("cursor", ["", "é", "WzFlNDAwLDEsImEiXQ==", "WzFlMzAwLDEsImEiXQ==", "W3RydWUsMSwiYSJd"])
async def test_a_cursor_that_holds_no_place_is_refused(maker: Maker, cursor: str) -> None:
    with pytest.raises(InvalidArtifactError, match="no cursor"):
        await maker().list(SCOPE, cursor=cursor)


@pytest.mark.parametrize("size", [3.0, "3", None, True, -1, 10**40])
@pytest.mark.parametrize("name", ["memory", "file", "s3"])
async def test_a_stream_of_no_length_is_refused(name: str, size: Any, tmp_path: Path, s3_client: Any) -> None:
    store = Maker(name, tmp_path, s3_client)()
    with pytest.raises(InvalidArtifactError, match="bytes is no whole number"):
        await store.put_stream(SCOPE, StreamPut(kind="k", media_type="t", bytes=size), stream(b"abc"))
    assert (await store.list(SCOPE)).artifacts == ()


@pytest.mark.parametrize("chunk", ["abc", [1, 2, 3], None])
@pytest.mark.parametrize("name", ["memory", "file", "s3"])
async def test_a_stream_of_no_bytes_is_refused(name: str, chunk: Any, tmp_path: Path, s3_client: Any) -> None:
    store = Maker(name, tmp_path, s3_client)()
    for body in (stream(chunk), without_secrets(stream(chunk), lambda text: text)):
        with pytest.raises(InvalidArtifactError, match="its chunks are bytes"):
            await store.put_stream(SCOPE, StreamPut(kind="k", media_type="t", bytes=3), body)
    assert (await store.list(SCOPE)).artifacts == ()


async def stream(*chunks: Any) -> AsyncIterator[Any]:
    for chunk in chunks:
        yield chunk


async def test_a_limit_beyond_all_time_is_as_good_as_none(maker: Maker) -> None:
    store = maker(ttl_s=1e300)
    meta = (await store.put(SCOPE, thing())).meta
    assert (await store.list(SCOPE)).artifacts == (meta,)


# --- disks that take nothing more ---


async def test_what_cannot_be_let_go_of_does_not_undo_a_put(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    store = maker(max_count_per_scope=1)
    first = (await store.put(SCOPE, thing("first"))).meta

    def refuse(scope: Scope, ref: str) -> None:
        raise ArtifactStoreError("no")

    with monkeypatch.context() as patched:
        patched.setattr(store, "_remove", refuse)
        store.now.ms += 1
        done = await store.put(SCOPE, thing("second"))
        assert done.swept == ()
    assert (await store.list(SCOPE)).artifacts == (done.meta, first)
    store.now.ms += 1
    done = await store.put(SCOPE, thing("third"))
    assert len(done.swept) == 2
    assert (await store.list(SCOPE)).artifacts == (done.meta,)


def no_more(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing can be changed; plays a disk that was made read-only, which needs rights that a test has not."""

    def refuse(*args: Any, **more: Any) -> Any:
        raise OSError(30, "Read-only file system")

    if store.name == "sqlite_artifacts":
        with store._connection("read") as open_:
            open_.execute("PRAGMA query_only = 1")
    else:
        monkeypatch.setattr(Path, "unlink", refuse)


@pytest.mark.parametrize("limits", [{}, {"max_count_per_scope": 50}])
@pytest.mark.parametrize("name", ["file", "sqlite"])
async def test_a_disk_that_takes_nothing_more_is_still_read(
    name: str, limits: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(name, tmp_path)
    store = maker(**limits)
    kept = (await store.put(SCOPE, thing("kept"))).meta
    gone = (await store.put(SCOPE, thing("gone", expires_at=NOW + 10))).meta
    store.now.ms += 20
    with monkeypatch.context() as patched:
        no_more(store, patched)
        found = await store.get(SCOPE, kept.ref)
        assert found is not None
        assert found.data == "kept"
        assert await store.get(SCOPE, gone.ref) is None
        assert (await store.list(SCOPE)).artifacts == (kept,)
        with pytest.raises(ArtifactStoreError, match="sweep an artifact"):
            await store.sweep()
        with pytest.raises(ArtifactStoreError, match="delete an artifact"):
            await store.delete(SCOPE, kept.ref)
    maker.close()


async def test_a_lock_that_cannot_be_taken_is_a_typed_error(tmp_path: Path) -> None:
    store = file_artifacts(tmp_path, max_count_per_scope=5)
    (store._folder(SCOPE) / ".lock").mkdir(parents=True)  # as good as a file that cannot be opened
    with pytest.raises(ArtifactStoreError, match="could not lock") as raised:
        await store.put(SCOPE, thing())
    assert "tenant" not in str(raised.value)


async def test_the_mode_of_a_database_of_another_account_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **more: Any) -> Any:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    with contextlib.closing(sqlite_artifacts(tmp_path / "a.db")) as store:
        meta = (await store.put(SCOPE, thing())).meta
        assert await store.head(SCOPE, meta.ref) == meta


@pytest.mark.skipif(os.name != "posix", reason="there are no such modes elsewhere")
@pytest.mark.parametrize("name", ["file", "sqlite"])
async def test_nobody_else_on_the_machine_can_read_what_is_kept_or_for_whom(name: str, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        where = tmp_path / "made" / "here"
        where.parent.mkdir()
        store: Any = file_artifacts(where, max_count_per_scope=5) if name == "file" else sqlite_artifacts(where)
        await store.put(SCOPE, thing())
        found = [path for path in where.parent.rglob("*") if path.name != ".lock"]
        assert len(found) > 2
        assert {stat.S_IMODE(path.stat().st_mode) for path in found} <= {0o600, 0o700}
        store.close()
    finally:
        os.umask(before)


async def test_a_damaged_file_stops_no_sweep(tmp_path: Path) -> None:
    clock = Clock()
    store = file_artifacts(tmp_path, clock=clock)
    damaged = (await store.put(SCOPE, thing("damaged"))).meta
    old = (await store.put(SCOPE, thing("old", expires_at=NOW + 10))).meta
    path = store._folder(SCOPE) / f"{damaged.ref}.json"
    path.write_text("[" * 100_000)
    clock.ms += 20
    assert [swept.ref for swept in await store.sweep()] == [old.ref]
    with pytest.raises(UnreadableArtifactFileError, match="damaged"):
        await store.head(SCOPE, damaged.ref)


# --- how much is looked at ---


@contextlib.contextmanager
def steps() -> Iterator[Callable[[], int]]:
    """Counts the lines of Python that run."""
    count = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lambda: count
    finally:
        sys.settrace(before)


async def test_a_sweep_looks_at_each_artifact_once_and_forgets_empty_scopes() -> None:
    async def swept(many: int) -> int:
        clock = Clock()
        store = memory_artifacts(max_count_per_scope=None, clock=clock)
        for number in range(many):
            await store.put(SCOPE, thing(expires_at=NOW + 1 + number))
        clock.ms += many + 1
        with steps() as counted:
            assert len(await store.sweep()) == many
        assert store._buckets == {}
        return counted()

    assert await swept(200) < 3 * await swept(100)


async def test_what_expires_after_others_were_deleted_is_swept_by_a_put() -> None:
    clock = Clock()
    store = memory_artifacts(clock=clock)
    first = (await store.put(SCOPE, thing(expires_at=NOW + 10))).meta
    second = (await store.put(SCOPE, thing(expires_at=NOW + 20))).meta
    await store.delete(SCOPE, first.ref)
    clock.ms += 15
    assert (await store.put(SCOPE, thing())).swept == ()
    clock.ms += 10
    assert [swept.ref for swept in (await store.put(SCOPE, thing())).swept] == [second.ref]


async def test_a_stream_of_many_small_chunks_is_looked_at_a_few_times() -> None:
    looked = 0

    def mask(text: str) -> str:
        nonlocal looked
        looked += len(text)
        return text.replace("tok-4711", "[REDACTED]")

    async def chunks(last: bytes) -> AsyncIterator[bytes]:
        for _ in range(20_000):
            yield b"0123456789"
        for byte in last:
            yield bytes([byte])

    got = b"".join([chunk async for chunk in without_secrets(chunks(b"the end"), mask)])
    assert got == b"0123456789" * 20_000 + b"the end"
    assert looked < 3 * len(got)
    with pytest.raises(InvalidArtifactError, match="secret"):
        async for _ in without_secrets(chunks(b"tok-4711"), mask):
            pass


async def test_an_upload_whose_answer_was_lost_leaves_nothing(s3_client: Any, tmp_path: Path) -> None:
    maker = Maker("s3", tmp_path, s3_client)
    store = maker()

    class Lost:
        def __getattr__(self, name: str) -> Any:
            return getattr(s3_client, name)

        def complete_multipart_upload(self, **options: Any) -> Any:
            s3_client.complete_multipart_upload(**options)
            raise TimeoutError("no answer came")

        def put_object(self, **options: Any) -> Any:
            s3_client.put_object(**options)
            raise TimeoutError("no answer came")

    store._client = Lost()
    with pytest.raises(ArtifactStoreError, match="TimeoutError"):
        await store.put(SCOPE, thing())
    assert (await store.list(SCOPE)).artifacts == ()

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield bytes(1_000_000)

    with pytest.raises(ArtifactStoreError, match="TimeoutError"):
        await store.put_stream(SCOPE, StreamPut(kind="k", media_type="t", bytes=9_000_000), chunks())
    assert (await store.list(SCOPE)).artifacts == ()
