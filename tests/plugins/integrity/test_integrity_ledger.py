"""Whether each check looked: the ledger, its canaries, and what becomes of a run whose checks are dead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, ConfigError, Journal, Pause, Record, approve, tool
from agentfp.testing import Harness, ScriptedModel, call
from agentfp_evidence import Evidence
from agentfp_integrity import (
    CHECKS,
    Assertion,
    CheckerDeadError,
    CheckReport,
    DispositionFiled,
    Integrity,
    conflicts_of,
    declares,
    known,
    not_applicable,
    unknown,
)
from agentfp_integrity.canaries import CANARIES
from agentfp_integrity.checks import arguments, columns, lookups
from tests.plugins.integrity.test_integrity_checks import Stating, jobs, log


def rows(source: Any) -> dict[tuple[str, str], CheckReport]:
    return {(row.check, row.seam): row for row in Integrity.report(source)}


ALL = {"notice_empty_lookups": True, "check_column_types": "warn", "notice_prior_turn_evidence": True}


@tool(metadata=declares(arguments_from=["jobs"], result_columns={"n": "number"}))
async def count(job: str) -> Any:
    """Count."""
    return [{"n": 1}]


# --- observe --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_every_check_is_there_whether_it_is_switched_on_or_not() -> None:
    outcome = await Harness([Integrity()], model=Stating(["Done."], ())).run("Go.")
    found = rows(outcome)
    assert set(found) == set(CHECKS) == set(CANARIES)
    assert found.pop(("invariant-violation", "wire")).checked == 1
    assert all((row.checked, row.not_applicable, row.synthetic) == (0, 1, 0) for row in found.values())


@pytest.mark.anyio
async def test_what_is_declared_switches_two_checks_on() -> None:
    outcome = await Harness([Integrity()], tools=[jobs, log], script=[call("jobs"), call("log", job="job-44"), "Done."]).run("Go.")
    found = rows(outcome)
    assert (found["unsupported-argument", "choice"].checked, found["unsupported-argument", "choice"].not_applicable) == (1, 1)
    assert found["dangling-reference", "compose"].not_applicable == 3
    assert found["empty-lookup", "write"].not_applicable == 1
    assert all(row.findings <= row.checked for row in found.values())
    assert all((row.last_fired_ms is None) == (row.findings == 0) for row in found.values())


@pytest.mark.anyio
async def test_a_leg_files_its_ledger_once_and_a_turn_adds_them_up() -> None:
    @tool(approval=True, metadata=declares(arguments_from=["jobs"]))
    async def drop(job: str) -> str:
        """Drop a job."""
        return "dropped"

    made = Harness([Integrity()], tools=[jobs, drop], script=[call("drop", job="job-99"), "Done."])
    paused = await made.run("Go.")
    paused.assert_paused("drop")
    assert len(paused.record.of(DispositionFiled)) == 1
    done = await made.resume(paused, approve())
    assert len(done.record.of(DispositionFiled)) == 2
    assert rows(done)["invariant-violation", "wire"].unreachable == 2
    assert [finding.kind for finding in Integrity.findings(done)] == ["unsupported-argument"]


@pytest.mark.anyio
async def test_a_run_that_dies_files_its_ledger_too(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel([RuntimeError("gone")]), plugins=[Integrity(posture="dev")])
    with pytest.raises(RuntimeError, match="gone"):
        await agent.run("Go.", journal=Journal(tmp_path / "run.jsonl"))
    (filed,) = Record.load(tmp_path / "run.jsonl").of(DispositionFiled)
    assert (filed.work_existed, filed.posture) == (False, "dev")


# --- dev ------------------------------------------------------------------------------------------------------------------------------


def dev(*script: Any, **settings: Any) -> Harness:
    plugins = [Integrity(posture="dev", **settings), *([Evidence()] if settings.get("notice_prior_turn_evidence") else [])]
    return Harness(plugins, tools=[jobs, log, count], script=script)


@pytest.mark.anyio
@pytest.mark.parametrize("settings", [{}, ALL])
@pytest.mark.parametrize("script", [["Done."], [call("jobs"), call("count", job="job-44"), call("log", job="job-44"), "job-44"]])
async def test_checks_that_are_alive(script: list[Any], settings: dict[str, Any]) -> None:
    outcome = (await dev(*script, **settings).run("Go.")).assert_answered()
    assert all(row.synthetic == 1 for row in Integrity.report(outcome))
    assert Integrity.findings(outcome) == ()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("module", "name", "broken", "check"),
    [
        (arguments, "judge", lambda *_, **__: arguments.Judged([], [], [], 0, 0), "unsupported-argument"),
        (columns, "fits", lambda *_: True, "column-type-mismatch"),
        (lookups, "is_empty", lambda *_: None, "empty-lookup"),
        (lookups, "judge", lambda *_: 1 / 0, "empty-lookup"),
    ],
)
async def test_a_check_that_passes_over_a_known_fault(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, broken: Any, check: str
) -> None:
    monkeypatch.setattr(module, name, broken)
    outcome = (await dev("Done.").run("Go.")).assert_refused(by="integrity")
    error = outcome.result.error
    assert isinstance(error, CheckerDeadError)
    assert (error.check, error.code) == (check, "ERR_CHECKER_DEAD")
    assert check in str(error)
    quiet = await Harness([Integrity()], script=["Done."]).run("Go.")
    quiet.assert_answered("Done.")


class Unplugged(Integrity):
    """Looks at no choice, though its canary is caught."""

    choose = None  # type: ignore[assignment]


class Blind(Integrity):
    """Looks at no result."""

    watch = None  # type: ignore[assignment]


@pytest.mark.anyio
@pytest.mark.parametrize(("plugin", "check"), [(Unplugged, "unsupported-argument"), (Blind, "empty-lookup")])
async def test_a_check_that_is_not_called(plugin: type[Integrity], check: str) -> None:
    script = [call("jobs"), call("log", job="job-44"), "Done."]
    made = Harness([plugin(posture="dev", notice_empty_lookups=True)], tools=[jobs, log], script=script)
    error = (await made.run("Go.")).assert_refused(by="integrity").result.error
    assert isinstance(error, CheckerDeadError)
    assert error.check == check


# --- declarations ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "needs arguments_from or result_columns"),
        ({"arguments_from": []}, "at least one"),
        ({"arguments_from": "jobs"}, "at least one"),
        ({"arguments_from": [" "]}, "no tool's name"),
        ({"result_columns": {}}, "at least one column"),
        ({"result_columns": ["n"]}, "at least one column"),
        ({"result_columns": {" ": "number"}}, "a column has a name"),
        ({"result_columns": {"n": "numbr"}}, "did you mean 'number'"),
        ({"result_columns": {"n": "unknown"}}, "is no type"),
        ({"result_columns": {"n": {"type": "number", "nullable": 1}}}, "nullable is true or false"),
        ({"result_columns": {"n": {"kind": "number"}}}, "'type' and 'nullable'"),
    ],
)
def test_declarations_that_cannot_be(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        declares(**given)


def test_problems_are_told_while_the_agent_is_built() -> None:
    @tool(metadata={"integrity": {"arguments_from": ["own"], "columns": {}}})
    async def own() -> str:
        """Own."""
        return ""

    with pytest.raises(ConfigError) as raised:
        Harness([Integrity(result_columns={"jobs": {"n": "x"}}, arguments_from={"jobs": ()})], tools=[own, jobs], script=["x"])
    assert len(raised.value.problems) == 4
    assert "its arguments cannot come from its own results" in str(raised.value)


@pytest.mark.anyio
async def test_settings_speak_for_tools_whose_author_says_nothing() -> None:
    @tool
    async def other(job: str) -> str:
        """Other."""
        return job

    outcome = await Harness(
        [Integrity(arguments_from={"other": ("jobs",)})], tools=[jobs, other], script=[call("other", job="job-99"), "Done."]
    ).run("Go.")
    assert [finding.subjects for finding in Integrity.findings(outcome)] == [(("tool", "other"),)]


def test_the_import_path_of_grounds() -> None:
    assert Integrity(external_grounds="agentfp_integrity:known").settings.external_grounds is known
    with pytest.raises(ConfigError, match="write 'module:name'"):
        Integrity(external_grounds="nowhere:x")
    with pytest.raises(ConfigError, match="got a int"):
        Integrity(external_grounds=7)


# --- assertions -----------------------------------------------------------------------------------------------------------------------


def says(value: Any, **more: Any) -> Assertion:
    return Assertion(("door", "d12"), "lock", value, **more)


def test_which_assertions_contradict_each_other() -> None:
    (conflict,) = conflicts_of(
        [says("shut"), says("open", provenance="b"), says({"a": 1, "b": 2}, epoch=1), says({"b": 2, "a": 1}, epoch=1)]
    )
    assert [witness.value for witness in conflict.witnesses] == ["shut", "open"]
    assert conflicts_of([says("shut"), says(known("shut"))]) == []
    assert len(conflicts_of([says("shut"), says(known("open"))])) == 1
    harmless = [says("open", stratum="quoted"), says("open", epoch=1), says(unknown("nobody looked")), says(not_applicable())]
    assert conflicts_of([says("shut"), *harmless]) == []
    assert conflicts_of([says("a"), says("b")], multi_valued={"lock"}) == []


def test_absences_are_never_shown_as_values() -> None:
    assert [str(claim) for claim in (known(0), unknown("nobody looked"), not_applicable())] == [
        "0",
        "unknown (nobody looked)",
        "not applicable",
    ]
    assert (unknown("x").value_or(7), known(0).value_or(7), unknown("x").is_known) == (7, 0, False)


# --- resuming -------------------------------------------------------------------------------------------------------------------------


def test_a_run_that_goes_on_elsewhere_finds_the_same() -> None:
    @tool(approval=True, metadata=declares(arguments_from=["jobs"]))
    async def drop(job: str) -> str:
        """Drop a job."""
        return "dropped"

    def agent(script: Any) -> Agent[Any, Any]:
        return Agent(ScriptedModel(script), tools=[jobs, drop], plugins=[Integrity()])

    paused = agent([call("drop", id="c1", job="job-99")]).run_sync("Go.")
    assert paused.pause is not None
    done = agent([call("jobs"), "Done."]).resume_sync(Pause.from_json(paused.pause.to_json()), approve())
    assert [finding.kind for finding in Integrity.findings(done)] == ["unsupported-argument"]
    assert Integrity.report(Record.from_lines(done.record.to_lines())) == Integrity.report(done)
