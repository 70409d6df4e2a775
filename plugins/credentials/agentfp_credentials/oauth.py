"""OAuth 2: client credentials, and authorization code with PKCE and refresh. Needs ``agentfp-credentials[oauth]``."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pydantic

from agentfp.plugin import ConfigError, Identity
from agentfp_credentials.protocol import LAST_S, AuthorizationRequired, CredentialRequest, Issued
from agentfp_credentials.providers import HoldsSecrets, NoPrincipalError, ProviderError, status_of
from agentfp_credentials.values import bearer

LEEWAY_S = 30
"""A token that expires within this time is renewed first."""
POLL_S = 0.01
"""How often it is looked whether another one's grant is over."""
PENDING_S = 600
"""How long a consent that was begun can be finished."""
KNOWN_CODES = frozenset(
    {
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
        "access_denied",
        "server_error",
        "temporarily_unavailable",
    }
)
_Key = tuple[str | None, str, tuple[str, ...]]


class ConsentCallbackError(ProviderError):
    """The browser came back with something that finishes no consent."""


@dataclass(slots=True)
class _Token:
    access: str = field(repr=False)
    refresh: str | None = field(repr=False)
    expires_at_s: float | None

    @property
    def fresh(self) -> bool:
        return self.expires_at_s is None or self.expires_at_s > time.time() + LEEWAY_S

    def issued(self) -> Issued:
        return Issued(bearer(self.access), self.expires_at_s)


@dataclass(slots=True)
class _Pending:
    key: _Key
    state: str = field(repr=False)
    verifier: str = field(repr=False)
    url: str = field(repr=False)
    session_id: str
    begun_s: float


class _OAuth2(HoldsSecrets):
    """What both grants share: the endpoint, the client, and how a reply is read."""

    def __init__(self, service: str, *, token_url: str, client_id: str, client_secret: str | None) -> None:
        try:
            from authlib.integrations.httpx_client import AsyncOAuth2Client  # type: ignore[import-untyped,unused-ignore]
        except ImportError as error:
            raise ConfigError("OAuth 2 needs packages that are missing: pip install 'agentfp-credentials[oauth]'") from error
        self.id = f"oauth2:{service}"
        self._client_class = AsyncOAuth2Client
        self._token_url = token_url
        self._client_id = client_id
        self._client_secret = None if client_secret is None else pydantic.SecretStr(client_secret)
        self._locks: dict[object, threading.Lock] = {}

    @asynccontextmanager
    async def _alone(self, key: object) -> AsyncIterator[None]:
        """One grant at a time for a key, whatever thread and loop asks: a refresh token may be good for one use."""
        lock = self._locks.setdefault(key, threading.Lock())
        while not lock.acquire(blocking=False):  # noqa: ASYNC110 - an event of this loop would not be set by another one
            await anyio.sleep(POLL_S)
        try:
            yield
        finally:
            lock.release()

    def secrets(self) -> tuple[str, ...]:
        """The client's secret, and the tokens that were granted."""
        own = () if self._client_secret is None else (self._client_secret.get_secret_value(),)
        return (*own, *[value for token in self._granted() for value in (token.access, token.refresh) if value is not None])

    def _granted(self) -> Iterable[_Token]:
        return ()

    def _client(self, **more: Any) -> Any:
        secret = None if self._client_secret is None else self._client_secret.get_secret_value()
        method = "none" if secret is None else "client_secret_basic"
        return self._client_class(self._client_id, secret, token_endpoint_auth_method=method, **more)

    async def _token(self, call: str, **grant: Any) -> _Token:
        """Ask the token endpoint; what it says of a failure is reduced to a code and a status."""
        code, network = None, None
        seen: list[int] = []

        def note(response: Any) -> Any:
            seen.append(response.status_code)
            return response

        try:
            async with self._client() as client:
                for hook in ("access_token_response", "refresh_token_response"):
                    client.register_compliance_hook(hook, note)
                reply = await getattr(client, call)(self._token_url, **grant)
        except Exception as error:
            code, network = getattr(error, "error", None), type(error).__name__
            seen += [found for found in (status_of(error),) if found is not None]
        status = next((found for found in seen if found >= 300), None)
        if network is not None:  # outside of the handler, so that the words of the endpoint are no context of this error
            known = code if isinstance(code, str) and code in KNOWN_CODES else None
            raise ProviderError(
                f"{self.id}: the token endpoint gave no token ({known or network})", status=status or (400 if known else None)
            )
        return self._token_of(reply if isinstance(reply, Mapping) else {}, status)

    def _token_of(self, reply: Mapping[str, Any], status: int | None) -> _Token:
        """What a reply grants; nothing of one that makes no sense is kept."""
        access: Any = reply.get("access_token")
        refresh: Any = reply.get("refresh_token")
        expires: Any = reply.get("expires_at")
        wrong = None
        if not _is_token(access):
            wrong = "no access_token"
        elif refresh not in (None, "") and not _is_token(refresh):
            wrong = "a refresh_token that is none"
        elif expires is not None and not (isinstance(expires, (int, float)) and 0 <= expires < LAST_S):
            wrong = "no time at which it expires"
        if wrong is not None:
            raise ProviderError(f"{self.id}: the token endpoint gave no token ({wrong})", status=status)
        return _Token(access, refresh or None, None if expires is None else float(expires))


def _is_token(value: Any) -> bool:
    """Whether something can be a token: a text of one line."""
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


