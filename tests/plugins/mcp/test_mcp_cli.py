"""``agentfp mcp-serve``: over stdio and HTTP, with a token, listing only; exit codes, and that Ctrl-C ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent
from agentfp.testing import ScriptedModel, call
from agentfp_mcp import mcp
from tests.plugins.mcp.asking import HTTP_ON_TRIO, children, texts

AGENT = '''
from agentfp import Agent, tool

@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("this is no message")
    return a + b

@tool(approval=True)
def shut() -> str:
    """Shut."""

agent = Agent("nobody:none", name="sums", tools=[add])
careful = Agent("nobody:none", tools=[add, shut])
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sums.py").write_text(AGENT)
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agentfp", "mcp-serve", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


@pytest.mark.anyio
async def test_over_stdio(folder: Path) -> None:
    before = children()
    source = mcp(command=sys.executable, args=["-m", "agentfp", "mcp-serve", "sums:agent"], cwd=folder)
    result = await Agent(ScriptedModel([call("add", a=2, b=3), "Done."]), tools=[source]).run("Go")
    assert texts(result) == ["5"]
    assert children() == before


@pytest.fixture
def http(folder: Path) -> Iterator[Callable[..., dict[str, Any]]]:
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **environment: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "agentfp", "mcp-serve", *arguments, "--http", "--port", "0", "--json"]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
        running.append(process)
        assert process.stdout is not None
        made: dict[str, Any] = json.loads(process.stdout.readline())
        return made

    yield start
    for process in running:
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 130
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.anyio
@HTTP_ON_TRIO
async def test_over_http_with_a_token(http: Callable[..., dict[str, Any]]) -> None:
    told = http("sums:agent", "--token-env", "SUMS_TOKEN", SUMS_TOKEN="a-good-token")
    assert told["tools"] == ["add"]
    assert told["address"] == f"http://127.0.0.1:{told['port']}/mcp"
    source = mcp(url=told["address"], headers={"authorization": "Bearer a-good-token"})
    result = await Agent(ScriptedModel([call("add", a=2, b=3), "Done."]), tools=[source]).run("Go")
    assert texts(result) == ["5"]
    with pytest.raises(Exception, match="could not be used"):
        await Agent(ScriptedModel(["unused"]), tools=[mcp(url=told["address"])]).run("Go")


def test_what_would_be_offered(folder: Path) -> None:
    listed = run(folder, "sums:agent", "--list", "--json")
    assert [tool["name"] for tool in json.loads(listed.stdout)] == ["add"]
    assert run(folder, "sums:agent", "--list").stdout == "add  Add two numbers.\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("sums:careful",), 2, "'shut' asks for approval"),
        (("sums:agent", "--tool", "ad"), 2, "there is no tool 'ad' to offer"),
        (("sums:agent", "--json"), 2, "--json goes with --http or --list"),
        (("sums:agent", "--approvals", "always"), 2, "--approvals is refuse or elicit"),
        (("sums:agent", "--http", "--host", "0.0.0.0"), 2, "verify="),
        (("sums:agent", "--http", "--token-env", "NOT_SET_HERE"), 2, "'NOT_SET_HERE' is not set"),
        (("sums:nothing",), 2, "has no 'nothing'"),
    ],
)
def test_what_cannot_be_served(folder: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = run(folder, *arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stdout == ""


def test_ctrl_c_ends_it_on_stdio(folder: Path) -> None:
    command = [sys.executable, "-m", "agentfp", "mcp-serve", "sums:agent"]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ping = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
                "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}  # fmt: skip
        process.stdin.write(json.dumps(ping) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "sums"
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 130


def test_the_command_that_shows_tools_shows_those_of_servers_too(folder: Path) -> None:
    served = f"mcp:{sys.executable} -m agentfp mcp-serve sums:agent"
    (folder / "agentfp.toml").write_text(f"version = 1\n[agent]\nmodel = 'nobody:none'\ntools = ['sums:shut', {json.dumps(served)}]\n")
    command = [sys.executable, "-m", "agentfp", "tools", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    shown = {tool["name"]: tool for tool in json.loads(done.stdout or "[]")}
    assert set(shown) == {"shut", "add"}, done.stderr
    assert shown["shut"]["marks"][0] == "approval"
    assert set(shown["add"]["parameters"]["properties"]) == {"a", "b"}


def test_a_server_that_cannot_be_started_is_named_with_what_to_do(folder: Path) -> None:
    (folder / "agentfp.toml").write_text("version = 1\n[agent]\nmodel = 'nobody:none'\ntools = ['mcp:no-such-program --token s3cret']\n")
    command = [sys.executable, "-m", "agentfp", "tools"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode != 0
    assert "'no-such-program' cannot be started" in done.stderr
    assert "is it installed" in done.stderr
    assert "s3cret" not in done.stderr
