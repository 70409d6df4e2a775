"""Whatever a run does and wherever it is broken off: its spans are a whole tree, and say of each call what the record says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from agentfp import Record
from agentfp.events import Event, Served
from tests.core.random_plugins import Meddling, meddlings
from tests.core.random_runs import Step, scene_of, scripts
from tests.core.run_laws import outcomes_of
from tests.core.test_properties_runs import to_the_end
from tests.observability.otel.tracing import Backend, attributes, check_whole, trace_id

backends = st.sampled_from(["asyncio", "trio"])
plugins = st.lists(meddlings, max_size=2)


class Counting(SpanProcessor):
    """Counts spans that began and that ended."""

    def __init__(self) -> None:
        self.begun = self.ended = 0

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        self.begun += 1

    def on_end(self, span: ReadableSpan) -> None:
        self.ended += 1


def watched(**more: Any) -> tuple[Backend, Counting]:
    backend, counting = Backend(metrics=False, **more), Counting()
    backend.tracing.add_span_processor(counting)
    return backend, counting


def check(backend: Backend, counting: Counting, record: Record) -> None:
    assert counting.begun == counting.ended == len(backend.spans)
    check_whole(backend.spans)
    roots = [span for span in backend.spans if span.parent is None]
    assert Counter(attributes(root)["agentfp.run.id"] for root in roots) == Counter(header.run_id for header in record.headers)
    assert len({trace_id(root) for root in roots}) == len(roots)
    assert len(backend.named("chat")) == len(record.of(Served))
    told = [attributes(span) for span in backend.named("execute_tool")]
    statuses = {span["gen_ai.tool.call.id"]: span["agentfp.tool.status"] for span in told if "agentfp.tool.status" in span}
    assert statuses == {call_id: ended.outcome for call_id, ended in outcomes_of(record).items()}
    assert len(statuses) == sum("agentfp.tool.status" in span for span in told)


@settings(max_examples=25)
@given(script=scripts, meddled=plugins, rejecting=st.booleans(), iterations=st.booleans(), backend=backends)
def test_the_spans_of_any_run(script: list[list[Step]], meddled: list[Meddling], rejecting: bool, iterations: bool, backend: str) -> None:
    traced, counting = watched(iteration_spans=iterations)
    scene = scene_of(script, meddled, sinks=[traced.otel])
    record, _ = anyio.run(lambda: to_the_end(scene, rejecting=rejecting), backend=backend)
    check(traced, counting, record)
    again, recounting = watched(iteration_spans=iterations)
    again.otel.replay(record)
    check(again, recounting, record)


@settings(max_examples=25)
@given(script=scripts, meddled=plugins, at=st.integers(1, 80), backend=backends)
def test_the_spans_of_a_run_that_is_cancelled_anywhere(script: list[list[Step]], meddled: list[Meddling], at: int, backend: str) -> None:
    traced, counting = watched()
    scene = scene_of(script, meddled, sinks=[traced.otel])
    heard: list[Event] = []

    async def go() -> Record:
        with anyio.CancelScope() as scope:

            def hear(event: Event) -> None:
                heard.append(event)
                if len(heard) == at:
                    scope.cancel()

            record, _ = await to_the_end(scene, on_event=hear)
            return record
        return scene.watcher.record

    check(traced, counting, anyio.run(go, backend=backend))
