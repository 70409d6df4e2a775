"""Files and variables that nobody meant: nested too deep, too long, secrets written where none belong, code that exits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath

import pytest

from agentfp import Config, ConfigError, load_config
from agentfp.testing import PluginDist, ScriptedModel
from agentfp_core.config.layers import Tree
from agentfp_core.config.origin import DEFAULT, Origin
from agentfp_core.config.positions import Path

HEAD = 'version = 1\n[agent]\nmodel = "stub:x"\n'
SECRET = "s3ntinel-value-of-a-secret"


def everything(config: Config) -> str:
    """All that can be asked of a configuration, as text."""
    said = [repr(config.problems), repr(config.check()), repr(config.explain()), repr(config.secrets()), repr(config.plugins())]
    try:
        said.append(repr(config.build()))
    except ConfigError as error:
        said.append(repr(error))
        said += [repr(error.__cause__), repr(error.__context__)]
    return "\n".join(said)


@pytest.mark.parametrize(
    "text",
    [
        "model_settings.extra.a = " + "[" * 3000 + "]" * 3000,
        "model_settings.extra = " + "{a = " * 100 + "1" + "}" * 100,
        "model_settings.extra" + ".a" * 3000 + " = 1",
        f"[agent.model_settings.extra{'.a' * 500}]",
    ],
)
def test_what_is_nested_too_deep_is_refused_by_name(text: str, write: Callable[..., FilePath]) -> None:
    with pytest.raises(ConfigError, match=r"agentfp\.toml: its tables and arrays are nested too deep"):
        load_config(write(HEAD + text), environ={})


def test_a_number_of_thousands_of_digits_is_refused(write: Callable[..., FilePath]) -> None:
    with pytest.raises(ConfigError, match=r"agentfp\.toml: a value in it cannot be read"):
        load_config(write(f"{HEAD}tool_threads = {'9' * 5000}"), environ={})


@pytest.mark.parametrize("text", ["[" * 3000 + "]" * 3000, "9" * 5000])
def test_a_variable_with_such_a_value_is_a_text(text: str, load: Callable[..., Config]) -> None:
    config = load(HEAD, AGENTFP__AGENT__INSTRUCTIONS=text)
    assert config.problems == ()
    assert config.tree.get(("agent", "instructions")) == text


def test_a_table_that_is_there_twice_is_named(write: Callable[..., FilePath]) -> None:
    with pytest.raises(ConfigError, match=r"agentfp\.toml:5:\d+: .*the table \[agent\.limits\] is there twice"):
        load_config(write('version = 1\n[agent]\nmodel = "stub:x"\n[agent.limits]\n[agent.limits]\n'), environ={})


def test_true_is_no_version(load: Callable[..., Config]) -> None:
    assert "write version = 1" in str(load('version = true\n[agent]\nmodel = "stub:x"').problems[0])


def test_names_that_hold_a_dot_are_told_apart(load: Callable[..., Config]) -> None:
    problem = load(HEAD + '[agents."a.b"]\nextends = "agent"\nfoo = 1').problems[0]
    assert "[agents.\"a.b\"] has no 'foo'" in problem.text


def test_who_extends_whom_is_judged_in_overlays_that_are_not_in_force(load: Callable[..., Config]) -> None:
    config = load(HEAD + '[agents.x]\nextends = "agent"\n[env.prod.agent]\nextends = "x"\n[env.test.agents.y]\nextends = "nobody"')
    assert [(p.origin.line, p.text.split(";")[0]) for p in config.problems] == [
        (7, "agents extend each other in a circle: agent -> x -> agent"),
        (9, "[agents.y] extends 'nobody', which is no agent here"),
    ]


def test_putting_a_key_in_walks_over_no_others() -> None:
    """Counted, not timed: a file of ten thousand lines must not take a hundred million steps."""

    class Counted(dict[Path, Origin]):
        walked = 0

        def __iter__(self) -> Iterator[Path]:
            self.walked += len(self)
            return super().__iter__()

    tree = Tree()
    tree.origins = seen = Counted()
    for n in range(1000):
        tree.put(("agent", f"k{n}"), n, lambda _: DEFAULT)
    assert len(seen) > 1000
    assert seen.walked == 0
    tree.put(("agent",), 3, lambda _: DEFAULT)  # what is replaced leaves no place behind
    assert set(seen) == {("agent",)}


def test_a_default_within_a_default_is_refused(load: Callable[..., Config]) -> None:
    problem = load(HEAD + 'instructions = "${A:-${B}}"').problems[0]
    assert (problem.origin.line, "holds another ${...}" in problem.text) == (4, True)


def test_an_alias_of_an_alias_is_named(load: Callable[..., Config]) -> None:
    config = load('version = 1\n[agent]\nmodel = "a"\n[models.a]\nuse = "b"\n[models.b]\nuse = "stub:x"')
    assert [(p.origin.line, "names the alias 'b'" in p.text) for p in config.check().problems] == [(5, True)]


@pytest.mark.parametrize(
    ("tool", "said"), [("config_app:Answer", "is a class"), ("json:loads", "**kw has no schema"), ("config_app:heard", "got a list")]
)
def test_what_makes_no_tool_is_a_problem_at_its_item_beside_the_others(tool: str, said: str, load: Callable[..., Config]) -> None:
    config = load(HEAD + f'tools = [\n  "config_app:plain",\n  "{tool}",\n]\ntoolz = 1')
    found, other = config.check().problems
    assert ((found.origin.line, found.origin.column), said in found.text) == ((6, 3), True)
    assert other.text.startswith("[agent] has no 'toolz'")


# --- secrets -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'tools = ["${MY_TOKEN}"]',
        'deps_type = "${MY_TOKEN}:x"',
        'extends = "${MY_TOKEN}"',
        'plugins = ["${MY_TOKEN}"]',
        'instructions = "Say ${MY_TOKEN}."',
        'instructions_file = "${MY_TOKEN}"',
        'listeners = { "*" = "${MY_TOKEN}:x" }',
        'stream = "${MY_TOKEN}"',
        f'api_key = "{SECRET}"',
        f'[env.prod.agent]\napi_key = "{SECRET}"\nextends = "${{MY_TOKEN}}"',
        '[models.m]\nuse = "${MY_TOKEN}:x"',
        f'[models.m]\nuse = "stub:x"\napi_key = {{ env = "{SECRET}" }}',
        f'[models.m]\nuse = "stub:x"\napi_key = {{ env = "{SECRET}", file = "x" }}',
        f'[models.m]\nuse = "stub:x"\nheaders = [{{ db_password = "{SECRET}" }}]',
    ],
)
def test_a_secret_in_a_wrong_place_is_shown_nowhere(text: str, load: Callable[..., Config], caplog: pytest.LogCaptureFixture) -> None:
    head = HEAD.replace("stub:x", "m") if "[models.m]" in text else HEAD
    assert SECRET not in everything(load(head + text, MY_TOKEN=SECRET)) + caplog.text


def test_what_a_secret_named_variable_brings_into_a_text_is_masked_in_the_recording(
    load: Callable[..., Config], tmp_path: FilePath
) -> None:
    result = load(HEAD + 'instructions = "Say ${MY_TOKEN}."', MY_TOKEN=SECRET).build(model=ScriptedModel(["Hello."])).run_sync("hi")
    result.record.save(tmp_path / "r.jsonl")
    assert SECRET not in (tmp_path / "r.jsonl").read_text()


def test_a_secret_that_stands_where_its_variables_name_belongs_says_so(load: Callable[..., Config]) -> None:
    config = load(f'version = 1\n[agent]\nmodel = "m"\n[models.m]\nuse = "stub:x"\napi_key = {{ env = "{SECRET}" }}')
    with pytest.raises(ConfigError, match="what stands after env is no variable's name"):
        config.build()


@pytest.mark.parametrize("name", ["a\\u0000b", "~nobody-of-this-name/x", "."])
def test_files_that_cannot_be(name: str, load: Callable[..., Config]) -> None:
    config = load(f'version = 1\n[agent]\nmodel = "m"\n[models.m]\nuse = "stub:x"\napi_key = {{ file = "{name}" }}')
    assert config.secrets()[0].error is not None
    with pytest.raises(ConfigError, match="cannot be read"):
        config.build()


# --- code ----------------------------------------------------------------------------------------------------------------

EXITS = """
import pydantic
from agentfp.plugin import Plugin
class Checks(Plugin):
    name = "checks"
    class Settings(Plugin.Settings):
        @pydantic.model_validator(mode="after")
        def judge(self):
            raise SystemExit(7)
