"""The judge of transcripts that ``agentfp check`` finds by its entry point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from agentfp.plugin import ConfigError, nearest
from agentfp.transcripts import Judgement, Transcript
from agentfp_evidence.index import EvidenceIndex
from agentfp_evidence.judging import judge_with
from agentfp_evidence.nested import transcript_grounds
from agentfp_evidence.options import EvidenceOptions
from agentfp_evidence.report import EvidenceReport


class EvidenceJudge:
    """Judges answers of transcripts by what stands before each of them.

    Args:
        given: texts or JSON data that ground values besides the messages.
        **options: fields of :class:`EvidenceOptions`.

    Raises:
        ConfigError: there is no such option, or one does not fit.
    """

    name = "evidence"

    def __init__(self, *, given: Sequence[Any] = (), **options: Any) -> None:
        known = [field.name for field in fields(EvidenceOptions)]
        wrong = [f"there is no setting {name!r}; {nearest(name, ['given', *known])}" for name in options if name not in known]
        if wrong:
            raise ConfigError(wrong)
        self._given = given
        self._options = EvidenceOptions(**options)

    def judge(self, transcript: Transcript, answers: Sequence[int]) -> Sequence[Judgement]:
        """Judge some answers; each message is indexed once.

        Args:
            transcript: the transcript.
            answers: indices of the answers' messages, rising.
        """
        return [_judgement(at, report) for at, report in zip(answers, self.reports(transcript, answers), strict=True)]

    def reports(self, transcript: Transcript, answers: Sequence[int]) -> list[EvidenceReport]:
        """The full reports of some answers.

        Args:
            transcript: the transcript.
            answers: indices of the answers' messages, rising.
        """
        index = EvidenceIndex(given=self._given)
        nested = transcript_grounds(transcript, self._options)
        reports = []
        for at in answers:
            index.add(transcript.messages[len(index) : at], failed=transcript.failed, nested=nested)
            reports.append(judge_with(index, transcript.messages[at].content, options=self._options))
        return reports


def _judgement(at: int, report: EvidenceReport) -> Judgement:
    return Judgement(
        answer=at,
        standing=report.standing,
        values=tuple(value.judged() for value in report.values),
        notes=report.notes,
        data=report.to_json(),
    )
