"""The judge of transcripts that ``agentfp check`` finds by its entry point. What a transcript does not hold is said to be not assessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentfp.plugin import ConfigError, Message
from agentfp.transcripts import Judgement, Transcript
from agentfp_answer.assessing import assess
from agentfp_answer.covering import coverage_of
from agentfp_answer.reading import Reading, Result, Turn
from agentfp_answer.reports import Assessment
from agentfp_answer.table import REASONS

NOT_HELD = (
    "which values of calls a person chose and which were assumed: a transcript does not hold that",
    "which time results cover beside the time that was asked for: a transcript does not hold what was asked for",
    "whether a limit cut the work short, and whether steps were left out: a transcript does not hold that",
    "checks of the answer and its claims: none of them is in a transcript",
)
"""What a transcript can never be assessed for."""


class AnswerJudge:
    """Assesses answers of transcripts by the results that each of them followed.

    Args:
        rows_at: by tool, the key of its result under which its rows stand.

    Raises:
        ConfigError: it is no such mapping.
    """

    name = "answer"

    def __init__(self, *, rows_at: Mapping[str, str] | None = None) -> None:
        if rows_at is not None and (
            not isinstance(rows_at, Mapping) or not all(isinstance(item, str) for pair in rows_at.items() for item in pair)
        ):
            raise ConfigError("rows_at maps the name of a tool to one top-level key of its result")
        self._rows_at = dict(rows_at or {})

    def judge(self, transcript: Transcript, answers: Sequence[int]) -> Sequence[Judgement]:
        """Assess some answers, each by what followed the person's last words before it.

        Args:
            transcript: the transcript.
            answers: indices of the answers' messages, rising.
        """
        turn, read, made = Turn(), 0, []
        for answer in answers:
            for index in range(read, answer):
                turn = _read(turn, index, transcript.messages[index], transcript.failed)
            read = max(read, answer)
            made.append(self._judgement(Reading(turn), answer))
        return made

    def _judgement(self, reading: Reading, answer: int) -> Judgement:
        found = assess(reading, rows_at=self._rows_at)
        return Judgement(
            answer=answer,
            standing=found.standing,
            notes=tuple(_notes(found)),
            not_checked=NOT_HELD,
            data={"assessment": found.to_json(), "coverage": coverage_of(reading).to_json()},
        )


def _read(turn: Turn, index: int, message: Message, failed: frozenset[str]) -> Turn:
    """The turn after a message; one that a person wrote begins another."""
    if message.role == "user" and message.author == "person":
        return Turn(turn.number + 1)
    if message.role == "tool":
        outcome = "failure" if message.failed or message.id in failed else "success"
        result = Result(index, message.tool_call_id, message.tool_name, outcome, True, message.content, None, "message")
        turn.results.append(result)
    return turn


def _notes(found: Assessment) -> list[str]:
    notes = [f"{REASONS[reason.kind].clause}{f' ({reason.count} times)' if reason.count > 1 else ''}" for reason in found.reasons]
    notes += [f"{check.check}: {check.ran} of {check.of} could be looked at" for check in found.checked]
    return notes + [f"masked: {what}" for what in found.kept_out]
