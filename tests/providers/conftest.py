"""What the tests of every provider share: peers that are started once a session, and a server that plays faults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.providers import aimock as aimock_server
from tests.providers import llama as llama_server
from tests.providers.aimock import Aimock
from tests.providers.faults import Faults


@pytest.fixture(scope="session")
def aimock_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    """The one process of the session."""
    with aimock_server.running(tmp_path_factory.mktemp("aimock") / "log.txt") as server:
        yield server


@pytest.fixture
def aimock(aimock_process: Aimock) -> Iterator[Aimock]:
    """A server that answers nothing yet."""
    aimock_process.reset()
    yield aimock_process
    aimock_process.reset()


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a real model's server, without a path: one process of the session. For tests marked `real_model`."""
    with llama_server.running(tmp_path_factory.mktemp("llama") / "log.txt") as url:
        yield url


@pytest.fixture
def faults() -> Iterator[Faults]:
    """A server that plays the scripts it is given, and is asked nothing else."""
    with Faults() as server:
        yield server
    assert server.unscripted == [], "the server was asked more often than there are scripts"
