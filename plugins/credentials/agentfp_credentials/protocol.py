"""What a provider of credentials is asked and answers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, Protocol, TypeAlias, runtime_checkable
from urllib.parse import parse_qs

from agentfp.plugin import Identity
from agentfp_credentials.values import Credential

LAST_S = 1e15
"""Seconds since 1970 after which nothing expires."""
Mode: TypeAlias = Literal["machine", "user"]


class _Unpickled:
    """Base of what holds a secret in the open: it cannot be pickled or copied."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__} holds a secret and cannot be pickled or copied; ask the provider for it where it is needed")


@dataclass(frozen=True, slots=True)
class CredentialRequest(_Unpickled):
    """What is asked of a provider.

    Args:
        service: the service, such as ``billing``.
        scopes: what the credential must allow.
        mode: on whose behalf: the application's (``machine``) or the ``user``'s.
        identity: whom the run is for, when its caller named them.
        user_token: a token of the user, when the caller of ``ctx.credentials`` has one; shown nowhere.
        force_reauth: do not answer with what is kept.
    """

    service: str
    scopes: tuple[str, ...] = ()
    mode: Mode = "machine"
    identity: Identity | None = None
    user_token: str | None = field(default=None, repr=False)
    force_reauth: bool = False


@dataclass(frozen=True, slots=True)
class Issued:
    """Here it is.

    Args:
        credential: the credential.
        expires_at_s: when it expires, in seconds since 1970; an expired one is refused.
    """

    credential: Credential
    expires_at_s: float | None = None


class AuthorizationRequired(_Unpickled):
    """A person must consent first. The URL is for that person alone: it is in no representation and cannot be pickled.

    Args:
        authorization_url: where they consent.
        session_id: the provider's name of this consent; it stands on the record, so it must be no secret.
    """

    __slots__ = ("authorization_url", "session_id")

    def __init__(self, authorization_url: str, session_id: str) -> None:
        self.authorization_url = authorization_url
        self.session_id = session_id

    def secrets(self) -> tuple[str, ...]:
        """The values that are masked wherever they turn up: the URL, and the state in it, by which a consent can be taken over."""
        url = self.authorization_url
        return (url, *[state for part in re.split("[?#]", url)[1:] for state in parse_qs(part).get("state", ())])

    def __repr__(self) -> str:
        return f"AuthorizationRequired(session_id={self.session_id!r})"


@runtime_checkable
class CredentialProvider(Protocol):
    """Anything that issues credentials. It may raise; its words are shown to nobody.

    It may have a method ``secrets()`` that gives the values it holds by now. They are masked from the first moment of a run; without it
    a value is masked from when it is issued.

    Attributes:
        id: a short name.
    """

    id: str

    async def get_credential(self, request: CredentialRequest, /) -> Issued | AuthorizationRequired:
        """A credential, or where a person must consent first."""
        ...


@dataclass(frozen=True, slots=True)
class Authorization(_Unpickled):
    """A consent that is waited for, for the screen of the person who must give it.

    Args:
        service: the service.
        url: where they consent; keep it out of logs.
        session_id: the provider's name of it.
        question_id: the question of the pause.
    """

    service: str
    url: str = field(repr=False)
    session_id: str
    question_id: str
