"""Which questions a call raises: what its tool reaches, and which skill it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agentfp.plugin import CallView, Tool, nearest
from agentfp_permissions.patterns import matches
from agentfp_permissions.policy import Policy
from agentfp_permissions.requests import DECLARABLE, Capability


class Question(NamedTuple):
    """What is asked of a call."""

    capability: Capability
    target: str


def capabilities_of(tool: Tool[..., Any], policy: Policy) -> tuple[tuple[Capability, ...], tuple[str, ...]]:
    """What a tool reaches, as its metadata and the policy say, each once.

    Args:
        tool: the tool; ``metadata={"capabilities": ["external_net"]}``.
        policy: the policy, which may say it for the tool.

    Returns:
        The capabilities in order, and words about what is said and is none.
    """
    said: Any = tool.metadata.get("capabilities", ())
    if isinstance(said, str) or not isinstance(said, Sequence):
        return (), (f"something that is no list of names; accepted in it: {', '.join(map(repr, DECLARABLE))}",)
    given = [item for pattern, listed in policy.capabilities.items() if matches(pattern, tool.name) for item in listed]
    found: dict[Capability, None] = {}
    wrong = []
    for item in (*said, *given):
        if item in DECLARABLE:
            found[item] = None
        else:
            wrong.append(f"{item!r}, which is no capability; {nearest(str(item), DECLARABLE)}")
    return tuple(found), tuple(wrong)


def skill_of(call: CallView) -> str | None:
    """The skill that a call reads, when its tool says in which argument it stands: ``metadata={"skill_argument": "name"}``.

    Args:
        call: the call.

    Returns:
        The skill; the empty text when the argument is missing, which no rule allows by name. None for other tools.
    """
    metadata: Mapping[str, Any] = {} if call.tool is None else call.tool.metadata
    argument = metadata.get("skill_argument")
    return None if argument is None else str(call.arguments.get(argument, ""))
