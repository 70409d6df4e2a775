"""What is raised about a policy that cannot be used, or a role that is not there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from agentfp.plugin import AnswerRefusedError, ConfigError, nearest


class PolicyError(ConfigError):
    """A policy cannot be used. ``problems`` lists everything that is wrong with it."""

    code: ClassVar[str] = "ERR_PERMISSION_POLICY"

    def __init__(self, problems: str | Sequence[str]) -> None:
        super().__init__(problems)


class UnknownRoleError(AnswerRefusedError):
    """A run was started in a role that the policy does not have, or in none; nothing was run.

    Args:
        role: the role; None when nobody said one.
        known: the roles of the policy.
    """

    code: ClassVar[str] = "ERR_UNKNOWN_ROLE"

    def __init__(self, role: str | None, known: Iterable[str]) -> None:
        self.role = role
        self.known = tuple(sorted(known))
        if role is None:
            text = (
                "this run has no role; pass options={'permissions': {'role': ...}}, name the principal in `identities`, "
                f"or set `active_role`. The policy has {', '.join(map(repr, self.known))}"
            )
        else:
            text = f"the policy has no role {role!r}; {nearest(role, self.known)}"
        super().__init__(text, plugin="permissions")

    def __reduce__(self) -> tuple[object, ...]:
        return UnknownRoleError, (self.role, self.known)
