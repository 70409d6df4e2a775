"""The stores as fixtures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.artifacts.stores import NAMES, Maker, s3_server


@pytest.fixture(scope="session")
def s3_client() -> Iterator[Any]:
    with s3_server() as client:
        yield client


@pytest.fixture(params=NAMES)
def maker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Maker]:
    """Makes stores of each kind."""
    made = Maker(request.param, tmp_path, request.getfixturevalue("s3_client") if request.param == "s3" else None)
    yield made
    made.close()
