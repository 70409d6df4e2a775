"""The store in a bucket of S3, or of what speaks like it. Needs boto3: ``pip install agentfp-artifacts[s3]``.

An artifact is one object. Its body is the payload, and one entry of its metadata says what it is.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, ClassVar

import anyio

from agentfp.artifacts import (
    ArtifactStoreError,
    ArtifactStream,
    InvalidArtifactError,
    PutResult,
    Scope,
    StreamPut,
    Swept,
    UnreadableArtifactFileError,
)
from agentfp_artifacts.stores.base import BaseStore, check_chunk, check_item, check_length, ending, wall_clock
from agentfp_artifacts.stores.known import KnownRows
from agentfp_artifacts.stores.metas import Row, meta_dict, row_dict, row_of
from agentfp_artifacts.stores.paths import segments
from agentfp_artifacts.stores.refs import is_ref
from agentfp_artifacts.stores.retention import Limits, gone

VERSION = 1
ENTRY = "agentfp-artifact"
MOST_METADATA = 2048
"""Bytes that S3 lets stand in an object's metadata, names included."""
PART = 8 * 1024 * 1024
CHUNK = 1024 * 1024
NOT_THERE = frozenset({"404", "NoSuchKey", "NotFound"})


class S3Store(BaseStore):
    """Keeps artifacts in a bucket.

    A list asks for the names of all artifacts of the scope and for the metadata of those that are new to this process; a put does so too,
    where there is a limit.
    """

    name: ClassVar[str] = "s3_artifacts"

    def __init__(self, bucket: str, prefix: str, client: Any, limits: Limits, clock: Callable[[], int]) -> None:
        super().__init__(limits, clock)
        if not bucket.strip():
            raise TypeError("s3_artifacts: the bucket is blank; name one that is there")
        trimmed = prefix.strip("/")
        if (prefix and not trimmed) or ".." in prefix:
            raise TypeError(f"s3_artifacts: {prefix!r} is no prefix; take a name such as 'artifacts', or leave it out")
        self.bucket = bucket
        self.prefix = f"{trimmed}/" if trimmed else ""
        self._client = _new_client() if client is None else client
        self._known = KnownRows()

    async def put_stream(self, scope: Scope, item: StreamPut, body: AsyncIterator[bytes]) -> PutResult:
        """Store a stream, in parts of 8 MiB.

        Args:
            scope: whose it is.
            item: what is said of it.
            body: its data, in chunks.
        """
        now = self.now()
        check_item(item, now)
        await self._work(self._prove, scope, item.parent_refs)
        row = Row(self._meta(item, item.bytes, now, None), "bytes", self._next_seq(scope), now)
        swept = await self._work(self._plan, scope, item.bytes, now)
        upload = _Upload(self, self._key(scope, row.meta.ref), _metadata(row))
        try:
            got, part = 0, bytearray()
            async with ending(body):
                async for chunk in body:
                    got += check_chunk(chunk)
                    if got > item.bytes:
                        break
                    part += chunk
                    while len(part) >= PART:
                        await self._work(upload.add, bytes(part[:PART]))
                        del part[:PART]
            check_length(item.bytes, got)
            await self._work(upload.end, bytes(part))
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._work(upload.abort)
            raise
        return PutResult(row.meta, await self._work(self._let_go, scope, swept))

    async def get_stream(self, scope: Scope, ref: str) -> ArtifactStream | None:
        """An artifact's bytes in chunks.

        Args:
            scope: whose it is.
            ref: its ref.
        """
        row = await self._work(self._live, scope, ref)
        found = None if row is None else await self._work(self._object, scope, ref, None)
        return None if row is None or found is None else ArtifactStream(row.meta, self._chunks(found["Body"]))

    async def _chunks(self, body: Any) -> AsyncIterator[bytes]:
        with contextlib.closing(body):
            while chunk := await self._work(self._read, body, CHUNK):
                yield chunk

    # --- the service ---

    @contextlib.contextmanager
    def calling(self, what: str) -> Iterator[None]:
        """Words of our own for what the service says: its messages hold the key, and with it the tenant."""
        try:
            yield
        except ArtifactStoreError:
            raise
        except Exception as error:
            why = getattr(error, "response", {}).get("Error", {}).get("Code")
            why = why if isinstance(why, str) and re.fullmatch(r"[A-Za-z0-9.]{1,64}", why) else type(error).__name__
            msg = f"s3_artifacts could not {what} an artifact: {why}; see to the bucket and its permissions"
            raise ArtifactStoreError(msg) from None

    def _key(self, scope: Scope, ref: str) -> str:
        return f"{self.prefix}{'/'.join(segments(scope))}/{ref}"

    def _row(self, found: Any, ref: str) -> Row | None:
        """What an object's metadata says; None where it is somebody else's object."""
        entry = found.get("Metadata", {}).get(ENTRY)
        if entry is None:
            return None
        try:
            row = json.loads(entry)
            version = row.get("v")
            if isinstance(version, int) and version > VERSION:
                raise UnreadableArtifactFileError(ref, f"it has version {version}, and this version reads up to {VERSION}")
            made = row_of(row)
            if version != VERSION or made.meta.ref != ref:
                raise ValueError("it is not the object of its ref")
        except (ValueError, AttributeError, RecursionError) as error:
            raise UnreadableArtifactFileError(ref, "it is damaged") from error
        return made

    def _object(self, scope: Scope, ref: str, span: str | None) -> Any:
        options = {} if span is None else {"Range": span}
        with self.calling("read"):
            try:
                return self._client.get_object(Bucket=self.bucket, Key=self._key(scope, ref), **options)
            except Exception as error:
                if _code(error) in NOT_THERE:
                    return None
                raise

    def _read(self, body: Any, size: int | None = None) -> bytes:
        with self.calling("read"):
            found: bytes = body.read() if size is None else body.read(size)
            return found

    # --- keeping ---

    def _find(self, scope: Scope, ref: str) -> Row | None:
        return self._headed(self._key(scope, ref))

    def _headed(self, key: str) -> Row | None:
        with self.calling("read"):
            try:
                return self._row(self._client.head_object(Bucket=self.bucket, Key=key), key.rpartition("/")[2])
            except Exception as error:
                if _code(error) in NOT_THERE:
                    return None
                raise

    def _keys(self, prefix: str) -> Iterator[str]:
        with self.calling("list"):
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
            for page in pages:
                for found in page.get("Contents", ()):
                    if is_ref(found["Key"].rpartition("/")[2]):
                        yield found["Key"]

    def _next_seq(self, scope: Scope) -> int:
        return self._known.next_seq(self._key(scope, ""))

    def _rows(self, scope: Scope) -> Sequence[Row]:
        where = self._key(scope, "")
        return self._known.of(where, self._keys(where), self._headed)

    def _payload(self, scope: Scope, row: Row) -> bytes | None:
        found = self._object(scope, row.meta.ref, None)
        return None if found is None else self._read(found["Body"])

    def _slice(self, scope: Scope, row: Row, offset: int, length: int) -> bytes | None:
        if offset >= row.meta.bytes or length == 0:
            return b""
        last = min(offset + length, row.meta.bytes) - 1
        found = self._object(scope, row.meta.ref, f"bytes={offset}-{last}")
        return None if found is None else self._read(found["Body"])

    def _write(self, scope: Scope, row: Row, raw: bytes) -> None:
        at = {"Bucket": self.bucket, "Key": self._key(scope, row.meta.ref)}
        metadata = _metadata(row)
        try:
            with self.calling("write"):
                self._client.put_object(**at, Body=raw, Metadata=metadata, ContentType="application/octet-stream")
        except ArtifactStoreError:
            with contextlib.suppress(Exception):  # the answer may have been lost, and not the object
                self._client.delete_object(**at)
            raise

    def _remove(self, scope: Scope, ref: str) -> None:
        self._deleted(self._key(scope, ref))

    def _deleted(self, key: str) -> None:
        with self.calling("delete"):
            self._client.delete_object(Bucket=self.bucket, Key=key)

    def _sweep(self) -> tuple[Swept, ...]:
        now = self.now()
        swept: list[Swept] = []
        for key in self._keys(self.prefix):
            with contextlib.suppress(UnreadableArtifactFileError):  # it stays where it is, for a read to tell of it
                row = self._headed(key)
                if row is not None and row.expired(now):
                    self._deleted(key)
                    swept.append(gone(row, "ttl"))
        return tuple(swept)


