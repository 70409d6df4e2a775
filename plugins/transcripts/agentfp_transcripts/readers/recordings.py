"""Reads agentfp's own recordings and journals: each conversation, and each nested run as a transcript of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentfp import AgentfpError, Record
from agentfp.plugin import Message, ToolSpec
from agentfp.transcripts import Transcript, TranscriptError
from agentfp_transcripts.content import clean_text


class RecordingReader:
    """The lines of a file that ``Record.save`` or a journal wrote; also the JSON of a history."""

    name = "agentfp"

    def recognises(self, data: Any) -> bool:
        """Whether the first line is the header of a segment, or opens a recording."""
        first = data[0] if isinstance(data, list) and data else None
        if not isinstance(first, Mapping):
            return False
        about = first.get("file")
        if isinstance(about, Mapping) and str(about.get("format", "")).startswith("agentfp.recording/"):
            return True
        return "agentfp" in first and isinstance(first.get("segment"), Mapping)

    def read(self, data: Any, *, id: str, source: str) -> Sequence[Transcript]:
        """The conversation, then those of nested runs.

        Raises:
            TranscriptError: the lines are no recording, of another version, or broken.
        """
        if not isinstance(data, list):
            raise TranscriptError(f"{source}: a recording is a file of JSON lines, got one {type(data).__name__}")
        try:
            record = Record.from_lines(data)
            return list(self._of(record, record.root_id or id, source))
        except AgentfpError as error:
            raise TranscriptError(f"{source}: {error}") from error

    def _of(self, record: Record, id: str, source: str) -> Iterator[Transcript]:
        problems = []
        if record.redacted:
            problems.append(f"this copy was redacted by {', '.join(record.redacted)}; what is masked cannot be compared")
        if record.torn_line is not None:
            problems.append(f"its last line ({record.torn_line}) is torn")
        messages = [_read(message, record) for message in record.history]
        tools: Sequence[ToolSpec] = ()
        prompt = ""
        calls = len(record.events("agentfp.context.served"))
        if calls and not record.redacted:
            try:
                request = record.served_at(calls)
                tools, prompt = request.tools, _prompt(record)
            except AgentfpError as error:
                problems.append(f"the system prompt cannot be rebuilt: {error}")
        if prompt:
            messages.insert(0, Message(id="system", role="system", content=clean_text(prompt), author="app"))
        bad = {
            e.call_id for e in record.events("agentfp.tool.ended") if getattr(e.payload, "outcome", "success") not in ("success", "absent")
        }
        below = {call_id: list(self._of(child, f"{id}/{call_id}", source)) for call_id, child in record.children.items()}
        yield Transcript(
            id=id,
            messages=tuple(messages),
            tools=tuple(tools),
            failed=frozenset(m.id for m in messages if m.role == "tool" and m.tool_call_id in bad),
            format=self.name,
            source=source,
            problems=tuple(problems),
            nested={call_id: transcripts[0] for call_id, transcripts in below.items()},
        )
        for transcripts in below.values():
            yield from transcripts


def _read(message: Message, record: Record) -> Message:
    """A message as judges take it; what a nested agent answered was written by a model, and says so."""
    nested = message.role == "tool" and message.tool_call_id in record.children
    return replace(message, content=clean_text(message.content), author="model" if nested else message.author)


def _prompt(record: Record) -> str:
    """The system text of the last request, without what it quotes: that was said by the model or a tool, not by the application."""
    served = [event.payload for event in record.events("agentfp.context.served")]
    pieces: Sequence[Any] = next((found for payload in reversed(served) if (found := getattr(payload, "pieces", None)) is not None), ())
    wanted = [piece.digest for piece in pieces if piece.slot == "system" and not piece.quoted]
    texts = {getattr(event.payload, "digest", ""): getattr(event.payload, "body", "") for event in record.events("agentfp.context.blob")}
    return "\n\n".join([texts[digest] for digest in wanted])
