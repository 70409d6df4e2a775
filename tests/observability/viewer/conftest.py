"""What the tests of the viewer share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.observability.viewer import recordings
from tests.observability.viewer.browser import Watched, chromium


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    """A running browser. It ends with the file: while it runs, its thread has a loop, and no other can run there."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def watched(chrome: Browser) -> Iterator[Watched]:
    """Opens pages; at the end none may have erred or asked for anything from elsewhere."""
    made = Watched(chrome)
    yield made
    made.check()


@pytest.fixture(scope="session")
def switch_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording with values of every standing."""
    return recordings.switch_run(tmp_path_factory.mktemp("switch") / "switch.jsonl")
