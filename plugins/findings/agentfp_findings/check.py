"""Judges recordings: the standings that a model declared in them, and answers whose values rest only on results it had set aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from agentfp.plugin import Message
from agentfp.transcripts import JudgedValue, Judgement, Transcript, ValueSource
from agentfp_findings.carriers import data_words, spelling
from agentfp_findings.declaration import Declaration, may_declare, read_declaration, split
from agentfp_findings.peeling import peel
from agentfp_findings.words import SET_ASIDE, STANDINGS

NO_DECLARATIONS = "the model declared nothing, so no value can rest on what it set aside"


class _Reading:
    """What the messages so far say: results by id, who holds which words, what was declared."""

    def __init__(self) -> None:
        self.results: dict[str, int] = {}
        self.holders: dict[str, dict[str, None]] = {}
        self.said: set[str] = set()
        self.standing_of: dict[str, str] = {}
        self.unknown: list[str] = []
        self.malformed = 0
        self.declared = 0

    def message(self, index: int, message: Message) -> None:
        """Take in one message."""
        if message.role == "system" or (message.role == "user" and message.author == "person"):
            self.said.update(map(spelling, data_words(message.text)))
        elif message.role == "tool" and message.tool_call_id is not None:
            self.results[message.tool_call_id] = index
            for word in data_words(message.content):
                self.holders.setdefault(spelling(word), {})[message.tool_call_id] = None
        elif message.role == "assistant":
            for call in message.tool_calls:
                if may_declare(call.arguments_json):
                    _, declaration, malformed = split(call.arguments)
                    self._take(declaration, malformed)
            if may_declare(message.text):
                _, notes, malformed = peel(message.text)
                self.malformed += malformed
                for note in notes:
                    self._take(*read_declaration(note))

    def _take(self, declaration: Declaration | None, malformed: int) -> None:
        self.malformed += malformed
        if declaration is None:
            return
        self.declared += 1
        for verdict in declaration.previous:
            self.standing_of[verdict.tool_call_id] = verdict.standing
            if verdict.tool_call_id not in self.results:
                self.unknown.append(verdict.tool_call_id)


class FindingsJudge:
    """Judges answers of a transcript by what the model declared in it; needs no model."""

    name = "findings"

    def judge(self, transcript: Transcript, answers: Sequence[int]) -> Sequence[Judgement]:
        """Judge some answers of a transcript, each by what stands before it and by what it declares itself.

        Args:
            transcript: the transcript.
            answers: indices of the answers' messages, rising.

        Returns:
            One judgement for each answer, in order. Its standing is ``contingent`` when a value rests only on results that were
            set aside, ``undeclared`` when nothing was declared at all, else ``standing``.
        """
        reading, read, made = _Reading(), 0, []
        for index in answers:
            for place in range(read, index + 1):
                reading.message(place, transcript.messages[place])
            read = max(read, index + 1)
            made.append(_judgement(reading, index, transcript.messages[index]))
        return made


def _judgement(reading: _Reading, index: int, message: Message) -> Judgement:
    text = message.content if message.own is not None else peel(message.content)[0]
    values = tuple(_values(reading, message.content, text)) if reading.standing_of else ()
    counts = Counter(reading.standing_of[call_id] for call_id in reading.results if call_id in reading.standing_of)
    undeclared = len(reading.results) - sum(counts.values())
    data: dict[str, Any] = {
        "standings": {call_id: standing for call_id, standing in reading.standing_of.items() if call_id in reading.results},
        "counts": {**{word: counts[word] for word in STANDINGS}, "undeclared": undeclared},
        "unknown_ids": len(reading.unknown),
        "malformed": reading.malformed,
    }
    if not reading.declared:
        return Judgement(answer=index, standing="undeclared", not_checked=(NO_DECLARATIONS,), data=data)
    contingent = any(value.verdict == "unsupported" for value in values)
    said = [f"{count} {word}" for word, count in data["counts"].items() if count]
    notes = [f"results: {', '.join(said) or 'none'}"]
    if reading.unknown:
        notes.append(f"{len(reading.unknown)} standings name no result")
    if reading.malformed:
        notes.append(f"{reading.malformed} parts of declarations cannot be read")
    return Judgement(answer=index, standing="contingent" if contingent else "standing", values=values, notes=tuple(notes), data=data)


def _values(reading: _Reading, answer: str, shown: str) -> list[JudgedValue]:
    """The values of an answer that results carry, each with the standing of those results."""
    found, at = [], 0
    for word in data_words(shown):
        start = answer.find(word, at)
        start = answer.find(word) if start < 0 else start
        holders = list(reading.holders.get(spelling(word), ()))
        if start < 0 or not holders or spelling(word) in reading.said:
            continue
        at = start + len(word)
        standings = [reading.standing_of.get(call_id) for call_id in holders]
        aside = all(standing in SET_ASIDE for standing in standings)
        sources = tuple(ValueSource(reading.results[call_id], call_id=call_id) for call_id in holders)
        found.append(
            JudgedValue(
                text=word,
                kind="data",
                start=start,
                end=at,
                verdict="unsupported" if aside else "supported",
                severity="weak" if aside else None,
                how="set-aside" if aside else "fact" if "fact" in standings else "undeclared" if None in standings else "open",
                sources=sources,
            )
        )
    return found
