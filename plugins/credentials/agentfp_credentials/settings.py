"""Settings of the plugin, and the provider that they describe."""

from __future__ import annotations

import importlib
from typing import Any, Literal

import pydantic

from agentfp.plugin import ConfigError, Plugin, nearest
from agentfp_credentials.oauth import OAuth2ClientCredentials
from agentfp_credentials.protocol import CredentialProvider
from agentfp_credentials.providers import ByService, EnvironmentTokens, KeyringTokens, StaticTokens

FIELDS = {
    "token": ("token",),
    "environment": ("variable",),
    "keyring": ("system", "user"),
    "client_credentials": ("token_url", "client_id", "client_secret"),
}


class Service(pydantic.BaseModel):
    """One service in a config file."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    use: Literal["token", "environment", "keyring", "client_credentials"]
    """Where the credential comes from."""
    token: pydantic.SecretStr | None = None
    """Of `token`: a bearer token, as a reference such as { env = "CRM_TOKEN" }."""
    variable: str | None = None
    """Of `environment`: the variable, read each time."""
    system: str | None = None
    """Of `keyring`: the system."""
    user: str | None = None
    """Of `keyring`: the user name."""
    token_url: str | None = None
    """Of `client_credentials`: the token endpoint."""
    client_id: str | None = None
    """Of `client_credentials`: the client."""
    client_secret: pydantic.SecretStr | None = None
    """Of `client_credentials`: its secret, as a reference."""

    def problems(self, name: str) -> list[str]:
        """What is missing, and what is set that is not read."""
        needed = FIELDS[self.use]
        said = {field for field in self.model_fields_set if field != "use" and getattr(self, field) is not None}
        missing = [f"service {name!r}: use = {self.use!r} needs {field!r}" for field in needed if field not in said]
        return missing + [
            f"service {name!r}: use = {self.use!r} does not read {field!r}; {nearest(field, needed)}" for field in sorted(said - {*needed})
        ]

    def provider(self, name: str) -> CredentialProvider:
        """The provider that it describes."""
        if self.use == "token" and self.token is not None:
            return StaticTokens({name: self.token.get_secret_value()})
        if self.use == "environment" and self.variable is not None:
            return EnvironmentTokens({name: self.variable})
        if self.use == "keyring" and self.system is not None and self.user is not None:
            return KeyringTokens({name: (self.system, self.user)})
        assert self.token_url is not None
        assert self.client_id is not None
        assert self.client_secret is not None
        secret = self.client_secret.get_secret_value()
        return OAuth2ClientCredentials(name, token_url=self.token_url, client_id=self.client_id, client_secret=secret)


class CredentialsSettings(Plugin.Settings):
    """Where credentials come from, and what happens when a person must consent."""

    provider: Any = pydantic.Field(default=None, repr=False)
    """A provider, or `module:name` of one. For several, see `services`."""
    services: dict[str, Any] = pydantic.Field(default_factory=dict, repr=False)
    """The provider of each service: a provider, a table with `use`, or `module:name`."""
    on_authorization_required: Literal["pause", "tell_model"] | None = None
    """When a person must consent: pause the run (the default), or tell the model and refuse the answer at the end."""
    still_required: Literal["pause", "tell_model"] | None = None
    """When a paused run is resumed and nobody consented: pause again (the default), or tell the model."""
    keep: bool = False
    """Whether a credential is handed out again in the same conversation while it is valid; in memory only."""
    timeout: float = pydantic.Field(default=20.0, gt=0, le=25)
    """Seconds that a provider may take."""

    def open_provider(self) -> CredentialProvider | None:
        """The provider that the settings describe.

        Raises:
            ConfigError: they describe none, or two; lists all problems.
        """
        problems: list[str] = []
        if self.provider is not None and self.services:
            problems.append("set provider or services, not both; a provider for several services goes into services once for each")
        providers = {name: made for name, value in self.services.items() if (made := _service(name, value, problems)) is not None}
        single = None if self.provider is None else _checked("provider", self.provider, problems)
        if self.provider is None and not self.services:
            switches = [name for name in ("on_authorization_required", "still_required") if getattr(self, name) is not None]
            problems += [f"{name} is set and there is no provider; set provider or services" for name in switches]
        if self.on_authorization_required == "tell_model" and self.still_required is not None:
            problems.append("still_required is read after a pause only; leave it out with on_authorization_required = 'tell_model'")
        if problems:
            raise ConfigError([f"plugin 'credentials': {problem}" for problem in problems])
        return ByService(providers) if self.services else single


def _service(name: str, value: Any, problems: list[str]) -> CredentialProvider | None:
    if not isinstance(value, dict):
        return _checked(f"service {name!r}", value, problems)
    use = value.get("use")
    if not isinstance(use, str) or use not in FIELDS:
        problems.append(
            f"service {name!r}: use is {use!r}; {nearest(str(use), FIELDS)}"
            if "use" in value
            else f"service {name!r} needs 'use'; {nearest('', FIELDS)}"
        )
        return None
    try:
        service = Service.model_validate(value)
    except pydantic.ValidationError as error:
        for issue in error.errors(include_input=False, include_url=False):
            path = ".".join(map(str, issue["loc"]))
            odd = issue["type"] == "extra_forbidden"
            problems.append(
                f"service {name!r} has no {path!r}; {nearest(path, FIELDS[use])}"
                if odd
                else f"service {name!r}: {path!r} is refused: {issue['msg']}"
            )
        return None
    found = service.problems(name)
    problems += found
    if found:
        return None
    try:
        return service.provider(name)
    except ConfigError as error:
        problems += [f"service {name!r}: {problem}" for problem in error.problems]
        return None


def _checked(what: str, value: Any, problems: list[str]) -> CredentialProvider | None:
    """A provider, imported where it is named. A text that names none is not shown: it may be a token."""
    if isinstance(value, str):
        module, colon, name = value.partition(":")
        if not colon or not all(part.isidentifier() for part in (*module.split("."), name)):
            problems.append(f"{what} is a text that is no 'module:name'; for a token in code write static_tokens({{...}})")
            return None
        try:
            value = getattr(importlib.import_module(module), name)
        except Exception as error:
            problems.append(f"{what}: {module}:{name} cannot be imported ({type(error).__name__}); correct it")
            return None
    if not isinstance(value, CredentialProvider) or isinstance(value, type):
        problems.append(f"{what} must have an 'id' and an async 'get_credential', got a {type(value).__name__}; pass a provider")
        return None
    return value