class OAuth2ClientCredentials(_OAuth2):
    """The application's own token, kept until shortly before it expires.

    Args:
        service: a name for errors.
        token_url: the token endpoint.
        client_id: the client.
        client_secret: its secret.

    Raises:
        ConfigError: ``authlib`` or ``httpx`` is not installed.
    """

    def __init__(self, service: str, *, token_url: str, client_id: str, client_secret: str) -> None:
        super().__init__(service, token_url=token_url, client_id=client_id, client_secret=client_secret)
        self._tokens: dict[tuple[str, ...], _Token] = {}

    def _granted(self) -> Iterable[_Token]:
        return tuple(self._tokens.values())

    async def get_credential(self, request: CredentialRequest, /) -> Issued:
        """The token for the scopes."""
        key = tuple(sorted(request.scopes))
        async with self._alone(key):
            token = self._tokens.get(key)
            if token is None or not token.fresh or request.force_reauth:
                scope = {"scope": " ".join(key)} if key else {}
                token = self._tokens[key] = await self._token("fetch_token", grant_type="client_credentials", **scope)
            return token.issued()


class OAuth2AuthorizationCode(_OAuth2):
    """A person's token: they consent once, in a browser; it is refreshed from then on. Each person has their own.

    The run must say whom it is for: ``identity=Identity(principal=...)``.

    Args:
        service: a name for errors.
        authorize_url: the authorization endpoint.
        token_url: the token endpoint.
        client_id: the client.
        client_secret: its secret; None for a public client.
        redirect_uri: where the browser comes back to; pass what it brings to :meth:`finish`.

    Raises:
        ConfigError: ``authlib`` or ``httpx`` is not installed.
    """

    def __init__(
        self, service: str, *, authorize_url: str, token_url: str, client_id: str, redirect_uri: str, client_secret: str | None = None
    ) -> None:
        super().__init__(service, token_url=token_url, client_id=client_id, client_secret=client_secret)
        self._authorize_url = authorize_url
        self._redirect_uri = redirect_uri
        self._tokens: dict[_Key, _Token] = {}
        self._pending: dict[str, _Pending] = {}

    def secrets(self) -> tuple[str, ...]:
        """Those of every OAuth provider, and what belongs to the consents that wait."""
        waiting = [value for pending in tuple(self._pending.values()) for value in (pending.url, pending.state, pending.verifier)]
        return (*super().secrets(), *waiting)

    def _granted(self) -> Iterable[_Token]:
        return tuple(self._tokens.values())

    async def get_credential(self, request: CredentialRequest, /) -> Issued | AuthorizationRequired:
        """The person's token, or where they consent."""
        key = self._key(request.identity, request.scopes)
        async with self._alone(key):
            token = None if request.force_reauth else self._tokens.get(key)
            if token is not None and not token.fresh:
                token = await self._refreshed(key, token)
            return token.issued() if token is not None else self._begin(key)

    async def finish(self, callback_url: str, *, identity: Identity | None = None) -> str:
        """Take what the browser brought back.

        Args:
            callback_url: the URL with its query.
            identity: who is signed in there; a consent that was begun for somebody else is refused.

        Returns:
            The session id of the consent.

        Raises:
            ConsentCallbackError: it finishes no consent.
            ProviderError: the code was not taken.
        """
        try:
            query = {name: values[0] for name, values in parse_qs(urlsplit(callback_url).query).items()}
        except (ValueError, AttributeError):
            query = {}
        pending = self._pending.get(query.get("state", ""))
        if pending is None or pending.begun_s < time.time() - PENDING_S:
            raise ConsentCallbackError(f"{self.id}: no consent waits for this callback; begin again")
        if identity is not None and (identity.tenant, identity.principal) != pending.key[:2]:
            raise ConsentCallbackError(f"{self.id}: this consent was begun for somebody else")
        if self._pending.pop(pending.state, None) is None:
            raise ConsentCallbackError(f"{self.id}: this consent was finished already")
        if "code" not in query:
            code = query.get("error")
            raise ConsentCallbackError(f"{self.id}: there is no consent ({code if code in KNOWN_CODES else 'no code'})")
        grant = {"code": query["code"], "code_verifier": pending.verifier, "redirect_uri": self._redirect_uri}
        self._tokens[pending.key] = await self._token("fetch_token", grant_type="authorization_code", **grant)
        return pending.session_id

    def _key(self, identity: Identity | None, scopes: Iterable[str]) -> _Key:
        if identity is None or identity.principal is None:
            raise NoPrincipalError(self.id)
        return identity.tenant, identity.principal, tuple(sorted(scopes))

    async def _refreshed(self, key: _Key, token: _Token) -> _Token | None:
        if token.refresh is None:
            del self._tokens[key]
            return None
        try:
            made = await self._token("refresh_token", refresh_token=token.refresh)
        except ProviderError as error:
            if error.status is None or not 400 <= error.status < 500 or error.status == 429:
                raise
            del self._tokens[key]  # the refresh token was taken back; the person consents anew
            return None
        self._tokens[key] = made
        return made

    def _begin(self, key: _Key) -> AuthorizationRequired:
        now = time.time()
        self._pending = {state: pending for state, pending in tuple(self._pending.items()) if pending.begun_s > now - PENDING_S}
        pending = next((pending for pending in tuple(self._pending.values()) if pending.key == key), None)
        if pending is None:
            state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
            client = self._client_class(self._client_id, redirect_uri=self._redirect_uri, code_challenge_method="S256")
            scope = {"scope": " ".join(key[2])} if key[2] else {}
            url, _ = client.create_authorization_url(self._authorize_url, state=state, code_verifier=verifier, **scope)
            pending = self._pending[state] = _Pending(key, state, verifier, url, secrets.token_hex(8), now)
        return AuthorizationRequired(pending.url, pending.session_id)
