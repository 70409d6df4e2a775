"""What readers of transcripts give and judges of transcripts take: the shapes that both share, so that neither imports the other.

A reader (entry points ``agentfp.transcripts``) makes a :class:`Transcript` of a file of any framework. A judge (entry points
``agentfp.judges``) says of each answer in it what it can. ``agentfp check`` brings the two together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from agentfp_core.messages import Message
from agentfp_core.model import ToolSpec

ValueVerdict: TypeAlias = Literal["supported", "unverifiable", "unsupported"]
Severity: TypeAlias = Literal["strong", "weak"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A conversation that some agent had, as a file holds it.

    Args:
        id: its name: the one in the file, or one made of the file's name and place.
        messages: in order, system messages included; ids are unique in the transcript.
        tools: tools that the model was offered, where the file says so.
        failed: ids of the messages of tools that reported a failure.
        format: name of the reader.
        source: the file, and the line or item in it.
        problems: what of it could not be read, in sentences.
        nested: by the call that a nested agent answered, its own conversation, where the file holds it. Its answer grounds only
            what its own tools do; a further one of the same call stands under ``CALL#2`` and so on.
    """

    id: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    failed: frozenset[str] = frozenset()
    format: str = ""
    source: str = ""
    problems: tuple[str, ...] = ()
    nested: Mapping[str, Transcript] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ValueSource:
    """Where a value stands.

    Args:
        message: index of the message in the transcript; None for what was given besides.
        path: JSON path in its content (``$.rows[2].price``), ``characters A-B`` in text, or empty.
        call_id: the tool call that brought it.
    """

    message: int | None
    path: str = ""
    call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedValue:
    """What a judge says of one value of an answer.

    Args:
        text: the value as the answer has it.
        kind: what it is, for example ``number``, ``date``, ``name``.
        start: where it begins in the answer, in characters; with ``end``, ``answer[start:end] == text``.
        end: where it ends.
        verdict: supported, unverifiable or unsupported.
        severity: of an unsupported value.
        how: how it is supported, or why it is unverifiable or unsupported, in one word.
        derivation: what it was derived from, written out.
        sources: where it comes from.
        path: the field it stands in, for answers that are data.
        near: of an unsupported value, one of the evidence that it nearly is.
    """

    text: str
    kind: str
    start: int
    end: int
    verdict: ValueVerdict
    severity: Severity | None = None
    how: str = ""
    derivation: str = ""
    sources: tuple[ValueSource, ...] = ()
    path: str = ""
    near: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a judge says of one answer of a transcript.

    Args:
        answer: index of the answer's message.
        standing: the whole in one word, such as ``supported`` or ``unsupported``.
        values: the values it found, in the order of the text.
        notes: what it noticed besides, in sentences.
        not_checked: what it did not look at, in sentences.
        data: further facts as JSON data, by the judge's own names.
    """

    answer: int
    standing: str
    values: tuple[JudgedValue, ...] = ()
    notes: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()
    data: Mapping[str, Any] | None = None

    @property
    def unsupported(self) -> tuple[str, ...]:
        """Texts of the unsupported values."""
        return tuple(value.text for value in self.values if value.verdict == "unsupported")


@runtime_checkable
class TranscriptJudge(Protocol):
    """Judges answers with no model. An entry point of ``agentfp.judges`` is a callable ``(**settings) -> TranscriptJudge``."""

    @property
    def name(self) -> str:
        """Name of the judge, as ``--plugin`` takes it."""

    def judge(self, transcript: Transcript, answers: Sequence[int]) -> Sequence[Judgement]:
        """Judge some answers of a transcript, each by what stands before it.

        Args:
            transcript: the transcript.
            answers: indices of the answers' messages, rising, so that what one learned of a message serves the next.

        Returns:
            one judgement for each answer, in order.
        """


@runtime_checkable
class TranscriptReader(Protocol):
    """Reads one format. An entry point of ``agentfp.transcripts`` is a reader, or a callable without arguments that makes one."""

    @property
    def name(self) -> str:
        """Name of the format, as ``--format-in`` takes it."""

    def recognises(self, data: Any) -> bool:
        """Whether JSON data is of this format; cheap, and False for anything odd.

        Args:
            data: one parsed JSON value. Of a file of JSON lines each line is asked about by itself; where a reader says no to the
                first line and yes to a list with nothing but that line in it, lines are parts of transcripts (messages, events,
                spans), and the reader is handed the list of all of them.
        """

    def read(self, data: Any, *, id: str, source: str) -> Sequence[Transcript]:
        """The transcripts in JSON data: usually one.

        Args:
            data: one parsed JSON value.
            id: what to call a transcript that has no name of its own.
            source: where the data stands.

        Raises:
            TranscriptError: it is of the format and damaged; says what and where.
        """
