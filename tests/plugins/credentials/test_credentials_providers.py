"""The providers, against the environment, a keyring, and a real authorization server on loopback."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import httpx
import keyring
import keyring.backend
import pytest

from agentfp import Agent, ConfigError, ToolContext, tool
from agentfp.plugin import Identity
from agentfp.testing import ScriptedModel, call
from agentfp_credentials import (
    AuthorizationRequired,
    ConsentCallbackError,
    CredentialRequest,
    Credentials,
    EnvironmentTokens,
    Issued,
    KeyringTokens,
    Needs,
    OAuth2AuthorizationCode,
    OAuth2ClientCredentials,
    ProviderError,
    api_key,
)

pytestmark = pytest.mark.anyio
CLIENT, CLIENT_SECRET = "agent", "client-SENTINEL-77aa/+="
ANN, BOB = Identity(principal="ann"), Identity(principal="bob")
CALLBACK = "http://127.0.0.1/callback"


class InMemory(keyring.backend.KeyringBackend):
    """Plays the operating system's keyring, which is not there on a build machine; the package's own look-up is real."""

    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        return {("crm", "agent"): "from-keyring"}.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError

    def delete_password(self, service: str, username: str) -> None:
        raise NotImplementedError


async def headers_of(provider: Any, request: CredentialRequest) -> dict[str, str]:
    answer = await provider.get_credential(request)
    assert isinstance(answer, Issued)
    return answer.credential.to_headers()


async def test_the_environment_is_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = EnvironmentTokens({"crm": "CRM_TOKEN_OF_TEST"}, make=lambda value: api_key(value, "X-Key"))
    with pytest.raises(ProviderError, match="'CRM_TOKEN_OF_TEST' is not set"):
        await provider.get_credential(CredentialRequest("crm"))
    for value in ("one", "two"):
        monkeypatch.setenv("CRM_TOKEN_OF_TEST", value)
        assert await headers_of(provider, CredentialRequest("crm")) == {"x-key": value}


async def test_the_keyring_is_read() -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(InMemory())  # type: ignore[no-untyped-call,unused-ignore]
    try:
        provider = KeyringTokens({"crm": ("crm", "agent"), "mail": ("mail", "agent")})
        assert await headers_of(provider, CredentialRequest("crm")) == {"authorization": "Bearer from-keyring"}
        with pytest.raises(ProviderError, match="no password"):
            await provider.get_credential(CredentialRequest("mail"))
    finally:
        keyring.set_keyring(before)


def of_client(server: Any, secret: str = CLIENT_SECRET) -> OAuth2ClientCredentials:
    return OAuth2ClientCredentials("crm", token_url=server.url + "/token", client_id=CLIENT, client_secret=secret)


async def test_client_credentials_are_kept_until_they_expire(server: Any) -> None:
    provider = of_client(server)
    first = await headers_of(provider, CredentialRequest("crm"))
    assert await headers_of(provider, CredentialRequest("crm")) == first
    assert server.grants == ["client_credentials"]
    assert await headers_of(provider, CredentialRequest("crm", scopes=("write",))) != first
    assert await headers_of(provider, CredentialRequest("crm", force_reauth=True)) != first
    server.expires_in = 10  # within the leeway: renewed the next time
    await headers_of(provider, CredentialRequest("crm", force_reauth=True))
    await headers_of(provider, CredentialRequest("crm"))
    assert len(server.grants) == 5


@pytest.mark.parametrize(("status", "seen"), [(0, 401), (503, 503)])
async def test_what_the_token_endpoint_says_of_a_failure_is_not_repeated(server: Any, status: int, seen: int) -> None:
    server.status = status
    with pytest.raises(ProviderError) as raised:
        await of_client(server, CLIENT_SECRET if status else "wrong").get_credential(CredentialRequest("crm"))
    assert raised.value.status in (seen, 400)
    assert "SENTINEL" not in f"{raised.value!r}"
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def of_person(server: Any) -> OAuth2AuthorizationCode:
    return OAuth2AuthorizationCode(
        "crm",
        authorize_url=server.url + "/authorize",
        token_url=server.url + "/token",
        client_id=CLIENT,
        client_secret=CLIENT_SECRET,
        redirect_uri=CALLBACK,
    )


async def browse(url: str) -> str:
    async with httpx.AsyncClient() as client:
        return (await client.get(url)).headers["Location"]


async def test_a_person_consents_and_the_token_is_refreshed_and_taken_back(server: Any) -> None:
    provider = of_person(server)
    asked = CredentialRequest("crm", ("read",), "user", ANN)
    wanted = await provider.get_credential(asked)
    assert isinstance(wanted, AuthorizationRequired)
    once_more = await provider.get_credential(asked)
    assert isinstance(once_more, AuthorizationRequired)
    assert once_more.authorization_url == wanted.authorization_url
    callback = await browse(wanted.authorization_url)
    with pytest.raises(ConsentCallbackError, match="somebody else"):
        await provider.finish(callback, identity=BOB)
    server.expires_in = 10
    assert await provider.finish(callback, identity=ANN) == wanted.session_id
    with pytest.raises(ConsentCallbackError, match="no consent waits"):
        await provider.finish(callback, identity=ANN)
    first = await headers_of(provider, asked)
    assert await headers_of(provider, asked) != first
    assert server.grants == ["authorization_code", "refresh_token", "refresh_token"]
    server.refreshable.clear()
    assert isinstance(await provider.get_credential(asked), AuthorizationRequired)


async def test_a_refresh_token_that_is_not_replaced_is_used_again(server: Any) -> None:
    provider = of_person(server)
    server.rotates, server.expires_in = False, 10
    wanted = await provider.get_credential(CredentialRequest("crm", identity=ANN))
    assert isinstance(wanted, AuthorizationRequired)
    await provider.finish(await browse(wanted.authorization_url))
    tokens = [await headers_of(provider, CredentialRequest("crm", identity=ANN)) for _ in range(3)]
    assert len({str(token) for token in tokens}) == 3


async def test_people_do_not_share_a_token_and_nobody_has_none(server: Any) -> None:
    provider = of_person(server)
    wanted = await provider.get_credential(CredentialRequest("crm", identity=ANN))
    assert isinstance(wanted, AuthorizationRequired)
    await provider.finish(await browse(wanted.authorization_url))
    assert isinstance(await provider.get_credential(CredentialRequest("crm", identity=ANN)), Issued)
    assert isinstance(await provider.get_credential(CredentialRequest("crm", identity=BOB)), AuthorizationRequired)
    with pytest.raises(ProviderError, match="whom it is for"):
        await provider.get_credential(CredentialRequest("crm"))


async def test_threads_with_loops_of_their_own_refresh_one_after_the_other(server: Any) -> None:
    provider, asked = of_person(server), CredentialRequest("crm", identity=ANN)
    wanted = await provider.get_credential(asked)
    assert isinstance(wanted, AuthorizationRequired)
    server.expires_in = 10  # each asks anew, with a refresh token that is good for one use
    await provider.finish(await browse(wanted.authorization_url))

    def ask() -> Any:
        return asyncio.run(provider.get_credential(asked))

    with ThreadPoolExecutor(8) as threads:
        answers = [made.result(timeout=30) for made in [threads.submit(ask) for _ in range(16)]]
    assert all(isinstance(answer, Issued) for answer in answers)
    assert server.grants.count("refresh_token") == 16


async def test_a_refresh_that_stumbles_loses_no_consent(server: Any) -> None:
    provider = of_person(server)
    request = CredentialRequest("crm", identity=ANN)
    wanted = await provider.get_credential(request)
    assert isinstance(wanted, AuthorizationRequired)
    server.expires_in = 10
    await provider.finish(await browse(wanted.authorization_url))
    server.status = 503
    with pytest.raises(ProviderError):
        await provider.get_credential(request)
    server.status = 0
    assert isinstance(await provider.get_credential(request), Issued)


async def test_a_run_pauses_for_the_consent_of_a_real_server(server: Any) -> None:
    provider = of_person(server)
    plugin = Credentials(services={"crm": provider})
    seen: list[str] = []

    @tool
    def find(ctx: Annotated[ToolContext, Needs("crm", mode="user")]) -> str:
        """Find."""
        seen.append(ctx.credential.to_headers()["authorization"])
        return seen[-1]

    agent = Agent(ScriptedModel([call("find"), "Done."]), tools=[find], plugins=[plugin])
    result: Any = await agent.run("Find.", identity=ANN)
    (wanted,) = await plugin.authorizations(result)
    await provider.finish(await browse(wanted.url), identity=ANN)
    done = await agent.resume(result.pause, True)
    assert done.text == "Done."
    assert seen == [f"Bearer {server.issued[0]}"]
    assert server.issued[0] not in done.history.to_json()


def test_a_config_file_describes_the_services(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agentfp.toml").write_text(
        """version = 1
[agent]
model = "scripted"
plugins = ["credentials"]
[plugins.credentials.services.crm]
use = "token"
token = { env = "CRM_TOKEN_OF_TEST" }
"""
    )
    monkeypatch.setenv("CRM_TOKEN_OF_TEST", "tok-SENTINEL-file")
    agent = Agent.from_config(tmp_path / "agentfp.toml", model=ScriptedModel(["Hello."]))
    assert agent.run_sync("Hi").text == "Hello."
    assert "SENTINEL" not in repr(agent)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "keyring", None)
    with pytest.raises(ConfigError, match=r"agentfp-credentials\[keyring\]"):
        KeyringTokens({"crm": ("crm", "agent")})
