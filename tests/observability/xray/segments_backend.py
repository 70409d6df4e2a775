"""What the tests of X-Ray share: agents that trace to a moto server, what is there, and a client that fails as it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from botocore.session import Session
from botocore.validate import validate_parameters

from agentfp import Agent, tool
from agentfp.testing import ScriptedModel
from agentfp_xray import XRay
from tests.observability.aws.moto_server import client

SHAPE: Any = Session().get_service_model("xray").operation_model("PutTraceSegments").input_shape


class Watched:
    """A client that notes what it is asked, checks it against botocore's model, and may do something before or instead of it.

    Args:
        url: of the server; None for no server.
        puts: is called before each put; what it raises is raised, and what it gives is the answer, unless that is None.
    """

    def __init__(self, url: str | None, puts: Callable[[], Any] = lambda: None) -> None:
        self.inner = None if url is None else client("xray", url)
        self.puts = puts
        self.calls: list[list[dict[str, Any]]] = []

    def put_trace_segments(self, **arguments: Any) -> Any:
        validate_parameters(arguments, SHAPE)
        self.calls.append([json.loads(document) for document in arguments["TraceSegmentDocuments"]])
        answer = self.puts()
        if answer is None:
            answer = {"UnprocessedTraceSegments": []} if self.inner is None else self.inner.put_trace_segments(**arguments)
        return answer

    @property
    def documents(self) -> list[dict[str, Any]]:
        """All that were sent."""
        return [document for call in self.calls for document in call]

    def named(self, name: str) -> list[dict[str, Any]]:
        """The documents of a name."""
        return [document for document in self.documents if document["name"] == name]

    def one(self, name: str) -> dict[str, Any]:
        """The one document of a name."""
        (found,) = self.named(name)
        return found


def stored(url: str, *trace_ids: str) -> list[dict[str, Any]]:
    """The documents that the server holds of traces."""
    traces = client("xray", url).batch_get_traces(TraceIds=list(trace_ids))["Traces"]
    return [json.loads(segment["Document"]) for trace in traces for segment in trace["Segments"]]


def tree(documents: list[dict[str, Any]]) -> list[Any]:
    """Documents as nested lists of names, by when they began."""
    ids = {document["id"] for document in documents}
    below: dict[str | None, list[dict[str, Any]]] = {}
    for document in sorted(documents, key=lambda d: (d["start_time"], -d.get("end_time", 0))):
        parent = document.get("parent_id")
        below.setdefault(parent if parent in ids else None, []).append(document)

    def made(document: dict[str, Any]) -> list[Any]:
        return [document["name"], *[made(child) for child in below.get(document["id"], [])]]

    return [made(root) for root in below.get(None, [])]


def check_whole(documents: list[dict[str, Any]]) -> None:
    """Every segment ended, after it began and within its parent, which is there and of the same trace."""
    by_id = {document["id"]: document for document in documents}
    assert len(by_id) == len(documents)
    for document in documents:
        assert document["start_time"] <= document["end_time"]
        if "parent_id" in document:
            parent = by_id[document["parent_id"]]
            assert document["type"] == "subsegment"
            assert parent["trace_id"] == document["trace_id"]
            assert parent["start_time"] <= document["start_time"]
            assert document["end_time"] <= parent["end_time"]


@tool
async def look(x: str) -> str:
    """Look at x."""
    return f"seen {x}"


def agent(traces: XRay, *script: Any, tools: Any = (look,), **more: Any) -> Agent[Any, Any]:
    return Agent(ScriptedModel(list(script)), tools=list(tools), plugins=[*more.pop("plugins", ()), traces], name="desk", **more)
