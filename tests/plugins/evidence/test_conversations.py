"""Conversations of many trades, as tools really answer: honest answers pass, and each altered value of one is found.

``conversations/*.txt`` holds them. A line that begins with ``@`` opens a message: ``@system``, ``@user``, ``@tool NAME ARGUMENTS`` with the
result below it, ``@failed`` and ``@image`` for a tool that fails or returns a picture, and ``@answer``. In an answer, ``{{right|wrong}}``
is a value and what it is altered to.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentfp_evidence import EvidenceReport, judge

FOLDER = Path(__file__).parent / "conversations"
_MARKED = re.compile(r"\{\{(.+?)\|(.+?)\}\}")
TOO_FAR = frozenset(
    {
        "open-deals",  # amounts weighted by their probabilities, of the first three rows
        "panel-week",  # euros of a price in cents
        "gym-membership-freeze",  # two months that are named, never counted
        "caisse-de-vin",  # six bottles less five percent, in one step
        "wind-park",  # the mean of all rows but one
        "warehouse-cycle-count",  # what is missing, times a price that stands elsewhere
        "hr-parental-leave",  # a year after a birth, as a rule has it
        "crypto-tax-lots",  # what a sale takes of the second lot
        "veterinary-dose",  # milligrams by milligrams in a millilitre
        "data-until-month-end",  # a mean over days that nobody counts
        "soup-for-ten",  # round amounts times a factor that is worked out itself
        "berufungsfrist",  # two months, and the weekend behind them, among many dates
    }
)
"""Honest answers with a strong finding: what is worked out there takes more steps than the check follows."""
HELD_OUT_FLOOR = 0.75
ALTERED_FLOOR = {False: 0.94, True: 0.91}
"""By whether they were held out: those hold more names of common words and more small numbers, which are not found when altered."""
SERVICE_FLOOR = 0.7
CHANCE_CEILING = 0.03
_NUMBER = re.compile(r"\d+(?:[.:]\d+)*")
_IMAGE = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]


@dataclass(frozen=True)
class Conversation:
    """Messages, and an answer with its values marked."""

    name: str
    messages: list[dict[str, Any]]
    marked: str
    is_workshop: bool = False
    is_unseen: bool = False
    is_service: bool = False

    @property
    def answer(self) -> str:
        """The honest answer."""
        return _MARKED.sub(r"\1", self.marked)

    def altered(self) -> Iterator[tuple[str, int, int]]:
        """The answer with each marked value altered in turn, and where the altered value stands."""
        for match in _MARKED.finditer(self.marked):
            if self.holds(match[2]):
                continue  # it may be wrong there, but it does not come from nowhere
            head = _MARKED.sub(r"\1", self.marked[: match.start()])
            yield head + match[2] + _MARKED.sub(r"\1", self.marked[match.end() :]), len(head), len(head) + len(match[2])

    def holds(self, text: str) -> bool:
        """Whether a text, or each number of it, stands in the conversation or the honest answer anyway."""
        whole = " ".join([*(str(message["content"]) for message in self.messages), self.answer]).lower()
        numbers = set(_NUMBER.findall(whole.replace(",", "")))
        mine = _NUMBER.findall(text.replace(",", ""))
        return text.lower() in whole or (bool(mine) and set(mine) <= numbers)

    @property
    def is_held_out(self) -> bool:
        """What no rule was made for, most of it never looked at while the rules were worked on."""
        return self.is_unseen or (not self.is_workshop and zlib.crc32(self.name.encode()) % 4 == 3)


def read_all() -> list[Conversation]:
    """All conversations."""
    found = []
    for path in sorted(FOLDER.glob("*.txt")):
        for part in re.split(r"(?m)^## ", path.read_text(encoding="utf-8"))[1:]:
            name, _, body = part.partition("\n")
            found.append(_conversation(name.strip(), body, path.stem))
    return found


def _conversation(name: str, body: str, stem: str) -> Conversation:
    messages: list[dict[str, Any]] = []
    answer = ""
    for i, (kind, about, text) in enumerate(re.findall(r"(?ms)^@(\w+) ?([^\n]*)\n?(.*?)(?=^@|\Z)", body)):
        text = text.rstrip("\n")
        if kind == "answer":
            answer = text
        elif kind in ("tool", "failed", "image"):
            tool, _, arguments = about.partition(" ")
            call = {"id": f"c{i}", "type": "function", "function": {"name": tool, "arguments": arguments}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            content = _IMAGE if kind == "image" else text
            messages.append({"role": "tool", "tool_call_id": f"c{i}", "name": tool, "content": content, "is_error": kind == "failed"})
        else:
            messages.append({"role": kind, "content": f"{about}\n{text}".strip()})
    return Conversation(name, messages, answer, stem.startswith("workshop"), stem.startswith("unseen"), stem.startswith("service"))


CONVERSATIONS = read_all()


def found_at(report: EvidenceReport, start: int, end: int) -> bool:
    return any(v.verdict == "unsupported" and v.start < end and start < v.end for v in report.values)


def is_strong(conversation: Conversation) -> bool:
    return bool(judge(conversation.answer, conversation.messages).strong)


def share_found(conversations: list[Conversation]) -> float:
    found = [
        found_at(judge(text, conversation.messages), start, end)
        for conversation in conversations
        for text, start, end in conversation.altered()
    ]
    return sum(found) / len(found)


def by_chance(text: str, rng: random.Random) -> str:
    """A value with one digit replaced, or two neighbours swapped."""
    places = [i for i, c in enumerate(text) if c in "0123456789"]
    letters = list(text)
    at = rng.randrange(len(places))
    if at + 1 < len(places) and rng.random() < 0.4:
        letters[places[at]], letters[places[at + 1]] = letters[places[at + 1]], letters[places[at]]
    else:
        letters[places[at]] = str((int(letters[places[at]]) + rng.randrange(1, 10)) % 10)
    return "".join(letters)


@pytest.mark.parametrize("conversation", [c for c in CONVERSATIONS if not c.is_held_out], ids=lambda c: c.name)
def test_an_honest_answer_has_no_strong_finding(conversation: Conversation) -> None:
    assert is_strong(conversation) is (conversation.name in TOO_FAR)


def test_most_honest_answers_that_no_rule_was_made_for_have_no_strong_finding() -> None:
    held_out = [c for c in CONVERSATIONS if c.is_held_out]
    assert sum(is_strong(c) for c in held_out) <= len(held_out) - HELD_OUT_FLOOR * len(held_out)


def test_most_honest_answers_of_a_customer_service_have_no_finding_at_all() -> None:
    service = [c for c in CONVERSATIONS if c.is_service]
    silent = [c for c in service if not judge(c.answer, c.messages).unsupported]
    assert len(silent) >= SERVICE_FLOOR * len(service)


@pytest.mark.parametrize("held_out", [False, True])
def test_altered_values_are_found(held_out: bool) -> None:
    assert share_found([c for c in CONVERSATIONS if c.is_held_out is held_out]) >= ALTERED_FLOOR[held_out]


def test_few_values_altered_by_chance_pass_as_derived() -> None:
    passed, all_ = 0, 0
    for conversation in CONVERSATIONS:
        rng = random.Random(conversation.name)
        for match in _MARKED.finditer(conversation.marked):
            wrong = by_chance(match[1], rng) if re.search(r"[0-9]\D*[0-9]", match[1]) else match[1]
            if wrong == match[1] or conversation.holds(wrong):
                continue
            head = _MARKED.sub(r"\1", conversation.marked[: match.start()])
            text = head + wrong + _MARKED.sub(r"\1", conversation.marked[match.end() :])
            all_ += 1
            passed += not found_at(judge(text, conversation.messages), len(head), len(head) + len(wrong))
    assert all_ > 500
    assert passed <= CHANCE_CEILING * all_


def test_what_an_image_may_hold_is_weak_and_said() -> None:
    photo = next(c for c in CONVERSATIONS if c.name == "photo-of-receipt")
    report = judge(photo.answer, photo.messages)
    assert {v.how for v in report.weak} == {"unseen"}
    assert report.tools == ()
    assert any("cannot read" in note for note in report.notes)


def test_a_number_with_two_digits_swapped_is_a_strong_finding() -> None:
    report = judge("There are 421 lines.", [{"role": "tool", "tool_call_id": "c1", "content": "  412 file"}])
    assert [(v.text, v.near) for v in report.strong] == [("421", "412")]


@pytest.mark.parametrize("quoted", ["`write failed: Read-only file system`", '"write failed: Read-only file system"'])
def test_an_invented_error_is_a_strong_finding(quoted: str) -> None:
    messages = [{"role": "tool", "tool_call_id": "c1", "content": "write failed: No space left on device"}]
    assert judge(f"The cause was {quoted}.", messages).strong
    assert not judge("The cause was `write failed: No space left on device`.", messages).strong
