"""Judges the answers of transcripts: which messages are answers, what each judge says of them, and what was not looked at."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentfp.plugin import Message
from agentfp.transcripts import JudgedValue, Judgement, Transcript, TranscriptJudge
from agentfp_transcripts.baseline import Baseline

_PROMPT = "agentfp-check-system"


@dataclass(frozen=True, slots=True)
class Finding:
    """An unsupported value.

    Args:
        judge: name of the judge.
        answer: index of the answer's message.
        value: the value.
        known: whether a baseline holds it.
    """

    judge: str
    answer: int
    value: JudgedValue
    known: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and what the judges say of it.

    Args:
        index: index of its message.
        text: what it says.
        judgements: by the judge's name, the main one first.
        findings: its unsupported values, over all judges.
    """

    index: int
    text: str
    judgements: Mapping[str, Judgement]
    findings: tuple[Finding, ...] = ()

    @property
    def main(self) -> Judgement:
        """What the main judge says."""
        return next(iter(self.judgements.values()))

    @property
    def new(self) -> tuple[Finding, ...]:
        """The findings that no baseline holds."""
        return tuple(finding for finding in self.findings if not finding.known)


@dataclass(frozen=True, slots=True)
class Checked:
    """A transcript, judged.

    Args:
        transcript: as it was read.
        answers: the answers that were judged.
        not_checked: what was not looked at, in sentences.
        failures: judges that failed, in sentences.
    """

    transcript: Transcript
    answers: tuple[Answer, ...] = ()
    not_checked: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


def answers_of(transcript: Transcript, *, every: bool = False) -> tuple[int, ...]:
    """Indices of the messages that are answers: the assistant says something, and a tool's result stands before it.

    Args:
        transcript: the transcript.
        every: those too that no result stands before.
    """
    found = []
    seen = every
    for index, message in enumerate(transcript.messages):
        if message.role == "tool":
            seen = True
        elif message.role == "assistant" and seen and message.content.strip():
            found.append(index)
    return tuple(found)


@dataclass(slots=True)
class Summary:
    """What a check came to."""

    transcripts: int = 0
    answers: int = 0
    flagged: int = 0
    values: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("supported", "unverifiable", "unsupported"), 0))
    strong: int = 0
    weak: int = 0
    known: int = 0
    unanswered: int = 0
    without_results: int = 0
    failures: int = 0
    unread: int = 0
    in_part: int = 0

    def add(self, checked: Checked) -> None:
        """Count a transcript."""
        self.transcripts += 1
        self.answers += len(checked.answers)
        self.failures += len(checked.failures)
        self.in_part += bool(checked.transcript.problems)
        self.unanswered += not checked.answers
        judged = {answer.index for answer in checked.answers}
        early = set(answers_of(checked.transcript, every=True)) - set(answers_of(checked.transcript))
        self.without_results += len(early - judged)
        for answer in checked.answers:
            self.flagged += bool(answer.new)
            self.known += len(answer.findings) - len(answer.new)
            for finding in answer.new:
                if finding.value.severity == "weak":
                    self.weak += 1
                else:
                    self.strong += 1
            for judgement in answer.judgements.values():
                for value in judgement.values:
                    self.values[value.verdict] += 1


