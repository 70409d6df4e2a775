"""What the tests of every provider share: peers that are started once a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.providers.aimock import Aimock, running


@pytest.fixture(scope="session")
def aimock_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    """The one process of the session."""
    with running(tmp_path_factory.mktemp("aimock") / "log.txt") as server:
        yield server


@pytest.fixture
def aimock(aimock_process: Aimock) -> Iterator[Aimock]:
    """A server that answers nothing yet."""
    aimock_process.reset()
    yield aimock_process
    aimock_process.reset()
