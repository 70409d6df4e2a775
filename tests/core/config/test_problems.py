"""All problems at once, each at its place, with what is accepted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from agentfp import Agent, Config, ConfigError
from agentfp.testing import PluginDist

Load = Callable[..., Config]
Write = Callable[..., Path]

TEN = """
version = 1
[agent]
modle = "stub:x"
plugins = ["hours", "evidnce"]
tools = ["config_app:port_stats", "config_ap:plain"]
limits = { iterations = 60, usd = "a lot" }
stream = "later"
[plugins.hours]
opens = "early"
tital = "x"
[agents.desk]
extends = "agnt"
"""


def test_ten_mistakes_are_one_report_with_ten_entries_at_their_lines(write: Write) -> None:
    with pytest.raises(ConfigError) as caught:
        Agent.from_config(write(TEN), "agent")
    problems = caught.value.problems
    assert [tuple(problem.split(": ")[0].split(":")[1:]) for problem in problems] == [
        ("3", "1"),
        ("4", "21"),
        ("5", "10"),
        ("5", "35"),
        ("6", "12"),
        ("6", "29"),
        ("7", "1"),
        ("9", "1"),
        ("10", "1"),
        ("12", "1"),
    ]
    expected = [
        "[agent] has no 'modle'; did you mean 'model'? Accepted: ",
        "no installed plugin is called 'evidnce'; did you mean 'evidence'? pip install agentfp-evidence",
        "[agent] tools[0]: 'config_app' has no 'port_stats'; did you mean 'port_status'?",
        "[agent] tools[1]: module 'config_ap' cannot be imported: ModuleNotFoundError",
        "[agent] limits.iterations=60 is above the cap of 50",
        "[agent] limits.usd must be a number, got a text",
        "[agent] stream must be 'hold' or 'live'",
        "[plugins.hours] opens must be a whole number, got a text",
        "[plugins.hours] has no 'tital'; did you mean 'title'? Accepted: ",
        "[agents.desk] extends 'agnt', which is no agent here; did you mean 'agent'?",
    ]
    for problem, text in zip(problems, expected, strict=True):
        assert problem.startswith("agentfp.toml:")
        assert text in problem
    assert str(caught.value).startswith("10 problems:\n  1. agentfp.toml:3:1: ")
    assert caught.value.__cause__ is not None


AGENT = 'version = 1\n[agent]\nmodel = "stub:x"\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[agnt]\nmodel = "x"', "4:1: the file has no 'agnt'; did you mean 'agent'? Accepted: 'agent', 'agents', 'env', 'models', "),
        ("name = 3", "4:1: [agent] name must be a text, got a whole number"),
        ('tools = "x:y"', "4:1: [agent] tools must be an array, got a text"),
        ("instructions = [1]", "4:17: [agent] instructions[0] must be a text, got a whole number"),
        ("instructions = 1", "4:1: [agent] instructions must be a text or an array, got a whole number"),
        ("limits = 3", "4:1: [agent] limits must be a table, got a whole number"),
        ("limits.iteration = 3", "4:8: [agent.limits] has no 'iteration'; did you mean 'iterations'?"),
        ("limits.usd = -1", "4:8: [agent] limits.usd must be a number above 0 or None"),
        ("model_settings.temprature = 1", "4:16: [agent.model_settings] has no 'temprature'; did you mean 'temperature'?"),
        ("context_budget.system = -1", "4:16: [agent] context_budget.system must be greater than or equal to 0"),
        ('redact.patterns.pin = "("', "4:17: [agent] redact.patterns.pin is no regular expression"),
        ("redact = {}", "4:1: [agent] redact: a RedactionPolicy without keys"),
        ("listeners = 3", "4:1: [agent] listeners must be an array or a table, got a whole number"),
        ('listeners = ["config_app:hear_async"]', "4:14: [agent] listeners[0]: the listener of '*' is a coroutine function"),
        ('listeners = ["config_app:Answer.nope"]', "4:14: [agent] listeners[0]: 'config_app.Answer' has no 'nope'"),
        ('prices.gpt.input = "much"', "4:12: [agent] prices.gpt.input must be a number"),
        ("prices.gpt.inptu = 1", "4:12: [agent.prices.gpt] has no 'inptu'; did you mean 'input'?"),
        ('output_type = "Answer"', "4:1: [agent] output_type: 'Answer' is no import path; write module:attribute"),
        ('deps_type = "config_app:Dep"', "4:1: [agent] deps_type: 'config_app' has no 'Dep'; did you mean 'Deps'?"),
        ('instructions_file = "no.md"', "4:1: [agent] instructions_file: 'no.md' cannot be read: No such file or directory"),
        ('tools = ["mcp:uvx server"]', "4:10: [agent] tools[0]: nothing installed brings tools for 'mcp:'; pip install agentfp-mcp"),
        ('tools = ["config_app:plain", "config_app:heard"]', "4:30: [agent] tools[1]: "),
        ('plugins = ["hours", "hours"]', "4:21: plugins names 'hours' twice"),
        ('plugins = ["pairs"]', "4:12: [plugins.pairs] needs 'url'; write it there"),
        ('plugins = ["pairs"]\n[plugins.pairs]', "5:1: [plugins.pairs] needs 'url'; write it there"),
        ('required_plugins = ["hours"]', "4:21: plugin 'hours' is required by required_plugins and is not on; add it to plugins"),
        ("[plugins.hours]\nenabled = 1", "5:1: [plugins.hours] enabled must be true or false, got a whole number"),
        ("[plugins]\nhours = 3", "5:1: [plugins.hours] must be a table, got a whole number"),
        ("[models.fast]\nbase_url = 'x'", "4:1: [models.fast] needs 'use'; write it there"),
    ],
)
def test_one_mistake_is_one_problem_at_its_place(write: Write, text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Agent.from_config(write(AGENT + text + "\n"))
    (found,) = caught.value.problems
    assert found.startswith(f"agentfp.toml:{problem}")


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (
            "opnai:gpt",
            "3:1: no installed provider is called 'opnai' (of model 'opnai:gpt'); did you mean 'openai'? pip install agentfp-openai",
        ),
        ("fsat", "3:1: 'fsat' is no alias under [models] and no installed provider; did you mean 'fast'? Accepted: "),
        ("fast", "8:1: [models.fast] base_ulr: provider 'stub' has no setting 'base_ulr'; did you mean 'base_url'?"),
        ("far", "5:1: no installed provider is called 'mars'"),
        ("bad", "9:1: provider 'stub' does not take what [models.bad] says: RuntimeError: no luck with None"),
    ],
)
def test_models(write: Write, model: str, problem: str) -> None:
    path = write(f"""
        version = 1
        [agent]
        model = "{model}"
        [models.far]
        use = "mars:x"
        [models.fast]
        use = "stub:x"
        base_ulr = "http://x"
        [models.bad]
        use = "stub:x"
        fail = true
        """)
    with pytest.raises(ConfigError) as caught:
        Agent.from_config(path)
    (found,) = caught.value.problems
    assert found.startswith(f"agentfp.toml:{problem}")


def test_a_file_without_a_model_says_so(write: Write) -> None:
    with pytest.raises(ConfigError, match=r'agentfp.toml:2:1: \[agent\] needs a model; write model = "provider:name"'):
        Agent.from_config(write("version = 1\n[agent]\n"))


def test_what_an_import_raised_is_chained(write: Write, site: PluginDist) -> None:
    site("more", modules={"config_exits": "import sys; sys.exit('enough')"})
    with pytest.raises(ConfigError, match=r"agentfp.toml:4:10: .*'config_exits' cannot be imported: SystemExit: enough$") as caught:
        Agent.from_config(write(AGENT + 'tools = ["config_exits:x"]\n'))
    assert isinstance(caught.value.__cause__, SystemExit)


def test_the_tables_problems_come_with_an_unknown_agents(write: Write) -> None:
    with pytest.raises(ConfigError) as caught:
        Agent.from_config(write(AGENT + "stream = 3\n"), "other")
    assert [problem.split(" ")[0] for problem in caught.value.problems] == ["agentfp.toml:4:1:", "agentfp.toml:"]


def test_an_override_that_no_agent_has_is_refused(write: Write) -> None:
    with pytest.raises(ConfigError, match="an agent has no 'tols'; did you mean 'tools'"):
        Agent.from_config(write(AGENT), tols=[])


def test_a_table_that_no_list_names_is_noted_and_stops_nothing(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    path = write(AGENT + '[plugins.hours]\nenabled = true\n[plugins.huors]\n[agents.b]\nplugins = ["pairs"]\n[plugins.pairs]\nurl = "x"\n')
    with caplog.at_level(logging.WARNING):
        Agent.from_config(path)
    first, second = [record.getMessage() for record in caplog.records]
    assert first.startswith("agentfp.toml:4:1: [plugins.hours] is unused")
    assert "enabled = true alone does not switch it on; add 'hours' to plugins" in first
    assert second.startswith("agentfp.toml:6:1: [plugins.huors] is unused")
    assert "did you mean 'hours'" in second


def test_check_looks_at_all_agents_and_needs_no_secret(load: Load) -> None:
    config = load(
        AGENT
        + """
