"""Reading: which file, which layers, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentfp import Config, ConfigError, load_config
from agentfp_core.config import find_config

Load = Callable[..., Config]
Write = Callable[..., Path]


def texts(config: Config) -> list[str]:
    return [str(problem) for problem in config.problems]


def value(config: Config, path: str, agent: str | None = None) -> Any:
    return next(v for v in config.explain(agent) if v.path == path).value


def origin(config: Config, path: str, agent: str | None = None) -> str:
    return str(next(v for v in config.explain(agent) if v.path == path).origin)


# --- the file ------------------------------------------------------------------------------------------------------------


def test_pyproject_has_the_same_tables_under_its_own(write: Write) -> None:
    path = write('[project]\nname = "x"\n[tool.agentfp]\nversion = 1\n[tool.agentfp.agent]\nmodle = "x"\n', "pyproject.toml")
    assert texts(load_config(path, environ={}))[0].startswith("pyproject.toml:6:1: [agent] has no 'modle'; did you mean 'model'?")
    with pytest.raises(ConfigError, match=r"pyproject.toml: there is no table \[tool.agentfp\]"):
        load_config(write("[project]\n", "pyproject.toml"))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("version = 1\n[agent\n", "agentfp.toml:2:7: the file is not valid TOML: "),
        ("version = 1\nmodel = \n", "agentfp.toml:2:9: the file is not valid TOML: invalid value"),
        ("version = 1\r\n\r\nx = tru\r\n", "agentfp.toml:3:5: the file is not valid TOML: "),
        ('version = 1\nx = """abc', "agentfp.toml:2:11: the file is not valid TOML: "),
    ],
)
def test_a_syntax_error_has_its_place(write: Write, text: str, place: str) -> None:
    path = write("")
    path.write_bytes(text.encode())
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert caught.value.problems[0].startswith(place)
    assert "(at" not in caught.value.problems[0]


