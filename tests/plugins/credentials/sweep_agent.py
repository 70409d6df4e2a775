"""The agent of the sentinel sweep: twelve secrets that enter in as many ways, and tools that give away all they were handed."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import keyring
import keyring.backend

from agentfp import Agent, ToolContext, ToolError, ask_human, tool
from agentfp.testing import ScriptedModel, call
from agentfp_artifacts import Artifacts
from agentfp_credentials import (
    AuthorizationRequired,
    CredentialRequest,
    Credentials,
    EnvironmentTokens,
    Issued,
    KeyringTokens,
    Needs,
    OAuth2ClientCredentials,
    api_key,
    basic,
    bearer,
    header_map,
    static_tokens,
    with_credential_retry,
)
from agentfp_evidence import Evidence
from agentfp_findings import Findings
from agentfp_permissions import Permissions

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
    "url": "https://login.example/consent?state=SENTINEL-10-url",
    "raised": "SENTINEL-11-raised",
    "consented": "SENTINEL-12-consented",
}
"""The access token of the client's grant is a thirteenth, which the server makes."""


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


def plugin(token_url: str, person: Person) -> Credentials:
    """The plugin with a service for each way in."""
    keyring.set_keyring(InMemory())  # type: ignore[no-untyped-call,unused-ignore]
    stumbling = Stumbling()
    return Credentials(
        services={
            "bearer": static_tokens({"bearer": SECRETS["bearer"]}),
            "api_key": static_tokens({"api_key": api_key(SECRETS["api_key"])}),
            "password": static_tokens({"password": basic("ann", SECRETS["password"])}),
            "header": static_tokens({"header": header_map({"x-h": SECRETS["header"]})}),
            "environment": EnvironmentTokens({"environment": "SWEEP_TOKEN"}),
            "keyring": KeyringTokens({"keyring": ("a", "b")}),
            "config": {"use": "token", "token": SECRETS["config"]},
            "client": OAuth2ClientCredentials("client", token_url=token_url, client_id="agent", client_secret=SECRETS["client_secret"]),
            "person": person,
            "stumbling": with_credential_retry(stumbling, initial_delay_ms=0),
            "broken": stumbling,
        }
    )


PLAIN = ("api_key", "password", "header", "environment", "keyring", "config", "client")


async def spill(ctx: ToolContext, service: str) -> str:
    """What a careless tool says of a credential."""
    made = await ctx.credentials.get_credential(service, user_token=SECRETS["user_token"])
    text = f"{made} {made.to_headers()} {made.secrets()} {SECRETS['user_token']}"
    ctx.progress(text)
    ctx.emit("shop.spilled", {"headers": made.to_headers(), "text": text})
    return text


@tool
async def tell(ctx: Annotated[ToolContext, Needs("bearer")], service: str) -> dict[str, Any]:
    """Return all."""
    return {"own": ctx.credential.to_headers(), "made": ctx.credential, "other": await spill(ctx, service), "ctx": repr(ctx.credentials)}


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
def with_person(ctx: Annotated[ToolContext, Needs("person", mode="user")]) -> str:
    """Needs a consent."""
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


TOOLS = [tell, raises, raises_words, asks, with_person, with_stumbling, with_broken, dies]


def agent(script: list[Any], token_url: str, person: Person, store: Path, **more: Any) -> Agent[Any, Any]:
    """The agent, with every other plugin that reads results; what the tools say is long enough to be placed in the store."""
    others = [Evidence(), Findings(), Permissions(roles={"all": ["*"]}, active_role="all")]
    artifacts = Artifacts(store="file", path=str(store), max_inline_chars=100)
    return Agent(ScriptedModel(script), tools=TOOLS, plugins=[plugin(token_url, person), *others, artifacts], **more)


if __name__ == "__main__":
    url, folder = sys.argv[1:]
    script = [[call("tell", service=service) for service in PLAIN], call("dies", service="api_key")]
    try:
        agent(script, url, Person(), Path(folder) / "store", dev=True).run_sync("Go.", journal=Path(folder) / "crash.journal")
    except Exception:
        traceback.print_exc()
