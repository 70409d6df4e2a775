"""What was asked for and what was read, one taken from the other."""

from __future__ import annotations

from agentfp_results.grammar import MILLISECOND, Range


def without(one: Range, other: Range) -> list[Range]:
    """The pieces of a range that are not in another one; those of a millisecond or less are none."""
    pieces = [Range(one.start, min(one.end, other.start)), Range(max(one.start, other.end), one.end)]
    if other.end <= one.start or other.start >= one.end:
        pieces = [one]
    return [piece for piece in pieces if piece.end - piece.start > MILLISECOND]


def differences(asked: Range, read: Range, *, lookback: bool, step: int) -> tuple[list[Range], list[Range]]:
    """What of a period that was asked for was not read, and what was read besides.

    Args:
        asked: what was asked for.
        read: what was read.
        lookback: it was asked for as a length up to now.
        step: the distance of the tool's readings, in nanoseconds.
    """
    if lookback and 0 <= read.start - asked.start <= step and read.end - read.start == asked.end - asked.start:
        return [], []
    return without(asked, read), without(read, asked)
