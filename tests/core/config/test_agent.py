"""Agents of files: everything in a table reaches the agent, and its runs say what became of its plugins."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, ConfigError, Fallback, Limits, PluginLoadError, load_config
from agentfp.events import RunConfigured
from agentfp.testing import PluginDist, ScriptedModel, call

Write = Callable[..., Path]

FULL = """
version = 1
[agent]
model = "stub:small"
name = "desk"
deps_type = "config_app:Deps"
output_type = "config_app:Answer"
output_retries = 2
output_strategy = "instruct"
output_fallback = "config_app:fallback"
output_canned = { text = "sorry" }
tools = ["config_app:port_status", "config_app:plain"]
instructions_file = "texts/system.md"
instructions = ["Be brief."]
plugins = ["hours"]
stream = "hold"
tool_concurrency = 3
tool_threads = 5
argument_validation = "warn"
repeated_call_note = false
context_budget = { system = 10 }
exclusive = true
dev = true
[agent.limits]
iterations = 4
usd = 0.25
[agent.model_settings]
temperature = 0
stop = ["END"]
extra = { user = "me", key = { env = "HOME" } }
[agent.prices.small]
input = "0.00000015"
output = 6e-7
[agent.redact]
keys = ["pin"]
patterns = { card = '\\d{16}' }
[agent.listeners]
"agentfp.run.*" = "config_app:hear"
[plugins.hours]
opens = 8
"""


@pytest.fixture
def full(write: Write) -> Path:
    path = write(FULL)
    Path("texts").mkdir()
    Path("texts/system.md").write_text("You are a clerk.\n")
    return path


def test_everything_in_a_table_reaches_the_agent(full: Path) -> None:
    agent = Agent.from_config(full)
    app = sys.modules["config_app"]
    assert (agent.name, agent.deps_type, agent.stream_mode) == ("desk", app.Deps, "hold")
    assert agent.output is not None
    assert (agent.output.retries, agent.output.strategy, agent.output.fallback, agent.output.canned) == (
        2,
        "instruct",
        app.fallback,
        {"text": "sorry"},
    )
    assert list(agent.tools) == ["port_status", "plain"]
    assert agent.instructions == ("You are a clerk.", "Be brief.")
    assert agent.plugin_set.by_name["hours"].settings.opens == 8
    assert (agent.tool_concurrency, agent.argument_validation, agent.repeated_call_note) == (3, "warn", False)
    assert (agent.exclusive, agent.dev, agent.context_budget["system"]) == (True, True, 10)
    assert agent.limits == Limits(iterations=4, usd=0.25)
    assert (agent.model_settings.temperature, agent.model_settings.stop) == (0, ("END",))
    assert agent.model_settings.extra["user"] == "me"
    assert isinstance(agent.prices, dict)
    assert (agent.prices["small"].input, agent.prices["small"].output) == (Decimal("0.00000015"), Decimal("6e-7"))
    assert agent.redact is not None
    assert agent.redact.names == ("key:pin", "pattern:card")
    assert agent.model.name == "small"


@pytest.mark.anyio
async def test_an_agent_of_a_file_runs(write: Write) -> None:
    path = write("""
        version = 1
        [agent]
        model = "stub:small"
        tools = ["config_app:port_status"]
        listeners = ["config_app:hear"]
        plugins = ["hours"]
        """)
    model = ScriptedModel([call("port_status", switch="A"), "It is up."])
    result = await Agent.from_config(path, model=model).run("How is A?")
    assert result.text == "It is up."
    assert "agentfp.run.ended" in sys.modules["config_app"].heard
    manifest = next(e.payload for e in result.record if isinstance(e.payload, RunConfigured))
    assert [plugin.name for plugin in manifest.plugins] == ["hours"]
    assert manifest.plugin_problems == ()


def test_code_goes_before_the_file(full: Path) -> None:
    agent = Agent.from_config(full, model=ScriptedModel([]), tools=[], plugins=[], instructions="Other.", limits=Limits(iterations=1))
    assert (dict(agent.tools), dict(agent.plugin_set.by_name), agent.instructions) == ({}, {}, ("Other.",))
    assert agent.limits.iterations == 1
    assert "hours_plugin" not in sys.modules
    assert "stub_models" not in sys.modules


def test_an_alias_brings_settings_and_may_be_named_in_code(write: Write) -> None:
    path = write("""
        version = 1
        [agent]
        model = "stub:small"
        [models.fast]
        use = "stub:quick"
        base_url = "http://localhost:1"
        """)
    model: Any = Agent.from_config(path, model="fast").model
    assert (model.name, model.base_url) == ("quick", "http://localhost:1")
    with pytest.raises(ConfigError, match=r"^'fats' is no alias"):
        Agent.from_config(path, model="fats")


def test_a_plain_model_name_imports_no_provider(write: Write) -> None:
    Agent.from_config(write('version = 1\n[agent]\nmodel = "stub:small"\n'))
    assert "stub_models" not in sys.modules


def test_the_order_of_the_list_is_the_order_of_the_plugins(write: Write) -> None:
    text = 'version = 1\n[agent]\nmodel = "stub:x"\nplugins = [{}]\n[plugins.hours]\n[plugins.pairs]\nurl = "x"\n'
    assert list(Agent.from_config(write(text.replace("{}", '"pairs", "hours"'))).plugin_set.by_name) == ["pairs", "hours"]
    assert list(Agent.from_config(write(text.replace("{}", '"hours", "pairs"'))).plugin_set.by_name) == ["hours", "pairs"]


def test_enabled_overrides_the_list_and_loads_nothing(write: Write) -> None:
    path = write("""
        version = 1
        [agent]
        model = "stub:x"
        plugins = ["hours", "not_installed"]
        [plugins.hours]
        enabled = false
        opens = "not even checked"
        [plugins.not_installed]
        enabled = false
        [env.prod.plugins.hours]
        enabled = true
        opens = 7
        """)
    assert not Agent.from_config(path).plugin_set.by_name
    assert "hours_plugin" not in sys.modules
    assert Agent.from_config(path, env="prod").plugin_set.by_name["hours"].settings.opens == 7


def test_tools_of_a_prefix_come_from_its_entry_point(write: Write, site: PluginDist) -> None:
    source = "import config_app\ndef make(text):\n    assert text == 'uvx server'\n    return [config_app.port_status, config_app.plain]\n"
    site("agentfp-mcp", entry_points={"agentfp.tools": {"mcp": "mcp_tools:make"}}, modules={"mcp_tools": source})
    agent = Agent.from_config(write('version = 1\n[agent]\nmodel = "stub:x"\ntools = ["mcp:uvx server"]\n'))
    assert list(agent.tools) == ["port_status", "plain"]


# --- plugins that are not there ------------------------------------------------------------------------------------------

BROKEN = 'version = 1\n[agent]\nmodel = "stub:x"\nplugins = ["broken", "hours"]\n'


@pytest.fixture
def broken(write: Write, site: PluginDist) -> Path:
    site("agentfp-broken", entry_points={"agentfp.plugins": {"broken": "broken_p:P"}}, modules={"broken_p": "import gone"}, version="2.5")
    return write(BROKEN)


@pytest.mark.anyio
async def test_a_broken_plugin_takes_no_application_down_and_is_on_the_record(broken: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        agent = Agent.from_config(broken, model=ScriptedModel(["Hello."]))
    assert "agentfp.toml:4:12: plugin 'broken' cannot be used" in caplog.text
    result = await agent.run("hi")
    manifest = next(e.payload for e in result.record if isinstance(e.payload, RunConfigured))
    (problem,) = manifest.plugin_problems
    assert problem.startswith("plugin 'broken' (agentfp-broken 2.5): failed: ")
    assert "No module named 'gone'" in problem
    assert [plugin.name for plugin in manifest.plugins] == ["hours"]
    assert agent.replace(name="other").plugin_problems == manifest.plugin_problems


def test_strict_refuses_what_is_broken(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTFP_STRICT", "1")
    with pytest.raises(ConfigError, match=r"agentfp.toml:4:12: plugin 'broken' cannot be used.*agentfp-broken 2.5.*'gone'") as caught:
        Agent.from_config(broken)
    assert isinstance(caught.value.__cause__, PluginLoadError)


def test_a_required_plugin_that_is_broken_is_refused(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken.write_text(BROKEN + 'required_plugins = ["hours", "broken"]\n')
    with pytest.raises(ConfigError, match=r"agentfp.toml:5:30: plugin 'broken' is required by required_plugins and is not on: .*'gone'"):
        Agent.from_config(broken)
    broken.write_text(BROKEN)
    monkeypatch.setenv("AGENTFP_REQUIRE_PLUGINS", "broken")
    with pytest.raises(
        ConfigError, match=r"environment variable AGENTFP_REQUIRE_PLUGINS: plugin 'broken' is required and not on: .*'gone'"
    ):
        Agent.from_config(broken)


def test_the_environment_can_keep_a_plugin_off(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write('version = 1\n[agent]\nmodel = "stub:x"\nplugins = ["hours"]\n')
    monkeypatch.setenv("AGENTFP_DISABLE_PLUGINS", "hours,")
    agent = Agent.from_config(path)
    assert not agent.plugin_set.by_name
    assert agent.plugin_problems == ("plugin 'hours' (agentfp-hours 1.0): blocked: switched off by AGENTFP_DISABLE_PLUGINS",)
    assert {report.name: report.state for report in load_config(path).plugins()} == {"hours": "blocked", "pairs": "found"}


def test_a_name_that_two_distributions_bring_is_refused_when_it_is_on(write: Write, site: PluginDist) -> None:
    site("other-hours", entry_points={"agentfp.plugins": {"hours": "other_hours:P"}})
    path = write('version = 1\n[agent]\nmodel = "stub:x"\nplugins = ["hours"]\n')
    with pytest.raises(ConfigError, match=r"agentfp.toml:4:12: .*agentfp-hours 1.0.* and other-hours 1.0"):
        Agent.from_config(path)
    path.write_text('version = 1\n[agent]\nmodel = "stub:x"\n')
    assert Agent.from_config(path).plugin_problems == ()


def test_a_plugin_whose_own_code_fails_is_named(write: Write, site: PluginDist) -> None:
    source = (
        "from agentfp.plugin import ConfigError, Plugin\nclass P(Plugin):\n    name = 'odd'\n    class Settings(Plugin.Settings):\n"
        "        kind: str = 'x'\n    def __init__(self, **values):\n        super().__init__(**values)\n"
        "        raise ConfigError('no such kind') if self.settings.kind == 'y' else RuntimeError('oops')\n"
    )
    site("agentfp-odd", entry_points={"agentfp.plugins": {"odd": "odd_p:P"}}, modules={"odd_p": source})
    text = 'version = 1\n[agent]\nmodel = "stub:x"\nplugins = ["odd"]\n'
    with pytest.raises(ConfigError, match=r"agentfp.toml:4:12: plugin 'odd' cannot be made: RuntimeError: oops"):
        Agent.from_config(write(text))
    with pytest.raises(ConfigError, match=r"agentfp.toml:5:1: no such kind"):
        Agent.from_config(write(text + '[plugins.odd]\nkind = "y"\n'))


def test_an_alias_may_name_models_that_serve_when_it_fails(write: Write) -> None:
    path = write("""
        version = 1
        [agent]
        model = "main"
        [models.main]
        use = "stub:a"
        reply = ""
        fallback = ["small", "stub:c"]
        [models.small]
        use = "stub:b"
        reply = "from b"
        """)
    model = Agent.from_config(path).model
    assert isinstance(model, Fallback)
    assert [one.name for one in model.models] == ["a", "b", "c"]


def test_an_alias_with_fallbacks_is_no_fallback_itself(write: Write) -> None:
    path = write("""
        version = 1
        [agent]
        model = "main"
        [models.main]
        use = "stub:a"
        fallback = ["main", "nope:x"]
        """)
    with pytest.raises(ConfigError) as caught:
        Agent.from_config(path)
    assert [problem.split(": ", 1)[0] for problem in caught.value.problems] == ["agentfp.toml:6:1", "agentfp.toml:6:1"]
    assert "has fallbacks itself" in caught.value.problems[0]
    assert "'nope'" in caught.value.problems[1]
