"""The agent of the sentinel sweep: secrets that enter in every way there is, and tools that give away all they were handed."""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
import traceback
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import keyring
import keyring.backend

from agentfp import Agent, ToolContext, ToolError, ToolReturn, ask_human, tool
from agentfp.artifacts import ArtifactError
from agentfp.plugin import Identity
from agentfp.testing import ScriptedModel, call
from agentfp_credentials import (
    AuthorizationRequired,
    CredentialRequest,
    Credentials,
    EnvironmentTokens,
    Issued,
    KeyringTokens,
    Needs,
    OAuth2AuthorizationCode,
    OAuth2ClientCredentials,
    api_key,
    basic,
    bearer,
    header_map,
    static_tokens,
    with_credential_retry,
)
from tests.plugins.credentials import sweep_parts

SECRETS = {
    "bearer": "SENTINEL-01-bearer+/=",
    "api_key": "SENTINEL-02-apikey",
    "password": 'SENTINEL-03-pass"word',
    "header": "SENTINEL-04-header",
    "environment": "SENTINEL-05-environ",
    "keyring": "SENTINEL-06-keyring",
    "client_secret": "client-SENTINEL-77aa/+=",
    "config": "SENTINEL-08-config",
    "user_token": "SENTINEL-09-usertoken",
    "url": "https://login.example/consent?state=SENTINEL-10-state",
    "raised": "SENTINEL-11-raised",
    "consented": "SENTINEL-12-consented",
}
"""The authorization server makes more of them: access tokens, refresh tokens, codes."""
ANN = Identity(principal="ann")


class InMemory(keyring.backend.KeyringBackend):
    """Plays the operating system's keyring, which is not there on a build machine."""

    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        return SECRETS["keyring"]

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError

    def delete_password(self, service: str, username: str) -> None:
        raise NotImplementedError


class Person:
    """Plays a server whose person consents when the test says so."""

    id = "person"
    consented = False

    async def get_credential(self, request: CredentialRequest, /) -> Issued | AuthorizationRequired:
        return Issued(bearer(SECRETS["consented"])) if self.consented else AuthorizationRequired(SECRETS["url"], "session")


class Stumbling:
    """Plays a server that says too much while it fails, twice of three times."""

    id = "stumbling"
    asked = 0

    async def get_credential(self, request: CredentialRequest, /) -> Issued:
        self.asked += 1
        if self.asked % 3 or request.service == "broken":
            raise ConnectionError(f"Authorization: Bearer {SECRETS['raised']}")
        return Issued(bearer(SECRETS["bearer"]))


def login(url: str) -> OAuth2AuthorizationCode:
    """A person's tokens of the authorization server."""
    return OAuth2AuthorizationCode(
        "login",
        authorize_url=f"{url}/authorize",
        token_url=f"{url}/token",
        client_id="agent",
        client_secret=SECRETS["client_secret"],
        redirect_uri="https://app.example/callback",
    )


def credentials(url: str, person: Person, code: OAuth2AuthorizationCode) -> Credentials:
    """The plugin with a service for each way in."""
    keyring.set_keyring(InMemory())  # type: ignore[no-untyped-call,unused-ignore]
    stumbling = Stumbling()
    client = OAuth2ClientCredentials("client", token_url=f"{url}/token", client_id="agent", client_secret=SECRETS["client_secret"])
    return Credentials(
        services={
            "bearer": static_tokens({"bearer": SECRETS["bearer"]}),
            "api_key": static_tokens({"api_key": api_key(SECRETS["api_key"])}),
            "password": static_tokens({"password": basic("ann", SECRETS["password"])}),
            "header": static_tokens({"header": header_map({"x-h": SECRETS["header"]})}),
            "environment": EnvironmentTokens({"environment": "SWEEP_TOKEN"}),
            "keyring": KeyringTokens({"keyring": ("a", "b")}),
            "config": {"use": "token", "token": SECRETS["config"]},
            "client": client,
            "login": code,
            "person": person,
            "stumbling": with_credential_retry(stumbling, initial_delay_ms=0),
            "broken": stumbling,
        }
    )


PLAIN = ("api_key", "password", "header", "environment", "keyring", "config", "client")


def forms(secret: str) -> list[str]:
    """A secret as it is usually written down."""
    encoded = base64.b64encode(secret.encode()).decode()
    return [secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret))[1:-1], quote(secret, safe=""), encoded, secret.encode().hex()]


async def all_of(ctx: ToolContext, service: str) -> dict[str, Any]:
    """Everything that a tool can know of a credential, in every form, nested."""
    made = await ctx.credentials.get_credential(service, user_token=SECRETS["user_token"])
    values = [*made.secrets(), *made.to_headers().values(), SECRETS["user_token"]]
    return {"made": made, "headers": [made.to_headers(), {"nested": {"forms": [forms(value) for value in values]}}]}


