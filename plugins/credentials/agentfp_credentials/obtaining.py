"""Asks the provider for one credential of one call, and says on the record what came of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import anyio

from agentfp.plugin import Run
from agentfp_credentials.errors import CredentialError
from agentfp_credentials.events import (
    CredentialAcquired,
    CredentialAuthorizationRequired,
    CredentialFailed,
    CredentialRequested,
    Reason,
    Via,
)
from agentfp_credentials.protocol import LAST_S, AuthorizationRequired, CredentialProvider, CredentialRequest, Issued
from agentfp_credentials.providers import NoPrincipalError, UnknownServiceError, status_of
from agentfp_credentials.values import Credential, texts_of

PLUGIN = "credentials"


@dataclass(slots=True)
class Kept:
    """What is known in this process only: never on a record, and gone with it.

    Args:
        secrets: the values that were handed out or shown to a person.
        urls: where consent is outstanding, by service.
        issued: what can be handed out again, where that is wanted.
    """

    secrets: set[str] = field(default_factory=set, repr=False)
    urls: dict[str, str] = field(default_factory=dict, repr=False)
    issued: dict[Any, Issued] = field(default_factory=dict, repr=False)


def kept(run: Run[Any]) -> Kept:
    """What is known of a conversation in this process."""
    found: Kept = run.cache(PLUGIN).setdefault("kept", Kept())
    return found


def mask(run: Run[Any], values: tuple[str, ...]) -> None:
    """Mask values in everything that is said in this conversation from now on, in later runs of it too."""
    known = kept(run).secrets
    for value in values:
        known.add(value)
        run.mask_value(value, on_record=True)


@dataclass(frozen=True, slots=True)
class Obtaining:
    """One credential for one call.

    Args:
        provider: whom to ask; None where there is nobody.
        run: the run.
        call_id: the call.
        tool: its tool.
        via: whether the tool declares it, or asks for it.
        keep: whether what was issued in this conversation is handed out again while it is valid.
        timeout: seconds that the provider may take.
        tells_model: whether the model is told of a consent that is needed.
    """

    provider: CredentialProvider | None
    run: Run[Any]
    call_id: str
    tool: str
    via: Via
    keep: bool
    timeout: float
    tells_model: bool

    async def obtain(self, request: CredentialRequest) -> Credential | AuthorizationRequired:
        """Ask.

        Raises:
            CredentialError: there is none; without the words of the provider.
        """
        run = self.run
        who = request.identity
        key = (request.service, tuple(sorted(request.scopes)), request.mode, None if who is None else (who.tenant, who.principal))
        again = kept(run).issued.get(key) if self.keep and not request.force_reauth and request.user_token is None else None
        if again is not None and not self._expired(again):
            return again.credential
        self._emit(CredentialRequested(request.service, request.mode, self.via, self.tool))
        if request.user_token is not None:
            mask(run, (request.user_token,))
        try:
            answer, values = await ask_provider(self.provider, request, self.timeout)
        except CredentialError as error:
            self._failed(error)
            raise
        mask(run, values)
        if isinstance(answer, AuthorizationRequired):
            kept(run).urls[request.service] = answer.authorization_url
            self._emit(CredentialAuthorizationRequired(request.service, answer.session_id, self.via, self.tool, self.tells_model))
            return answer
        issued: Issued = answer
        if self._expired(issued):
            raise self._failed(CredentialError(request.service, "expired"))
        if self.keep and request.user_token is None:
            kept(run).issued[key] = issued
        kept(run).urls.pop(request.service, None)
        until = None if issued.expires_at_s == math.inf else issued.expires_at_s
        self._emit(CredentialAcquired(request.service, issued.credential.kind, self.via, until))
        return issued.credential

    def _expired(self, issued: Issued) -> bool:
        expires = issued.expires_at_s
        return expires is not None and (math.isnan(expires) or expires <= self.run.now().timestamp())

    def _failed(self, error: CredentialError) -> CredentialError:
        self._emit(CredentialFailed(error.service, error.reason, self.via, self.tool, error.error_class, error.status))
        return error

    def _emit(self, payload: Any) -> None:
        self.run.emit(payload, call_id=self.call_id, source=PLUGIN)


async def ask_provider(
    provider: CredentialProvider | None, request: CredentialRequest, seconds: float
) -> tuple[Issued | AuthorizationRequired, tuple[str, ...]]:
    """Ask a provider, and see that it is an answer.

    Args:
        provider: whom to ask; None where there is nobody.
        request: for what.
        seconds: how long it may take.

    Returns:
        The answer, and the values in it that are masked.

    Raises:
        CredentialError: there is none. What the provider said is no part of it, nor its cause or context.
    """
    if provider is None:
        raise CredentialError(request.service, "no_provider")
    failure: CredentialError | None = None
    answer: Any = None
    try:
        with anyio.fail_after(seconds):
            answer = await provider.get_credential(request)
    except Exception as error:
        failure = CredentialError(request.service, _reason(error), error_class=type(error).__name__, status=status_of(error))
    if failure is not None:
        raise failure
    try:
        return answer, _checked(answer)
    except Exception:  # whatever a provider answers; not even what it says of itself is shown
        failure = CredentialError(request.service, "bad_answer", error_class=type(answer).__name__)
    raise failure


def _reason(error: Exception) -> Reason:
    """One word for what a provider raised."""
    if isinstance(error, NoPrincipalError):
        return "no_principal"
    return "unknown_service" if isinstance(error, UnknownServiceError) else "provider_failed"


def _checked(answer: Any) -> tuple[str, ...]:
    """The values of an answer that are masked.

    Raises:
        TypeError: it is no answer, or one of which not all could be masked.
    """
    if isinstance(answer, AuthorizationRequired):
        if not all(isinstance(text, str) and text.strip() for text in (answer.authorization_url, answer.session_id)):
            raise TypeError("a consent has a URL and a session id, both texts")
        return texts_of(answer.secrets())
    if not isinstance(answer, Issued) or not isinstance(answer.credential, Credential) or not isinstance(answer.credential.kind, str):
        raise TypeError("it is none of the two answers")
    expires = answer.expires_at_s
    if expires is not None and (not isinstance(expires, (int, float)) or LAST_S < abs(expires) < math.inf):
        raise TypeError("it does not say in seconds when it expires")
    return texts_of(answer.credential.secrets())
