"""Tells a transcript in few words, for tests that compare what readers of different formats make of one conversation."""

from __future__ import annotations

import json
from typing import Any

from agentfp.transcripts import Transcript
from agentfp_transcripts import Problem, Readers, read_data

ASKED = "What does a night in Oslo cost?"
RESULT = {"city": "Oslo", "price": 1234}
ANSWER = "A night in Oslo costs 1234."
CONVERSATION = [
    ("system", "Be brief."),
    ("user", ASKED),
    ("assistant", "", "price", {"city": "Oslo"}),
    ("tool", "price", RESULT),
    ("assistant", ANSWER),
]
"""What each format's own library is made to write down."""


def told(transcript: Transcript) -> list[tuple[Any, ...]]:
    """Role, then text and calls; of a result the tool, and its data or text."""
    made: list[tuple[Any, ...]] = []
    for message in transcript.messages:
        if message.role == "tool":
            try:
                content = json.loads(message.content)
            except ValueError:
                content = message.content
            made.append(("tool", message.tool_name, content))
        else:
            calls = [part for call in message.tool_calls for part in (call.name, call.arguments)]
            made.append((message.role, message.content, *calls))
    return made


def failed(transcript: Transcript) -> list[str]:
    """Contents of the results that report a failure."""
    return [m.content for m in transcript.messages if m.id in transcript.failed]


def read_all(data: Any) -> list[Transcript]:
    """The transcripts in data; a problem fails the test."""
    found = read_data(data, id="made", readers=Readers())
    problems = [str(one) for one in found if isinstance(one, Problem)]
    assert not problems, problems
    return [one for one in found if isinstance(one, Transcript)]


def read_one(data: Any, format: str) -> Transcript:
    """The one transcript in data, which a reader of a name recognised by itself."""
    (transcript,) = read_all(data)
    assert transcript.format == format
    ids = [m.id for m in transcript.messages]
    assert len(ids) == len(set(ids))
    return transcript