async def spill(ctx: ToolContext, service: str) -> str:
    """What a careless tool says of a credential, on every way past its result."""
    known = await all_of(ctx, service)
    text = f"{known}"
    ctx.progress(text)
    ctx.emit("shop.spilled", {"headers": known["headers"], "text": text})
    return text


@tool
async def tell(ctx: Annotated[ToolContext, Needs("bearer")], service: str) -> dict[str, Any]:
    """Return all."""
    own = {"own": ctx.credential.to_headers(), "made": ctx.credential, "ctx": repr(ctx.credentials), "environ": dict(os.environ)}
    return {**own, "other": await spill(ctx, service), "json": await all_of(ctx, service)}


@tool
async def keep(ctx: ToolContext, service: str) -> ToolReturn:
    """Put all into the store, and hand some to the application alone."""
    known = await all_of(ctx, service)
    data, text = known["headers"], json.dumps(known["headers"])
    refs = []
    for item in (data, text, text.encode(), b"\x00\xff" + text.encode() + b"\xfe"):
        meta = await ctx.artifacts.put(kind="kept", media_type="application/json", data=item, label=text, digest="sha-256")
        refs.append(meta.ref)

    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(text), 7):
            yield text[at : at + 7].encode()

    try:
        await ctx.artifacts.put_stream(chunks(), kind="kept", media_type="text/plain", bytes=len(text))
    except ArtifactError as error:
        refs.append(str(error))
    return ToolReturn(refs, private={"all": data})


@tool
async def raises(ctx: ToolContext, service: str) -> str:
    """Raise all."""
    raise ValueError(await spill(ctx, service))


@tool
async def raises_words(ctx: ToolContext, service: str) -> str:
    """Raise all, for the model."""
    raise ToolError(await spill(ctx, service), detail=await spill(ctx, service))


@tool
async def asks(ctx: ToolContext, service: str) -> str:
    """Ask a person and say all."""
    return ask_human(await spill(ctx, service), context={"text": await spill(ctx, service)})


@tool
async def repeat(ctx: ToolContext, text: str) -> str:
    """Repeat an argument."""
    raise AssertionError("it ran with a secret among its arguments")


@tool(approval=True)
async def approved(ctx: ToolContext, text: str) -> str:
    """Repeat an argument that a person may change."""
    return text


@tool
def with_person(ctx: Annotated[ToolContext, Needs("person", mode="user")]) -> str:
    """Needs a consent."""
    return str(ctx.credential.to_headers())


@tool
def with_login(ctx: Annotated[ToolContext, Needs("login", mode="user", scopes=("read",))]) -> str:
    """Needs a consent of the authorization server."""
    return str(ctx.credential.to_headers())


@tool
def with_stumbling(ctx: Annotated[ToolContext, Needs("stumbling")]) -> str:
    """Needs three attempts."""
    return str(ctx.credential.to_headers())


@tool
def with_broken(ctx: Annotated[ToolContext, Needs("broken")]) -> str:
    """Is never had."""
    raise AssertionError("it ran without a credential")


@tool
async def dies(ctx: Annotated[ToolContext, Needs("bearer")], service: str) -> str:
    """Says all and is killed."""
    await spill(ctx, service)
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


TOOLS = [tell, keep, raises, raises_words, asks, repeat, approved, with_person, with_login, with_stumbling, with_broken, dies]


def agent(script: list[Any], plugin: Credentials, folder: Path, **more: Any) -> Agent[Any, Any]:
    """The agent, with the plugins of every distribution on.

    Args:
        script: what its model says.
        plugin: hands the secrets out.
        folder: where the others may write.
        **more: other arguments of the agent.
    """
    tools = more.pop("tools", TOOLS)
    return Agent(ScriptedModel(script, chunk=5), tools=tools, plugins=[plugin, *sweep_parts.plugins(folder)], **more)


def alone(script: list[Any], url: str, folder: Path, **more: Any) -> Agent[Any, Any]:
    """The agent in a process of its own."""
    return agent(script, credentials(url, Person(), login(url)), folder, **more)


if __name__ == "__main__":
    address, where = sys.argv[1:]
    killed = [[call("tell", service=service) for service in PLAIN], call("dies", service="api_key")]
    try:
        alone(killed, address, Path(where), dev=True).run_sync("Go.", journal=Path(where) / "crash.journal")
    except Exception:
        traceback.print_exc()
elif "SWEEP_SERVES" in os.environ:  # for `agentfp mcp-serve`
    served = alone(
        [], os.environ["SWEEP_SERVES"], Path(os.environ["SWEEP_FOLDER"]), name="served", tools=[tell, keep, raises, raises_words]
    )
