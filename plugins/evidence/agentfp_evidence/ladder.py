"""What a judgement stands on: the evidence in its forms, the options, and what of a text there is to judge."""

from __future__ import annotations

from typing import NamedTuple

from agentfp_evidence.aggregates import Aggregates
from agentfp_evidence.elapsed import Stamps
from agentfp_evidence.index import EvidenceIndex
from agentfp_evidence.options import EvidenceOptions
from agentfp_evidence.quotes import QuoteFacet
from agentfp_evidence.row_names import RowNames
from agentfp_evidence.scan import Mention, Word, scan
from agentfp_evidence.shifts import Offsets
from agentfp_evidence.spans import Spans
from agentfp_evidence.table import Table

MAX_EARLIER = 12
"""Earlier answers that are asked how they worked a value out."""


class Ladder:
    """What the rungs stand on: the evidence in its forms, and the options.

    Args:
        index: the evidence.
        options: the options of the judgement.
        before: index of the message that the judged text is; None for the answer after all messages.
    """

    def __init__(self, index: EvidenceIndex, options: EvidenceOptions, before: int | None = None) -> None:
        self.index = index
        self.options = options
        self.before = before
        self.table = index.facet(Table)
        self.offsets = index.facet(Offsets)
        self.aggregates = index.facet(Aggregates)
        self.quotes = index.facet(QuoteFacet)
        self.names = index.facet(RowNames)
        self.spans = index.facet(Spans)
        self.stamps = index.facet(Stamps)

    def earlier(self, token: str) -> list[tuple[int, str]]:
        """Earlier answers that hold a token, latest first."""
        found = []
        for at, text in reversed(self.index.answers):
            if (self.before is None or at < self.before) and token in text:
                found.append((at, text))
                if len(found) == MAX_EARLIER:
                    break
        return found


class Found(NamedTuple):
    """What of a text there is to judge."""

    mentions: list[Mention]
    words: list[Word]


def find_in(text: str) -> Found:
    """The mentions and words of a text.

    Args:
        text: folded text.
    """
    words: list[Word] = []
    mentions = list(scan(text, lambda *word: words.append(Word(*word))))
    return Found(mentions, words)
