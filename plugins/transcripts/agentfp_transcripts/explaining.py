"""``--explain VALUE``: all that is known of one value: its verdict, the derivation, what stands at each source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from agentfp.commands import data, on_terminal, say
from agentfp_transcripts.checking import Answer, Checked, Summary, value_json
from agentfp_transcripts.places import describe, excerpt
from agentfp_transcripts.problems import Problem

_STYLES = {"supported": "green", "unverifiable": "yellow", "unsupported": "red"}
_AROUND = 40
_MOST = 10


class Explain:
    """An output that tells of one value only.

    Args:
        value: the value, or a part of it; blanks and case do not count.
        as_json: print lines of JSON.
    """

    def __init__(self, value: str, *, as_json: bool = False) -> None:
        self._wanted = value
        self._needle = _plain(value)
        self._as_json = as_json
        self.found = 0

    def add(self, checked: Checked) -> None:
        """Tell of each place in the answers of a transcript where the value stands."""
        for answer in checked.answers:
            hits = [(judge, v) for judge, j in answer.judgements.items() for v in j.values if self._needle in _plain(v.text)]
            if not hits and self._needle in _plain(answer.text):
                self.found += 1
                self._unjudged(checked, answer)
            for judge, value in hits:
                self.found += 1
                self._one(checked, answer, judge, value)

    def end(self, summary: Summary, problems: Sequence[Problem]) -> None:
        """Tell where nothing was found."""
        if not self.found and not self._as_json:
            say(f"no answer that was judged holds {self._wanted!r}")

    def _one(self, checked: Checked, answer: Answer, judge: str, value: Any) -> None:
        sources = [(describe(s, checked.transcript), excerpt(s, checked.transcript)) for s in value.sources]
        if self._as_json:
            made = value_json(value)
            for source, (_, text) in zip(made["sources"], sources, strict=True):
                source["excerpt"] = text
            data({"id": checked.transcript.id, "index": answer.index, "judge": judge, **made}, lines=True)
            return
        severity = f" ({value.severity})" if value.severity else ""
        say(f"{checked.transcript.id}, answer {answer.index}: {value.kind} {value.text!r}", "bold")
        say(f"  {value.verdict}{severity}{f', {value.how}' if value.how else ''}", _STYLES[value.verdict] if on_terminal() else None)
        say(f"  in the answer: {_around(answer.text, value.start, value.end)}")
        if value.derivation:
            say(f"  derived: {value.derivation}")
        if value.near:
            say(f"  nearly: {value.near}")
        for where, text in sources[:_MOST]:
            say(f"  from {where}")
            if text is not None:
                say(f"    {' '.join(text.split())}", "dim" if on_terminal() else None)
        if len(sources) > _MOST:
            say(f"  and {len(sources) - _MOST} more sources")
        if value.verdict != "supported":
            self._elsewhere(checked, answer)

    def _elsewhere(self, checked: Checked, answer: Answer) -> None:
        """Where the same letters stand, judged or not: in a message that is no evidence, say."""
        places = list(self._mentions(checked, answer))
        for index, text in places[:_MOST]:
            message = checked.transcript.messages[index]
            failed = ", a failed result" if message.id in checked.transcript.failed else ""
            say(f"  the same letters stand in message {index} ({message.tool_name or message.role}{failed}): {text}")
        if not places:
            say("  the same letters stand in no message before the answer")

    def _mentions(self, checked: Checked, answer: Answer) -> Iterator[tuple[int, str]]:
        pattern = re.compile(r"\s*".join(map(re.escape, self._needle)), re.IGNORECASE)
        for index, message in enumerate(checked.transcript.messages[: answer.index]):
            hit = pattern.search(message.content)
            if hit is not None:
                yield index, _around(message.content, *hit.span())

    def _unjudged(self, checked: Checked, answer: Answer) -> None:
        if self._as_json:
            data({"id": checked.transcript.id, "index": answer.index, "text": self._wanted, "verdict": None}, lines=True)
            return
        say(f"{checked.transcript.id}, answer {answer.index}: {self._wanted!r} stands in it and is no value that was judged", "bold")
        self._elsewhere(checked, answer)


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()


def _around(text: str, start: int, end: int) -> str:
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    cut = "…" if start > _AROUND else ""
    return " ".join(f"{cut}{before}[{text[start:end]}]{after}{'…' if end + _AROUND < len(text) else ''}".split())
