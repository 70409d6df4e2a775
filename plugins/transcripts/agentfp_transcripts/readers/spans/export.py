"""Spans of any export, brought to one shape: attributes as a tree, events, status, who is whose child."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentfp_transcripts.content import as_text, items, mapping, parsed

_CHUNKS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "scopeSpans", "scope_spans")
_LISTS = ("spans", "data", "traces")


@dataclass(slots=True)
class Span:
    """One span.

    Args:
        trace: id of its trace.
        id: its own.
        parent: id of the span that it is under.
        name: its name.
        start: when it began; comparable within an export.
        attributes: as a tree by the dots of their names.
        events: name and attributes of each.
        failed: whether its status is an error.
    """

    trace: str
    id: str
    parent: str
    name: str
    start: tuple[int, str]
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    failed: bool = False

    def get(self, path: str) -> Any:
        """The attribute of a name, or the tree under it; None if there is none."""
        return look_up(self.attributes, path)

    def text(self, *paths: str) -> str:
        """The first of some attributes that holds a text or a number, as text."""
        for path in paths:
            value = self.get(path)
            if isinstance(value, Mapping):
                value = value.get("")
            if isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != "":
                return str(value)
        return ""

    @property
    def kind(self) -> str:
        """What the span says that it is, in lower case: an operation of OpenTelemetry, or a kind of OpenInference."""
        return self.text("gen_ai.operation.name", "openinference.span.kind", "span_kind", "traceloop.span.kind").lower()


def look_up(tree: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path of a tree."""
    value: Any = tree
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def numbered(value: Any) -> list[Any]:
    """A list, also one that was flattened to numbered attributes."""
    value = parsed(value)
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        return [value[key] for key in sorted((k for k in value if k.isdecimal()), key=int)]
    return []


