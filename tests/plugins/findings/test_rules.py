"""The rules of plugins: off is absent, nothing is shared between runs, and a resumed run reads what the live one read."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp.plugin import ExportedEvent, Plugin, hookimpl
from agentfp.testing import call, check_plugin
from agentfp_evidence import Evidence
from agentfp_findings import Findings
from tests.plugins.findings.ledgers import ABSENT, harness, judged, look, looking, noted, rows, says, search, states
from tests.plugins.findings.test_judging import Fixed


class Sink(Plugin):
    """Takes what sinks are given that ask for no content."""

    name = "sink"

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        if event.name.startswith("agentfp.findings."):
            self._lines.append(f"{event.name} {event.payload}")


@pytest.mark.anyio
async def test_sinks_see_no_word_that_a_model_or_a_tool_wrote() -> None:
    sink = Sink()
    script = [
        looking("c1", "QX-CANARY-4471", basis="exploratory", proposition="canary one", predicts="canary two"),
        call("search", id="c2", kind="absent", _findings=says(judged("c1", "open", settles="canary three"), judged("canary-id", "noise"))),
        looking("c3", "QX-CANARY-4471", judged("c2", "ruled-out", line="canary four")),
        looking("c4", "", judged("c3", "fact", assertions=[states("canary", "canary", "canary", "canary")])),
        looking("c5", "", judged("c4", "fact", assertions=[states("canary", "canary", "canary", "other")])),
        "It is QX-CANARY-4471." + noted(judged("c5", "noise")),
    ]
    outcome = await harness(*script, plugins=[Evidence(), sink], judge=Fixed("fact")).run("Go.")
    names = {row.kind for row in rows(outcome)}
    assert names == {"basis", "standing", "judgment", "unsettled-by-absence", "conflict", "contingent"}
    assert len(sink._lines) == len(rows(outcome))
    assert "canary" not in "\n".join(sink._lines).lower()


SCRIPT: list[Any] = [
    looking("c1", "serial QX-4471", basis="exploratory", proposition="d12 is shut", predicts="a lock"),
    [looking("c2", "QX-4471", judged("c1", "open", settles="the register")), looking("c3", "b", judged("zz", "noise"))],
    call("search", id="c4", kind="absent", _findings={"basis": "sure", "previous": 3}),
    looking("c5", "x", judged("c4", "ruled-out"), judged("c2", "fact", assertions=[states("door", "d12", "lock", "shut")])),
    looking("c6", "y", judged("c5", "fact", assertions=[states("door", "d12", "lock", "open")]), judged("c1", "noise")),
    "It is QX-4471." + noted(judged("c6", "noise")),
]


@pytest.mark.parametrize(
    "settings",
    [{}, {"offer": "enum", "serve": "ledger-only", "answer_ask": "quote-facts"}, {"judge": Fixed("noise")}, {"max_context_bytes": 1024}],
    ids=["as it is", "the other way", "judge", "small"],
)
def test_the_plugin_keeps_the_rules_of_plugins(settings: dict[str, Any]) -> None:
    report = check_plugin(lambda: Findings(**settings), tools=[look, search], script=SCRIPT)
    assert report.problems == []


@pytest.mark.parametrize("others", [[Evidence()]])
def test_the_plugin_keeps_the_rules_beside_the_evidence_gate(others: list[Plugin]) -> None:
    report = check_plugin(Findings, tools=[look, search], script=SCRIPT, others=others)
    assert report.problems == []
    assert ABSENT
