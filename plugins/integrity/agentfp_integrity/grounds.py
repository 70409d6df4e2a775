"""What a request holds that may ground an argument: found by its words, so that a look-up costs the same in a long run."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentfp.plugin import Message

Ground: TypeAlias = Literal["exact", "substring", "echo"]
_WORD = re.compile(r"\w+")
_JOINS = re.compile(r"[\w-]")


@dataclass(frozen=True, slots=True)
class Held:
    """A text of the request.

    Args:
        id: of its message.
        text: folded.
        tool: whose result it is; None for what a person or the application wrote.
        arguments: folded, those of the call that brought it.
    """

    id: str
    text: str
    tool: str | None = None
    arguments: str = ""


class Grounds:
    """The texts of a conversation that may ground something, and the model's own, which ground nothing."""

    def __init__(self) -> None:
        self.read = 0
        self._held: list[Held] = []
        self._by_word: dict[str, list[int]] = {}
        self._by_tool: dict[str, list[int]] = {}
        self._own: list[tuple[int, str]] = []
        self._arguments: dict[str, str] = {}
        self._pieces: dict[str, str] = {}

    def add(self, messages: Iterable[Message]) -> None:
        """Read messages that are new."""
        for message in messages:
            self.read += 1
            if message.role == "assistant":
                self._own.append((self.read, (message.own or message.content).casefold()))
                for call in message.tool_calls:
                    self._arguments[call.id] = call.arguments_json.casefold()
                    self._own.append((self.read, self._arguments[call.id]))
            elif message.role == "tool":
                arguments = self._arguments.get(message.tool_call_id or "", "")
                self._hold(Held(message.id, message.content.casefold(), message.tool_name, arguments))
            elif message.role == "system" or message.author in ("person", "app"):
                self._hold(Held(message.id, message.content.casefold()))

    def _hold(self, held: Held) -> None:
        place = len(self._held)
        self._held.append(held)
        if held.tool is not None:
            self._by_tool.setdefault(held.tool, []).append(place)
        for word in set(_WORD.findall(held.text)):
            self._by_word.setdefault(word, []).append(place)

    def look(self, leaf: str, *, left: Container[str], pieces: Sequence[str]) -> Ground | None:
        """Where a text stands, best first.

        Args:
            leaf: the text.
            left: ids of messages that are not in the request any more.
            pieces: further texts of the request.

        Returns:
            ``exact`` as whole words, ``substring`` inside of others, ``echo`` only in results whose own call carried it, or None.
        """
        wanted = leaf.casefold()
        for piece in pieces:
            if _whole(wanted, self._folded(piece)):
                return "exact"
        echo = False
        for place in reversed(self._candidates(wanted)):
            held = self._held[place]
            if held.id not in left and _whole(wanted, held.text):
                if held.tool is None or not _whole(wanted, held.arguments):
                    return "exact"
                echo = True
        if echo:
            return "echo"
        served = (held for held in self._held if held.id not in left)
        if any(wanted in self._folded(piece) for piece in pieces) or any(
            wanted in held.text and wanted not in held.arguments for held in served
        ):
            return "substring"
        return None

    def _candidates(self, wanted: str) -> list[int]:
        """The texts that hold the rarest of its words."""
        lists = [self._by_word.get(word, []) for word in _WORD.findall(wanted)]
        return min(lists, key=len, default=[])

    def _folded(self, piece: str) -> str:
        found = self._pieces.get(piece)
        if found is None:
            found = self._pieces[piece] = piece.casefold()
        return found

    def in_own_words(self, leaf: str) -> bool:
        """Whether the model itself has written a text before its last reply."""
        wanted = leaf.casefold()
        return any(wanted in text for place, text in self._own if place < self.read)

    def results_with(self, tools: Iterable[str], leaf: str) -> list[str]:
        """The tools among these of which a result holds a text."""
        wanted = leaf.casefold()
        return [tool for tool in tools if any(wanted in self._held[place].text for place in self._by_tool.get(tool, ()))]

    def has_results(self, tools: Iterable[str]) -> bool:
        """Whether any of these tools has brought a result."""
        return any(self._by_tool.get(tool) for tool in tools)


def _whole(wanted: str, text: str) -> bool:
    """Whether a text holds another as whole words; ``job-4`` does not stand in ``job-44``."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        before = at and _JOINS.match(text[at - 1]) and _JOINS.match(wanted[0])
        after = end < len(text) and _JOINS.match(text[end]) and _JOINS.match(wanted[-1])
        if not before and not after:
            return True
        at = text.find(wanted, at + 1)
    return False
