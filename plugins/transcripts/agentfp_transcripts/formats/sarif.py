"""SARIF 2.1.0, as code scanning reads it: a rule for each kind of value, a result for each finding."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentfp_transcripts.checking import Checked, Finding, Summary
from agentfp_transcripts.formats.findings import Place, level_of, place_of, sentence
from agentfp_transcripts.problems import Problem

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class Sarif:
    """Collects results and writes them at the end.

    Args:
        write: takes text.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._rules: dict[str, int] = {}
        self._results: list[dict[str, Any]] = []
        self._failures: list[str] = []

    def add(self, checked: Checked) -> None:
        """Add a result for each finding of a transcript; known ones are marked as unchanged."""
        place = place_of(checked.transcript.source)
        for answer in checked.answers:
            for finding in answer.findings:
                self._results.append(self._result(checked, finding, place))
        self._failures.extend(checked.failures)

    def end(self, summary: Summary, problems: Sequence[Problem]) -> None:
        """Write the log."""
        notes = [("error", text) for text in self._failures]
        notes += [("note" if problem.skipped else "error", str(problem)) for problem in problems]
        told = [{"level": level, "message": {"text": text}} for level, text in notes]
        rules = [
            {
                "id": rule,
                "name": _camel(rule),
                "shortDescription": {"text": f"Unsupported {rule.removeprefix('unsupported-')}: no tool result holds it"},
                "defaultConfiguration": {"level": "error"},
            }
            for rule in self._rules
        ]
        driver = {"name": "agentfp check", "version": version("agentfp-transcripts"), "rules": rules}
        invocation = {"executionSuccessful": not any(level == "error" for level, _ in notes), "toolExecutionNotifications": told}
        run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "invocations": [invocation], "results": self._results}
        self._write(json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n")

    def _result(self, checked: Checked, finding: Finding, place: Place) -> dict[str, Any]:
        rule = f"unsupported-{re.sub(r'[^a-z0-9]+', '-', finding.value.kind.lower()).strip('-') or 'value'}"
        identity = "\0".join((checked.transcript.id, str(finding.answer), finding.value.kind, finding.value.text))
        return {
            "ruleId": rule,
            "ruleIndex": self._rules.setdefault(rule, len(self._rules)),
            "level": level_of(finding),
            "message": {"text": sentence(checked, finding)},
            "baselineState": "unchanged" if finding.known else "new",
            "locations": [
                {
                    "physicalLocation": {"artifactLocation": {"uri": _uri(place.file)}, "region": {"startLine": place.line}},
                    "logicalLocations": [{"fullyQualifiedName": f"{checked.transcript.id}#{finding.answer}", "kind": "member"}],
                }
            ],
            "partialFingerprints": {"agentfpFinding/v1": hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()},
            "properties": {
                "transcript": checked.transcript.id,
                "answer": finding.answer,
                "judge": finding.judge,
                "start": finding.value.start,
                "end": finding.value.end,
                "severity": finding.value.severity,
            },
        }


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _camel(rule: str) -> str:
    return "".join(part.capitalize() for part in rule.split("-"))
