"""The pytest plugin: its fixtures, and that no test calls a real model unless it says so."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
import textwrap
import tomllib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, ConfigError
from agentfp.model import Model, ModelFeatures, ModelNotFoundError, ModelRequest, ModelResponse, ModelWrapper, resolve_model
from agentfp.plugin import Plugin, hookimpl
from agentfp.testing import AutoModel, Harness, PluginDist, RealModelRefusedError, ScriptedModel, StandInsOnly, call
from tests.core.testing.office_hours import OfficeHours, port_status, shut_port

pytest_plugins = ["pytester"]

MINE = """
    from agentfp.model import ModelFeatures, ModelResponse

    class Mine:
        provider, features = "mine", ModelFeatures()

        def __init__(self, name):
            self.name = name

        async def complete(self, request):
            return ModelResponse(text="really")

        async def stream(self, request):
            yield await self.complete(request)

    def make(name, **settings):
        return Mine(name)
"""


@pytest.fixture
def mine(plugin_dist: PluginDist) -> Model:
    plugin_dist("agentfp-mine", entry_points={"agentfp.models": {"mine": "mine_models:make"}}, modules={"mine_models": MINE})
    return resolve_model("mine:one")


class FromThisFolder:
    """A stand-in of the tests' own."""

    provider, name, features = "own", "own", ModelFeatures()

    async def complete(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(text="own")

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelResponse]:
        yield await self.complete(request)


# --- real models ----------------------------------------------------------------------------------------------------------------------


def test_a_model_by_name_is_refused_before_it_is_looked_up() -> None:
    with pytest.raises(RealModelRefusedError, match=r"this test would call the model 'nobody:has-it'\. Give the agent a ScriptedModel"):
        Agent("nobody:has-it").run_sync("Hi")


def test_a_model_of_a_provider_is_refused_and_its_class_is_named(mine: Model) -> None:
    with pytest.raises(RealModelRefusedError, match=r"the model 'one' of 'mine' \(mine_models\.Mine\).*real_model"):
        Agent(mine).run_sync("Hi")


def test_a_stream_is_refused_too(mine: Model) -> None:
    with pytest.raises(RealModelRefusedError), Agent(mine).stream_sync("Hi") as run:
        list(run.text())


class Choosing(Plugin):
    """Serves calls with a model of its own, or asks it."""

    name = "choosing"

    def __init__(self, model: Model, *, helper: bool) -> None:
        super().__init__()
        self.model = model
        self.helper = helper

    @hookimpl(phase="route")
    async def serve_context(self, draft: Any, run: Any) -> None:
        if self.helper:
            await run.call_model(ModelRequest(system="", messages=()), purpose="test", model=self.model)
        else:
            draft.use_model(self.model)


@pytest.mark.anyio
async def test_a_model_that_a_plugin_chooses_is_refused(mine: Model) -> None:
    with pytest.raises(RealModelRefusedError):
        await Agent(ScriptedModel(["Hi."]), plugins=[Choosing(mine, helper=False)]).run("Hi")
    outcome = await Harness(Choosing(mine, helper=True), script=["Hi."]).run("Hi")
    assert [failed.error_class for failed in outcome.failures] == ["RealModelRefusedError"]


def test_a_wrapper_is_what_it_wraps(mine: Model) -> None:
    class Both(ModelWrapper):
        def __init__(self, first: Model, *others: Model) -> None:
            super().__init__(first)
            self.others = others

    assert Agent(ModelWrapper(ScriptedModel(["Hi."]))).run_sync("Hi").text == "Hi."
    assert Agent(Both(ScriptedModel(["Hi."]), AutoModel())).run_sync("Hi").text == "Hi."
    for model in (ModelWrapper(mine), ModelWrapper(ModelWrapper(mine)), Both(ScriptedModel(["Hi."]), mine)):
        with pytest.raises(RealModelRefusedError):
            Agent(model).run_sync("Hi")


def test_stand_ins_may_be_called() -> None:
    class Derived(ScriptedModel):
        pass

    assert Agent(Derived(["Hi."])).run_sync("Hi").text == "Hi."
    assert Agent(FromThisFolder()).run_sync("Hi").text == "own"


@pytest.mark.usefixtures("allow_any_model")
def test_a_test_that_asks_for_it_may_call_any_model(mine: Model) -> None:
    assert Agent(mine).run_sync("Hi").text == "really"
    assert Agent("mine:one").run_sync("Hi").text == "really"


def test_the_gate_can_be_asked_directly(mine: Model, tmp_path: Path) -> None:
    StandInsOnly()(ScriptedModel([]))
    assert not StandInsOnly().lets(mine)
    assert StandInsOnly([tmp_path]).lets(mine)


CONFTEST = """
    from agentfp_core.testing import pytest_plugin

    def pytest_configure(config):
        if not config.pluginmanager.is_registered(pytest_plugin):
            config.pluginmanager.register(pytest_plugin, "agentfp")
"""