class _Upload:
    """An upload in parts; a small one is a single put."""

    def __init__(self, store: S3Store, key: str, metadata: dict[str, str]) -> None:
        self.store = store
        self.at: dict[str, Any] = {"Bucket": store.bucket, "Key": key}
        self.metadata = metadata
        self.id: str | None = None
        self.parts: list[dict[str, Any]] = []
        self.ending = False

    def add(self, raw: bytes) -> None:
        client = self.store._client
        with self.store.calling("write"):
            if self.id is None:
                self.id = client.create_multipart_upload(**self.at, Metadata=self.metadata)["UploadId"]
            number = len(self.parts) + 1
            done = client.upload_part(**self.at, UploadId=self.id, PartNumber=number, Body=raw)
            self.parts.append({"PartNumber": number, "ETag": done["ETag"]})

    def end(self, rest: bytes) -> None:
        client = self.store._client
        self.ending = True
        if self.id is None:
            with self.store.calling("write"):
                client.put_object(**self.at, Body=rest, Metadata=self.metadata)
            return
        if rest:
            self.add(rest)
        with self.store.calling("write"):
            client.complete_multipart_upload(**self.at, UploadId=self.id, MultipartUpload={"Parts": self.parts})

    def abort(self) -> None:
        """Leave nothing; what is left all the same, the bucket's own rules clear away."""
        if self.id is not None:
            with contextlib.suppress(Exception):
                self.store._client.abort_multipart_upload(**self.at, UploadId=self.id)
        if self.ending:  # the answer may have been lost, and not the object
            with contextlib.suppress(Exception):
                self.store._client.delete_object(**self.at)


