"""Who may call what: roles with the tools, capabilities and skills that each of them has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agentfp.plugin import Allow, Deny, Halt, nearest
from agentfp_permissions.errors import PolicyError
from agentfp_permissions.patterns import is_pattern, matches_any

if TYPE_CHECKING:
    from agentfp_permissions.requests import Decision, PermissionRequest

CAPABILITIES = frozenset({"memory_read", "memory_write", "external_net", "user_data"})


@dataclass(frozen=True, slots=True)
class Role:
    """What one role may do; what is not listed is refused.

    Args:
        tools: names or ``prefix*`` that it may call.
        deny: names or ``prefix*`` that it may not call, also where ``tools`` has them.
        halt: names or ``prefix*`` with which it ends the run.
        capabilities: what its calls may reach; None leaves that to the list of tools.
        skills: skills that it may read; None for all.
        reason: for the operator, of a refusal.
        tell_model: a sentence for the model.

    Raises:
        PolicyError: one of them cannot be; lists all.
    """

    tools: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    halt: tuple[str, ...] = ()
    capabilities: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    reason: str | None = None
    tell_model: str | None = None

    def __post_init__(self) -> None:
        problems = []
        for key in ("tools", "deny", "halt", "capabilities", "skills"):
            listed = getattr(self, key)
            if listed is None and key in ("capabilities", "skills"):
                continue
            if isinstance(listed, str) or not isinstance(listed, Sequence):  # the letters of a text would be names, and a star all of them
                problems.append(f"{key} of a role must be a list of names")
                continue
            wrong = [name for name in listed if not is_pattern(name)]
            problems += [f"{key} of a role has {name!r}; write a name, or the beginning of names with a star at the end" for name in wrong]
            if key == "capabilities":
                unknown = [name for name in listed if is_pattern(name) and name not in CAPABILITIES]
                problems += [f"there is no capability {name!r}; {nearest(name, CAPABILITIES)}" for name in unknown]
        if problems:
            raise PolicyError(problems)


@dataclass(frozen=True, slots=True)
class RolePolicy:
    """A checker over roles.

    Args:
        roles: by name.
        active_role: the role of runs that have none of their own.
    """

    roles: Mapping[str, Role]
    active_role: str | None = None
    name: str = field(default="roles", init=False)

    def __post_init__(self) -> None:
        if self.active_role is not None and self.active_role not in self.roles:
            raise ValueError(f"the policy has no role {self.active_role!r}; {nearest(self.active_role, self.roles)}")

    @classmethod
    def from_roles(
        cls,
        tools: Mapping[str, Sequence[str]],
        active_role: str | None = None,
        *,
        capabilities: Mapping[str, Sequence[str]] | None = None,
        skills: Mapping[str, Sequence[str]] | None = None,
    ) -> RolePolicy:
        """Make a policy of plain lists.

        Args:
            tools: for each role, names or ``prefix*``.
            active_role: the role of runs that have none of their own.
            capabilities: for some roles, what their calls may reach.
            skills: for some roles, the skills that they may read.

        Raises:
            ValueError: a role is not one of ``tools``.
            PolicyError: what a role has is no list of names.
        """
        reach, read = capabilities or {}, skills or {}
        for name in (*reach, *read):
            if name not in tools:
                raise ValueError(f"the policy has no role {name!r}; {nearest(name, tools)}")
        roles = {
            name: Role(
                _listed(listed),
                capabilities=_listed(reach[name]) if name in reach else None,
                skills=_listed(read[name]) if name in read else None,
            )
            for name, listed in tools.items()
        }
        return cls(roles, active_role)

    def with_active_role(self, role: str) -> RolePolicy:
        """The same rules with another active role.

        Args:
            role: its name.

        Raises:
            ValueError: there is no such role.
        """
        return replace(self, active_role=role)

    @property
    def governs(self) -> frozenset[str]:
        """What it is asked about besides ``tool_call``: what any role has a rule for."""
        found = CAPABILITIES if any(role.capabilities is not None for role in self.roles.values()) else frozenset()
        return found | {"skill_read"} if any(role.skills is not None for role in self.roles.values()) else found

    def is_allowed(self, tool: str, role: str | None = None) -> bool:
        """Whether a tool may be called.

        Args:
            tool: its name.
            role: in which role; the active one when left out.
        """
        return isinstance(self._call(self.active_role if role is None else role, tool), Allow)

    def check(self, request: PermissionRequest, /) -> Decision:
        """Decide in the role of the run, by name.

        Args:
            request: the question.
        """
        name = self.active_role if request.role is None else request.role
        if request.capability == "tool_call":
            return self._call(name, request.tool)
        role = None if name is None else self.roles.get(name)
        if role is None:
            return _no_role(name)
        if request.capability == "skill_read":
            if role.skills is None or matches_any(role.skills, request.target.removeprefix("skill:")):
                return Allow()
            return _refused(role, f"role {name!r} may not read this skill", f"{name}.skills.miss")
        if role.capabilities is None:
            return self._call(name, request.tool)
        if request.capability in role.capabilities:
            return Allow()
        return _refused(role, f"role {name!r} has not the capability {request.capability!r}", f"{name}.capabilities.miss")

    def screen(self, request: PermissionRequest, /) -> Decision:
        """The same: the rules ask for names only.

        Args:
            request: the question.
        """
        return self.check(request)

    def _call(self, name: str | None, tool: str) -> Decision:
        role = None if name is None else self.roles.get(name)
        if role is None:
            return _no_role(name)
        if matches_any(role.halt, tool):
            return Halt(role.reason or f"role {name!r} called {tool!r}", role.tell_model, f"{name}.halt")
        if matches_any(role.deny, tool):
            return _refused(role, f"role {name!r} may not call {tool!r}", f"{name}.deny")
        if matches_any(role.tools, tool):
            return Allow()
        return _refused(role, f"{tool!r} is not on the list of role {name!r}", f"{name}.allowlist.miss")


def _listed(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise PolicyError(f"{names!r} is one text, and a role has a list of names; write [{names!r}]")
    return tuple(names)


def _refused(role: Role, reason: str, rule: str) -> Deny:
    return Deny(role.reason or reason, role.tell_model, rule)


def _no_role(name: str | None) -> Deny:
    return Deny("the run has no role" if name is None else f"the policy has no role {name!r}", None, "role.unknown")
