"""Servers that are gone after each module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentfp_local import shutdown


@pytest.fixture(scope="module", autouse=True)
def servers() -> Iterator[None]:
    """No server outlives its tests."""
    yield
    shutdown()
