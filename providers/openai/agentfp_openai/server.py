"""Who is spoken to: the address, the paths behind it, and the headers that authorise a request."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from urllib.parse import quote, urlsplit

from agentfp.model import ModelAuthenticationError, on_loopback
from agentfp.plugin import ConfigError

Key: TypeAlias = str | Callable[[], str]
Kind: TypeAlias = Literal["openai", "azure", "compatible"]

OPENAI_URL = "https://api.openai.com/v1"
_AZURE = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")
_VARIABLES: Mapping[str, str] = {
    "api.cerebras.ai": "CEREBRAS_API_KEY",
    "api.deepseek.com": "DEEPSEEK_API_KEY",
    "api.fireworks.ai": "FIREWORKS_API_KEY",
    "api.groq.com": "GROQ_API_KEY",
    "api.mistral.ai": "MISTRAL_API_KEY",
    "api.together.ai": "TOGETHER_API_KEY",
    "api.together.xyz": "TOGETHER_API_KEY",
    "api.x.ai": "XAI_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
}
"""Where the well-known servers expect their key. A key of one of them is never sent to another one."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that speaks OpenAI's protocol.

    Args:
        base_url: what its paths are put behind.
        kind: OpenAI itself, Azure, or one that is compatible.
        key: the key, or a function that gives a fresh token; looked up in the environment when None.
        variable: the environment variable that the key is looked up in; None when there is no fitting one.
        api_version: of Azure's dated interface.
        headers: that go along with each request.
    """

    base_url: str
    kind: Kind
    key: Key | None = field(default=None, repr=False)
    variable: str | None = None
    api_version: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """Whose replies its replies are."""
        return (urlsplit(self.base_url).hostname or "").lower()

    def path(self, call: str, model: str) -> str:
        """The path of a call behind the base URL.

        Args:
            call: ``/chat/completions`` or ``/responses``.
            model: the model's name; on Azure's dated interface that of the deployment.
        """
        if self.api_version is None:
            return call
        named = call == "/responses" or self.base_url.endswith("/v1") or "/deployments/" in self.base_url
        deployment = "" if named else f"/deployments/{quote(model, safe='')}"
        return f"{deployment}{call}?api-version={quote(self.api_version, safe='')}"

    def authorization(self, provider: str, model: str) -> dict[str, str]:
        """The headers of one attempt.

        Args:
            provider: name of the provider, for the error.
            model: name of the model, for the error.

        Raises:
            ModelAuthenticationError: there is no key; says where it belongs.
        """
        if callable(self.key):
            return {**self.headers, "authorization": f"Bearer {self.key()}"}
        key = self.key
        if key is None and self.variable is not None:
            key = os.environ.get(self.variable, "").strip()
        if key:
            named = {"api-key": key} if self.kind == "azure" else {"authorization": f"Bearer {key}"}
            return {**self.headers, **named}
        if self.key is not None or on_loopback(self.base_url):
            return dict(self.headers)
        where = f"set {self.variable}, or pass api_key" if self.variable else "pass api_key (in a config file: a reference to a variable)"
        msg = f"there is no key for provider {provider!r} (model {model!r}) at {urlsplit(self.base_url).hostname!r}; {where}"
        raise ModelAuthenticationError(msg, provider=provider, model=model)


def server(
    *,
    api_key: Key | None,
    base_url: str | None,
    api_version: str | None,
    organization: str | None,
    project: str | None,
    problems: list[str],
) -> Server:
    """The server that settings describe.

    Args:
        api_key: the key, ``""`` for a server that wants none, or a function that gives a token.
        base_url: its address; ``OPENAI_BASE_URL``, else OpenAI's own, when None.
        api_version: of Azure's dated interface.
        organization: who is billed, at OpenAI.
        project: which project is billed, at OpenAI.
        problems: takes what is wrong with them.
    """
    if api_key is not None and not isinstance(api_key, str) and not callable(api_key):
        problems.append(f"api_key takes a text or a function that gives one, got a {type(api_key).__name__}")
    texts = {"base_url": base_url, "api_version": api_version, "organization": organization, "project": project}
    problems += [f"{n} takes a text, got a {type(v).__name__}" for n, v in texts.items() if v is not None and not isinstance(v, str)]
    if problems:
        raise ConfigError(problems)
    told = base_url or os.environ.get("OPENAI_BASE_URL", "").strip()
    url = (told or OPENAI_URL).rstrip("/")
    host = (urlsplit(url).hostname or "").lower()
    kind: Kind = "compatible"
    variable = _VARIABLES.get(host)
    if host == "api.openai.com" or host.endswith(".api.openai.com"):
        kind, variable = "openai", "OPENAI_API_KEY"
    elif host.endswith(_AZURE) or api_version is not None:
        kind, variable = "azure", "AZURE_OPENAI_API_KEY"
        if "/openai" not in urlsplit(url).path:
            url += "/openai/v1" if api_version is None else "/openai"
    elif variable is None and not base_url:
        variable = "OPENAI_API_KEY"  # the two variables belong together
    billed = {"openai-organization": organization, "openai-project": project}
    key = api_key.strip() if isinstance(api_key, str) else api_key
    return Server(url, kind, key, variable, api_version, {name: value for name, value in billed.items() if value})
