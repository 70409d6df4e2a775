"""The application's own check of a typed answer: what it may say, what that comes to, and what it may read."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

import anyio
import pytest

from agentfp import Agent, ConfigError, Record
from agentfp.artifacts import PutArtifact, Scope
from agentfp.plugin import AnswerDraft, Plugin, Replace, hookimpl
from agentfp.testing import Harness, ScriptedModel, call
from agentfp_answer import Answer, AnswerValidation, AnswerValidationError, ArtifactReads, ValidationLimits
from agentfp_artifacts import memory_artifacts
from tests.plugins.answer.answering import Report, assessed, checks, find

pytestmark = pytest.mark.anyio
ANSWER = json.dumps({"open_tickets": 30})


def gives(*checks: Any) -> Any:
    def check(candidate: Any, artifacts: ArtifactReads) -> Any:
        return {"checks": list(checks)}

    return check


def one(disposition: str, name: str = "total", **more: Any) -> dict[str, Any]:
    return {"id": name, "disposition": disposition, **more}


async def run(validate: Any, *, mode: Any = "observe", text: str = ANSWER, plugins: Any = (), **more: Any) -> Any:
    made = AnswerValidation("totals", "1", validate, mode, **more)
    harness = Harness(
        [Answer(validation=made), *plugins], tools=[find], script=[call("find"), text, text], output_type=Report, output_retries=0
    )
    return await harness.run("Go.")


@pytest.mark.parametrize(
    ("listed", "status", "reasons", "kinds"),
    [
        ([one("checked-pass")], "passed", (), ()),
        ([one("checked-pass"), one("checked-fail", "sum", reason="3 is not 4", path="$.total")], "failed", (), ("answer-check-failed",)),
        ([one("not-applicable")], "unverified", ("no-comparable-checks",), ("check-unreachable",)),
        ([], "unverified", ("no-comparable-checks",), ("check-unreachable",)),
        ([one("checked-pass"), one("unreachable", "sum")], "unverified", ("unreachable-checks",), ("check-unreachable",)),
        ([one("checked-pass"), one("checked-pass")], "unverified", ("invalid-validator-result",), ("check-unreachable",)),
        ([one("checked-pass", evidence_refs=["art_x"])], "unverified", ("invalid-validator-result",), ("check-unreachable",)),
        ([one("maybe")], "unverified", ("invalid-validator-result",), ("check-unreachable",)),
        ([one("checked-pass", " ")], "unverified", ("invalid-validator-result",), ("check-unreachable",)),
        ([one("checked-pass", reason="x" * 1025)], "unverified", ("invalid-validator-result",), ("check-unreachable",)),
        ([one("checked-pass", answer="{}")], "unverified", ("invalid-validator-result",), ("check-unreachable",)),
        ([7], "unverified", ("invalid-validator-result",), ("check-unreachable",)),
    ],
)
async def test_what_checks_come_to(listed: Any, status: str, reasons: Any, kinds: Any) -> None:
    outcome = await run(gives(*listed))
    report = Answer.validation(outcome)
    assert report is not None
    assert (report.status, report.reasons) == (status, reasons)
    assert report.digest == hashlib.sha256(ANSWER.encode()).hexdigest()
    assert assessed(outcome).kinds == kinds
    assert outcome.text == ANSWER
    assert Answer.validation(Record.from_lines(outcome.record.to_lines())) == report


async def test_an_enforced_check_that_passed_makes_an_answer_known() -> None:
    outcome = await run(gives(one("checked-pass")), mode="enforce")
    assert (assessed(outcome).value, assessed(outcome).standing) == ("known", "known")
    assert checks(assessed(outcome))["answer-checks"] == (1, 1)
    (witness,) = assessed(outcome).support
    assert witness.path == "/digest"
    assert assessed(await run(gives(one("checked-pass")))).standing == "consistent"


async def test_known_is_less_than_a_gap() -> None:
    made = AnswerValidation("totals", "1", gives(one("checked-pass")))
    harness = Harness([Answer(validation=made)], tools=[find], script=[call("find", what="gap"), ANSWER], output_type=Report)
    assert assessed(await harness.run("Go.")).kinds == ("coverage-gap",)


async def test_an_enforced_check_that_did_not_pass_refuses_the_answer() -> None:
    outcome = (await run(gives(one("checked-fail", reason="a secret of 30")), mode="enforce")).assert_refused(by="answer")
    error = outcome.result.error
    assert isinstance(error, AnswerValidationError)
    assert (error.code, error.report.status) == ("ERR_ANSWER_VALIDATION", "failed")
    assert "30" not in str(error)
    assert Answer.assessment(outcome) is None
    assert outcome.result.history[-1].role == "tool"


async def raises(candidate: Any, artifacts: ArtifactReads) -> Any:
    raise LookupError(candidate)


async def sleeps(candidate: Any, artifacts: ArtifactReads) -> Any:
    await anyio.sleep(60)


def sleeps_in_a_thread(candidate: Any, artifacts: ArtifactReads) -> Any:
    time.sleep(0.3)


@pytest.mark.parametrize(
    ("validate", "reason"),
    [(raises, "validator-error"), (sleeps, "timeout"), (sleeps_in_a_thread, "timeout"), (lambda *_: 7, "invalid-validator-result")],
)
async def test_a_check_that_breaks_verifies_nothing(validate: Any, reason: str) -> None:
    report = Answer.validation(await run(validate, limits=ValidationLimits(timeout_s=0.05)))
    assert report is not None
    assert (report.status, report.reasons) == ("unverified", (reason,))


async def test_the_candidate_is_data_of_its_own() -> None:
    def meddles(candidate: Any, artifacts: ArtifactReads) -> Any:
        candidate["open_tickets"] = 99
        return {"checks": [one("checked-pass")]}

    assert (await run(meddles)).text == ANSWER


@pytest.mark.parametrize(
    ("text", "limits", "reason"),
    [
        ("[1]", ValidationLimits(), "schema-rejected"),
        ("{", ValidationLimits(), "non-json-candidate"),
        (ANSWER, ValidationLimits(max_candidate_bytes=5), "candidate-limit"),
    ],
)
async def test_answers_that_are_not_checked(text: str, limits: ValidationLimits, reason: str) -> None:
    asked = []

    def check(candidate: Any, artifacts: ArtifactReads) -> Any:
        asked.append(candidate)

    report = Answer.validation(await run(check, text=text, limits=limits))
    assert report is not None
    assert reason in report.reasons
    assert asked == []


async def test_too_many_checks_are_no_result() -> None:
    report = Answer.validation(await run(gives(*[one("checked-pass", str(n)) for n in range(3)]), limits=ValidationLimits(max_checks=2)))
    assert report is not None
    assert report.reasons == ("invalid-validator-result",)


class Late(Plugin):
    """Changes an answer after it was checked."""

    name = "late"

    @hookimpl(phase="append")
    def assess_answer(self, draft: AnswerDraft) -> Replace:
        return Replace(json.dumps({"open_tickets": 31}))


async def test_what_was_changed_after_the_check_was_not_checked() -> None:
    outcome = await run(gives(one("checked-pass")), mode="enforce", plugins=[Late()])
    assert assessed(outcome).kinds == ("check-unreachable",)


# --- artifacts ----------------------------------------------------------------------------------------------------------------


async def test_a_check_reads_artifacts_of_its_own_conversation_only() -> None:
    store = memory_artifacts()
    seen: list[Any] = []
    mine = (await store.put(Scope("mine"), PutArtifact(kind="ledger", media_type="application/json", data={"total": 30}))).meta.ref
    other = (await store.put(Scope("other"), PutArtifact(kind="ledger", media_type="application/json", data={"total": 31}))).meta.ref

    async def check(candidate: Any, artifacts: ArtifactReads) -> Any:
        found = await artifacts.resolve(mine, "ledger")
        again = await artifacts.resolve(mine, "ledger")
        seen.extend([found.data, again is found, artifacts.count])
        return {"checks": [one("checked-pass", evidence_refs=[mine])]}

    async def strays(candidate: Any, artifacts: ArtifactReads) -> Any:
        for ref, kind in ((other, "ledger"), (mine, "report"), ("art_" + "x" * 22, "ledger"), ("../x", "ledger")):
            seen.append((await artifacts.resolve(ref, kind)).refusal)
        seen.append(artifacts)
        return {"checks": [one("checked-pass")]}

    async def of(validate: Any, **more: Any) -> Any:
        made = AnswerValidation("totals", "1", validate, "observe", store=store, **more)
        agent = Agent(ScriptedModel([ANSWER]), plugins=[Answer(validation=made)], output_type=Report)
        return Answer.validation(await agent.run("Go.", session_id="mine"))

    report = await of(check)
    assert (report.status, report.reads, report.checks[0].refs) == ("passed", 1, (mine,))
    assert seen == [{"total": 30}, True, 1]
    seen.clear()
    report = await of(strays)
    assert seen[:-1] == ["missing-or-expired", "kind-mismatch", "missing-or-expired", "invalid-input"]
    assert report.reasons == ("evidence-missing-or-expired", "evidence-kind-mismatch", "evidence-invalid-input")
    assert (await seen[-1].resolve(mine, "ledger")).refusal == "closed"
    assert (await of(check, limits=ValidationLimits(max_bytes=3))).reasons[0] == "invalid-validator-result"
    assert (await of(strays, limits=ValidationLimits(max_reads=1))).reasons[:2] == ("evidence-missing-or-expired", "evidence-max-reads")


async def test_without_a_store_nothing_can_be_read() -> None:
    async def check(candidate: Any, artifacts: ArtifactReads) -> Any:
        assert not (await artifacts.resolve("art_" + "x" * 22, "ledger")).ok
        return {"checks": [one("checked-pass")]}

    report = Answer.validation(await run(check))
    assert report is not None
    assert report.reasons == ("evidence-no-store",)


# --- settings -----------------------------------------------------------------------------------------------------------------


async def test_settings_that_cannot_be() -> None:
    with pytest.raises(ConfigError) as raised:
        AnswerValidation("", "x" * 200, 7, "enforced", ValidationLimits(max_reads=0, timeout_s=float("inf")))  # type: ignore[arg-type]
    assert len(raised.value.problems) == 6
    with pytest.raises(ConfigError, match="validation needs an output type"):
        Agent(ScriptedModel(["x"]), plugins=[Answer(validation=AnswerValidation("a", "1", gives()))])
    with pytest.raises(ConfigError, match="it is an AnswerValidation, got a dict"):
        Answer(validation={"id": "a"})
    with pytest.raises(ConfigError, match="write 'module:name'"):
        Answer(validation="nowhere:nothing")


async def test_the_import_path_of_a_check() -> None:
    assert Answer(validation=f"{__name__}:TOTALS").settings.validation is TOTALS


TOTALS = AnswerValidation("totals", "1", gives(one("checked-pass")))
