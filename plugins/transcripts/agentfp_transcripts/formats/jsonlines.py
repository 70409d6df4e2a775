"""JSON: one line a transcript, written as soon as it is judged."""

from __future__ import annotations

from collections.abc import Sequence

from agentfp.commands import data
from agentfp_transcripts.checking import Checked, Summary, as_json
from agentfp_transcripts.problems import Problem


class JsonLines:
    """Writes lines of JSON to stdout."""

    def add(self, checked: Checked) -> None:
        """Write the line of a transcript."""
        data(as_json(checked), lines=True)

    def end(self, summary: Summary, problems: Sequence[Problem]) -> None:
        """Nothing is left to say."""
