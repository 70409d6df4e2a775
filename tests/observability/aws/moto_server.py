"""AWS on the loopback address: a moto server in a process of its own, one for all tests of a worker, and clients for it."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import boto3  # type: ignore[import-untyped]

REGION = "eu-central-1"
KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}


@contextlib.contextmanager
def moto_server() -> Iterator[str]:
    """Start the server; gives its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while not _listens(port):
            assert process.poll() is None, "the moto server ended"
            assert time.monotonic() < until, "the moto server does not listen"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.5):
        return True
    return False


def client(service: str, url: str) -> Any:
    """A client of boto3 for the server."""
    return boto3.session.Session(**KEYS, region_name=REGION).client(service, endpoint_url=url)
