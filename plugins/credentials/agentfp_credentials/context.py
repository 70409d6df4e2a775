"""``ctx.credential`` and ``ctx.credentials``: what a tool reads, and how it asks for more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import anyio.from_thread

from agentfp import UsageError
from agentfp.plugin import Identity, nearest
from agentfp_credentials.errors import ConsentNeededError
from agentfp_credentials.needs import MODES
from agentfp_credentials.obtaining import Obtaining
from agentfp_credentials.protocol import AuthorizationRequired, CredentialRequest, Mode
from agentfp_credentials.values import Credential


class ToolCredentials:
    """The credentials of one call.

    Args:
        obtaining: asks the provider.
        declared: what the tool declares, by service; it was obtained before the tool ran.
        identity: whom the run is for.
    """

    __slots__ = ("_declared", "_identity", "_obtaining")

    def __init__(self, obtaining: Obtaining, declared: Mapping[str, Credential], identity: Identity | None) -> None:
        self._obtaining = obtaining
        self._declared = declared
        self._identity = identity

    def __repr__(self) -> str:
        return f"<credentials of {self._obtaining.tool!r}: {', '.join(sorted(self._declared)) or 'none declared'}>"

    def __getitem__(self, service: str) -> Credential:
        """The declared credential of a service.

        Raises:
            UsageError: the tool does not declare it.
        """
        found = self._declared.get(service)
        if found is None:
            raise UsageError(f"tool {self._obtaining.tool!r} does not declare {service!r}; {nearest(service, self._declared)}")
        return found

    def only(self) -> Credential:
        """The one that is declared.

        Raises:
            UsageError: there is none, or there are several.
        """
        if len(self._declared) != 1:
            what = "declares no credential" if not self._declared else "declares several"
            fix = "mark its context with Needs(...)" if not self._declared else "read ctx.credentials[service]"
            raise UsageError(f"tool {self._obtaining.tool!r} {what}; {fix}")
        return next(iter(self._declared.values()))

    async def get_credential(
        self,
        service: str,
        *,
        scopes: Iterable[str] = (),
        mode: Mode = "machine",
        user_token: str | None = None,
        force_reauth: bool = False,
    ) -> Credential:
        """Ask for a credential while the tool runs.

        Args:
            service: the service.
            scopes: what it must allow.
            mode: on whose behalf: ``machine`` or ``user``.
            user_token: a token of the user, for providers that exchange it.
            force_reauth: not one that is kept.

        Raises:
            CredentialError: there is none. Left alone, the model reads which.
            ConsentNeededError: a person must consent first; the run's answer will be refused with where.
            UsageError: there is no such mode.
        """
        if mode not in MODES:
            raise UsageError(f"there is no mode {mode!r}; {nearest(str(mode), MODES)}")
        wanted = (scopes,) if isinstance(scopes, str) else tuple(scopes)
        request = CredentialRequest(service, wanted, mode, self._identity, user_token, force_reauth)
        answer = await self._obtaining.obtain(request)
        if isinstance(answer, AuthorizationRequired):
            raise ConsentNeededError(service, answer.session_id)
        return answer

    def get_credential_sync(
        self,
        service: str,
        *,
        scopes: Iterable[str] = (),
        mode: Mode = "machine",
        user_token: str | None = None,
        force_reauth: bool = False,
    ) -> Credential:
        """The same for a tool that is a plain function and runs in a thread."""
        ask = partial(self.get_credential, service, scopes=scopes, mode=mode, user_token=user_token, force_reauth=force_reauth)
        return anyio.from_thread.run(ask)
