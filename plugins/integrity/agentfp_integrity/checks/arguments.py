"""An argument that stands nowhere in the request that the model chose it from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from agentfp_integrity.findings import Finding, Witness, clipped
from agentfp_integrity.leaves import leaves_of

KIND = "unsupported-argument"


class External(NamedTuple):
    """An argument that stands only in what the application vouches for."""

    path: str
    source: str


class Judged(NamedTuple):
    """What is found of the arguments of one call.

    Args:
        findings: arguments from nowhere.
        inside: arguments that stand only inside of longer words; a place to look.
        external: arguments that the application vouches for.
        looked: how many arguments were looked up.
        unclear: how many stand only in results that repeat them.
    """

    findings: list[Finding]
    inside: list[Finding]
    external: list[External]
    looked: int
    unclear: int


def judge(
    tool: str,
    call_id: str,
    arguments: Mapping[str, Any],
    *,
    offered: frozenset[str],
    ground: Callable[[str], Literal["exact", "substring", "echo"] | None],
    own: Callable[[str], bool],
    external: Callable[[str], str | None],
) -> Judged:
    """Look up every argument of a call.

    Args:
        tool: the tool.
        call_id: the call.
        arguments: what the model proposed.
        offered: texts that the tool's schema offers, folded.
        ground: where a text stands in the request.
        own: whether only the model's own words hold it.
        external: the source that vouches for a text.
    """
    findings: list[Finding] = []
    inside: list[Finding] = []
    vouched: list[External] = []
    looked = unclear = 0
    for path, leaf in leaves_of(arguments):
        looked += 1
        if leaf.casefold() in offered:
            continue
        found = ground(leaf)
        if found == "echo":
            unclear += 1
        elif found == "substring":
            inside.append(_finding(tool, call_id, path, leaf, "it stands only inside of longer words", advisory=True))
        elif found is None:
            source = external(leaf)
            if source is not None:
                vouched.append(External(path, source))
            else:
                why = "only the model's own earlier text carries it" if own(leaf) else "nothing in the request carries it"
                findings.append(_finding(tool, call_id, path, leaf, why))
    return Judged(findings, inside, vouched, looked, unclear)


def _finding(tool: str, call_id: str, path: str, leaf: str, why: str, *, advisory: bool = False) -> Finding:
    message = f"Argument {path!r} of {tool!r}: {why}; nothing was blocked. Look where it is from."
    witness = Witness(f"call:{call_id}", clipped(leaf))
    return Finding(KIND, "choice", (("tool", tool),), path, message, (witness,), advisory=advisory, call_id=call_id)
