"""What the words around a number announce: that the answer worked it out, or that it recommends it.

A number that stands nowhere was made up or worked out. Where the answer says that it was, and the check cannot follow, the finding is
weak: it is shown, and no gate acts on it by itself.
"""

from __future__ import annotations

import re

from agentfp_evidence.context import LABELS, label_around, sentence_around
from agentfp_evidence.magnitudes import significant
from agentfp_evidence.numbers import Number
from agentfp_evidence.table import Table
from agentfp_evidence.units import PERCENT

MOST_DIGITS = 3
"""Significant digits of a number that is weak for being announced alone; what says more of itself must be followed."""
_LEAST_NUMBERS = 2
_ROUND_DIGITS = 2
_RECKONED = re.compile(
    r"[\u2248~=\u2192\u00d7]|\b(?:works? out|worked out|makes?|making|gives?|giving|i\.e|that(?:'s| is| means)|per|each|every|rate|ratio"
    r"|share|margin|percent\w*|points?|covers?|lasts?|would|estimat\w*|equivalent|twice|double|half|third|quarter|threshold"
    r"|ergibt|macht|entspricht|also|d\.h|pro|je|anteil|quote|w\u00e4re[n]?|soit|donc|par|taux|part|serait)\b",
    re.IGNORECASE,
)
_ADVISED = re.compile(
    r"\b(?:(?:I|we)(?:'d| would|'ll)|consider|worth|recommend\w*|suggest\w*|should|could|might|may want|try|aim|plan|next steps?|at least"
    r"|order|sensible|if|assum\w*|suppose|for example|wenn|falls|si|sollten?|k\u00f6nnten?|empfehl\w*|devriez|pourriez|conseil\w*)\b",
    re.IGNORECASE,
)


def is_announced(table: Table, text: str, number: Number, *, may_follow: bool) -> bool:
    """Whether an answer says of a number that it is reckoned or advised, and it may well be.

    Args:
        table: the evidence; where it holds hardly a number, none follows from it.
        text: the answer, folded.
        number: the number.
        may_follow: some numbers of the conversation give it, if by no more than an accident.
    """
    if len(table.between(-1e300, 1e300)) < _LEAST_NUMBERS:
        return False
    first, last = sentence_around(text, number.start, number.end)
    if _is_round(number) and _ADVISED.search(text, first, number.start) is not None:
        return True
    measured = number.unit is not None and number.unit is not PERCENT and number.unit.dimension != "time"
    served = number.unit is PERCENT and number.decimals > 0 and bool(table.by_unit(PERCENT.dimension))
    exact = (measured or served) and not number.hedged
    if not may_follow and (exact or (significant(number) > MOST_DIGITS and not number.hedged)):
        return False
    if number.unit is PERCENT or number.hedged or (may_follow and (number.decimals > 0 or number.unit is not None)):
        return True
    label = label_around(text, number.start, number.end)
    if any(pattern.search(label) for pattern in LABELS.values()):
        return True
    if significant(number) <= _ROUND_DIGITS and any(pattern.search(text, first, last) for pattern in LABELS.values()):
        return True
    return _RECKONED.search(text, first, last) is not None or _ADVISED.search(text, first, number.start) is not None


def _is_round(number: Number) -> bool:
    return number.decimals <= 0 and len(number.readings[0].lstrip("-").rstrip("0")) <= _ROUND_DIGITS
