"""How a tool says which credentials it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from agentfp.plugin import ConfigError, Declaration, Tool, nearest
from agentfp_credentials.protocol import Mode

MODES = ("machine", "user")


class Needs(Declaration):
    """Marks the context of a tool that needs a credential: ``ctx: Annotated[ToolContext, Needs("crm")]``.

    The credential is asked for right before the tool runs, and is ``ctx.credential`` in it; without one the tool does not run.

    Args:
        service: the service.
        scopes: what the credential must allow.
        mode: on whose behalf: ``machine`` or ``user``.

    Raises:
        ConfigError: one of them cannot be; lists all.
    """

    __slots__ = ("mode", "scopes", "service")
    plugin: ClassVar[str] = "credentials"

    def __init__(self, service: str, *, scopes: Iterable[str] = (), mode: Mode = "machine") -> None:
        problems = []
        if not isinstance(service, str) or not service.strip():
            problems.append("Needs takes the name of a service, such as 'crm'")
        self.scopes = (scopes,) if isinstance(scopes, str) or not isinstance(scopes, Iterable) else tuple(scopes)
        if not all(isinstance(scope, str) and scope.strip() for scope in self.scopes):
            problems.append(f"Needs({service!r}): scopes are texts that are not blank")
        if mode not in MODES:
            problems.append(f"Needs({service!r}): there is no mode {mode!r}; {nearest(str(mode), MODES)}")
        if problems:
            raise ConfigError(problems)
        self.service = service
        self.mode: Mode = mode

    def __repr__(self) -> str:
        return f"Needs({self.service!r}, scopes={self.scopes!r}, mode={self.mode!r})"

    @property
    def key(self) -> tuple[Any, ...]:
        """What is the same for two needs that one credential serves."""
        return self.service, tuple(sorted(self.scopes)), self.mode


def needs_of(tool: Tool[..., Any]) -> tuple[Needs, ...]:
    """What a tool declares, in order."""
    return tuple(marker for markers in tool.declarations.values() for marker in markers if isinstance(marker, Needs))