def test_the_marker_lets_a_test_and_its_fixtures_call_a_real_model_and_nothing_else(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nfilterwarnings = ["error"]\naddopts = ["--strict-markers"]\n')
    pytester.makepyfile(
        f"""
        import pytest
        from agentfp import Agent

        SOURCE = {textwrap.dedent(MINE)!r}

        @pytest.fixture
        def answer(plugin_dist):
            points = {{"agentfp.models": {{"mine": "mine_models:make"}}}}
            plugin_dist("agentfp-mine", entry_points=points, modules={{"mine_models": SOURCE}})
            return Agent("mine:one").run_sync("Hi").text

        @pytest.mark.real_model
        def test_marked(answer):
            assert answer == "really"

        def test_unmarked(answer):
            assert answer == "really"
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*RealModelRefusedError: this test would call the model 'mine:one'*"])


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    target = tomllib.loads(text)["project"]["entry-points"]["pytest11"]["agentfp"]
    module = importlib.import_module(target)

    assert module.pytest_configure
    assert "pydantic" not in (Path(str(module.__file__)).read_text(encoding="utf-8"))


def test_the_plugin_imports_nothing_of_the_kernel_until_it_is_used(pytester: pytest.Pytester) -> None:
    root = Path(__file__).parents[3]
    code = "import sys; import agentfp_core.testing.pytest_plugin; print([m for m in sys.modules if m in ('pydantic', 'anyio', 'agentfp')])"
    result = pytester.run(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(root)!r}); {code}")

    assert result.outlines == ["[]"]


# --- fixtures -------------------------------------------------------------------------------------------------------------------------


def test_scripted_model_and_auto_model(scripted_model: Callable[..., ScriptedModel], auto_model: AutoModel) -> None:
    model = scripted_model(call("port_status", switch="A"), "Done.", name="mine")

    assert model.name == "mine"
    assert Agent(model, tools=[port_status]).run_sync("Go").text == "Done."
    assert Agent(auto_model, tools=[port_status]).run_sync("Go").text == "done"


@pytest.mark.anyio
async def test_the_harness_as_a_fixture(agentfp_harness: type[Harness]) -> None:
    outcome = await agentfp_harness(OfficeHours(), tools=[shut_port], script=[call("shut_port", port=1), "No."]).run("Go")

    outcome.assert_denied("shut_port")


@pytest.mark.parametrize("number", [1, 2])
def test_golden_clock_and_ids_begin_anew_in_each_test(golden_clock_ids: dict[str, Any], number: int) -> None:
    result = Agent(ScriptedModel(["Hi."]), **golden_clock_ids).run_sync("Hi")

    assert result.root_id == "conv_1"
    assert result.run_id == "run_2"
    assert result.record[0].ts_ns == 1_893_456_000_000_000_000 + (result.record[0].ts_ns % 1_000_000_000)


# --- distributions ----------------------------------------------------------------------------------------------------------------------


def test_a_distribution_is_found_by_its_metadata_while_it_is_there(tmp_path: Path) -> None:
    with PluginDist(tmp_path / "site") as install:
        info = install(
            "agentfp-Shout.it",
            version="2.1",
            requires=["agentfp>=0.1"],
            entry_points={"agentfp.plugins": {"shout": "shout.plugin:Shout"}, "agentfp.models": {"shout": "shout.plugin:make"}},
            modules={"shout.plugin": "class Shout: ...\ndef make(name): ...\n"},
        )
        found = importlib.metadata.distribution("agentfp-shout-it")
        (point,) = importlib.metadata.entry_points(group="agentfp.plugins", name="shout")

        assert info.name == "agentfp_Shout_it-2.1.dist-info"
        assert (found.version, found.requires) == ("2.1", ["agentfp>=0.1"])
        assert {str(file) for file in found.files or ()} >= {"shout/plugin.py", "shout/__init__.py", f"{info.name}/METADATA"}
        assert point.load().__name__ == "Shout"
        assert "shout.plugin" in sys.modules
    assert "shout.plugin" not in sys.modules
    assert str(tmp_path / "site") not in sys.path
    assert not importlib.metadata.entry_points(group="agentfp.plugins", name="shout")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("shout.plugin")


def test_a_second_version_takes_the_place_of_the_first(plugin_dist: PluginDist) -> None:
    for text in ("first", "second"):
        plugin_dist(
            "agentfp-twice", entry_points={"agentfp.models": {"twice": "twice_models:make"}}, modules={"twice_models": f"make = {text!r}"}
        )
        (point,) = importlib.metadata.entry_points(group="agentfp.models", name="twice")
        assert point.load() == text


def test_a_module_may_be_broken(plugin_dist: PluginDist) -> None:
    plugin_dist(
        "agentfp-broken",
        entry_points={"agentfp.models": {"broken": "broken_models:make", "gone": "no_such_module:make"}},
        modules={"broken_models": "raise RuntimeError('while it is imported')"},
    )
    points = {point.name: point for point in importlib.metadata.entry_points(group="agentfp.models")}

    with pytest.raises(RuntimeError, match="while it is imported"):
        points["broken"].load()
    with pytest.raises(ModuleNotFoundError):
        points["gone"].load()


@pytest.mark.usefixtures("allow_any_model")
def test_the_library_finds_a_model_that_was_installed_for_a_test(plugin_dist: PluginDist) -> None:
    with pytest.raises((ModelNotFoundError, ConfigError)):
        Agent("mine:one").run_sync("Hi")
    plugin_dist("agentfp-mine", entry_points={"agentfp.models": {"mine": "mine_models:make"}}, modules={"mine_models": MINE})
    assert Agent("mine:one").run_sync("Hi").text == "really"
