"""A baseline: all findings of a check, for later ones to tell what is new."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentfp_transcripts.baseline import baseline_json
from agentfp_transcripts.checking import Checked, Summary
from agentfp_transcripts.problems import Problem


class KnownFindings:
    """Collects findings and writes them at the end.

    Args:
        path: where the baseline goes; replaced if it is there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._findings: list[tuple[str, int, str, str]] = []

    def add(self, checked: Checked) -> None:
        """Take the findings of a transcript, known ones too."""
        for answer in checked.answers:
            self._findings += [(checked.transcript.id, f.answer, f.value.kind, f.value.text) for f in answer.findings]

    def end(self, summary: Summary, problems: Sequence[Problem]) -> None:
        """Write the file.

        Raises:
            OSError: it cannot be written.
        """
        self._path.write_text(baseline_json(self._findings), encoding="utf-8", errors="backslashreplace")
