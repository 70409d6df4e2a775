"""Every store of the package holds every case."""

from __future__ import annotations

import pytest

from agentfp.testing import artifact_store_cases, check_artifact_case
from tests.plugins.artifacts.stores import Maker

pytestmark = pytest.mark.anyio
STREAMS = {"streamed_put_declares_bytes", "get_stream_does_not_verify"}


def test_there_are_nineteen_cases() -> None:
    assert len(artifact_store_cases()) == 19


@pytest.mark.parametrize("case", artifact_store_cases())
async def test_a_store_holds_the_case(maker: Maker, case: str) -> None:
    result = await check_artifact_case(maker.harness(), case)
    expected = "not_applicable" if maker.name == "sqlite" and case in STREAMS else "passed"
    assert (result.outcome, result.reason if expected == "passed" else "") == (expected, "")