def _metadata(row: Row) -> dict[str, str]:
    text = json.dumps({"v": VERSION, **row_dict(row)}, ensure_ascii=True, separators=(",", ":"))
    if len(text) + len(ENTRY) > MOST_METADATA:
        fields = {name: len(json.dumps(value)) for name, value in meta_dict(row.meta).items()}
        longest = max(fields, key=lambda name: fields[name])
        raise InvalidArtifactError(f"{longest} is too long for s3_artifacts, where all of it has {MOST_METADATA} bytes; shorten it")
    return {ENTRY: text}


def _code(error: Exception) -> Any:
    return getattr(error, "response", {}).get("Error", {}).get("Code")


def _new_client() -> Any:
    try:
        boto3 = import_module("boto3")
    except ImportError as error:
        raise ImportError("s3_artifacts needs boto3; pip install 'agentfp-artifacts[s3]'") from error
    return boto3.client("s3")


def s3_artifacts(
    bucket: str,
    *,
    prefix: str = "",
    client: Any = None,
    ttl_s: float | None = None,
    max_bytes_per_scope: int | None = None,
    max_count_per_scope: int | None = None,
    clock: Callable[[], int] = wall_clock,
) -> S3Store:
    """A store in a bucket, which must be there. What is oldest makes room.

    Args:
        bucket: the bucket.
        prefix: what all keys begin with.
        client: an S3 client of boto3; one with boto3's own settings where it is left out.
        ttl_s: seconds after which an artifact expires.
        max_bytes_per_scope: most bytes of a scope.
        max_count_per_scope: most artifacts of a scope.
        clock: unix time in milliseconds; for tests.

    Raises:
        ImportError: boto3 is not installed.
        TypeError: this is no bucket or prefix, or a limit is no number above 0.
    """
    return S3Store(bucket, prefix, client, Limits(ttl_s, max_bytes_per_scope, max_count_per_scope), clock)
