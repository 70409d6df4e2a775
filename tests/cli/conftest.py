"""The command line in this process, in a folder of its own: what it prints, what it returns; and agents in code to run."""

from __future__ import annotations

import io
import json
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agentfp.testing import PluginDist
from agentfp_core.cli import main
from tests.cli.terminal import Terminal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a suite that a shell started in the background; children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

AGENTS = '''
"""Agents for the tests of the command line."""

import contextlib

import pydantic

from agentfp import Agent, AskField, Limits, ToolContext, ask_human, request_input, tool
from agentfp.testing import ScriptedModel, call

log = []


@tool
def look(switch: str) -> str:
    """Look at a switch."""
    return f"{switch} is up"


@tool(approval=True, mutating=True)
def shut(switch: str, port: int) -> str:
    """Shut a port."""
    log.append((switch, port))
    return f"port {port} of {switch} is shut"


@tool
def who() -> str:
    """Ask who it is."""
    ask_human("Who are you?")


@tool
def form() -> str:
    """Ask several things."""
    request_input([
        AskField("count", "How many?", schema={"type": "integer", "minimum": 1}),
        AskField("colour", "Which colour?", schema={"enum": ["red", "blue"]}, required=False),
        AskField("note", "It will be loud.", kind="acknowledge"),
    ])


def agent(*script, tools=(look, shut, who, form), **settings):
    return Agent(ScriptedModel(script), tools=tools, **settings)


looking = agent(call("look", switch="A"), "Switch A is up.")


def shutting():
    return agent(call("shut", switch="A", port=3), "Port 3 is shut.")


def after():
    return agent("Port 3 is shut.")


def asking():
    return agent(call("who"), call("form"), "Thanks.")


def failing():
    return agent(call("look", switch="A"), RuntimeError("out of order"))


def refused_connection():
    return agent(ConnectionRefusedError(111, "connection refused"))


def stopping():
    return agent(*[call("look", switch=str(n)) for n in range(9)], limits=Limits(iterations=2, wrap_up=False))


class Report(pydantic.BaseModel):
    ports: int


def typed():
    return agent('{"ports": 3}', output_type=Report)


def misfit():
    return agent('{"ports": "many"}', output_type=Report, output_retries=0)


def slow():
    return Agent(ScriptedModel(["never"], delay=60))


def escaping():
    return agent("red \\x1b[31malert\\x07")


def with_argument(name):
    return looking


def deps_plain():
    return {"kind": "plain"}


async def deps_async():
    return {"kind": "async"}


@contextlib.contextmanager
def deps_sync_context():
    log.append("opened")
    yield {"kind": "sync context"}
    log.append("closed")


@contextlib.asynccontextmanager
async def deps_async_context():
    log.append("opened")
    yield {"kind": "async context"}
    log.append("closed")


def deps_generator():
    log.append("opened")
    yield {"kind": "generator"}
    log.append("closed")


deps_object = {"kind": "object"}


@tool
def kind(ctx: ToolContext[dict]) -> str:
    """Say what deps are."""
    return ctx.deps["kind"]


def depending():
    return agent(call("kind"), lambda request: request.messages[-1].text, tools=[kind])


def chatty():
    return agent(lambda r: f"1: {r.messages[-1].text}", lambda r: f"2: {len(r.messages)} messages")
'''
PROVIDER = """
from agentfp.testing import ScriptedModel
def make(name, *, reply="hello", api_key=None):
    return ScriptedModel([reply] * 9, provider="stub", name=name or "default")
"""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as data; fails where anything else was printed."""
        return json.loads(self.out)


Cli: TypeAlias = Callable[..., Done]
Open: TypeAlias = Callable[..., Terminal]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PluginDist]:
    """A folder that distributions are installed into."""
    with PluginDist(tmp_path / "site") as dist:
        yield dist


@pytest.fixture
def provider(site: PluginDist, allow_any_model: None) -> PluginDist:
    """With a provider called ``stub``."""
    site("agentfp-stub", entry_points={"agentfp.models": {"stub": "stub_models:make"}}, modules={"stub_models": PROVIDER})
    return site


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, empty; modules that are imported from it are forgotten afterwards."""
    made = tmp_path / "project"
    made.mkdir()
    monkeypatch.chdir(made)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield made
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and made in Path(file).parents:
            del sys.modules[name]


@pytest.fixture
def agents(folder: Path) -> Path:
    """The current folder, with agents in ``desk_agents.py``."""
    (folder / "desk_agents.py").write_text(AGENTS)
    return folder


@pytest.fixture
def cli(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command line in this process, in a pipe: ``cli("config", "check")``."""

    def run(*arguments: str, stdin: str = "") -> Done:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        sys.stdout.write(captured.out)  # for pytest to show when the test fails
        sys.stderr.write(captured.err)
        return Done(int(code), captured.out, captured.err)

    return run


@pytest.fixture
def terminal(folder: Path) -> Iterator[Open]:
    """Runs a command line in a terminal, in the current folder: ``terminal("run", "hi")``."""
    opened: list[Terminal] = []

    def start(*arguments: str, **env: str) -> Terminal:
        opened.append(Terminal(arguments, folder, env))
        return opened[-1]

    yield start
    for one in opened:
        one.close()
