"""One module a form of output: each takes judged transcripts as they come, and what was found in all at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from agentfp_transcripts.checking import Checked, Summary
from agentfp_transcripts.problems import Problem


class Output(Protocol):
    """A form of output."""

    def add(self, checked: Checked) -> None:
        """Take a judged transcript."""

    def end(self, summary: Summary, problems: Sequence[Problem]) -> None:
        """All are judged; what could not be read is told."""


def output_of(name: str, write: Callable[[str], None]) -> Output:
    """The output of a name.

    Args:
        name: ``table``, ``json``, ``junit``, ``sarif`` or ``github``.
        write: takes text.
    """
    if name == "json":
        from agentfp_transcripts.formats.jsonlines import JsonLines

        return JsonLines()
    if name == "junit":
        from agentfp_transcripts.formats.junit import JUnit

        return JUnit(write)
    if name == "sarif":
        from agentfp_transcripts.formats.sarif import Sarif

        return Sarif(write)
    if name == "github":
        from agentfp_transcripts.formats.github import GitHub

        return GitHub(write)
    from agentfp_transcripts.formats.terminal import Table

    return Table()
