"""Providers that look a secret up: given in code, in the environment, in the keyring; and one that tries another again."""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, NoReturn

import anyio
import anyio.to_thread

from agentfp import AgentfpError
from agentfp.plugin import ConfigError
from agentfp_credentials.protocol import AuthorizationRequired, CredentialProvider, CredentialRequest, Issued
from agentfp_credentials.values import Credential, bearer, texts_of


class ProviderError(AgentfpError):
    """A provider cannot answer. Its words hold no secret.

    Args:
        message: what is wrong.
        status: HTTP status, where there was one.
    """

    code: ClassVar[str] = "ERR_CREDENTIAL_PROVIDER"

    def __init__(self, message: str, *, status: int | None = None) -> None:
        self.status = status
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return _provider_error, (type(self), str(self), self.status)


def _provider_error(kind: type[ProviderError], message: str, status: int | None) -> ProviderError:
    try:
        return kind(message, status=status)
    except TypeError:  # of an application, and made of something else
        return ProviderError(message, status=status)


class UnknownServiceError(ProviderError):
    """The provider has nothing for this service."""


class NoPrincipalError(ProviderError):
    """The run does not say whom it is for, and the credential is a person's."""

    def __init__(self, provider: str) -> None:
        super().__init__(f"{provider}: the run does not say whom it is for; pass identity=Identity(principal=...)", status=401)
        self.provider = provider

    def __reduce__(self) -> tuple[Any, ...]:
        return NoPrincipalError, (self.provider,)


class HoldsSecrets:
    """Base of providers that hold secrets: they cannot be pickled or copied, and their representation shows their id only."""

    id: str = ""

    def secrets(self) -> tuple[str, ...]:
        """The values that it holds by now."""
        return ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"provider {self.id!r} holds secrets and cannot be pickled or copied; make another one there")


class StaticTokens(HoldsSecrets):
    """Tokens that are known; see :func:`static_tokens`."""

    id = "static"

    def __init__(self, tokens: Mapping[str, str | Credential]) -> None:
        self._made = {service: value if isinstance(value, Credential) else bearer(value) for service, value in tokens.items()}

    def secrets(self) -> tuple[str, ...]:
        """All of them."""
        return tuple([secret for made in self._made.values() for secret in made.secrets()])

    async def get_credential(self, request: CredentialRequest, /) -> Issued:
        """The credential of the service."""
        found = self._made.get(request.service)
        if found is None:
            raise UnknownServiceError(f"there is no token for {request.service!r}")
        return Issued(found)


def static_tokens(tokens: Mapping[str, str | Credential]) -> StaticTokens:
    """A provider of what is known already.

    Args:
        tokens: by service: a bearer token, or a credential.

    Raises:
        ConfigError: a token is blank.
    """
    return StaticTokens(tokens)


class EnvironmentTokens(HoldsSecrets):
    """Reads a variable of the environment each time, so that a new value counts at once.

    Args:
        variables: the variable of each service.
        make: makes the credential of the value.
    """

    id = "environment"

    def __init__(self, variables: Mapping[str, str], *, make: Callable[[str], Credential] = bearer) -> None:
        self._variables = dict(variables)
        self._make = make

    def secrets(self) -> tuple[str, ...]:
        """What the variables hold now."""
        return tuple([value for variable in self._variables.values() if (value := os.environ.get(variable, "").strip())])

    async def get_credential(self, request: CredentialRequest, /) -> Issued:
        """The credential of the service."""
        variable = self._variables.get(request.service)
        if variable is None:
            raise UnknownServiceError(f"there is no variable for {request.service!r}")
        value = os.environ.get(variable, "").strip()
        if not value:
            raise ProviderError(f"the variable {variable!r} is not set; set it where the agent runs")
        return Issued(self._make(value))


class KeyringTokens(HoldsSecrets):
    """Reads the keyring of the operating system. Needs ``agentfp-credentials[keyring]``.

    Args:
        entries: the entry of each service, as (system, user name).
        make: makes the credential of the value.

    Raises:
        ConfigError: ``keyring`` is not installed.
    """

    id = "keyring"

    def __init__(self, entries: Mapping[str, tuple[str, str]], *, make: Callable[[str], Credential] = bearer) -> None:
        try:
            import keyring
        except ImportError as error:
            raise ConfigError("the keyring is read with a package that is missing: pip install 'agentfp-credentials[keyring]'") from error
        self._entries = dict(entries)
        self._make = make
        self._read = keyring.get_password
        self._seen: set[str] = set()

    def secrets(self) -> tuple[str, ...]:
        """What was read so far: a keyring may ask its owner, so it is not read before it must be."""
        return tuple(self._seen)

    async def get_credential(self, request: CredentialRequest, /) -> Issued:
        """The credential of the service."""
        entry = self._entries.get(request.service)
        if entry is None:
            raise UnknownServiceError(f"there is no entry for {request.service!r}")
        value = await anyio.to_thread.run_sync(self._read, *entry)
        if not value:
            raise ProviderError(f"the keyring has no password of {entry[1]!r} for {entry[0]!r}")
        self._seen.add(value)
        return Issued(self._make(value))


