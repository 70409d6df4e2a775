"""What of a request the model is to answer now: the question, what was called for it, and what came of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pydantic_core

from agentfp.model import Message, ToolCall


@dataclass(frozen=True, slots=True)
class Turn:
    """The present turn.

    Args:
        question: what the person said last.
        calls: calls made since.
        results: what they gave, as the model reads it.
        latest: the results of the last batch of calls, each after its arguments where there are several.
        late: further texts that stand after the question, from the application or a plugin.
        earlier: what the person said before, the latest first.
        before: the last call of an earlier turn.
        past: results of earlier turns, the latest first.
    """

    question: str
    calls: tuple[ToolCall, ...]
    results: tuple[str, ...]
    latest: tuple[tuple[str, str], ...]
    late: tuple[str, ...]
    earlier: tuple[str, ...]
    before: ToolCall | None
    past: tuple[str, ...]

    def values(self, key: str, *, past: bool) -> list[Any]:
        """What stands under a key in this turn's results, or in earlier ones, of the latest result that has it."""
        for text in self.past if past else reversed(self.results):
            if found := list(under(parsed(text), key)):
                return found
        return []


def turn_of(messages: Sequence[Message]) -> Turn:
    """Read the present turn off a request's messages."""
    at = next((i for i in range(len(messages) - 1, -1, -1) if _asks(messages[i], "person")), None)
    if at is None:
        at = next((i for i in range(len(messages) - 1, -1, -1) if _asks(messages[i])), -1)
    now, past = messages[at + 1 :], messages[: max(at, 0)]
    return Turn(
        question=messages[at].text if at >= 0 else "",
        calls=tuple(call for message in now for call in message.tool_calls),
        results=tuple(message.text for message in now if message.role == "tool"),
        latest=_latest(now),
        late=tuple(message.text for message in now if _asks(message)),
        earlier=tuple(message.text for message in reversed(past) if _asks(message)),
        past=tuple(message.text for message in reversed(past) if message.role == "tool"),
        before=next((call for message in reversed(past) for call in reversed(message.tool_calls)), None),
    )


def _latest(now: Sequence[Message]) -> tuple[tuple[str, str], ...]:
    """Results of the last batch, each with what tells it from the others: the values of its call's arguments."""
    batch = next((message.tool_calls for message in reversed(now) if message.tool_calls), ())
    ids = {call.id: ", ".join(str(value) for value in call.arguments.values()) for call in batch}
    found = [(ids[str(message.tool_call_id)], message.text) for message in now if message.role == "tool" and message.tool_call_id in ids]
    return tuple(found if len(found) > 1 else (("", text) for _, text in found))


def _asks(message: Message, author: str | None = None) -> bool:
    return message.role == "user" and (author is None or message.author == author)


def parsed(text: str) -> Any:
    """JSON data of a result; None when it is no JSON object or list."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return pydantic_core.from_json(text)
    except ValueError:
        return None


def under(data: Any, key: str) -> Iterator[Any]:
    """The values that stand under a key anywhere in JSON data."""
    if isinstance(data, dict):
        for name, value in data.items():
            if name == key:
                yield value
            yield from under(value, key)
    elif isinstance(data, list):
        for value in data:
            yield from under(value, key)
