"""What machine-read reports say of a finding: a sentence, and the place of its transcript."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentfp.transcripts import Transcript
from agentfp_transcripts.checking import Checked, Finding

_LINE = re.compile(r"(?P<file>.*):(?P<line>\d+)\Z", re.DOTALL)
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


def place_of(transcript: Transcript) -> Place:
    """Where a transcript stands."""
    found = _LINE.match(transcript.source)
    if found is not None:
        return Place(found["file"], int(found["line"]))
    return Place(re.sub(r"(?:\[\d+\])+\Z", "", transcript.source) or "stdin")


def level_of(finding: Finding) -> str:
    """``error`` for what is surely invented, ``warning`` for the rest."""
    return "warning" if finding.value.severity == "weak" else "error"


def sentence(checked: Checked, finding: Finding) -> str:
    """A finding in a sentence."""
    value = finding.value
    why = f" ({value.how})" if value.how else ""
    said = _WORDS["weak" if value.severity == "weak" else "strong"]
    return f"{value.kind} {value.text!r} in answer {finding.answer} of transcript {checked.transcript.id!r} {said}{why}"
