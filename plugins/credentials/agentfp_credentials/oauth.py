"""OAuth 2: client credentials, and authorization code with PKCE and refresh. Needs ``agentfp-credentials[oauth]``."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import pydantic

from agentfp.plugin import ConfigError, Identity
from agentfp_credentials.protocol import LAST_S, AuthorizationRequired, CredentialRequest, Issued
from agentfp_credentials.providers import HoldsSecrets, NoPrincipalError, ProviderError, status_of
from agentfp_credentials.tokens import MemoryTokens, TokenStore, Turns
from agentfp_credentials.values import bearer

LEEWAY_S = 30
"""A token that expires within this time is renewed first."""
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
_Kind = TypeVar("_Kind")


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
    state: str = field(repr=False)
    verifier: str = field(repr=False)
    url: str = field(repr=False)
    session_id: str
    begun_s: float

    @property
    def waits(self) -> bool:
        """Whether it can still be finished."""
        return self.begun_s > time.time() - PENDING_S


_KEY: pydantic.TypeAdapter[_Key] = pydantic.TypeAdapter(_Key)
_TOKEN = pydantic.TypeAdapter(_Token)
_PENDING = pydantic.TypeAdapter(_Pending)


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
        self._turns = Turns()

    def _granted(self) -> Iterable[_Token]:
        return tuple(self._tokens.values())

    async def get_credential(self, request: CredentialRequest, /) -> Issued:
        """The token for the scopes."""
        key = tuple(sorted(request.scopes))
        async with self._turns.alone(key):
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
        store: where tokens and consents that were begun are kept. In memory when it is left out: then they are gone with the process,
            and the one that began a consent must finish it.

    Raises:
        ConfigError: ``authlib`` or ``httpx`` is not installed, or this is no store.
    """

    def __init__(
        self,
        service: str,
        *,
        authorize_url: str,
        token_url: str,
        client_id: str,
        redirect_uri: str,
        client_secret: str | None = None,
        store: TokenStore | None = None,
    ) -> None:
        super().__init__(service, token_url=token_url, client_id=client_id, client_secret=client_secret)
        if store is not None and (isinstance(store, type) or not isinstance(store, TokenStore)):
            raise ConfigError(f"{self.id}: a store has load, save, delete and alone, got a {type(store).__name__}; take FolderTokens(...)")
        self._authorize_url = authorize_url
        self._redirect_uri = redirect_uri
        self._store: TokenStore = MemoryTokens() if store is None else store
        self._seen: dict[_Key, _Token] = {}
        self._begun: dict[_Key, _Pending] = {}

    def secrets(self) -> tuple[str, ...]:
        """Those of every OAuth provider, and what belongs to the consents that wait: all that this process has seen by now."""
        waiting = [value for pending in tuple(self._begun.values()) for value in (pending.url, pending.state, pending.verifier)]
        return (*super().secrets(), *waiting)

    def _granted(self) -> Iterable[_Token]:
        return tuple(self._seen.values())

    async def get_credential(self, request: CredentialRequest, /) -> Issued | AuthorizationRequired:
        """The person's token, or where they consent."""
        key = self._key(request.identity, request.scopes)
        async with self._store.alone(self._name("token", *key)):
            token = None if request.force_reauth else await self._kept(key)
            if token is not None and not token.fresh:
                token = await self._refreshed(key, token)
            return token.issued() if token is not None else await self._begin(key)

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
        state = query.get("state", "")
        key = _made(_KEY, await self._store.load(self._of_state(state)))
        if key is None:
            raise ConsentCallbackError(f"{self.id}: no consent waits for this callback; begin again")
        if identity is not None and (identity.tenant, identity.principal) != key[:2]:
            raise ConsentCallbackError(f"{self.id}: this consent was begun for somebody else")
        async with self._store.alone(self._name("token", *key)):
            pending = await self._waiting(key)
            if pending is None or pending.state != state:
                raise ConsentCallbackError(f"{self.id}: this consent was finished already, or takes too long; begin again")
            await self._forget(key, pending)  # a code is good for one use
            if "code" not in query:
                code = query.get("error")
                raise ConsentCallbackError(f"{self.id}: there is no consent ({code if code in KNOWN_CODES else 'no code'})")
            grant = {"code": query["code"], "code_verifier": pending.verifier, "redirect_uri": self._redirect_uri}
            await self._keep(key, await self._token("fetch_token", grant_type="authorization_code", **grant))
        return pending.session_id

    def _key(self, identity: Identity | None, scopes: Iterable[str]) -> _Key:
        if identity is None or identity.principal is None:
            raise NoPrincipalError(self.id)
        return identity.tenant, identity.principal, tuple(sorted(scopes))

    async def _refreshed(self, key: _Key, token: _Token) -> _Token | None:
        if token.refresh is None:
            await self._drop(key)
            return None
        try:
            made = await self._token("refresh_token", refresh_token=token.refresh)
        except ProviderError as error:
            if error.status is None or not 400 <= error.status < 500 or error.status == 429:
                raise
            await self._drop(key)  # the refresh token was taken back; the person consents anew
            return None
        made.refresh = made.refresh or token.refresh
        await self._keep(key, made)
        return made

    async def _begin(self, key: _Key) -> AuthorizationRequired:
        pending = await self._waiting(key)
        if pending is None:
            state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
            client = self._client_class(self._client_id, redirect_uri=self._redirect_uri, code_challenge_method="S256")
            scope = {"scope": " ".join(key[2])} if key[2] else {}
            url, _ = client.create_authorization_url(self._authorize_url, state=state, code_verifier=verifier, **scope)
            pending = _Pending(state, verifier, url, secrets.token_hex(8), time.time())
            await self._store.save(self._name("consent", *key), json.dumps(dataclasses.asdict(pending)))
            await self._store.save(self._of_state(state), json.dumps(key))
        self._begun = {other: one for other, one in tuple(self._begun.items()) if one.waits} | {key: pending}
        return AuthorizationRequired(pending.url, pending.session_id)

    # --- what is kept ---

    def _name(self, what: str, *of: object) -> str:
        return json.dumps([what, self.id, self._client_id, *of])

    def _of_state(self, state: str) -> str:
        """Where it stands whose consent a state belongs to; the state itself is no name, for names are no secrets."""
        return self._name("state", hashlib.sha256(state.encode("utf-8", "surrogatepass")).hexdigest())

    async def _kept(self, key: _Key) -> _Token | None:
        found = _made(_TOKEN, await self._store.load(self._name("token", *key)))
        if found is None or not _is_token(found.access) or not (found.refresh is None or _is_token(found.refresh)):
            self._seen.pop(key, None)
            return None
        self._seen[key] = found
        self._begun.pop(key, None)  # finished, in another process perhaps
        return found

    async def _keep(self, key: _Key, token: _Token) -> None:
        self._seen[key] = token
        await self._store.save(self._name("token", *key), json.dumps(dataclasses.asdict(token)))

    async def _drop(self, key: _Key) -> None:
        self._seen.pop(key, None)
        await self._store.delete(self._name("token", *key))

    async def _waiting(self, key: _Key) -> _Pending | None:
        """The consent that was begun, while it can be finished."""
        found = _made(_PENDING, await self._store.load(self._name("consent", *key)))
        if found is None or found.waits:
            return found
        await self._forget(key, found)
        return None

    async def _forget(self, key: _Key, pending: _Pending) -> None:
        self._begun.pop(key, None)
        await self._store.delete(self._of_state(pending.state))
        await self._store.delete(self._name("consent", *key))


def _made(kind: pydantic.TypeAdapter[_Kind], text: str | None) -> _Kind | None:
    """What was kept; None for a text that was not written here, in whose place a person consents anew."""
    if text is None:
        return None
    try:
        return kind.validate_json(text)
    except ValueError:
        return None
