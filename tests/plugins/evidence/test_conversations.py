"""Conversations of many trades, as tools really answer: honest answers pass, and each altered value of one is found.

``conversations/*.txt`` holds them. A line that begins with ``@`` opens a message: ``@system``, ``@user``, ``@tool NAME ARGUMENTS`` with the
result below it, ``@failed`` and ``@image`` for a tool that fails or returns a picture, and ``@answer``. In an answer, ``{{right|wrong}}``
is a value and what it is altered to.
"""

from __future__ import annotations

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
_NUMBER = re.compile(r"\d+(?:[.:]\d+)*")
_IMAGE = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]


@dataclass(frozen=True)
class Conversation:
    """Messages, and an answer with its values marked."""

    name: str
    messages: list[dict[str, Any]]
    marked: str
    is_workshop: bool = False

    @property
    def answer(self) -> str:
        """The honest answer."""
        return _MARKED.sub(r"\1", self.marked)

    def altered(self) -> Iterator[tuple[str, int, int]]:
        """The answer with each marked value altered in turn, and where the altered value stands."""
        for match in _MARKED.finditer(self.marked):
            if self._holds(match[2]):
                continue  # it may be wrong there, but it does not come from nowhere
            head = _MARKED.sub(r"\1", self.marked[: match.start()])
            yield head + match[2] + _MARKED.sub(r"\1", self.marked[match.end() :]), len(head), len(head) + len(match[2])

    def _holds(self, text: str) -> bool:
        """Whether a text, or each number of it, stands in the conversation or the honest answer anyway."""
        whole = " ".join([*(str(message["content"]) for message in self.messages), self.answer]).lower()
        numbers = set(_NUMBER.findall(whole.replace(",", "")))
        mine = _NUMBER.findall(text.replace(",", ""))
        return text.lower() in whole or (bool(mine) and set(mine) <= numbers)

    @property
    def is_held_out(self) -> bool:
        """Half of the conversations were never looked at while the rules were worked on."""
        return not self.is_workshop and zlib.crc32(self.name.encode()) % 4 == 3


def read_all() -> list[Conversation]:
    """All conversations."""
    found = []
    for path in sorted(FOLDER.glob("*.txt")):
        for part in re.split(r"(?m)^## ", path.read_text(encoding="utf-8"))[1:]:
            name, _, body = part.partition("\n")
            found.append(_conversation(name.strip(), body, path.stem.startswith("workshop")))
    return found


def _conversation(name: str, body: str, is_workshop: bool) -> Conversation:
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
    return Conversation(name, messages, answer, is_workshop)


CONVERSATIONS = read_all()


def found_at(report: EvidenceReport, start: int, end: int) -> bool:
    return any(v.verdict == "unsupported" and v.start < end and start < v.end for v in report.values)
