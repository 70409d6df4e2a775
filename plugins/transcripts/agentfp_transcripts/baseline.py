"""Findings that are known already, so that a check tells the new ones only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentfp.transcripts import TranscriptError

VERSION = 1


class Known:
    """The known findings of one transcript; each stands for one finding."""

    def __init__(self, findings: Mapping[tuple[int, str, str], int]) -> None:
        self._left = Counter(findings)

    def take(self, answer: int, kind: str, text: str) -> bool:
        """Whether a finding is known; it is crossed off then."""
        key = (answer, kind, text)
        if self._left[key] <= 0:
            return False
        self._left[key] -= 1
        return True


class Baseline:
    """Known findings by transcript.

    Args:
        findings: for each transcript's id, how often each finding is known: by answer, kind and text.
    """

    def __init__(self, findings: Mapping[str, Mapping[tuple[int, str, str], int]]) -> None:
        self._findings = findings

    def of(self, transcript: str) -> Known:
        """The known findings of a transcript, none crossed off."""
        return Known(self._findings.get(transcript, {}))

    @classmethod
    def load(cls, path: Path) -> Baseline:
        """Read what :func:`baseline_json` wrote.

        Raises:
            TranscriptError: it is no baseline, or one of another version.
            OSError: it cannot be read.
        """
        try:
            data: Any = json.loads(path.read_text(encoding="utf-8"))
            version = data["version"]
            if version == VERSION:
                found: dict[str, Counter[tuple[int, str, str]]] = {}
                for one in data["findings"]:
                    key = (int(one["answer"]), str(one["kind"]), str(one["text"]))
                    found.setdefault(str(one["id"]), Counter())[key] += 1
                return cls(found)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise TranscriptError(f"{path}: is no baseline; write one with agentfp check PATHS --write-baseline {path}") from error
        raise TranscriptError(f"{path}: is a baseline of version {version!r}; this library reads version {VERSION}. Write it anew")


def baseline_json(findings: Iterable[tuple[str, int, str, str]]) -> str:
    """Findings as the text of a baseline.

    Args:
        findings: id of the transcript, index of the answer, kind and text of each.
    """
    listed = [dict(zip(("id", "answer", "kind", "text"), finding, strict=True)) for finding in findings]
    return json.dumps({"version": VERSION, "findings": listed}, ensure_ascii=False, indent=1) + "\n"