class Makes(Plugin):
    name = "makes"
    def __init__(self, **values):
        raise SystemExit(8)
def model(name):
    raise SystemExit(9)
"""


def test_code_that_exits_is_a_problem_with_its_place(site: PluginDist, load: Callable[..., Config]) -> None:
    points = {"agentfp.plugins": {"checks": "exits:Checks", "makes": "exits:Makes"}, "agentfp.models": {"leaving": "exits:model"}}
    site("agentfp-exits", entry_points=points, modules={"exits": EXITS})
    config = load('version = 1\n[agent]\nmodel = "m"\nplugins = ["checks", "makes"]\n[models.m]\nuse = "leaving:x"')
    with pytest.raises(ConfigError) as caught:
        config.build()
    assert [problem.partition(": ")[0] for problem in caught.value.problems] == [
        "agentfp.toml:4:12",
        "agentfp.toml:4:22",
        "agentfp.toml:5:1",
    ]
    assert all(word in str(caught.value) for word in ("SystemExit: 7", "SystemExit: 8", "SystemExit: 9"))


@pytest.mark.parametrize(
    "source", ["class Skipped(BaseException): ...\nraise Skipped('no')", "raise GeneratorExit", "import sys; sys.exit()"]
)
def test_a_module_may_raise_anything(source: str, site: PluginDist, load: Callable[..., Config]) -> None:
    site("agentfp-odd", entry_points={"agentfp.plugins": {"odd": "odd_module:Odd"}}, modules={"odd_module": source})
    config = load(HEAD + 'plugins = ["odd"]\ntools = ["odd_module:tool"]')
    assert [note.origin.line for note in config.check().notes] == [4]
    assert [problem.origin.line for problem in config.check().problems] == [5]


def test_an_entry_point_that_is_no_import_path_says_so(site: PluginDist, load: Callable[..., Config]) -> None:
    site("agentfp-odd", entry_points={"agentfp.plugins": {"odd": "no module!!:x y"}})
    assert (
        "'no module!!:x y' of agentfp-odd 1.0 is no import path module:attribute" in load(HEAD + 'plugins = ["odd"]').check().notes[0].text
    )


def test_a_setting_that_only_code_can_give_leaves_the_others_their_schema(site: PluginDist) -> None:
    from agentfp_core.config import config_schema

    source = (
        "from collections.abc import Callable\nfrom typing import Any\nimport pydantic\nfrom agentfp.plugin import Plugin\n"
        "class Calls(Plugin):\n    name = 'calls'\n    class Settings(Plugin.Settings):\n"
        "        then: Callable[[], Any] | None = None\n        size: int = pydantic.Field(1, alias='length')\n"
    )
    site("agentfp-calls", entry_points={"agentfp.plugins": {"calls": "calls_module:Calls"}}, modules={"calls_module": source})
    made = config_schema()
    assert made.skipped == ()
    assert made.schema["properties"]["plugins"]["properties"]["calls"]["properties"]["length"]["type"] == "integer"
    json.dumps(made.schema)


def test_a_setting_with_an_alias_is_told_of_by_the_name_that_a_file_gives(site: PluginDist, load: Callable[..., Config]) -> None:
    source = (
        "import pydantic\nfrom agentfp.plugin import Plugin\nclass Calls(Plugin):\n    name = 'calls'\n"
        "    class Settings(Plugin.Settings):\n        size: int = pydantic.Field(1, alias='length')\n"
    )
    site("agentfp-calls", entry_points={"agentfp.plugins": {"calls": "calls_module:Calls"}}, modules={"calls_module": source})
    shown = {
        v.path: v.value for v in load(HEAD + 'plugins = ["calls"]\n[plugins.calls]\nlength = 7').explain() if v.path.startswith("plugins")
    }
    assert shown == {"plugins.calls.length": 7}
