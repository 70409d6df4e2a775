"""A look-up that found nothing, though the value it was made with stands in a result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from agentfp_integrity.findings import CEILINGS, Finding, Witness, clipped
from agentfp_integrity.leaves import leaves_of

KIND = "empty-lookup"
MAX_DEPTH = 8


def is_empty(outcome: str, content: str, value: Any = None) -> bool | None:
    """Whether a result is empty; None where that cannot be told.

    Args:
        outcome: of the call.
        content: the tool's own result.
        value: what the tool returned, where that is known: a list need not be read again.
    """
    if outcome == "absent":
        return True
    if type(value) is list:
        return not value
    if content[:1] not in ("[", "{"):
        return None
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return None
    for _ in range(MAX_DEPTH):
        if isinstance(data, list):
            return not data
        if not isinstance(data, dict):
            return None
        if data.get("af_absent") is True:
            return True
        if not isinstance(data.get("af_coverage"), dict) or "result" not in data:
            return None
        data = data["result"]
    return None


def judge(tool: str, call_id: str, arguments: Mapping[str, Any], holders: Callable[[str], list[str]]) -> list[Finding]:
    """The arguments of an empty look-up that results hold.

    Args:
        tool: the tool.
        call_id: the call.
        arguments: what it was called with.
        holders: which of the tools that its arguments come from have a result that holds a text.
    """
    found = []
    for path, leaf in leaves_of(arguments):
        for source in holders(leaf):
            message = f"{tool!r} found nothing for {path!r} (call {call_id}), which a result of {source!r} carries; {CEILINGS[KIND]}."
            subjects = (("consumer", tool), ("producer", source))
            witnesses = (Witness(f"call:{call_id}", clipped(leaf)), Witness(f"tool:{source}"))
            found.append(Finding(KIND, "write", subjects, path, message, witnesses, advisory=True, call_id=call_id))
    return found
