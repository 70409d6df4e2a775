"""What a run raises whose answer was refused for values that stand nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from agentfp.plugin import AnswerRefusedError, Usage
from agentfp_evidence.report import EvidenceValue

MAX_SHOWN = 12
_MAX_CHARS = 64


class UnsupportedValuesError(AnswerRefusedError):
    """An answer was refused: values in it stand in no result and were given by nobody.

    Args:
        values: the values.
        candidates: how many values were judged.
        revised: whether the model was asked to revise before.
        usage: tokens of the run, drafts included, where what ends it knows them.
    """

    code: ClassVar[str] = "ERR_UNSUPPORTED_VALUES"

    def __init__(self, values: Sequence[EvidenceValue], *, candidates: int, revised: bool, usage: Usage | None = None) -> None:
        self.values = tuple(values)
        self.candidates = candidates
        self.revised = revised
        self.usage = usage
        again = "also after a revision" if revised else "and no revision was possible"
        super().__init__(
            f"{len(self.values)} of {candidates} values of the answer stand in no tool's result and were given by nobody, {again}: "
            f"{named(self.values)}. A result that holds them, or naming them in the request, would satisfy the check. "
            "It finds invented values only, not false sentences made of true ones",
            plugin="evidence",
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self.values, self.candidates, self.revised, self.usage)


def _again(values: Sequence[EvidenceValue], candidates: int, revised: bool, usage: Usage | None) -> UnsupportedValuesError:
    return UnsupportedValuesError(values, candidates=candidates, revised=revised, usage=usage)


def named(values: Sequence[EvidenceValue]) -> str:
    """The values in words, each once: at most twelve, and how many there are besides."""
    texts = list(dict.fromkeys(value.text for value in values))
    shown = [repr(text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…") for text in texts[:MAX_SHOWN]]
    more = len(texts) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
