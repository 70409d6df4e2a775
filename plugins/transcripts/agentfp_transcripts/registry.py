"""The readers: those of this distribution, those that others bring, and which of them fits some data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentfp.transcripts import TranscriptReader, installed_readers
from agentfp_transcripts.readers.anthropic import AnthropicReader
from agentfp_transcripts.readers.atif import AtifReader
from agentfp_transcripts.readers.langchain import LangChainReader
from agentfp_transcripts.readers.openai_chat import OpenAIChatReader
from agentfp_transcripts.readers.openai_responses import OpenAIResponsesReader
from agentfp_transcripts.readers.pydantic_ai import PydanticAIReader
from agentfp_transcripts.readers.recordings import RecordingReader
from agentfp_transcripts.readers.spans import SpansReader
from agentfp_transcripts.readers.vercel import VercelReader

READERS: tuple[TranscriptReader, ...] = (
    RecordingReader(),
    AtifReader(),
    PydanticAIReader(),
    SpansReader(),
    LangChainReader(),
    OpenAIResponsesReader(),
    AnthropicReader(),
    VercelReader(),
    OpenAIChatReader(),
)
"""This distribution's own, in the order in which they are asked: the surest signs first."""


class Readers:
    """Readers that are asked in turn.

    Args:
        readers: by name, in order.
        only: the one that reads everything, unasked.
    """

    def __init__(self, readers: Mapping[str, TranscriptReader] | None = None, *, only: TranscriptReader | None = None) -> None:
        self.readers = dict(readers) if readers is not None else {reader.name: reader for reader in READERS}
        self.only = only

    @classmethod
    def installed(cls) -> tuple[Readers, tuple[str, ...]]:
        """All that are there: other distributions' first, so that they can do better than ours.

        Returns:
            the readers, and sentences on those that cannot be used.
        """
        others, problems = installed_readers()
        return cls({**others, **{r.name: r for r in READERS if r.name not in others}}), problems

    def find(self, data: Any) -> TranscriptReader | None:
        """The reader of some data; None if none knows it. A reader that raises while it is asked does not know it."""
        for reader in (self.only,) if self.only is not None else self.readers.values():
            try:
                if reader.recognises(data):
                    return reader
            except Exception:  # a reader of another distribution must not hide the others
                continue
        return None
