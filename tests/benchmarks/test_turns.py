"""The turns that are measured do the work that they are asked for, so that the benchmarks cannot rot unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.harness import checked
from benchmarks.turns import OwnTurn

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("allow_any_model")]


@pytest.mark.parametrize("kind", ["async", "inline", "thread"])
@pytest.mark.parametrize("batch", [1, 3])
async def test_each_kind_of_tool_makes_the_calls(kind: str, batch: int) -> None:
    await checked(OwnTurn(kind=kind, batch=batch), 2 * batch)


async def test_more_iterations_than_the_default_cap() -> None:
    await checked(OwnTurn(plugins=0), 60)


async def test_a_journal_is_written_and_taken_away(tmp_path: Path) -> None:
    turn = OwnTurn(journal=tmp_path)
    await checked(turn, 2)
    assert list(tmp_path.iterdir()) == []
    await turn.result(2, tmp_path / "kept.journal")
    assert (tmp_path / "kept.journal").stat().st_size > 0
