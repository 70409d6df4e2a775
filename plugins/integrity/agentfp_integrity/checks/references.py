"""A tool is offered while the results that its arguments come from have left the request."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from agentfp_integrity.findings import Finding, Witness

KIND = "dangling-reference"


def judge(tool: str, arguments_from: Collection[str], dropped: Mapping[str, int], present: Mapping[str, int]) -> Finding | None:
    """Whether a served tool refers to results that are gone.

    Args:
        tool: the tool.
        arguments_from: the tools whose results its arguments come from.
        dropped: how many results of each tool left the request.
        present: how many are in it.
    """
    missing = [source for source in arguments_from if dropped.get(source, 0) > 0 and present.get(source, 0) <= 0]
    if not missing:
        return None
    named = ", ".join(map(repr, missing))
    message = f"{tool!r} is offered, and every result of {named} that its arguments come from has left the request; nothing was withheld."
    subjects = (("tool", tool), *(("tool", source) for source in missing))
    return Finding(KIND, "compose", subjects, None, message, tuple(Witness(f"tool:{source}") for source in missing))
