"""The evidence of a conversation, indexed once a message; facets hold it in the form that a profile looks it up in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar, cast

from agentfp.plugin import Message
from agentfp.transcripts import ValueSource
from agentfp_evidence.reading import Node, json_path
from agentfp_evidence.report import ToolNote
from agentfp_evidence.sources import Source, SourceReader, given_source
from agentfp_evidence.units import Unit

MAX_FORMS = 200_000
"""Distinct values that an index keeps; beyond them it is truncated and says so."""
MAX_CARRIERS = 16
"""Places kept of one value."""


MAX_SHOWN = 4
"""Places of one value that a report names."""


class Facet(Protocol):
    """One form of the evidence; made when first asked for, then told of each source once."""

    def add(self, source: Source) -> None:
        """Take in a source."""


F = TypeVar("F", bound=Facet)


class EvidenceIndex:
    """What a conversation serves and gives, ready to be looked up. Grows with the conversation; each message is read once.

    One index serves one conversation; it is not safe to add to it from two threads at once.

    Args:
        messages: messages to begin with.
        given: texts or JSON data that ground values besides the messages; a mapping names each.
        failed: ids of messages or calls whose tool reported a failure.
        nested: by call id, the only texts that the answer of a nested agent grounds: those that its own run grounds.
    """

    def __init__(
        self,
        messages: Iterable[Message | Mapping[str, Any]] = (),
        *,
        given: Sequence[Any] | Mapping[str, Any] = (),
        failed: Collection[str] = (),
        nested: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        self._reader = SourceReader()
        self._sources: list[Source] = []
        self._facets: dict[type[Facet], tuple[Facet, int]] = {}
        self._messages = 0
        self.answers: list[tuple[int, str]] = []
        """What the model wrote before, by index of its message: it grounds nothing, but a value may be worked out there."""
        self.failed: list[Source] = []
        """Results of failed calls: they ground nothing, and a report says when a value stands in one only."""
        self.unseen = False
        """Whether a message holds an image or a document, which may hold any value."""
        self.tools: list[ToolNote] = []
        self.calls = 0
        self.results = 0
        self.give(given)
        self.add(messages, failed=failed, nested=nested)

    def __len__(self) -> int:
        """Number of messages added."""
        return self._messages

    def give(self, given: Sequence[Any] | Mapping[str, Any] | str) -> None:
        """Add what grounds values besides the messages.

        Args:
            given: a text, a list of texts or JSON data, or a mapping of names to them.
        """
        if isinstance(given, str):
            given = [given]
        labelled = given.items() if isinstance(given, Mapping) else (("", data) for data in given)
        self._sources.extend(given_source(data, str(label)) for label, data in labelled)

    def add(
        self,
        messages: Iterable[Message | Mapping[str, Any]],
        *,
        failed: Collection[str] = (),
        nested: Mapping[str, Iterable[str]] | None = None,
        passed: Mapping[str, str] | None = None,
    ) -> None:
        """Add the messages that follow those already here; costs what is new.

        Args:
            messages: in order.
            failed: ids of messages or calls whose tool reported a failure.
            nested: by call id, the only texts that the answer of a nested agent grounds.
            passed: by call id, the JSON of the arguments that the tool got, where it is not what the model wrote.
        """
        for message in messages:
            source = self._reader.read(message, self._messages, failed=failed, nested=nested, passed=passed)
            self._messages += 1
            if source.standing is not None:
                self.calls += 1
                if source.standing == "served":
                    self.results += 1
                else:
                    self.tools.append(ToolNote(tool=source.tool, standing=source.standing, message=source.index, call_id=source.call_id))
            self.unseen = self.unseen or source.unseen
            if source.ground != "none":
                self._sources.append(source)
            elif source.standing == "failed":
                self.failed.append(source)
            elif source.standing is None and source.text and source.index is not None:
                self.answers.append((source.index, source.text))

    @property
    def sources(self) -> Sequence[Source]:
        """Everything that grounds values, in order."""
        return self._sources

    def facet(self, kind: type[F], make: Callable[[], F] | None = None) -> F:
        """A form of the evidence, brought up to date.

        Args:
            kind: its class.
            make: makes an empty one; the class itself unless given.
        """
        facet, seen = self._facets.get(kind, (None, 0))
        if facet is None:
            facet = (make or kind)()
        for source in self._sources[seen:] if seen < len(self._sources) else ():
            facet.add(source)
        self._facets[kind] = (facet, len(self._sources))
        return cast("F", facet)


class Posting:
    """One place where a value stands.

    Args:
        source: the message or what was given besides.
        node: the place in its JSON data.
        start: where the value begins in the text, for plain text.
        end: where it ends.
        unit: the unit that the number wears there.
        part: the value is a part of what stands there: the day of a timestamp, a segment of an identifier.
        echo: the model itself passed the text to the call, so the result only hands it back.
    """

    __slots__ = ("_item", "_place", "echo", "end", "node", "part", "source", "start", "unit")

    def __init__(
        self, source: Source, node: Node, start: int = 0, end: int = 0, unit: Unit | None = None, part: bool = False, echo: bool = False
    ) -> None:
        self.source = source
        self.node = node
        self.start = start
        self.end = end
        self.unit = unit
        self.part = part
        self.echo = echo
        self._place: ValueSource | None = None
        self._item: Node | Literal[False] = False

    @property
    def item(self) -> Node:
        """The place of the nearest item of a list that it stands in; None outside of lists and of JSON data."""
        if self._item is False:
            node = self.node if self.source.reading.data else None
            while node is not None and not isinstance(node[1], int):
                node = node[0]
            self._item = node
        return self._item

    def where(self) -> ValueSource:
        """The place as reports name it; written out once."""
        if self._place is None:
            self._place = self._written()
        return self._place

    def _written(self) -> ValueSource:
        if self.node is None and self.end:
            path = f"characters {self.start}-{self.end}"
        else:
            path = json_path(self.node) if self.source.reading.data or self.node is not None else ""
        if self.source.index is None and self.source.label:
            path = f"{self.source.label} {path}".strip()
        return ValueSource(self.source.index, path, self.source.call_id)


def places(postings: Iterable[Posting]) -> tuple[ValueSource, ...]:
    """The distinct places of some postings, results before what was given."""
    ordered = sorted(postings, key=lambda p: p.source.ground != "evidence")
    found: dict[ValueSource, None] = {}
    for posting in ordered:
        found[posting.where()] = None
        if len(found) == MAX_SHOWN:
            break
    return tuple(found)
