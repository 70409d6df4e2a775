"""What a log tells of its runs: from itself alone, and with a recording that has to fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent
from agentfp.plugin import Deny, Plugin, Record, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_audit import Audit, RecordingDiffersError, explain_audit
from agentfp_audit.telling import lines_of
from agentfp_core.cli import main
from tests.observability.audit.logs import SECRET, decide, log_of

pytestmark = pytest.mark.anyio


class Night(Plugin):
    """Allows no call."""

    name = "night"

    @hookimpl(phase="authorize")
    def before_tool(self) -> Deny:
        return Deny("it is night", rule="night-1")


async def both(folder: Path, *plugins: Plugin, **settings: Any) -> tuple[Path, Path]:
    """A log and a recording of the same run."""
    log, recording = folder / "audit.jsonl", folder / "run.jsonl"
    model = ScriptedModel([call("decide", id="c1", income=900, note=SECRET), f"Declined. {SECRET}"])
    agent = Agent(model, name="loans", tools=[decide], plugins=[*plugins, Audit(path=log, **settings)])
    result = await agent.run("May I have a loan?")
    await agent.shutdown()
    result.record.save(recording)
    return log, recording


async def test_a_log_alone(tmp_path: Path) -> None:
    log, _ = await both(tmp_path, Night(), versions={"policy": "7"})
    (account,) = explain_audit(log)
    assert (account.agent, account.status, account.versions, account.answer) == ("loans", "answered", {"policy": "7"}, None)
    assert account.calls == [{"call_id": "c1", "tool": "decide", "outcome": "denied"}]
    (decision,) = account.decisions
    assert (decision["kind"], decision["by"], decision["rule"]) == ("deny", "night", "night-1")
    assert account.unchecked == ["nothing checked where the values of the answer come from", "what it cost is not known"]


async def test_a_recording_adds_content(tmp_path: Path) -> None:
    log, recording = await both(tmp_path)
    assert SECRET not in json.dumps([account.to_json() for account in explain_audit(log)])
    (account,) = explain_audit(log, recording=Record.load(recording))
    assert account.answer == f"Declined. {SECRET}"
    assert account.calls == [{"call_id": "c1", "tool": "decide", "outcome": "success"}]


async def test_a_verbatim_log_needs_no_recording(tmp_path: Path) -> None:
    log, recording = await both(tmp_path, payload_mode="verbatim")
    for accounts in (explain_audit(log), explain_audit(log, recording=Record.load(recording))):
        assert accounts[0].answer == f"Declined. {SECRET}"


async def test_of_two_conversations_the_one_that_is_recorded_has_content_and_the_other_says_so(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    agent = Agent(ScriptedModel(["One.", "Two."]), name="loans", plugins=[Audit(path=log)])
    first = await agent.run("One?")
    await agent.run("Two?")
    await agent.shutdown()
    one, two = explain_audit(log, recording=first.record)
    assert (one.answer, two.answer) == ("One.", None)
    sentence = "the recording does not have this run: it is told without content"
    assert (sentence in one.unchecked, sentence in two.unchecked) == (False, True)


@pytest.mark.parametrize("words", [('"income":900', '"income":901'), ('"outcome":"success"', '"outcome":"failure"'), ("dti-43", "dti-44")])
async def test_a_changed_recording_does_not_fit(tmp_path: Path, words: tuple[str, str]) -> None:
    log, recording = await both(tmp_path)
    text = recording.read_text()
    old, new = words
    made = text.replace(old, new).replace(old.replace('"', '\\"'), new.replace('"', '\\"'))
    assert made != text
    recording.write_text(made)
    with pytest.raises(RecordingDiffersError):
        explain_audit(log, recording=Record.load(recording))


async def test_a_recording_of_another_run_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    log, _ = await both(tmp_path)
    _, other = await both(tmp_path / "other")
    with pytest.raises(RecordingDiffersError, match="are not in the log"):
        explain_audit(log, recording=Record.load(other))


async def test_the_command(tmp_path: Path, capsys: Any) -> None:
    log, recording = await both(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["audit", "explain", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    code, out, _ = run(str(log), "--recording", str(recording))
    assert (code, "decide (c1): success" in out, "not checked" in out) == (0, True, True)
    told = json.loads(run(str(log), "--json")[1])
    assert (told["verdict"]["valid"], told["runs"][0]["status"], told["recording_differs"]) == (True, "answered", None)
    assert run(str(log), "--recording", str(tmp_path / "none.jsonl"))[0] == 2
    other = await log_of(tmp_path / "other.jsonl")
    code, out, _ = run(str(other), "--recording", str(recording))
    assert (code, "the recording is not of this log" in out) == (1, True)
    log.write_text(log.read_text().replace('"outcome":"success"', '"outcome":"failure"'))
    code, out, _ = run(str(log), "--json")
    told = json.loads(out)
    assert (code, told["verdict"]["valid"], told["runs"]) == (1, False, [])


async def test_several_recordings_each_add_their_runs(tmp_path: Path, capsys: Any) -> None:
    log = tmp_path / "audit.jsonl"
    agent = Agent(ScriptedModel(["One.", "Two."]), name="loans", plugins=[Audit(path=log)])
    records = [(await agent.run(question)).record for question in ("One?", "Two?")]
    await agent.shutdown()
    assert [account.answer for account in explain_audit(log, recording=records)] == ["One.", "Two."]
    options: list[str] = []
    for record in records:
        record.save(tmp_path / f"{record.run_id}.jsonl")
        options += ["--recording", str(tmp_path / f"{record.run_id}.jsonl")]
    assert main(["audit", "explain", str(log), "--json", *options]) == 0
    assert [run["answer"] for run in json.loads(capsys.readouterr().out)["runs"]] == ["One.", "Two."]


async def test_a_nested_run_is_told_apart_and_names_the_one_it_is_part_of(tmp_path: Path) -> None:
    log, recording = tmp_path / "audit.jsonl", tmp_path / "run.jsonl"
    clerk: Agent[Any, str] = Agent(
        ScriptedModel([call("decide", id="n1", income=900), "Declined by rule dti-43."]), name="clerk", tools=[decide]
    )
    model = ScriptedModel([call("clerk", id="c1", request="Decide."), "It was declined."])
    desk = Agent(model, name="desk", tools=[clerk.as_tool("clerk", "Decides.")], plugins=[Audit(path=log)])
    (await desk.run("May I?")).record.save(recording)
    await desk.shutdown()
    outer, inner = explain_audit(log, recording=Record.load(recording))
    assert (outer.agent, outer.parent_run, outer.answer) == ("desk", None, "It was declined.")
    assert (inner.agent, inner.parent_run, inner.answer) == ("clerk", outer.run_id, "Declined by rule dti-43.")
    assert [told["call_id"] for told in (*outer.calls, *inner.calls)] == ["c1", "n1"]
    assert any("part of" in line and outer.run_id in line for line in lines_of(inner))
