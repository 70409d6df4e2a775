"""The command line as a whole: help, exit codes, commands of other distributions, and what a start imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentfp.testing import PluginDist
from agentfp_core.cli.exits import MEANINGS
from tests.cli.conftest import Cli, Open

SHOUT = """
import typer
app = typer.Typer()
@app.command()
def shout(text: str, times: int = 1) -> None:
    '''Say it loudly.'''
    print(text.upper() * times)
"""
PLAIN = """
from typing import Annotated
import typer
def plain(text: Annotated[str, typer.Argument(help="What.")]) -> None:
    '''A function is enough.'''
    print(f"plain {text}")
    raise typer.Exit(1)
"""


def command(site: PluginDist, name: str, source: str, target: str, *, distribution: str | None = None, version: str = "1.0") -> None:
    module = f"{(distribution or name).replace('-', '_')}_module"
    points = {"agentfp.commands": {name: f"{module}:{target}"}}
    site(distribution or f"agentfp-{name}", entry_points=points, modules={module: source}, version=version)


def test_help_lists_the_commands_and_documents_the_exit_codes(cli: Cli) -> None:
    done = cli("--help")
    assert done.code == 0
    for name in ("init", "run", "chat", "steps", "tools", "config", "plugins", "doctor", "new-plugin"):
        assert f"\n  {name} " in done.out
    words = " ".join(done.out.split())
    for code, meaning in MEANINGS.items():
        assert f"{code.value} {meaning}" in words


def test_every_command_has_help(cli: Cli) -> None:
    names = ("init", "run", "chat", "steps", "tools", "config", "plugins", "doctor", "new-plugin")
    inner = (("config", "check"), ("config", "show"), ("config", "schema"), ("plugins", "show"))
    for arguments in [*[(name,) for name in names], *inner]:
        done = cli(*arguments, "--help")
        assert (done.code, done.err) == (0, "")
        assert "--json" in done.out or arguments == ("config",), arguments


def test_no_arguments_show_help(cli: Cli) -> None:
    assert cli().out == cli("--help").out
    assert cli("config").code == 0


def test_a_list_of_commands_has_whole_sentences(cli: Cli) -> None:
    for group in ((), ("config",), ("plugins",)):
        said = cli(*group, "--help").out
        assert "..." not in said.partition("Commands:")[2], said


def test_flags_take_no_value_on_a_terminal(terminal: Open) -> None:
    for command in ((), ("run",), ("config", "check")):
        shown = terminal(*command, "--help")
        assert shown.wait() == 0
        assert "Show this message and exit." in shown.text
        assert "<bool>" not in shown.text


@pytest.mark.parametrize(("wrong", "meant"), [("stpes", "steps"), ("shou", "shout")])
def test_a_wrong_name_brings_the_nearest_one(site: PluginDist, cli: Cli, wrong: str, meant: str) -> None:
    command(site, "shout", SHOUT, "app")
    done = cli(wrong)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f"Did you mean '{meant}'? See agentfp --help\n")


# --- commands that are not installed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "install"), [("check", 'pip install "agentfp[check]"'), ("mcp-serve", 'pip install "agentfp[mcp]"')])
def test_sister_commands_say_what_installs_them(cli: Cli, name: str, install: str) -> None:
    assert install in " ".join(cli("--help").out.split())
    done = cli(name, "file.json", "--whatever")
    assert (done.code, done.out) == (3, "")
    assert install in done.err


def test_the_install_line_is_whole_on_a_terminal(terminal: Open) -> None:
    shown = terminal("--help")
    assert shown.wait() == 0
    assert '"agentfp[check]"' in shown.text


def test_a_sister_command_takes_its_place_when_it_is_there(site: PluginDist, cli: Cli) -> None:
    command(site, "check", SHOUT, "app")
    assert "agentfp[check]" not in cli("--help").out
    assert cli("check", "hi").out == "HI\n"


# --- commands of other distributions ----------------------------------------------------------------------------------------------


def test_a_typer_app_and_a_function(site: PluginDist, cli: Cli) -> None:
    command(site, "shout", SHOUT, "app")
    command(site, "plain", PLAIN, "plain")
    listed = cli("--help").out
    assert "Say it loudly." in listed
    assert "A function is enough." in listed
    assert cli("shout", "hi", "--times", "2").out == "HIHI\n"
    done = cli("plain", "hi")
    assert (done.code, done.out) == (1, "plain hi\n")
    assert cli("shout").code == 2
    assert "install-completion" not in cli("shout", "--help").out


BROKEN = [
    ("import not_there_at_all", "app", "ModuleNotFoundError: No module named 'not_there_at_all'"),
    ("def broken(:", "app", "SyntaxError"),
    ("import sys\nsys.exit(3)", "app", "SystemExit: 3"),
    ("x = 1", "app", "AttributeError"),
    ("app = 3", "app", "must be a typer app or a function, got a int"),
    ("def app(x: 'Nowhere'): ...", "app", "is no command: NameError"),
]


@pytest.mark.parametrize(("source", "target", "cause"), BROKEN)
def test_a_broken_command_takes_nothing_else_down(site: PluginDist, cli: Cli, source: str, target: str, cause: str) -> None:
    command(site, "broken", source, target, version="3.1")
    command(site, "shout", SHOUT, "app")
    listed = cli("--help")
    assert listed.code == 0
    words = " ".join(listed.out.split())
    assert "Failed:" in words
    assert "agentfp-broken 3.1" in words
    assert cause in words
    assert cli("shout", "hi").out == "HI\n"
    done = cli("broken", "x", "--y")
    assert (done.code, done.out) == (3, "")
    assert "agentfp-broken 3.1" in done.err
    assert cause in done.err
    assert "Traceback" not in done.err


def test_two_commands_of_one_name_name_both_distributions(site: PluginDist, cli: Cli) -> None:
    command(site, "shout", SHOUT, "app", distribution="agentfp-one")
    command(site, "shout", SHOUT, "app", distribution="agentfp-two", version="2.0")
    done = cli("shout", "hi")
    assert done.code == 3
    assert "agentfp-one 1.0" in done.err
    assert "agentfp-two 2.0" in done.err


def test_a_command_cannot_take_the_name_of_a_kernel_command(site: PluginDist, cli: Cli) -> None:
    command(site, "doctor", SHOUT, "app")
    done = cli("doctor")
    assert done.code == 1
    assert "agentfp-doctor 1.0 brings a command of agentfp's own name" in done.out


def test_only_the_command_that_is_used_is_imported(site: PluginDist, cli: Cli) -> None:
    command(site, "shout", SHOUT, "app")
    command(site, "other", "raise RuntimeError('imported')", "app")
    assert cli("shout", "hi").out == "HI\n"
    assert cli("plugins").code == 0
    assert "other_module" not in sys.modules


def test_what_a_command_prints_while_it_is_imported_is_no_data(site: PluginDist, cli: Cli) -> None:
    command(site, "shout", "print('noise')\n" + SHOUT, "app")
    done = cli("shout", "hi")
    assert (done.out, done.err) == ("HI\n", "noise\n")


# --- starting ----------------------------------------------------------------------------------------------------------------------


def imported(folder: Path, *arguments: str) -> set[str]:
    """The modules that a start imports, in a process that sees the distributions in a folder."""
    code = (
        "import sys, json, contextlib, io\n"
        "from agentfp_core.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        f"    code = main({list(arguments)!r})\n"
        "assert code == 0, code\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_help_imports_no_plugin_and_little_of_the_kernel(site: PluginDist, cli: Cli) -> None:
    bare = imported(site.folder, "--help")
    for index in range(40):
        points = {"agentfp.plugins": {f"p{index}": f"mod_p{index}:P"}, "agentfp.models": {f"m{index}": f"mod_p{index}:M"}}
        site(f"agentfp-p{index}", entry_points=points, modules={f"mod_p{index}": "raise RuntimeError('imported')"})
    full = imported(site.folder, "--help")
    assert full - bare <= {"csv", "_csv", "email.parser", "email.feedparser", "textwrap"}
    assert not {name for name in full if name.startswith("mod_p")}
    assert not full & {"pydantic", "anyio", "httpx", "jsonschema", "rich", "tomlkit", "agentfp_core.agent"}
    listed = imported(site.folder, "plugins")
    assert not {name for name in listed if name.startswith("mod_p")}
    assert cli("plugins", "--json").json["plugins"][-1]["state"] == "found"


def test_the_library_does_not_import_the_command_line() -> None:
    code = "import sys, agentfp, agentfp.plugin, agentfp.testing; agentfp.Agent, agentfp.load_config; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"typer", "rich", "agentfp_core.cli"} & set(done.stdout.split())


def test_the_console_script_and_the_module_are_the_same(folder: Path) -> None:
    script = Path(sys.executable).with_name("agentfp")
    for start in ([str(script)], [sys.executable, "-m", "agentfp"]):
        done = subprocess.run([*start, "--version"], capture_output=True, text=True, check=True, cwd=folder)
        assert done.stdout.startswith("agentfp ")


def test_completion_knows_the_commands(folder: Path) -> None:
    env = {**os.environ, "_AGENTFP_COMPLETE": "complete_bash", "COMP_WORDS": "agentfp ste", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "agentfp"], capture_output=True, text=True, env=env, cwd=folder, check=False)
    assert done.stdout.split() == ["steps"]
