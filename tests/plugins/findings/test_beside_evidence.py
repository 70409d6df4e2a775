"""Beside the real evidence gate: what rests on set-aside results is filed, and what the model declares grounds nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentfp import Agent, Run
from agentfp.plugin import Plugin, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_evidence import Evidence, EvidenceReport
from agentfp_evidence.events import EvidenceChecked
from agentfp_evidence.transcript_judge import EvidenceJudge
from agentfp_findings import Findings
from agentfp_findings.check import FindingsJudge
from agentfp_transcripts.readers.recordings import RecordingReader
from tests.plugins.findings.ledgers import harness, judged, noted, rows, says, states

pytestmark = pytest.mark.anyio
FILED = {
    "mail": "Invoice INV-20417 is for 12,345 EUR, from Amelia Brandt.",
    "copy": "INV-20417",
    "list": " ".join(f"entry {n}: INV-20417." for n in range(9)),
    "day": "Due on 2026-03-04.",
}


def look(x: str) -> str:
    """Look something up."""
    return FILED.get(x, "nothing of use")


def looked(call_id: str, x: str, *previous: dict[str, Any], **more: Any) -> Any:
    return call("look", id=call_id, x=x, _findings=says(*previous, **more))


def both(first: type[Plugin]) -> list[Plugin]:
    return [Findings(), Evidence()] if first is Findings else [Evidence(), Findings()]


def contingent(source: Any) -> list[str]:
    return [row.data.value for row in Findings.ledger(source) or [] if row.kind == "contingent"]  # type: ignore[attr-defined]


def verdicts(source: Any) -> dict[str, str]:
    report = Evidence.report(source)
    assert isinstance(report, EvidenceReport)
    return {value.text: value.verdict for value in report.values}


async def run(*script: Any, plugins: list[Plugin] | None = None, **more: Any) -> Any:
    agent = Agent(ScriptedModel(list(script)), tools=[look], plugins=both(Findings) if plugins is None else plugins, **more)
    return await agent.run("What is it about?")


@pytest.mark.parametrize("first", [Findings, Evidence])
async def test_values_of_every_kind_are_found_in_the_results_that_the_gate_names(first: type[Plugin]) -> None:
    answer = "INV-20417 over 12345 EUR, by Amelia Brandt, due on 4 March 2026."
    aside = looked("c3", "none", judged("c1", "noise"), judged("c2", "ruled-out"))
    result = await run(looked("c1", "mail"), looked("c2", "day"), aside, answer, plugins=both(first))
    assert contingent(result) == ["INV-20417", "12345 EUR", "Amelia Brandt", "4 March 2026"]
    stands = await run(looked("c1", "mail"), looked("c2", "day"), looked("c3", "mail", judged("c1", "noise")), answer, plugins=both(first))
    assert contingent(stands) == []


@pytest.mark.parametrize("first", [Findings, Evidence])
async def test_what_the_model_declares_grounds_nothing(first: type[Plugin]) -> None:
    invented = states("invoice", "INV-99887", "total", "55,555 EUR")
    aside = judged("c1", "ruled-out", line="it is not INV-77665")
    pending = judged("c2", "open", settles="whether it is INV-66554")
    script = [
        looked("c1", "mail"),
        looked("c2", "none", aside, basis="exploratory", proposition="INV-88776 is in it"),
        looked("c3", "none", pending, judged("c1", "fact", assertions=[invented])),
        "It is INV-20417, INV-99887, 55,555 EUR, INV-77665, INV-66554 or INV-88776.",
    ]
    result = await run(*script, plugins=both(first))
    assert "INV-99887" in result.record.served_at(4).system
    assert verdicts(result).pop("INV-20417") == "supported"
    assert {text: verdict for text, verdict in verdicts(result).items() if text != "INV-20417"} == dict.fromkeys(
        ["INV-99887", "55,555 EUR", "INV-77665", "INV-66554", "INV-88776"], "unsupported"
    )


async def test_a_recording_is_judged_without_what_the_model_declared(tmp_path: Path) -> None:
    invented = states("invoice", "INV-99887", "total", "55,555 EUR")
    script = [
        looked("c1", "mail"),
        looked("c2", "day", judged("c1", "noise")),
        looked("c3", "none", judged("c2", "fact", assertions=[invented])),
        "It is INV-20417, INV-99887 or PO-31337, due on 2026-03-04.",
    ]
    result = await run(*script, instructions="Orders begin with PO-31337.")
    result.record.save(tmp_path / "run.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text("utf-8").splitlines()]
    (told,) = RecordingReader().read(lines, id="t", source="run.jsonl")
    answers = [len(told.messages) - 1]
    by_evidence, by_findings = EvidenceJudge().judge(told, answers)[0], FindingsJudge().judge(told, answers)[0]
    assert {value.text: value.verdict for value in by_evidence.values} == verdicts(result)
    assert verdicts(result)["INV-99887"] == "unsupported"
    assert verdicts(result)["PO-31337"] == "supported"
    assert {value.text: value.how for value in by_findings.values} == {"INV-20417": "set-aside", "2026-03-04": "fact"}
    assert by_findings.standing == "contingent"
    command = [sys.executable, "-m", "agentfp", "check", str(tmp_path / "run.jsonl"), "--plugin", "findings", "--fail-on", "any", "--json"]
    done = await anyio.run_process(command, check=False)
    assert done.returncode == 1
    assert b'"set-aside"' in done.stdout


async def test_a_note_was_not_passed_to_the_tool_so_its_result_hands_nothing_back() -> None:
    alone = await run(looked("c1", "copy", proposition="INV-20417", predicts="INV-20417"), "It is INV-20417.")
    assert verdicts(alone) == {"INV-20417": "supported"}


async def test_a_value_in_more_places_than_the_gate_names_is_looked_for_in_all_results() -> None:
    script = [looked("c1", "list"), looked("c2", "copy", judged("c1", "noise")), "It is INV-20417."]
    assert contingent(await run(*script)) == []
    aside = looked("c3", "none", judged("c2", "noise"))
    assert contingent(await run(*script[:2], aside, script[2])) == ["INV-20417"]


async def test_results_of_earlier_turns_carry_nothing_in_this_one() -> None:
    model = ScriptedModel([looked("c1", "mail"), "Done." + noted(judged("c1", "noise")), "By Amelia Brandt, INV-20417."])
    chat = Agent(model, tools=[look], plugins=both(Findings)).conversation()
    await chat.send("Look.")
    assert contingent(await chat.send("Who is it from?")) == []


async def test_a_draft_that_is_sent_back_declares_too_and_nothing_of_it_is_shown() -> None:
    note = noted(judged("c1", "fact"))
    model = ScriptedModel([looked("c1", "mail"), f"It is INV-99999.{note}", f"It is INV-20417.{note}"], chunk=3)
    agent = Agent(model, tools=[look], plugins=[Findings(), Evidence(on_unsupported="revise")])
    assert agent.stream_mode == "hold"
    async with agent.stream("Which one is it?") as stream:
        shown = "".join([piece async for piece in stream.text()])
    assert stream.result is not None
    assert shown == stream.result.text == "It is INV-20417."
    assert [row.kind for row in Findings.ledger(stream.result) or []] == ["basis", "standing", "standing"]


class CutShort(Plugin):
    """Stands in for a gate that met more words than it reads, for so many cannot be served here."""

    name = "evidence"
    events = (EvidenceChecked,)

    @hookimpl(moment="assess_answer", phase="evidence")
    def check(self, run: Run[Any]) -> None:
        run.emit(EvidenceChecked("grounded", "flag", "strong", "standard", False, 0, 0, 0, 0, 0, 0, 0, 0, truncated=True))


async def test_a_gate_that_did_not_read_everything_is_not_followed() -> None:
    script = [looked("c1", "mail"), looked("c2", "none", judged("c1", "noise")), "It is INV-20417."]
    assert rows(await harness(*script, tools=[look], plugins=[CutShort()]).run("Go."), "contingent") == []
