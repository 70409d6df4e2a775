"""Every store of the package, made for a test, with a clock that the test moves."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from werkzeug.serving import make_server

from agentfp.artifacts import Scope
from agentfp.testing import ArtifactStoreHarness
from agentfp_artifacts import file_artifacts, memory_artifacts, s3_artifacts, sqlite_artifacts

NOW = 1_900_000_000_000
NAMES = ("memory", "file", "sqlite", "s3")


class Clock:
    """Unix time in milliseconds, moved by hand."""

    def __init__(self) -> None:
        self.ms = NOW

    def __call__(self) -> int:
        return self.ms


class Maker:
    """Makes stores of one kind, each in a place of its own, and lets go of them."""

    def __init__(self, name: str, folder: Path, s3: Any = None) -> None:
        self.name = name
        self.folder = folder
        self.s3 = s3
        self.made: list[Any] = []

    def __call__(self, **limits: Any) -> Any:
        where = self.folder / str(len(self.made))
        options = {"clock": Clock(), **limits}
        if self.name == "memory":
            store: Any = memory_artifacts(**options)
        elif self.name == "file":
            store = file_artifacts(where, **options)
        elif self.name == "sqlite":
            store = sqlite_artifacts(where.with_suffix(".db"), **options)
        else:
            store = s3_artifacts("bucket", prefix=f"{self.folder.name}/{len(self.made)}", client=self.s3, **options)
        self.made.append(store)
        return store

    def close(self) -> None:
        for store in self.made:
            store.close()

    def corrupt(self, store: Any, scope: Scope, ref: str) -> None:
        """Other bytes in the place of a payload."""
        other = b"as it was  not"
        if self.name == "memory":
            rows = store._bucket(scope).rows
            rows[ref] = (rows[ref][0], other)
        elif self.name == "file":
            (store._folder(scope) / f"{ref}.bin").write_bytes(other)
        elif self.name == "sqlite":
            with sqlite3.connect(store.file) as other_connection:
                other_connection.execute("UPDATE artifacts SET payload = ? WHERE ref = ?", (other, ref))
            other_connection.close()
        else:
            key = store._key(scope, ref)
            found = self.s3.head_object(Bucket="bucket", Key=key)["Metadata"]
            self.s3.put_object(Bucket="bucket", Key=key, Body=other, Metadata=found)

    def harness(self) -> ArtifactStoreHarness:
        def advance(store: Any, ms: int) -> None:
            store.now.ms += ms

        return ArtifactStoreHarness(
            name=self.name,
            create_store=self,
            dispose_store=lambda store: store.close(),
            advance_time=advance,
            corrupt=self.corrupt,
            bounded_store=lambda most: self(max_bytes_per_scope=most),
        )


@contextmanager
def s3_server() -> Iterator[Any]:
    """A client of an S3 that runs here, with a bucket."""
    boto3, moto = import_module("boto3"), import_module("moto.server")
    server = make_server("127.0.0.1", 0, moto.DomainDispatcherApplication(moto.create_backend_app), threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    session = boto3.session.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    client = session.client("s3", endpoint_url=f"http://127.0.0.1:{server.server_port}")
    try:
        client.create_bucket(Bucket="bucket")
        yield client
    finally:
        client.close()
        server.shutdown()
        thread.join()
        server.server_close()
