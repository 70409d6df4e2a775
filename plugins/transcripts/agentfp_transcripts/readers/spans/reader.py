"""Makes transcripts of spans: model calls that go on from one another are one conversation, whatever lies between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentfp.transcripts import Transcript, TranscriptError
from agentfp_transcripts.building import Builder
from agentfp_transcripts.content import as_text, mapping, result_text
from agentfp_transcripts.readers.spans.export import Span, is_export, numbered, spans_of
from agentfp_transcripts.readers.spans.saying import Said, said_in, whole_in

_AGENTS = frozenset({"invoke_agent", "create_agent", "agent", "chain", "workflow", "invoke_workflow"})
_TOOLS = frozenset({"execute_tool", "tool"})
_RESULTS = ("gen_ai.tool.call.result", "tool_response", "output.value", "traceloop.entity.output")
_CALL_IDS = ("gen_ai.tool.call.id", "tool_call.id", "tool.call.id", "tool.id")
_NO_TEXTS = "the export holds no texts: its instrumentation was told to leave content out"
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name", "tool_call.function.name", "traceloop.entity.name")


@dataclass(slots=True)
class _Talk:
    """One conversation, as far as the spans that were taken tell it."""

    trace: str
    agent: str
    id: str
    said: list[Said] = field(default_factory=list)
    mark: int = 0
    prompts: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    tools: list[Any] = field(default_factory=list)
    root: str = ""


class SpansReader:
    """Exports of traces. The lines of a file, and several files' worth of chunks in it, are read together."""

    name = "spans"

    def recognises(self, data: Any) -> bool:
        """Whether the first of a list is a span or a chunk of an export; a lone object is no list, and is handed over in one."""
        return isinstance(data, list) and bool(data) and is_export(data[0])

    def read(self, data: Any, *, id: str, source: str) -> Sequence[Transcript]:
        """One transcript for each conversation.

        Raises:
            TranscriptError: no span tells of a conversation.
        """
        spans = spans_of(data if isinstance(data, list) else [data])
        found = list(_Reading(spans, id, source).transcripts())
        if not found:
            raise TranscriptError(f"{source}: none of the {len(spans)} spans tells what was said; {_NO_TEXTS}, or no model was called")
        return found


