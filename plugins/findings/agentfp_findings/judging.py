"""A second opinion on each result, for the record alone: a classifier says what the result is, and nothing is served from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import anyio

from agentfp.plugin import (
    CallView,
    Choice,
    ChoiceAnswer,
    Classifier,
    ClassifyRequest,
    ClassifyResult,
    Likelihood,
    LikelihoodAnswer,
    ResultView,
    Run,
)
from agentfp_findings.events import Judged, JudgeFailed, Probability
from agentfp_findings.ledger import Asked
from agentfp_findings.words import STANDINGS

SECONDS = 10.0
RESULT_CHARS = 4000
JUDGED = frozenset({"success", "partial", "absent"})
STANDING = Choice("What is the result to the proposition, or where there is none to the question?", STANDINGS)
TESTS = Likelihood("Does the result bear on the proposition, or where there is none on the question?")


async def judge_results(
    judge: Classifier, calls: Iterable[tuple[CallView, ResultView]], run: Run[Any], asked: Callable[[str], Asked], question: str
) -> None:
    """Judge the results of a batch side by side, and file what comes of it in the order of the calls.

    Args:
        judge: who judges.
        calls: the calls with their results.
        run: the run.
        asked: gives what was declared that a call tests.
        question: what the person last said.
    """
    judged = [(call, result) for call, result in calls if result.ran and result.outcome in JUDGED]
    rows: dict[str, Judged | JudgeFailed] = {}

    async def one(call: CallView, result: ResultView) -> None:
        rows[call.id] = await _judge_one(judge, call, result, run, asked(call.id), question)

    if len(judged) == 1:
        await one(*judged[0])
    else:
        async with anyio.create_task_group() as tasks:
            for call, result in judged:
                tasks.start_soon(one, call, result)
    for call, _ in judged:
        run.emit(rows[call.id], call_id=call.id)


async def _judge_one(
    judge: Classifier, call: CallView, result: ResultView, run: Run[Any], asked: Asked, question: str
) -> Judged | JudgeFailed:
    text = result.content[:RESULT_CHARS]
    declared = {name: said for name, said in asked._asdict().items() if said is not None}
    state = {**declared, "question": question, "tool": call.name, "result": text}
    begun = run.clock.monotonic_ns()

    def failed(message: str, status: int | None = None) -> JudgeFailed:
        return JudgeFailed(call.name, judge.name, elapsed(), status, message)

    def elapsed() -> int:
        return (run.clock.monotonic_ns() - begun) // 1_000_000

    try:
        with anyio.fail_after(SECONDS):
            answer = await judge.classify(ClassifyRequest(state, {"standing": STANDING, "tests_subject": TESTS}), run)
    except TimeoutError:
        return failed("timeout")
    except Exception as error:  # a judge may raise anything, and the run goes on
        status = getattr(error, "status", None)
        return failed(_words(error), status if isinstance(status, int) else None)
    standing = answer.answers.get("standing") if isinstance(answer, ClassifyResult) else None
    if not isinstance(standing, ChoiceAnswer):
        return failed("no answer to the question for the standing")
    if standing.choice not in STANDINGS:
        return failed("an answer outside of the four standings")
    tests = answer.answers.get("tests_subject")
    usage = answer.usage
    return Judged(
        tool=call.name,
        judge=judge.name,
        model=answer.model,
        against="question" if asked.proposition is None else "proposition",
        standing=standing.choice,
        latency_ms=elapsed(),
        confidence=standing.confidence,
        input_tokens=None if usage is None else usage.input,
        output_tokens=None if usage is None else usage.output,
        clipped=len(result.content) > RESULT_CHARS,
        tests_subject=tests.likelihood if isinstance(tests, LikelihoodAnswer) else None,
        probabilities=tuple([Probability(word, standing.probabilities[word]) for word in STANDINGS if word in standing.probabilities]),
    )


def _words(error: Exception) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:  # the text of a foreign error may be broken too
        return type(error).__name__
