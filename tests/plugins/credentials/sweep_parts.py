"""Who takes part in the sentinel sweep: every distribution of this checkout, with what it writes and where the sweep looks for it.

A new distribution is switched on by itself, with whatever content it can be made to write, in the sweep's folder. It still needs a line
here, so that somebody has thought of where it writes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio

from agentfp.plugin import Plugin
from agentfp_agentcore import AgentCore
from agentfp_artifacts import Artifacts
from agentfp_audit import Audit
from agentfp_cloudwatch import CloudWatch
from agentfp_permissions import Permissions
from agentfp_xray import XRay
from scripts.workshop import distributions, pyproject

OWN = "agentfp-credentials"
IN_FOLDER = "the sweep reads every file below its folder, which is the working directory too"
AWS = "the sweep reads what a client in the place of boto3's gets"
ON_RECORD = "events, on the record"
MODEL = "requests to its service: the sweep reads those of its scripted model, which are the same; its own errors are tested with it"


class Aws:
    """In the place of a client of boto3: keeps what it is asked."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._sinks: list[Any] = []

    def put_log_events(self, **arguments: Any) -> dict[str, Any]:
        self._texts.append(json.dumps(arguments, ensure_ascii=False) + repr(arguments))
        return {}

    def put_trace_segments(self, **arguments: Any) -> dict[str, Any]:
        return self.put_log_events(**arguments)

    def of(self, sink: Any) -> Plugin:
        """Note who sends here."""
        self._sinks.append(sink)
        made: Plugin = sink
        return made

    def text(self) -> str:
        """All of it, once everybody has sent what waits."""
        for sink in self._sinks:
            assert anyio.run(sink.flush)
        assert self._texts, "nothing was sent, so that nothing was looked at"
        return "\n".join(self._texts)


LOGS, SEGMENTS = Aws(), Aws()


@dataclass(frozen=True)
class Part:
    """How a distribution takes part.

    Args:
        writes: what it writes, and where.
        plugin: makes its plugin, where the one that is made by itself does not do.
        collect: gives what it wrote that is in no file below the sweep's folder.
    """

    writes: str
    plugin: Callable[[Path], Plugin] | None = None
    collect: Callable[[], str] | None = None


PARTS: dict[str, Part] = {
    "agentfp": Part(f"journals, records, checkpoints, pauses and logs; {IN_FOLDER}"),
    OWN: Part(ON_RECORD),
    "agentfp-agentcore": Part(
        f"log events and spans; {AWS}, and the spans",
        lambda folder: LOGS.of(
            AgentCore(log_group="sweep", client=LOGS, content=True, strict=False, tracer_provider=SPANS.provider("tracer_provider"))
        ),
        lambda: LOGS.text(),
    ),
    "agentfp-artifacts": Part(
        f"artifacts; {IN_FOLDER}", lambda folder: Artifacts(store="file", path=str(folder / "store"), max_inline_chars=100)
    ),
    "agentfp-permissions": Part(ON_RECORD, lambda folder: Permissions(roles={"all": ["*"]}, active_role="all")),
    "agentfp-adapters": Part("records of other frameworks' runs, with no credentials of ours in them"),
    "agentfp-answer": Part(ON_RECORD),
    "agentfp-audit": Part(f"the log; {IN_FOLDER}", lambda folder: Audit(path=folder / "audit.jsonl", payload_mode="verbatim")),
    "agentfp-console": Part(f"a status line and log lines, which the sweep reads, and a file; {IN_FOLDER}"),
    "agentfp-cost": Part(ON_RECORD),
    "agentfp-inputs": Part(ON_RECORD),
    "agentfp-integrity": Part(ON_RECORD),
    "agentfp-otel": Part("spans and log records, which are kept here"),
    "agentfp-recording": Part(f"recordings; {IN_FOLDER}"),
    "agentfp-results": Part(ON_RECORD),
    "agentfp-trust": Part("facts in memory, without content"),
    "agentfp-viewer": Part("pages made of records, which the sweep reads"),
    "agentfp-cloudwatch": Part(
        f"log events; {AWS}",
        lambda folder: LOGS.of(CloudWatch(log_group="sweep", client=LOGS, content=True)),
        lambda: LOGS.text(),
    ),
    "agentfp-evidence": Part(f"{ON_RECORD}, and a log line; the sweep reads the log"),
    "agentfp-findings": Part(ON_RECORD),
    "agentfp-xray": Part(
        f"segments without content; {AWS}",
        lambda folder: SEGMENTS.of(XRay(client=SEGMENTS)),
        lambda: SEGMENTS.text(),
    ),
    "agentfp-mcp": Part("answers to clients, and log lines: the sweep serves its tools over stdio and reads what a client gets"),
    "agentfp-transcripts": Part("reports on the terminal: the sweep checks its records with the command and reads what it prints"),
    "agentfp-anthropic": Part(MODEL),
    "agentfp-bedrock": Part(MODEL),
    "agentfp-gemini": Part(MODEL),
    "agentfp-local": Part(MODEL),
    "agentfp-ollama": Part(MODEL),
    "agentfp-openai": Part(MODEL),
}


def projects() -> dict[str, dict[str, Any]]:
    """The distributions of this checkout, by name."""
    found = [pyproject(folder)["project"] for folder in distributions()]
    return {project["name"]: project for project in found}


def plugins(folder: Path) -> list[Plugin]:
    """The plugins of all distributions but the one that hands the secrets out.

    Args:
        folder: where they may write.
    """
    made = []
    for name, project in projects().items():
        for place in project.get("entry-points", {}).get("agentfp.plugins", {}).values():
            part = PARTS.get(name)
            if name != OWN:
                made.append(part.plugin(folder) if part is not None and part.plugin is not None else by_itself(place, folder))
    return made


class Spans:
    """Keeps what goes to OpenTelemetry; in the place of exporters of spans and of log records."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def export(self, batch: Any) -> Any:
        self.texts += [item.to_json() + repr(vars(item)) for item in batch]
        return import_module("opentelemetry.sdk.trace.export").SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Nothing is open."""

    def force_flush(self, timeout_millis: int = 0) -> bool:
        return True

    def provider(self, field: str) -> Any:
        """A provider of OpenTelemetry's SDK whose exporter this is; only those who trace with it have it."""
        if field == "tracer_provider":
            made = import_module("opentelemetry.sdk.trace").TracerProvider()
            made.add_span_processor(import_module("opentelemetry.sdk.trace.export").SimpleSpanProcessor(self))
        else:
            made = import_module("opentelemetry.sdk._logs").LoggerProvider()
            made.add_log_record_processor(import_module("opentelemetry.sdk._logs.export").SimpleLogRecordProcessor(self))
        return made


SPANS: Spans = Spans()


def by_itself(place: str, folder: Path) -> Plugin:
    """A plugin with content on, every path in the folder, and every span and log record kept here.

    Args:
        place: ``module:class`` of its entry point.
        folder: where it may write.
    """
    module, _, name = place.partition(":")
    kind: Any = getattr(import_module(module), name)
    values: dict[str, Any] = {}
    for field in kind.Settings.model_fields:
        if field in ("content", "logs"):
            values[field] = True
        elif field in ("tracer_provider", "logger_provider"):
            values[field] = SPANS.provider(field)
        elif field in ("path", "file", "folder", "directory"):
            values[field] = Path(tempfile.mkdtemp(dir=folder)) / kind.name
    made: Plugin = kind(**values)
    return made
