"""The streams that are measured are read to their end by both sides, so that the benchmark cannot rot unseen."""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks.harness import WrongRun
from benchmarks.streams import measure
from benchmarks.streams_openai import subjects


@pytest.fixture
def anyio_backend() -> str:
    """The official SDK runs on asyncio alone."""
    return "asyncio"


@pytest.mark.anyio
async def test_both_read_all_of_it() -> None:
    for subject in subjects(20):
        found = await measure(subject, rounds=1, repeats=1)
        assert found["bytes"] > 20 * 100
        assert found["ratio"] > 0
        with pytest.raises(WrongRun):
            await measure(dataclasses.replace(subject, text="other"), rounds=1, repeats=1)
