"""The official conformance suite (an npm package) over our client and our server. It speaks the older protocol.

Left out, for what is not offered: of a server logging, completion, sampling, resources and prompts (an agent's tools are
served); resuming a stream that the server closed on purpose, for which a store of events is needed. Of a client,
authorization is the ``httpx2.Auth`` that a user passes, here the SDK's own flow; left out is what that has no way for:
metadata of the protocol of March 2025, a draft, and the flows for which it has classes of their own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PEERS = Path(__file__).parent / "peers"
SERVER = (
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-elicitation",
    "json-schema-2020-12",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)
CLIENT = (
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the tools that the suite asks for are served."""
    with subprocess.Popen([sys.executable, PEERS / "conformance_server.py"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert line.startswith("http://")
        yield line
        process.terminate()


def run(node: Path, packages: Path, *arguments: str, folder: Path) -> None:
    """Run a scenario; what it says stands in the failure."""
    command = [str(node), str(packages / "conformance" / "dist" / "index.js"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.stdout[-4_000:]}\n{done.stderr[-4_000:]}"


@pytest.mark.service
@pytest.mark.parametrize("scenario", SERVER)
def test_server(scenario: str, address: str, node: Path, npm_packages: Path, tmp_path: Path) -> None:
    run(node, npm_packages, "server", "--url", address, "--scenario", scenario, folder=tmp_path)


@pytest.mark.service
@pytest.mark.parametrize("scenario", CLIENT)
def test_client(scenario: str, node: Path, npm_packages: Path, tmp_path: Path) -> None:
    client = f"{sys.executable} {PEERS / 'conformance_client.py'}"
    run(node, npm_packages, "client", "--command", client, "--scenario", scenario, folder=tmp_path)