class ByService(HoldsSecrets):
    """Asks another provider for each service.

    Args:
        providers: the provider of each service.
    """

    id = "by-service"

    def __init__(self, providers: Mapping[str, CredentialProvider]) -> None:
        self._providers = dict(providers)

    def secrets(self) -> tuple[str, ...]:
        """What the providers hold by now."""
        return tuple([secret for provider in self._providers.values() for secret in secrets_of(provider)])

    @property
    def services(self) -> frozenset[str]:
        """The services that it knows."""
        return frozenset(self._providers)

    async def get_credential(self, request: CredentialRequest, /) -> Issued | AuthorizationRequired:
        """What the service's own provider answers."""
        provider = self._providers.get(request.service)
        if provider is None:
            raise UnknownServiceError(f"there is no provider for {request.service!r}")
        return await provider.get_credential(request)


def secrets_of(provider: CredentialProvider | None) -> tuple[str, ...]:
    """The values that a provider holds by now, where it says so.

    Raises:
        ProviderError: it cannot say them; without its words.
    """
    tell = getattr(provider, "secrets", None)
    if provider is None or not callable(tell):
        return ()
    told: Any = None
    try:
        told = tell()
        return texts_of(told)
    except Exception as error:
        kind = type(error).__name__
    if inspect.iscoroutine(told):
        told.close()
    raise ProviderError(f"secrets() of the provider {provider.id!r} raised {kind}; what cannot be masked must not be handed out")


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an exception speaks of, where it does."""
    for value in (
        getattr(error, "status", None),
        getattr(error, "status_code", None),
        getattr(getattr(error, "response", None), "status_code", None),
    ):
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def is_transient(error: Exception) -> bool:
    """Whether it may be otherwise next time: a 5xx, a 429, a network's failure, or something unknown."""
    status = status_of(error)
    if status is not None:
        return status == 429 or not 400 <= status < 500
    return not isinstance(error, (UnknownServiceError, ConfigError))


class RetryingProvider(HoldsSecrets):
    """Asks another provider again; see :func:`with_credential_retry`."""

    def __init__(
        self, inner: CredentialProvider, attempts: int, delays: tuple[float, float, float], on_attempt: Callable[[int, str], Any] | None
    ) -> None:
        self.id = inner.id
        self._inner = inner
        self._attempts = attempts
        self._delays = delays
        self._on_attempt = on_attempt

    def secrets(self) -> tuple[str, ...]:
        """What the other one holds by now."""
        return secrets_of(self._inner)

    async def get_credential(self, request: CredentialRequest, /) -> Issued | AuthorizationRequired:
        """What the provider answers in the end."""
        delay, factor, most = self._delays
        for attempt in range(1, self._attempts):
            try:
                return await self._inner.get_credential(request)
            except Exception as error:
                if not is_transient(error):
                    raise
                name = type(error).__name__
            if self._on_attempt is not None:
                told = self._on_attempt(attempt, name)
                if isinstance(told, Awaitable):
                    await told
            await anyio.sleep(min(delay, most))
            delay *= factor
        return await self._inner.get_credential(request)


def with_credential_retry(
    provider: CredentialProvider,
    *,
    max_attempts: int = 3,
    initial_delay_ms: float = 200,
    backoff: float = 2,
    max_delay_ms: float = 10_000,
    on_attempt: Callable[[int, str], Any] | None = None,
) -> RetryingProvider:
    """A provider that asks another one again when it raised something that may pass.

    Args:
        provider: the other one.
        max_attempts: how often it is asked in all.
        initial_delay_ms: milliseconds before the second attempt.
        backoff: by how much the delay grows each time.
        max_delay_ms: the longest delay, in milliseconds.
        on_attempt: told of each attempt that failed and is made again: its number, and the class name of the error.

    Raises:
        ConfigError: a number cannot be; lists all.
    """
    problems = []
    if isinstance(max_attempts, bool) or not isinstance(max_attempts, int) or max_attempts < 1:
        problems.append(f"max_attempts must be a whole number from 1, got {max_attempts!r}")
    for name, value, least in (("initial_delay_ms", initial_delay_ms, 0), ("backoff", backoff, 1), ("max_delay_ms", max_delay_ms, 0)):
        if not isinstance(value, (int, float)) or not value >= least:
            problems.append(f"{name} must be a number from {least}, got {value!r}")
    if problems:
        raise ConfigError(problems)
    return RetryingProvider(provider, max_attempts, (initial_delay_ms / 1000, backoff, max_delay_ms / 1000), on_attempt)