class Check:
    """Brings transcripts before judges.

    Args:
        judges: by name, the main one first.
        last: judge the last answer only.
        every: judge answers too that no tool result stands before.
        prompt: a system prompt that the transcripts lack; it stands before each.
        baseline: findings that are known already.
    """

    def __init__(
        self,
        judges: Mapping[str, TranscriptJudge],
        *,
        last: bool = False,
        every: bool = False,
        prompt: str | None = None,
        baseline: Baseline | None = None,
    ) -> None:
        self._judges = dict(judges)
        self._last = last
        self._every = every
        self._prompt = prompt
        self._baseline = baseline

    def check(self, transcript: Transcript) -> Checked:
        """Judge one transcript. A judge that raises is named in ``failures``; the others are heard."""
        wanted = answers_of(transcript, every=self._every)
        passed_over = []
        if self._last and len(wanted) > 1:
            passed_over.append(f"{len(wanted) - 1} earlier answer{'s' if len(wanted) > 2 else ''}, because of --last")
            wanted = wanted[-1:]
        if not self._every and (early := len(answers_of(transcript, every=True)) - len(answers_of(transcript))):
            passed_over.append(f"{early} answer{'s' if early > 1 else ''} that no tool result stands before")
        if not wanted:
            return Checked(transcript, not_checked=tuple(passed_over))
        heard: dict[str, Sequence[Judgement]] = {}
        failures: list[str] = []
        for name, judge in self._judges.items():
            try:
                heard[name] = self._hear(judge, transcript, wanted)
            except Exception as error:
                failures.append(f"judge {name!r} failed on transcript {transcript.id!r}: {type(error).__name__}: {error}")
        known = None if self._baseline is None else self._baseline.of(transcript.id)
        answers = []
        for number, index in enumerate(wanted if heard else ()):
            judgements = {name: said[number] for name, said in heard.items()}
            for judgement in judgements.values():
                passed_over.extend(judgement.not_checked)
            findings = tuple(
                Finding(name, index, value, known is not None and known.take(index, value.kind, value.text))
                for name, judgement in judgements.items()
                for value in judgement.values
                if value.verdict == "unsupported"
            )
            answers.append(Answer(index, transcript.messages[index].content, judgements, findings))
        return Checked(transcript, tuple(answers), tuple(dict.fromkeys(passed_over)), tuple(failures))

    def _hear(self, judge: TranscriptJudge, transcript: Transcript, wanted: Sequence[int]) -> Sequence[Judgement]:
        shift = 0
        if self._prompt is not None:
            shift = 1
            prompt = Message(id=_PROMPT, role="system", content=self._prompt, author="app")
            transcript = replace(transcript, messages=(prompt, *transcript.messages))
        with contextlib.redirect_stdout(sys.stderr):  # what a judge prints is no result of ours
            said = judge.judge(transcript, [index + shift for index in wanted])
        if [judgement.answer - shift for judgement in said] != list(wanted):
            raise ValueError(f"it was asked about {len(wanted)} answers and spoke of {len(said)}, or of others")
        return [_shifted(judgement) for judgement in said] if shift else said


def _shifted(judgement: Judgement) -> Judgement:
    """A judgement on a transcript with one message more before it, as of the transcript itself."""
    values = tuple(
        replace(
            value,
            sources=tuple(
                replace(source, message=source.message - 1 if source.message else None) if source.message is not None else source
                for source in value.sources
            ),
        )
        for value in judgement.values
    )
    return replace(judgement, answer=judgement.answer - 1, values=values)


def as_json(checked: Checked) -> dict[str, Any]:
    """A judged transcript as JSON data."""
    made: dict[str, Any] = {
        "id": checked.transcript.id,
        "answers": [_answer_json(answer) for answer in checked.answers],
        "format": checked.transcript.format,
        "source": checked.transcript.source,
    }
    for name, texts in (
        ("problems", checked.transcript.problems),
        ("not_checked", checked.not_checked),
        ("failures", checked.failures),
    ):
        if texts:
            made[name] = list(texts)
    return made


def _answer_json(answer: Answer) -> dict[str, Any]:
    first, *others = answer.judgements.items()
    made = {"index": answer.index, **_judgement_json(answer, *first)}
    if known := [finding.value.text for finding in answer.findings if finding.known]:
        made["known"] = known
    if others:
        made["plugins"] = {name: _judgement_json(answer, name, judgement) for name, judgement in others}
    return made


def _judgement_json(answer: Answer, name: str, judgement: Judgement) -> dict[str, Any]:
    made: dict[str, Any] = {
        "standing": judgement.standing,
        "values": [value_json(value) for value in judgement.values],
        "unsupported": [finding.value.text for finding in answer.new if finding.judge == name],
    }
    if judgement.notes:
        made["notes"] = list(judgement.notes)
    if judgement.data is not None:
        made["data"] = dict(judgement.data)
    return made


def value_json(value: JudgedValue) -> dict[str, Any]:
    """A judged value as JSON data."""
    made: dict[str, Any] = {
        "text": value.text,
        "kind": value.kind,
        "start": value.start,
        "end": value.end,
        "verdict": value.verdict,
        "severity": value.severity,
        "how": value.how,
        "sources": [
            {"message": s.message, "path": s.path, **({"call_id": s.call_id} if s.call_id is not None else {})} for s in value.sources
        ],
    }
    if value.derivation:
        made["derivation"] = value.derivation
    if value.path:
        made["path"] = value.path
    return made
