"""The plugin's side of windows: which turns are kept for their facts."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp.plugin import Plugin, RequestDraft, Run, hookimpl
from tests.plugins.findings.ledgers import harness, judged, looking, noted

pytestmark = pytest.mark.anyio


class Window(Plugin):
    """Stands in for a window: asks the ledger what to keep of three old turns, before the last request."""

    name = "window"

    def __init__(self) -> None:
        super().__init__()
        self._asked: list[Any] = []

    @hookimpl(phase="window")
    def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
        ledger = run.memo("findings")
        self._asked.append((ledger.fact_holds([["c1"], ["c2", "c3"], ["c4"]]), [ledger.standing_of(f"c{n}") for n in (1, 2, 3, 4)]))


@pytest.mark.parametrize(("keep", "kept", "yielded"), [(None, (2, 1, 0), 0), (2, (2, 1), 1), (0, (), 3), (False, (), 3)])
async def test_turns_with_facts_are_kept_the_newest_first(keep: Any, kept: tuple[int, ...], yielded: int) -> None:
    window = Window()
    batch = [looking(f"c{n}") for n in (1, 2, 3, 4)]
    facts = [judged(f"c{n}", "fact") for n in (1, 3, 4)]
    await harness(batch, looking("c5", "", *facts, judged("c2", "noise")), "Done.", plugins=[window], keep_ledger_facts=keep).run("Go.")
    holds, standings = window._asked[-1]
    assert (holds.kept, holds.yielded) == (kept, yielded)
    assert standings == ["fact", "noise", "fact", "fact"]


async def test_without_a_window_nothing_is_held() -> None:
    outcome = await harness(looking("c1"), "Done." + noted(judged("c1", "fact"))).run("Go.")
    from agentfp_findings import Findings

    ledger = Findings.memo_of(outcome)
    assert ledger.turns_kept == 0
    assert ledger.fact_holds([["c1"]]).kept == ()
