"""What machine-read reports say of a finding: a sentence, and the place of its transcript."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentfp_transcripts.checking import Checked, Finding

_PLACE = re.compile(r"(?P<file>.*?)(?::(?P<line>\d+))?(?: document \d+)?(?: \$.*)?\Z", re.DOTALL)
_WORDS = {"strong": "stands nowhere in what the tools returned", "weak": "could not be traced to anything that the tools returned"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a transcript stands.

    Args:
        file: its file.
        line: the line in it, from 1.
    """

    file: str
    line: int = 1


def place_of(source: str) -> Place:
    """Where a transcript stands.

    Args:
        source: the file; of JSON lines with the line, of an item with its JSON path.
    """
    found = _PLACE.match(source)
    assert found is not None
    return Place(found["file"] or "stdin", int(found["line"] or 1))


def level_of(finding: Finding) -> str:
    """``error`` for what is surely invented, ``warning`` for the rest."""
    return "warning" if finding.value.severity == "weak" else "error"


def sentence(checked: Checked, finding: Finding) -> str:
    """A finding in a sentence."""
    value = finding.value
    why = f" ({value.how})" if value.how else ""
    said = _WORDS["weak" if value.severity == "weak" else "strong"]
    return f"{value.kind} {value.text!r} in answer {finding.answer} of transcript {checked.transcript.id!r} {said}{why}"
