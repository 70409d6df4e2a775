"""``agentfp plugins``, ``config`` and ``doctor``: what is installed, what is on, what is wrong, and where it says so."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from agentfp.testing import PluginDist
from agentfp_core.cli import output
from tests.cli.conftest import Cli

HOURS = """
from typing import Any
import pydantic
from agentfp.plugin import Deny, Plugin, hookimpl

class Hours(Plugin):
    '''Changes in office hours only.

    Args:
        opens: the first hour.
    '''
    name = "hours"
    class Settings(Plugin.Settings):
        opens: int = 9
        days: tuple[str, ...] = ("mon", "tue")
        title: str
        api_key: pydantic.SecretStr | None = None
        floor: int | None = pydantic.Field(default=None, description="Which floor.")
    @hookimpl(phase="authorize")
    def before_tool(self, call: Any) -> Any:
        return None
    @hookimpl(moment="before_tool", phase="screen", per="batch")
    def look(self, batch: Any) -> Any:
        return None
    @hookimpl
    def close(self) -> None: ...
"""
CONFIG = """
version = 1
[agent]
model = "stub:small"
plugins = ["hours", "broken"]
[plugins.hours]
title = "Office"
api_key = { env = "HOURS_KEY" }
[agents.other]
extends = "agent"
plugins = []
"""


@pytest.fixture
def hours(provider: PluginDist, monkeypatch: pytest.MonkeyPatch) -> PluginDist:
    monkeypatch.setenv("HOURS_KEY", "s3cret-value")
    provider(
        "agentfp-hours", entry_points={"agentfp.plugins": {"hours": "hours_plugin:Hours"}}, modules={"hours_plugin": HOURS}, version="2.1"
    )
    return provider


def add(site: PluginDist, name: str, source: str, version: str = "1.0") -> None:
    site(f"agentfp-{name}", entry_points={"agentfp.plugins": {name: f"mod_{name}:P"}}, modules={f"mod_{name}": source}, version=version)


def states(rows: list[dict[str, Any]]) -> dict[str, str]:
    return {row["name"]: row["state"] for row in rows}


# --- plugins -----------------------------------------------------------------------------------------------------------------


def test_without_a_file_nothing_is_on_and_nothing_imported(hours: PluginDist, cli: Cli) -> None:
    add(hours, "broken", "raise RuntimeError('imported')")
    done = cli("plugins", "--json")
    assert done.code == 0
    assert states(done.json["plugins"]) == {"hours": "found", "broken": "found"}
    assert not {"hours_plugin", "mod_broken"} & set(sys.modules)


def test_with_a_file_it_tells_what_is_on_and_what_failed(folder: Path, hours: PluginDist, cli: Cli) -> None:
    add(hours, "broken", "import sys\nsys.exit(3)", "0.3")
    add(hours, "idle", "raise RuntimeError('imported')")
    Path("agentfp.toml").write_text(CONFIG)
    rows = {row["name"]: row for row in cli("plugins", "--json").json["plugins"]}
    assert states(list(rows.values())) == {"hours": "on", "broken": "failed", "idle": "found"}
    assert (rows["broken"]["distribution"], rows["broken"]["version"]) == ("agentfp-broken", "0.3")
    assert "SystemExit: 3" in rows["broken"]["cause"]
    lines = cli("plugins").out.splitlines()
    assert "hours\ton\tagentfp-hours\t2.1\t" in lines
    assert next(line for line in lines if line.startswith("broken\tfailed\tagentfp-broken\t0.3\t")).endswith("SystemExit: 3")
    assert states(cli("plugins", "--agent", "other", "--json").json["plugins"])["hours"] == "found"


def test_load_shows_which_of_the_others_are_broken(hours: PluginDist, cli: Cli) -> None:
    add(hours, "broken", "import not_there_at_all")
    rows = {row["name"]: row for row in cli("plugins", "--load", "--json").json["plugins"]}
    assert states(list(rows.values())) == {"hours": "found", "broken": "failed"}
    assert "not_there_at_all" in rows["broken"]["cause"]


def test_a_plugin_that_is_named_and_not_installed(folder: Path, hours: PluginDist, cli: Cli) -> None:
    Path("agentfp.toml").write_text(CONFIG.replace('"broken"', '"evidence"'))
    rows = {row["name"]: row for row in cli("plugins", "--json").json["plugins"]}
    assert rows["evidence"]["state"] == "missing"
    assert "pip install agentfp-evidence" in rows["evidence"]["cause"]


def test_show_tells_all_about_a_plugin(hours: PluginDist, cli: Cli) -> None:
    shown = cli("plugins", "show", "hours", "--json").json
    assert (shown["distribution"], shown["version"], shown["class"]) == ("agentfp-hours", "2.1", "hours_plugin:Hours")
    settings = {row["name"]: row for row in shown["settings"]}
    assert settings["opens"] == {"name": "opens", "type": "int", "required": False, "default": 9, "doc": "the first hour."}
    assert settings["days"]["type"] == "tuple[str, ...]"
    assert settings["title"]["required"]
    assert settings["floor"]["doc"] == "Which floor."
    assert [(h["moment"], h["phase"], h["per"]) for h in shown["hooks"]] == [
        ("before_tool", "screen", "batch"),
        ("before_tool", "authorize", "call"),
        ("close", "", "call"),
    ]
    text = cli("plugins", "show", "hours").out
    assert "before_tool, phase authorize" in text
    assert "Changes in office hours only." in text


def test_the_lines_to_paste_are_a_config_that_works(folder: Path, hours: PluginDist, cli: Cli) -> None:
    paste = cli("plugins", "show", "hours", "--json").json["paste"]
    assert "# opens = 9" in paste
    assert '# days = ["mon", "tue"]' in paste
    assert '# api_key = { env = "HOURS_API_KEY" }' in paste
    uncommented = paste.replace("# opens", "opens").replace("# days", "days").replace("title =   # required", 'title = "x"')
    Path("agentfp.toml").write_text("version = 1\n" + uncommented.replace("[agent]", '[agent]\nmodel = "stub:x"'))
    done = cli("config", "check")
    assert done.code == 0, done.out
    assert states(cli("plugins", "--json").json["plugins"])["hours"] == "on"


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("evidence", 3, "pip install agentfp-evidence"), ("hour", 3, "did you mean 'hours'"), ("broken", 1, "SyntaxError")],
)
def test_show_of_what_cannot_be_shown(hours: PluginDist, cli: Cli, name: str, code: int, said: str) -> None:
    add(hours, "broken", "def broken(:")
    done = cli("plugins", "show", name)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


# --- config ------------------------------------------------------------------------------------------------------------------


def test_check_of_a_file_that_is_right(folder: Path, hours: PluginDist, cli: Cli) -> None:
    Path("agentfp.toml").write_text(CONFIG.replace(', "broken"', ""))
    done = cli("config", "check")
    assert (done.code, done.err) == (0, "")
    assert "no problems; agents: agent, other" in done.out
    assert cli("config", "check", "--json").json["ok"] is True


def test_check_lists_all_problems_with_their_places(folder: Path, hours: PluginDist, cli: Cli) -> None:
    Path("agentfp.toml").write_text(CONFIG.replace(', "broken"', "").replace('title = "Office"', "opens = 'nine'\nfloer = 1"))
    done = cli("config", "check", "--json")
    assert (done.code, done.json["ok"]) == (1, False)
    places = {(problem["line"], problem["column"]) for problem in done.json["problems"]}
    assert {(7, 1), (8, 1)} <= places
    assert all(problem["file"].endswith("agentfp.toml") for problem in done.json["problems"])
    text = cli("config", "check").out
    assert "agentfp.toml:8:1: [plugins.hours] has no 'floer'; did you mean 'floor'?" in text
    assert "3 problems" in text


def test_check_of_what_is_no_file_exits_with_2(folder: Path, cli: Cli) -> None:
    assert cli("config", "check").code == 2
    Path("agentfp.toml").write_text("version = \n")
    done = cli("config", "check", "--json")
    assert (done.code, done.out) == (2, "")
    assert "agentfp.toml:1:11: the file is not valid TOML" in done.err


def test_show_says_where_each_value_came_from(folder: Path, hours: PluginDist, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("agentfp.toml").write_text(CONFIG.replace(', "broken"', "") + "[env.prod.plugins.hours]\nopens = 7\n")
    monkeypatch.setenv("AGENTFP__AGENT__LIMITS__ITERATIONS", "4")
    shown = cli("config", "show", "--json", "--env", "prod", "--model", "stub:large").json
    values = {value["path"]: value for value in shown["values"]}
    assert values["plugins.hours.title"]["from"] == {"kind": "file", "file": "agentfp.toml", "line": 7, "column": 1}
    assert values["plugins.hours.opens"]["from"]["kind"] == "overlay"
    assert values["agent.limits.iterations"]["from"] == {"kind": "environment", "name": "AGENTFP__AGENT__LIMITS__ITERATIONS"}
    assert values["agent.model"]["from"] == {"kind": "override"}
    assert values["plugins.hours.days"]["from"] == {"kind": "default"}
    assert values["plugins.hours.api_key"]["secret"] is True
    for done in (cli("config", "show"), cli("config", "show", "--json"), cli("doctor", "--json"), cli("config", "check", "--json")):
        assert "s3cret-value" not in done.out + done.err
    lines = cli("config", "show", "--no-defaults").out.splitlines()
    assert "plugins.hours.title\tOffice\tagentfp.toml:7:1" in lines
    assert not any(line.endswith("\tdefault") for line in lines)


def test_schema_is_of_the_installed_plugins(folder: Path, hours: PluginDist, cli: Cli) -> None:
    add(hours, "broken", "import not_there_at_all")
    done = cli("config", "schema")
    schema = done.json
    assert "hours" in schema["properties"]["plugins"]["properties"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "left out: plugin 'broken' (agentfp-broken 1.0): failed" in done.err
    assert cli("config", "schema", "--out", "s.json").out == ""
    assert json.loads(Path("s.json").read_text()) == schema


# --- doctor -------------------------------------------------------------------------------------------------------------------


def findings(done: Any, state: str) -> dict[str, str]:
    return {f["about"]: f["text"] for f in done.json["findings"] if f["state"] == state}


def test_a_sound_environment(folder: Path, hours: PluginDist, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("agentfp.toml").write_text(CONFIG.replace(', "broken"', ""))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown")
    done = cli("doctor", "--json")
    assert done.code == 0, done.out
    assert done.json["ok"] is True
    ok = findings(done, "ok")
    assert "agentfp-hours 2.1" in ok["distributions"]
    assert ok["plugins on"] == "hours"
    assert ok["plugin hours"] == "loads (agentfp-hours 2.1)"
    assert ok["model of agent"].startswith("stub:small can be made")
    assert ok["model of other"].startswith("stub:small can be made")
    assert "HOURS_KEY" in ok["secret plugins.hours.api_key"]
    assert "OPENAI_API_KEY" in ok["keys"]
    assert "sk-never-shown" not in done.out


def test_everything_that_is_wrong_is_found(folder: Path, hours: PluginDist, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    add(hours, "broken", "import not_there_at_all")
    hours(
        "agentfp-x", entry_points={"agentfp.commands": {"x": "mod_x:app"}, "agentfp.models": {"y": "mod_x:y"}}, modules={"mod_x": "1 / 0"}
    )
    monkeypatch.delenv("HOURS_KEY")
    monkeypatch.setenv("AGENTFP_REQUIRE_PLUGINS", "guard")
    Path("agentfp.toml").write_text(CONFIG)
    done = cli("doctor", "--json")
    assert done.code == 1
    wrong = findings(done, "problem")
    assert "not_there_at_all" in wrong["plugin broken"]
    assert "ZeroDivisionError" in wrong["command x"]
    assert "ZeroDivisionError" in wrong["provider y"]
    assert "AGENTFP_REQUIRE_PLUGINS" in wrong["plugin guard"]
    assert "'HOURS_KEY' is not set" in wrong["secret plugins.hours.api_key"]
    assert "problems" in cli("doctor").out.splitlines()[-1]


def test_a_bare_folder_is_no_problem(folder: Path, cli: Cli) -> None:
    done = cli("doctor", "--json")
    assert done.code == 0
    assert "agentfp init" in findings(done, "note")["config"]
    assert 'pip install "agentfp[local]"' in findings(done, "note")["model"]


def test_a_file_that_cannot_be_read_is_a_problem(folder: Path, cli: Cli) -> None:
    Path("agentfp.toml").write_text("version = \n")
    done = cli("doctor", "--json")
    assert done.code == 1
    assert "not valid TOML" in findings(done, "problem")["config"]


def test_a_model_is_called_where_it_is_asked_for(folder: Path, hours: PluginDist, cli: Cli) -> None:
    Path("agentfp.toml").write_text(CONFIG.replace(', "broken"', ""))
    done = cli("doctor", "--call", "--json")
    assert (done.code, findings(done, "ok")["model of agent"]) == (0, "stub:small answers")


def test_a_model_that_cannot_be_reached_is_a_problem(folder: Path, hours: PluginDist, cli: Cli) -> None:
    hours("agentfp-off", entry_points={"agentfp.models": {"off": "off_models:make"}}, modules={"off_models": OFF})
    Path("agentfp.toml").write_text('version = 1\n[agent]\nmodel = "off:line"\n')
    assert cli("doctor").code == 0
    done = cli("doctor", "--call", "--json")
    assert done.code == 1
    assert findings(done, "problem")["model"] == "off:line cannot be reached: ConnectionError: refused"


OFF = """
from agentfp.testing import ScriptedModel
def make(name, **settings):
    return ScriptedModel([ConnectionError("refused")], provider="off", name=name)
"""


def test_long_texts_are_broken_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{'word ' * 11}word\nof one\n\n- one\n- {'two ' * 12}"
    assert output.wrapped(text, 2) == textwrap.indent(text, "  "), "a pipe gets it as it is"
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "43")
    lines = output.wrapped(text, 2).splitlines()
    assert lines == [f"  {'word ' * 7}word", "  word word word word of one", "", "  - one", f"  - {'two ' * 8}two", "  two two two"]
