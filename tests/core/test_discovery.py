"""Discovery: found by metadata, imported only when switched on, each plugin in its own guard."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentfp import Agent, ConfigError, ModelNotFoundError, PluginLoadError
from agentfp.model import resolve_model
from agentfp.testing import PluginDist, ScriptedModel
from agentfp_core.discovery import DISABLE, REQUIRE, Switches, discover, plugin_reports
from agentfp_core.entrypoints import COMMANDS_GROUP, installed, load


@pytest.fixture
def site(tmp_path: Path) -> Iterator[PluginDist]:
    with PluginDist(tmp_path / "site") as dist:
        yield dist


def plugin(name: str, cls: str = "P") -> str:
    return f"from agentfp.plugin import Plugin\nclass {cls}(Plugin):\n    name = {name!r}\n"


def add(site: PluginDist, name: str, source: str | None = None, *, distribution: str | None = None, version: str = "1.0") -> None:
    module = f"mod_{distribution or name}".replace("-", "_")
    site(
        distribution or f"agentfp-{name}",
        entry_points={"agentfp.plugins": {name: f"{module}:P"}},
        modules={module: plugin(name) if source is None else source},
        version=version,
    )


def states(*args: object, **kwargs: object) -> dict[str, str]:
    return {report.name: report.state for report in discover(*args, **kwargs).reports}  # type: ignore[arg-type]


def test_installed_plugins_are_found_and_none_is_imported(site: PluginDist) -> None:
    for index in range(40):
        add(site, f"p{index}", "raise RuntimeError('imported')")
    reports = plugin_reports()
    assert {report.name for report in reports} >= {f"p{index}" for index in range(40)}
    assert {report.state for report in reports if report.name.startswith("p")} == {"found"}
    assert not [name for name in sys.modules if name.startswith("mod_p")]


def test_a_plugin_is_there_after_install_and_gone_after_uninstall(site: PluginDist) -> None:
    assert "here" not in states()
    add(site, "here")
    assert states()["here"] == "found"
    site.close()
    assert "here" not in states()


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("import not_there_at_all", "ModuleNotFoundError: No module named 'not_there_at_all'"),
        ("def broken(:", "SyntaxError"),
        ("import sys\nsys.exit(3)", "SystemExit: 3"),
        ("raise ValueError('of its own')", "ValueError: of its own"),
        ("def P(: pass", "SyntaxError"),
        ("x = 1", "AttributeError"),
    ],
)
def test_a_broken_plugin_takes_nothing_else_down(site: PluginDist, source: str, cause: str) -> None:
    add(site, "first")
    add(site, "second", source, version="3.1")
    add(site, "third")
    found = discover(["first", "second", "third"], switches=Switches())
    assert list(found.plugins) == ["first", "third"]
    report = found.reports[1]
    assert (report.name, report.distribution, report.version, report.state) == ("second", "agentfp-second", "3.1", "failed")
    assert report.error is not None
    assert cause in report.error
    assert found.failures["second"].__cause__ is not None
    assert found.problems == (str(report),)


def test_a_keyboard_interrupt_is_no_fault_of_a_plugin(site: PluginDist) -> None:
    add(site, "slow", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        discover(["slow"], switches=Switches())


def test_what_is_no_plugin_or_has_another_name_is_refused(site: PluginDist) -> None:
    add(site, "function", "def P(): ...")
    add(site, "other", plugin("different"))
    found = discover(["function", "other"], switches=Switches())
    assert "must be a class derived from agentfp.plugin.Plugin, got a function" in str(found.failures["function"])
    assert "the entry point 'other', but the class has name = 'different'" in str(found.failures["other"])


def test_duplicate_names_name_both_distributions(site: PluginDist) -> None:
    add(site, "twice", distribution="one-dist", version="1.2")
    add(site, "twice", distribution="other-dist", version="3.4")
    switched_off = next(r for r in plugin_reports() if r.name == "twice")
    assert switched_off.state == "found"
    for text in (switched_off.error or "", str(discover(["twice"], switches=Switches()).failures["twice"])):
        assert "one-dist 1.2" in text
        assert "other-dist 3.4" in text
    assert not [name for name in sys.modules if name in ("mod_one_dist", "mod_other_dist")]


def test_two_installations_of_one_distribution_are_no_duplicate(site: PluginDist, tmp_path: Path) -> None:
    add(site, "same", distribution="Agentfp_Same")
    with PluginDist(tmp_path / "before") as before:
        add(before, "same", distribution="agentfp-same", version="2.0")
        report = next(r for r in plugin_reports() if r.name == "same")
        assert (report.version, report.error) == ("2.0", None)


def test_a_distribution_with_broken_metadata_hides_no_other(site: PluginDist) -> None:
    add(site, "good")
    folder = site("agentfp-bad", entry_points={"agentfp.plugins": {"bad": "mod_bad:P"}})
    (folder / "entry_points.txt").write_text("[agentfp.plugins]\nthis is no entry point\n")
    assert states()["good"] == "found"
    assert any("agentfp_bad-1.0.dist-info" in text for text in installed().unreadable)


def test_off_blocked_and_missing(site: PluginDist) -> None:
    for name in ("a", "b", "c"):
        add(site, name, "raise RuntimeError('imported')" if name != "c" else None)
    found = discover(["a", "b", "c", "my_own"], off={"a"}, switches=Switches.of({DISABLE: " b ,, "}))
    assert {r.name: r.state for r in found.reports[:4]} == {"a": "off", "b": "blocked", "c": "on", "my_own": "missing"}
    assert "by custom that is called agentfp-my-own" in (found.reports[3].error or "")
    assert any("'b'" in text for text in found.problems)
    assert [text.split(" (")[0].split(":")[0] for text in found.problems] == ["plugin 'b'", "plugin 'my_own'"]


def test_names_in_the_environment_that_nothing_brings_are_reported(site: PluginDist) -> None:
    add(site, "evidence")
    reports = discover(switches=Switches.of({DISABLE: "evidnce"})).reports
    report = next(r for r in reports if r.name == "evidnce")
    assert report.state == "missing"
    assert "did you mean 'evidence'" in (report.error or "")


@pytest.mark.parametrize(("value", "strict"), [("1", True), ("yes", True), ("0", False), ("", False), ("False", False)])
def test_strict(value: str, strict: bool) -> None:
    assert Switches.of({"AGENTFP_STRICT": value}).strict is strict


def test_no_agent_is_built_without_a_required_plugin(site: PluginDist, monkeypatch: pytest.MonkeyPatch) -> None:
    add(site, "guard")
    monkeypatch.setenv(REQUIRE, "guard,")
    with pytest.raises(ConfigError, match="'guard' is required by AGENTFP_REQUIRE_PLUGINS"):
        Agent(ScriptedModel([]))
    cls = discover(["guard"]).plugins["guard"]
    assert Agent(ScriptedModel([]), plugins=[cls()]).plugin_set.by_name.keys() == {"guard"}


def test_commands_load_in_the_same_guard(site: PluginDist) -> None:
    site("agentfp-cmd", entry_points={COMMANDS_GROUP: {"shout": "mod_cmd:app"}}, modules={"mod_cmd": "import sys; sys.exit('no')"})
    (entry,) = installed().group(COMMANDS_GROUP)["shout"]
    with pytest.raises(PluginLoadError, match=r"'mod_cmd:app' of agentfp-cmd 1.0 cannot be imported: SystemExit: no") as caught:
        load(entry)
    assert (caught.value.plugin, caught.value.distribution, caught.value.version) == ("shout", "agentfp-cmd", "1.0")


def test_a_provider_that_cannot_be_used_says_why(site: PluginDist) -> None:
    site(
        "agentfp-broken", entry_points={"agentfp.models": {"broken": "mod_broken:make"}}, modules={"mod_broken": "import not_there_at_all"}
    )
    with pytest.raises(ModelNotFoundError, match=r"agentfp-broken 1.0.*No module named 'not_there_at_all'") as caught:
        resolve_model("broken:model")
    assert isinstance(caught.value.__cause__, PluginLoadError)
    for name in ("one", "two"):
        site(f"{name}-dist", entry_points={"agentfp.models": {"both": "mod_x:make"}})
    with pytest.raises(ModelNotFoundError, match=r"one-dist 1.0.*two-dist 1.0"):
        resolve_model("both:model")