def test_files_that_cannot_be_read(write: Write, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load_config("nowhere.toml")
    with pytest.raises(ConfigError, match="it is a folder"):
        load_config(tmp_path)
    path = write("")
    path.write_bytes(b"version = 1\n# \xff\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(path)


def test_a_byte_order_mark_and_windows_lines_change_nothing(write: Write) -> None:
    path = write("")
    path.write_bytes(b'\xef\xbb\xbfversion = 1\r\n[agent]\r\nmodel = "stub:x"\r\n')
    config = load_config(path, environ={})
    assert not config.problems
    assert origin(config, "agent.model") == "agentfp.toml:3:1"


@pytest.mark.parametrize(("line", "place"), [("", 1), ("version = 2", 1), ('version = "1"', 1)])
def test_the_version_must_be_one_that_is_known(load: Load, line: str, place: int) -> None:
    assert texts(load(f'{line}\n[agent]\nmodel = "stub:x"\n')) == [
        f"agentfp.toml:{place}:1: the file must say which format it has; write version = 1 at its top, the only one this library reads"
    ]


def test_the_file_is_found_upwards_and_only_when_asked(write: Write) -> None:
    path = write("version = 1\n").absolute()
    below = path.parent / "a" / "b"
    below.mkdir(parents=True)
    assert find_config(below) == path
    write("[tool.agentfp]\nversion = 1\n", "a/pyproject.toml")
    assert find_config(below) == path.parent / "a" / "pyproject.toml"
    write("[tool.other]\n", "a/pyproject.toml")
    assert find_config(below) == path
    path.unlink()
    assert find_config(below) != path


# --- overlays --------------------------------------------------------------------------------------------------------------

OVERLAID = """
version = 1
[agent]
model = "stub:small"
tools = ["config_app:plain"]
[agent.limits]
iterations = 3
usd = 1.5
[env.prod.agent]
model = "stub:big"
tools = []
[env.prod.agent.limits]
iterations = 4
[env.dev]
"""


def test_an_overlay_is_merged_and_says_where_it_stands(load: Load) -> None:
    for config in (load(OVERLAID, env="prod"), load(OVERLAID, AGENTFP_ENV="prod")):
        assert not config.problems
        assert config.env == "prod"
        assert value(config, "agent.model") == "stub:big"
        assert value(config, "agent.tools") == []
        assert (value(config, "agent.limits.iterations"), value(config, "agent.limits.usd")) == (4, 1.5)
        assert origin(config, "agent.model") == "agentfp.toml:9:1 ([env.prod])"
        assert origin(config, "agent.limits.usd") == "agentfp.toml:7:1"
    for config in (load(OVERLAID), load(OVERLAID, env="", AGENTFP_ENV="prod"), load(OVERLAID, env="dev")):
        assert value(config, "agent.model") == "stub:small"


def test_an_unknown_overlay_is_refused(load: Load) -> None:
    assert texts(load(OVERLAID, AGENTFP_ENV="pord"))[0].startswith(
        "environment variable AGENTFP_ENV: the file has no [env.pord]; did you mean 'prod'?"
    )
    assert "the file has no [env.prd]" in texts(load(OVERLAID, env="prd"))[0]


def test_mistakes_in_an_overlay_that_is_not_in_force_are_found(load: Load) -> None:
    config = load(OVERLAID + '[env.dev.agent]\nmodle = "${UNSET}"\n[env.test]\nversion = 2\n[env.prod.plugins.hours]\ntoken = "abc"\n')
    assert [text.split(" ")[0] for text in texts(config)] == ["agentfp.toml:15:1:", "agentfp.toml:17:1:", "agentfp.toml:19:1:"]


# --- single values from the environment -----------------------------------------------------------------------------------


def test_single_values_come_from_the_environment(load: Load) -> None:
    config = load(
        OVERLAID,
        AGENTFP__AGENT__MODEL="stub:other",
        AGENTFP__AGENT__LIMITS__ITERATIONS="7",
        AGENTFP__AGENT__NAME="123",
        AGENTFP__AGENT__TOOLS='["config_app:port_status"]',
        AGENTFP__PLUGINS__HOURS__WHEN="2024-01-01",
    )
    assert not config.problems
    assert value(config, "agent.model") == "stub:other"
    assert value(config, "agent.limits.iterations") == 7
    assert value(config, "agent.name") == "123"
    assert value(config, "agent.tools") == ["config_app:port_status"]
    assert origin(config, "agent.model") == "environment variable AGENTFP__AGENT__MODEL"


def test_the_environment_goes_before_an_overlay(load: Load) -> None:
    assert value(load(OVERLAID, env="prod", AGENTFP__AGENT__MODEL="stub:other"), "agent.model") == "stub:other"


def test_names_in_variables_are_matched_without_case(load: Load) -> None:
    config = load(
        'version = 1\n[agent]\nmodel = "My-Alias"\n[models.My-Alias]\nuse = "stub:x"\n', AGENTFP__MODELS__MY_ALIAS__BASE_URL="http://x"
    )
    assert value(config, "models.My-Alias.base_url") == "http://x"


def test_a_text_that_holds_more_than_a_value_stays_a_text(load: Load) -> None:
    assert value(load(OVERLAID, AGENTFP__AGENT__NAME="1\nversion = 2"), "agent.name") == "1\nversion = 2"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("AGENTFP__AGENT__MODLE", "[agent] has no 'modle'; did you mean 'model'?"),
        ("AGENTFP__AGNET__MODEL", "the file has no 'agnet'; did you mean 'agent'?"),
        ("AGENTFP__AGENT", "it names no value"),
        ("AGENTFP__AGENT____MODEL", "it names no value"),
        ("AGENTFP__ENV__PROD__AGENT__MODEL", "overlays are chosen, not set"),
        ("AGENTFP__AGENT__MODEL__X", "'agent.model' is no table"),
        ("AGENTFP__AGENT__TOOL_THREADS", "tool_threads must be a whole number, got a text"),
    ],
)
def test_mistakes_in_variables_name_the_variable(load: Load, name: str, text: str) -> None:
    (problem,) = texts(load(OVERLAID, **{name: "x"}))
    assert problem.startswith(f"environment variable {name}: ")
    assert text in problem