tools = ["config_app:nope"]
[agents.desk]
model = "fast"
plugins = ["hours"]
[agents.night]
extends = "agent"
model = "mars:x"
[models.fast]
use = "stub:x"
api_key = { env = "STUB_KEY" }
[plugins.hours]
password = { file = "not-there" }
floor = -1
"""
    )
    found = config.check()
    assert [str(problem).split(" ")[0] for problem in found.problems] == ["agentfp.toml:5:10:", "agentfp.toml:11:1:", "agentfp.toml:17:1:"]
    assert [str(note) for note in found.notes] == [
        "agentfp.toml:14:1: [models.fast] api_key: environment variable 'STUB_KEY' is not set; set it",
        "agentfp.toml:16:1: [plugins.hours] password: file 'not-there' cannot be read: No such file or directory",
    ]
    assert {report.name: report.state for report in found.plugins} == {"hours": "on", "pairs": "found"}
    assert not load(AGENT).check().problems


def test_check_finds_what_only_building_brings_to_light(load: Load) -> None:
    config = load(
        AGENT + 'tools = ["config_app:plain", "config_app:port_status"]\noutput_type = "config_app:Answer"\noutput_strategy = "tool"\n'
    )
    (problem,) = config.check().problems
    assert str(problem).startswith("agentfp.toml:2:1: [agent]: output_strategy='tool' does not go with tools")
