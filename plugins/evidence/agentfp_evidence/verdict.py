"""What a rung of the ladder finds for one value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agentfp.transcripts import Severity, ValueSource, ValueVerdict
from agentfp_evidence.index import Posting, places


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of a value.

    Args:
        verdict: supported, unverifiable or unsupported.
        how: in one word.
        derivation: written out.
        sources: where it comes from.
        severity: of an unsupported value.
        postings: the same places as the evidence keeps them, for a value that stands there itself.
    """

    verdict: ValueVerdict
    how: str
    derivation: str = ""
    sources: tuple[ValueSource, ...] = ()
    severity: Severity | None = None
    postings: tuple[Posting, ...] = ()


def supported(how: str, postings: Iterable[Posting], derivation: str = "") -> Verdict:
    """A value that stands somewhere, or follows from values that do."""
    found = list(postings)
    if found and all(posting.echo for posting in found):
        return Verdict("unverifiable", "echo", derivation, places(found))
    if how in ("exact", "part") and found and all(p.source.ground == "given" for p in found):
        how = "given"
    return Verdict("supported", how, derivation, places(found), postings=tuple(found))


def unverifiable(why: str, postings: Iterable[Posting] = (), derivation: str = "") -> Verdict:
    """A value of which nothing can be said."""
    return Verdict("unverifiable", why, derivation, places(postings))


def unsupported(severity: Severity, why: str = "absent") -> Verdict:
    """A value that comes from nowhere."""
    return Verdict("unsupported", why, severity=severity)
