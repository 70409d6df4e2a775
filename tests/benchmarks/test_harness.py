"""The measuring harness measures what it says, and refuses a run that did other work."""

from __future__ import annotations

import gc
import json
import math
from pathlib import Path

import pytest

from benchmarks.harness import Options, WrongRun, checked, measure, options, publish, slope_table, slopes, table

pytestmark = pytest.mark.anyio


class LoopTurn:
    """A turn that makes `skipped` calls fewer than it is asked for, and notes whether the collector was on."""

    def __init__(self, skipped: int = 0, answer: str = "done") -> None:
        self.calls = 0
        self.skipped = skipped
        self.answer = answer
        self.collector: set[bool] = set()

    async def run(self, n: int) -> str:
        self.calls += n - self.skipped
        self.collector.add(gc.isenabled())
        return self.answer


def test_slopes_are_the_cost_of_an_iteration_between_neighbours() -> None:
    assert slopes({40: 500.0, 10: 200.0, 160: 1_700.0}) == {"10-40": 10.0, "40-160": 10.0}


async def test_measure_gives_a_timing_for_each_n() -> None:
    found = await measure("loop", LoopTurn(), (1, 3), budget=0, least=2)
    assert [(t.n, t.reps) for t in found.timings] == [(1, 2), (3, 2)]
    assert list(found.slopes) == ["1-3"]
    assert found.peak_rss_mib > 0


@pytest.mark.parametrize("collector", [True, False])
async def test_collector_is_as_asked_for_and_on_again_afterwards(collector: bool) -> None:
    turn = LoopTurn()
    await checked(turn, 1)
    turn.collector.clear()
    found = await measure("loop", turn, (1, 2), budget=0, least=1, collector=collector)
    assert gc.isenabled()
    assert collector in turn.collector
    assert found.gc is collector


async def test_a_turn_with_too_few_calls_is_refused() -> None:
    with pytest.raises(WrongRun, match="asked for 3 tool calls, 2 ran"):
        await measure("lazy", LoopTurn(skipped=1), (3,), budget=0, least=1)


async def test_a_turn_with_another_answer_is_refused() -> None:
    with pytest.raises(WrongRun, match="'undone'"):
        await checked(LoopTurn(answer="undone"), 1)


def test_table_lines_up_and_shows_what_is_not_known_as_a_dash() -> None:
    lines = table("Title", ["", "us"], [["first", 1234.5], ["second", math.nan], ["third", 0.25]]).splitlines()
    assert lines == ["Title", "           us", "------  -----", "first   1,234", "second      -", "third    0.25"]


async def test_slope_table_has_a_row_for_each_subject() -> None:
    found = [await measure(name, LoopTurn(), (1, 2), budget=0, least=1) for name in ("one", "two")]
    assert [line.split()[0] for line in slope_table("T", found).splitlines()[3:]] == ["one", "two"]


def test_publish_writes_json_or_prints_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.json"
    publish(Options(quick=True, json_path=str(path)), {"a": 1}, "table")
    publish(Options(quick=True, json_path=None), {"a": 1}, "table")
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": 1}
    assert capsys.readouterr().out == "table\n"


def test_quick_leaves_out_the_longest_runs() -> None:
    assert options(None, ["--quick"]).ns == (10, 40, 160)
    assert options(None, []).ns == (10, 40, 160, 1000)
