"""A client for the official conformance suite: an agent that calls each tool of the server it is given once, as a scenario asks for it."""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from agentfp import Agent
from agentfp.testing import AutoModel
from agentfp_mcp import Elicitation, mcp

CALLBACK = "http://localhost:3030/callback"


def accept(question: Elicitation) -> dict[str, Any]:
    """Agrees, and leaves everything at its default."""
    return {}


class Browser(TokenStorage):
    """A person's browser, who agrees to everything, and where tokens are kept."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None
        self.came_back = ""

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info

    async def visit(self, address: str) -> None:
        async with httpx2.AsyncClient() as web:
            self.came_back = (await web.get(address)).headers["location"]

    async def code(self) -> AuthorizationCodeResult:
        found = {key: values[0] for key, values in parse_qs(urlsplit(self.came_back).query).items()}
        return AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss"))


def authorized(address: str) -> Any:
    """The SDK's flow: what a user hands to ``auth=``."""
    browser = Browser()
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if "client_id" in context:  # registered beforehand
        browser.client = OAuthClientInformationFull.model_validate(
            {**context, "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_basic"}
        )
    about = OAuthClientMetadata.model_validate({"client_name": "agentfp", "redirect_uris": [CALLBACK]})
    return OAuthClientProvider(
        address, about, browser, browser.visit, browser.code, client_metadata_url="https://conformance-test.local/client-metadata.json"
    )


async def main(address: str) -> None:
    auth = {"auth": authorized(address)} if os.environ["MCP_CONFORMANCE_SCENARIO"].startswith("auth/") else {}
    source = mcp(url=address, elicit=accept, era="2025-11-25", timeout=20, **auth)
    result = await Agent(AutoModel(), tools=[source]).run("Go")
    print(result.calls)


if __name__ == "__main__":
    anyio.run(main, sys.argv[-1])