# --- text from the environment -------------------------------------------------------------------------------------------


def test_variables_in_texts_are_filled_in(load: Load) -> None:
    text = 'version = 1\n[agent]\nmodel = "stub:${SIZE:-small}"\ninstructions = ["In ${CITY}.", "$${CITY} ${not a name} $5"]\n'
    config = load(text, CITY="Rome")
    assert not config.problems
    assert value(config, "agent.model") == "stub:small"
    assert value(config, "agent.instructions") == ["In Rome.", "${CITY} ${not a name} $5"]
    assert value(load(text, CITY="", SIZE="big"), "agent.model") == "stub:big"
    assert value(load(text, CITY="", SIZE=""), "agent.model") == "stub:small"
    (problem,) = texts(load(text))
    assert problem.startswith("agentfp.toml:4:17: [agent] instructions[0]: environment variable 'CITY' is not set; ")
    assert problem.endswith("set it, write ${CITY:-default}, or $${CITY} for the text")


# --- agents ----------------------------------------------------------------------------------------------------------------

FAMILY = """
version = 1
[agent]
name = "base"
model = "stub:small"
plugins = ["hours"]
limits = { iterations = 3, usd = 2 }
[agents.desk]
extends = "agent"
limits.iterations = 5
[agents.night]
extends = "desk"
model = "stub:night"
plugins = []
[agents.alone]
model = "stub:alone"
"""


def test_agents_extend_each_other(load: Load) -> None:
    config = load(FAMILY)
    assert not config.problems
    assert config.agents == ("agent", "desk", "night", "alone")
    night = {v.path: v for v in config.explain("night")}
    assert night["agents.night.model"].value == "stub:night"
    assert night["agents.night.plugins"].value == []
    assert (night["agents.night.limits.iterations"].value, str(night["agents.night.limits.iterations"].origin)) == (5, "agentfp.toml:9:8")
    assert str(night["agents.night.limits.usd"].origin) == "agentfp.toml:6:28"
    assert night["agents.night.name"].value == "night"
    assert value(config, "agents.alone.limits.iterations", "alone") == 10


def test_which_agent_is_meant(load: Load) -> None:
    assert load(FAMILY).agent_name() == "agent"
    assert load('version = 1\n[agents.one]\nmodel = "stub:x"\n').agent_name() == "one"
    with pytest.raises(ConfigError, match="did you mean 'night'"):
        load(FAMILY).agent_name("nihgt")
    with pytest.raises(ConfigError, match="several agents; say which one, agent= one of 'one', 'two'"):
        load("version = 1\n[agents.one]\n[agents.two]\n").agent_name()
    with pytest.raises(ConfigError, match="there is no agent in it"):
        load("version = 1\n").agent_name()


def test_circles_and_strangers_are_refused(load: Load) -> None:
    config = load(
        'version = 1\n[agents.a]\nextends = "b"\n[agents.b]\nextends = "c"\n[agents.c]\nextends = "b"\n'
        '[agents.d]\nextends = "d"\n[agents.e]\nextends = "aa"\n[agents.agent]\n'
    )
    assert texts(config) == [
        "agentfp.toml:5:1: agents extend each other in a circle: b -> c -> b; take one extends out",
        "agentfp.toml:9:1: agents extend each other in a circle: d -> d; take one extends out",
        "agentfp.toml:11:1: [agents.e] extends 'aa', which is no agent here; did you mean 'a'? Accepted: 'a', 'b', 'c', 'd', 'e'",
        "agentfp.toml:12:1: [agents.agent] would be the same as [agent]; give the agent another name",
    ]
    config.explain("a")  # and nothing goes round for ever
