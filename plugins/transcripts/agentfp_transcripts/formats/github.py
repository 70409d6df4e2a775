"""Annotations for GitHub Actions: one workflow command a finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentfp_transcripts.checking import Checked, Summary
from agentfp_transcripts.formats.findings import level_of, place_of, sentence
from agentfp_transcripts.problems import Problem


class GitHub:
    """Writes a command for each new finding and each problem.

    Args:
        write: takes text.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def add(self, checked: Checked) -> None:
        """Write the commands of a transcript."""
        place = place_of(checked.transcript.source)
        for answer in checked.answers:
            for finding in answer.new:
                title = f"unsupported {finding.value.kind}"
                self._write(_command(level_of(finding), sentence(checked, finding), file=place.file, line=str(place.line), title=title))
        for failure in checked.failures:
            self._write(_command("error", failure, file=place.file, line=str(place.line), title="judge failed"))

    def end(self, summary: Summary, problems: Sequence[Problem]) -> None:
        """Write a command for what could not be read."""
        for problem in problems:
            if not problem.skipped:
                place = place_of(problem.place)
                self._write(_command("error", problem.text, file=place.file, line=str(place.line), title="transcript not read"))


def _command(name: str, message: str, **properties: str) -> str:
    listed = ",".join(f"{key}={_escaped(value, property=True)}" for key, value in properties.items())
    return f"::{name} {listed}::{_escaped(message)}\n"


def _escaped(text: str, *, property: bool = False) -> str:
    """Text that cannot end a command, nor begin another."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if property else text