def tree_of(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as a tree; those in lists too. Where a name is both a value and a branch, the value stands under ""."""
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        *branches, leaf = str(key).split(".")
        node = tree
        for branch in branches:
            below = node.get(branch)
            if not isinstance(below, dict):
                below = {} if below is None else {"": below}
                node[branch] = below
            node = below
        value = _value(value)
        below = node.get(leaf)
        if isinstance(below, dict) and isinstance(value, dict):
            below.update(value)
        elif isinstance(below, dict):
            below[""] = value
        else:
            node[leaf] = value
    return tree


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tree_of(value)
    if isinstance(value, list):
        return [_value(item) for item in value]
    return value


# --- finding spans in an export ------------------------------------------------------------------------------------------


def is_export(data: Any) -> bool:
    """Whether an object is a chunk of an export, or a span."""
    if not isinstance(data, Mapping):
        return False
    if any(isinstance(data.get(key), list) for key in _CHUNKS):
        return True
    return _is_span(data) or any(items(data.get(key)) and _is_span(items(data[key])[0]) for key in _LISTS)


def _is_span(data: Any) -> bool:
    if not isinstance(data, Mapping):
        return False
    ids = any(key in data for key in ("span_id", "spanId", "context.span_id")) or "span_id" in mapping(data.get("context"))
    return ids and ("attributes" in data or "name" in data or any(str(key).startswith("attributes.") for key in data))


def spans_of(chunks: Iterable[Any]) -> list[Span]:
    """All spans of an export, by the time at which they began; log events lie with their spans."""
    spans: dict[tuple[str, str], Span] = {}
    logged: list[Span] = []
    for chunk in chunks:
        for found in _walk(chunk):
            if found.name == "" and found.events:
                logged.append(found)
            else:
                spans.setdefault((found.trace, found.id), found)
    for log in logged:
        spans.setdefault((log.trace, log.id), Span(log.trace, log.id, "", "", log.start, {})).events.extend(log.events)
    return sorted(spans.values(), key=lambda span: span.start)


def _walk(data: Any) -> Iterator[Span]:
    if isinstance(data, list):
        for item in data:
            yield from _walk(item)
    elif isinstance(data, Mapping):
        if _is_span(data):
            yield _span(data)
            return
        for key in (*_CHUNKS, *_LISTS):
            yield from _walk(data.get(key) if isinstance(data.get(key), list) else None)
        for key in ("scopeLogs", "scope_logs"):
            for scope in items(data.get(key)):
                yield from map(_log, items(mapping(scope).get("logRecords", mapping(scope).get("log_records"))))


def _span(data: Mapping[str, Any]) -> Span:
    context = mapping(data.get("context"))
    flat = _attributes(data.get("attributes"))
    for key, value in data.items():  # a row of a table, as Phoenix gives it
        if isinstance(key, str) and key.startswith("attributes.") and value is not None:
            flat[key.removeprefix("attributes.")] = value
    if "span_kind" in data and "openinference.span.kind" not in flat:
        flat.setdefault("span_kind", data["span_kind"])
    status = data.get("status", data.get("status_code", data.get("statusCode")))
    code = mapping(status).get("code", mapping(status).get("status_code")) if isinstance(status, Mapping) else status
    return Span(
        trace=_id(data, context, "trace_id", "traceId"),
        id=_id(data, context, "span_id", "spanId"),
        parent=_id(data, mapping(data.get("parent")), "parent_id", "parentSpanId", "parent_span_id", "span_id_of_parent"),
        name=as_text(data.get("name")),
        start=_time(next((data[k] for k in ("startTimeUnixNano", "start_time", "startTime", "start_time_unix_nano") if k in data), 0)),
        attributes=tree_of(flat),
        events=[
            (as_text(mapping(e).get("name")), tree_of(_attributes(mapping(e).get("attributes")))) for e in items(parsed(data.get("events")))
        ],
        failed=str(code).upper() in ("2", "ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR"),
    )


def _log(data: Any) -> Span:
    record = mapping(data)
    body = _any_value(record["body"]) if isinstance(record.get("body"), Mapping) else record.get("body")
    flat = _attributes(record.get("attributes"))
    name = as_text(record.get("eventName", record.get("event_name", flat.get("event.name"))))
    if isinstance(body, Mapping):
        flat = {**flat, **body}
    span = Span(as_text(record.get("traceId", record.get("trace_id"))), as_text(record.get("spanId", record.get("span_id"))), "", "",
                _time(record.get("timeUnixNano", record.get("timestamp", 0))), {})  # fmt: skip
    span.events.append((name, tree_of(flat)))
    return span


def _id(data: Mapping[str, Any], context: Mapping[str, Any], *keys: str) -> str:
    for key in keys:
        value = data.get(key, context.get(key, data.get(f"context.{key}")))
        if value:
            return as_text(value).removeprefix("0x")
    return ""


def _time(value: Any) -> tuple[int, str]:
    """A time that sorts: nanoseconds as numbers, texts by their letters."""
    if isinstance(value, str) and value.isdecimal():
        return int(value), ""
    if isinstance(value, (int, float)) and value == value and abs(value) != float("inf"):
        return int(value), ""
    return 0, as_text(value)


def _attributes(data: Any) -> dict[str, Any]:
    """Attributes by name, from an object or from OTLP's list of keys and values."""
    data = parsed(data)
    if isinstance(data, Mapping):
        return dict(data)
    return {as_text(mapping(one).get("key")): _any_value(mapping(one).get("value")) for one in items(data)}


def _any_value(value: Any) -> Any:
    """A value as OTLP wraps it."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind in ("arrayValue", "array_value"):
        return [_any_value(item) for item in items(mapping(inner).get("values"))]
    if kind in ("kvlistValue", "kvlist_value"):
        return _attributes(mapping(inner).get("values"))
    if kind in ("intValue", "int_value") and isinstance(inner, str) and inner.lstrip("-").isdecimal():
        return int(inner)
    return inner if kind.endswith(("Value", "_value")) else value
