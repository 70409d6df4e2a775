"""One span while it is open: begun as late as can be, with all that is known of it by then, at the time when it really began."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)

from agentfp_otel.profiles import Profiles
from agentfp_otel.texts import all_sendable, sendable

ERROR = Status(StatusCode.ERROR)
"""Without words, which could be anybody's: the class of the error stands in an attribute."""


class Maker:
    """Asks the tracer for the spans of one run. A span that it cannot make, or not end, costs no other span, and is told.

    Args:
        tracer: makes them.
        profiles: add their attributes.

    Attributes:
        failure: why the newest one failed, until somebody took it.
    """

    __slots__ = ("failure", "profiles", "tracer")

    def __init__(self, tracer: Tracer, profiles: Profiles) -> None:
        self.tracer = tracer
        self.profiles = profiles
        self.failure: Exception | None = None


class OpenSpan:
    """A span that has not ended.

    The tracer is asked for it when a child needs its context, or at its end. A span that costs one call of the tracer in place of several
    is cheap, and a sampler sees all of its attributes.

    Args:
        maker: makes it.
        parent: the span it hangs from, or a context.
        kind: of span, as in the profiles.
        name: its name.
        start_ns: when it began.
        attributes: what is known of it.
        client: whether it is a call to somebody else.
        links: other spans it has to do with.
    """

    __slots__ = (
        "_begun",
        "_context",
        "_links",
        "_maker",
        "_notes",
        "_parent",
        "attributes",
        "client",
        "kind",
        "name",
        "start_ns",
    )

    def __init__(
        self,
        maker: Maker,
        parent: OpenSpan | Context,
        kind: str,
        name: str,
        start_ns: int,
        attributes: dict[str, Any],
        *,
        client: bool = False,
        links: Sequence[Link] = (),
    ) -> None:
        self._maker = maker
        self._parent = parent
        self.kind = kind
        self.name = name
        self.start_ns = start_ns
        self.attributes = attributes
        self.client = client
        self._links = links
        self._notes: list[tuple[str, int, dict[str, Any]]] | None = None
        self._begun: Span | None = None
        self._context: Context | None = None

    def note(self, name: str, ts_ns: int, attributes: dict[str, Any]) -> None:
        """Add a span event."""
        if self._notes is None:
            self._notes = []
        self._notes.append((name, ts_ns, attributes))

    @property
    def span(self) -> Span:
        """The tracer's span; one that says nothing, in the place of the parent, where the tracer makes none."""
        begun = self._begun
        if begun is None:
            maker, parent = self._maker, self._parent
            above = parent.context if isinstance(parent, OpenSpan) else parent
            try:
                begun = maker.tracer.start_span(
                    sendable(self.name),
                    above,
                    SpanKind.CLIENT if self.client else SpanKind.INTERNAL,
                    all_sendable(maker.profiles.add(self.kind, self.attributes)),
                    self._links,
                    self.start_ns,
                )
            except Exception as error:  # a sampler or a processor: what hangs from this span hangs from the one above then
                maker.failure = error
                begun = NonRecordingSpan(get_current_span(above).get_span_context())
            self._begun = begun
            self.attributes = {}
        return begun

    @property
    def context(self) -> Context:
        """A context in which it is the parent."""
        if self._context is None:
            parent = self._parent
            self._context = set_span_in_context(self.span, parent.context if isinstance(parent, OpenSpan) else parent)
        return self._context

    def end(self, end_ns: int, error: str | None = None) -> None:
        """End it.

        Args:
            end_ns: when.
            error: the class of the error it ended with.
        """
        if error is not None:
            self.attributes["error.type"] = error
        span = self.span
        try:
            self._end(span, end_ns, failed=error is not None)
        except Exception as raised:  # of a processor, say
            self._maker.failure = raised

    def _end(self, span: Span, end_ns: int, *, failed: bool) -> None:
        if self.attributes:
            span.set_attributes(all_sendable(self._maker.profiles.add(self.kind, self.attributes)))
        for name, ts_ns, attributes in self._notes or ():
            span.add_event(name, all_sendable(attributes), ts_ns)
        if failed:
            span.set_status(ERROR)
        span.end(max(end_ns, self.start_ns))