class _Reading:
    def __init__(self, spans: Sequence[Span], id: str, source: str) -> None:
        self._spans = spans
        self._id = id
        self._source = source
        self._by_id = {(span.trace, span.id): span for span in spans}
        self._talks: list[_Talk] = []
        self._ends: dict[int, _Talk] = {}
        self._inside: set[int] = set()
        self._retrieved: dict[str, list[Span]] = {}

    def transcripts(self) -> Iterator[Transcript]:
        said = {id(span): said_in(span) for span in self._spans if span.kind not in _TOOLS}
        told = [span for span in self._spans if span.kind not in _AGENTS and any(said.get(id(span), ((), ())))]
        above = {id(ancestor) for span in told for ancestor in self._above(span)}
        for span in self._spans:
            if span.kind == "retriever":
                self._retrieved.setdefault(span.trace, []).append(span)
            elif span.kind in _TOOLS:
                continue
            elif span.kind not in _AGENTS:
                self._take(span, *said[id(span)])
            elif id(span) not in above:
                whole = whole_in(span)
                self._take(span, *((whole, []) if whole else said[id(span)]))
        tools = [span for span in self._spans if span.kind in _TOOLS]
        spoken = {talk.trace for talk in self._talks}
        for span in self._spans:  # agents whose model calls were not traced, or without their texts
            if span.kind in _AGENTS and span.trace not in spoken and span.text("output.value", "traceloop.entity.output"):
                spoken.add(span.trace)
                self._talks.append(self._retold(span, tools))
        yield from self._built(tools)

    def _above(self, span: Span) -> Iterator[Span]:
        """The spans that a span is under."""
        seen = {span.id}
        while span.parent and span.parent not in seen:
            seen.add(span.parent)
            above = self._by_id.get((span.trace, span.parent))
            if above is None:
                return
            yield above
            span = above

    def _agent(self, span: Span) -> Span | None:
        """The agent's span that a span is, or is under."""
        return next((one for one in (span, *self._above(span)) if one.kind in ("agent", "invoke_agent")), None)

    # --- conversations -------------------------------------------------------------------------------------------------

    def _take(self, span: Span, given: list[Said], made: list[Said]) -> None:
        if not given and not made:
            return
        both = [s for s in (*given, *made) if s.role != "system"]
        named = span.text("gen_ai.conversation.id", "session.id", "thread.id")
        begin = hash(named or span.trace)
        marks = list(_chain(both, begin))
        if marks and marks[-1] in self._inside:
            return  # told already, by a span around it or a second instrumentation
        agent = self._agent(span)
        agent_name = span.text("gen_ai.agent.name") or (agent.text("gen_ai.agent.name", "agent.name") or agent.name if agent else "")
        talk, known = self._before(marks, both, given, named, agent_name)
        if talk is None:
            talk, known = _Talk(span.trace, agent_name, named, mark=begin, root=agent.id if agent else span.id), 0
            self._talks.append(talk)
        for prompt in (s for s in given if s.role == "system" and s.text not in talk.prompts):
            talk.prompts.add(prompt.text)
            talk.said.append(prompt)
        before = len(both) - len(made)
        for number, one in enumerate(both[known:], known):
            if number >= before:
                talk.said.extend(self._found(span))
            talk.said.append(one)
            talk.mark = hash((talk.mark, one.mark))
            self._inside.add(talk.mark)
            talk.calls.update(c.id for c in one.calls if c.id)
        talk.tools = talk.tools or _offered(span)
        self._ends[talk.mark] = talk

    def _before(self, marks: list[int], both: list[Said], given: list[Said], named: str, agent: str) -> tuple[_Talk | None, int]:
        """The conversation that a model call goes on from, and how much of it the call tells anew."""
        for size in range(len(marks), 0, -1):
            talk = self._ends.get(marks[size - 1])
            if talk is not None and talk.mark == marks[size - 1]:
                return talk, size
        if both and both[0].role == "tool" and both[0].call_id:  # the vendor keeps what was before
            return next((t for t in reversed(self._talks) if both[0].call_id in t.calls), None), 0
        if named and both and not any(s.role in ("assistant", "tool") for s in given):
            return next((t for t in reversed(self._talks) if t.id == named and t.agent == agent), None), 0
        return None, 0

    def _found(self, span: Span) -> Iterator[Said]:
        """What was retrieved before a model call and not told yet."""
        waiting = self._retrieved.get(span.trace, [])
        while waiting and waiting[0].start <= span.start:
            yield _documents(waiting.pop(0))

    def _retold(self, span: Span, tools: Iterable[Span]) -> _Talk:
        """A conversation by what went into an agent and came out of it, with its tools' results in between."""
        talk = _Talk(span.trace, span.name, span.text("session.id"), root=span.id)
        if asked := span.text("input.value", "traceloop.entity.input"):
            talk.said.append(Said("user", asked))
        for tool in tools:
            if tool.trace == span.trace:
                talk.said.append(Said("tool", tool.text(*_RESULTS), (), None, tool.text(*_TOOL_NAMES) or tool.name, tool.failed))
        talk.said.extend(_documents(found) for found in self._retrieved.get(span.trace, ()))
        talk.said.append(Said("assistant", span.text("output.value", "traceloop.entity.output")))
        return talk

    # --- transcripts -----------------------------------------------------------------------------------------------------

    def _built(self, tools: Sequence[Span]) -> Iterator[Transcript]:
        results = {(tool.trace, own): tool for tool in tools if (own := tool.text(*_CALL_IDS))}
        alike = Counter(talk.id or talk.trace for talk in self._talks)
        for talk in self._talks:
            base = talk.id or talk.trace
            own = base or self._id if alike[base] == 1 else f"{base or self._id}/{talk.agent or talk.root}"
            building = Builder(own, format=SpansReader.name, source=self._source)
            building.offer(talk.tools)
            if not any(s.text for s in talk.said if s.role != "system"):
                building.problems.append(_NO_TEXTS)
            answered = {s.call_id for s in talk.said if s.role == "tool" and s.call_id}
            for one in talk.said:
                span = results.get((talk.trace, one.call_id or ""))
                failed = one.failed or (span is not None and span.failed)
                building.add(one.role, one.text, calls=one.calls, call_id=one.call_id, tool=one.tool, failed=failed)
                for wanted in one.calls:
                    span = results.get((talk.trace, wanted.id))
                    text = "" if span is None else _result(span)
                    if span is not None and wanted.id not in answered and text:
                        building.add("tool", text, call_id=wanted.id, tool=wanted.name, failed=span.failed)
            yield building.build()


def _chain(said: Iterable[Said], mark: int) -> Iterator[int]:
    """For each message a mark of it and all before it."""
    for one in said:
        mark = hash((mark, one.mark))
        yield mark


def _result(span: Span) -> str:
    """What a tool's span says that the tool gave."""
    for name, attributes in span.events:
        if name == "gen_ai.tool.message" and attributes.get("content"):
            return as_text(attributes["content"])
    return span.text(*_RESULTS) or result_text(next((v for p in _RESULTS if (v := span.get(p)) is not None), None))


def _documents(span: Span) -> Said:
    found = [mapping(mapping(d).get("document")) or mapping(d) for d in numbered(span.get("retrieval.documents"))]
    text = "\n\n".join(as_text(d.get("content")) for d in found) if found else span.text("output.value")
    return Said("tool", text, (), None, span.name or "retriever", span.failed)


def _offered(span: Span) -> list[Any]:
    """The tools that the model was offered."""
    listed = numbered(span.get("gen_ai.tool.definitions"))
    for item in numbered(span.get("llm.tools")):
        schema = mapping(mapping(item).get("tool")).get("json_schema")
        listed.extend(numbered(f"[{schema}]") if isinstance(schema, str) else [schema])
    return listed
