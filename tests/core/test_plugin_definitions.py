"""Plugins that are not written as they must be: refused while building, all problems at once, with words that help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pluggy
import pytest

import agentfp
from agentfp import ConfigError, PluginDefinitionError
from agentfp.plugin import Name, Number, Payload, Plugin, Registry, event, hookimpl
from tests.core.running import answering

foreign = pluggy.HookimplMarker("agentfp")


# --- marks -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marks", "words"),
    [
        ({"moment": "before_tol", "phase": "authorize"}, "no moment 'before_tol'; did you mean 'before_tool'"),
        ({}, "no moment 'hook'"),
        ({"moment": "before_tool"}, "needs phase=..., one of peel, screen"),
        ({"moment": "before_tool", "phase": "autorize"}, "no phase 'autorize'; did you mean 'authorize'"),
        ({"moment": "export_event", "phase": "authorize"}, "has no phase 'authorize'"),
        ({"moment": "before_tool", "phase": "validate"}, "the kernel's own"),
        ({"moment": "after_result", "phase": "cap"}, "the kernel's own"),
        ({"moment": "assess_answer", "phase": "schema"}, "the kernel's own"),
        ({"moment": "assess_answer", "phase": "claims", "per": "batch"}, "per='batch' does not go with 'assess_answer'"),
        ({"moment": "before_tool", "phase": "fill", "per": "each"}, "per='each'"),
    ],
)
def test_marks_that_mean_nothing_are_refused_where_they_stand(marks: Any, words: str) -> None:
    def hook(self: Any) -> None: ...

    with pytest.raises(PluginDefinitionError, match=words):
        hookimpl(**marks)(hook)


@pytest.mark.parametrize("name", ["short", "two.words", "a.b.c.d", "a..b", "a.b.c d"])
def test_names_of_events_have_three_words(name: str) -> None:
    with pytest.raises(PluginDefinitionError, match="three dotted words"):
        event(name)


# --- plugins ---------------------------------------------------------------------------------------------------------------------


def plugin(called: str = "odd", **members: Any) -> Plugin:
    made: Plugin = type(called.title() or "Odd", (Plugin,), {"name": called, **members})()
    return made


def marked(function: Callable[..., Any], moment: str = "before_tool", phase: str | None = "authorize", per: Any = "call") -> Any:
    return hookimpl(moment=moment, phase=phase, per=per)(function)


async def _later(self: Any, agent: Registry) -> None: ...


PROBLEMS: list[tuple[dict[str, Any], str]] = [
    ({"before_tool": lambda self, call: None}, "method 'before_tool' is not marked; put @hookimpl"),
    ({"finish_run": lambda self, run: None}, "method 'finish_run' is not marked"),
    ({"gate": marked(lambda self, call, extra: None)}, "extra"),
    ({"gate": marked(lambda self, call=None: None)}, "argument 'call' has a default and would never be passed"),
    ({"gate": marked(lambda self, call, run: None, per="batch")}, "with per='batch' takes 'call'; it may take batch, run"),
    ({"gate": marked(lambda self, result: None)}, "result"),
    ({"configure": hookimpl(moment="configure")(_later)}, "'configure' runs while the agent is built and cannot be async"),
    ({"finish_run": foreign(lambda self, run: None)}, "mark it with agentfp.plugin.hookimpl, not with pluggy's own marker"),
    ({"finish_rum": foreign(lambda self, run: None)}, "unknown hook 'finish_rum'"),
    ({"requires": ("evidence",)}, "plugin 'odd' needs plugin 'evidence'; switch it on too (pip install agentfp-evidence)"),
]


@pytest.mark.parametrize(("members", "words"), PROBLEMS)
def test_a_hook_that_would_never_run_as_meant_is_refused(members: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match="plugin 'odd'") as caught:
        answering("never", plugins=[plugin(**members)])
    assert len(caught.value.problems) == 1
    assert words in str(caught.value)


@pytest.mark.parametrize("wrapper", [{"wrapper": True}, {"hookwrapper": True}])
def test_wrappers_are_refused(wrapper: Any) -> None:
    def around(self: Any, run: Any) -> Any:
        yield

    around.__name__ = "around"
    hook = hookimpl(moment="finish_run")(around)
    wrapped = foreign(specname="finish_run", **wrapper)(hook)
    with pytest.raises(ConfigError, match="wrappers are not supported"):
        answering("never", plugins=[plugin(around=wrapped)])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([Plugin], "the class 'Plugin'; write Plugin\\(\\)"),
        (["evidence"], "plugins takes Plugin objects, got a str"),
        ([None], "got a NoneType"),
        ([plugin("")], "needs a class attribute `name`"),
        ([plugin("two words")], "needs a class attribute `name`"),
        ([plugin("kernel")], "none of app, kernel, tool"),
        ([plugin("one"), plugin("one")], "two plugins are called 'one'; leave one of them out"),
    ],
)
def test_what_is_no_plugin_is_refused(given: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        answering("never", plugins=given)


def test_all_problems_of_all_plugins_come_at_once() -> None:
    given = [
        plugin("first", before_tool=lambda self, call: None),
        plugin("second", gate=marked(lambda self, call=None: None)),
        plugin("third", gate=marked(lambda self, call, extra: None)),
        plugin("fourth"),
        plugin("fourth", requires=("nobody", "fifth")),
        plugin("fifth", configure=hookimpl(moment="configure")(_later)),
        "sixth",
    ]
    with pytest.raises(ConfigError) as caught:
        answering("never", plugins=given)
    problems = caught.value.problems
    for word in ("'first'", "'second'", "extra", "two plugins are called 'fourth'", "needs plugin 'nobody'", "'fifth', hook", "got a str"):
        assert sum(word in problem for problem in problems) == 1, word
    assert len(problems) == 7


def test_problems_of_plugins_and_of_everything_else_come_at_once() -> None:
    def look() -> str:
        """Look."""
        return "seen"

    def other() -> str:
        """Other."""
        return "seen"

    other.__name__ = "look"
    with pytest.raises(ConfigError) as caught:
        answering(
            "never",
            plugins=[plugin("first", requires=("nobody",))],
            tools=[look, other, 5],
            output_type=object(),
            stream="sometimes",
            tool_concurrency=0,
            context_budget={"sytem": 1},
            listeners=5,
            model_settings={"temprature": 1},
            instructions=[3],
        )
    text = str(caught.value)
    for word in (
        "nobody",
        "two tools are called 'look'",
        "int",
        "no JSON schema",
        "sometimes",
        "tool_concurrency",
        "did you mean 'system'",
    ):
        assert word in text, word
    for word in ("listeners", "did you mean 'temperature'", "instructions[0]"):
        assert word in text, word


def test_a_plugin_reports_all_its_own_problems() -> None:
    class Picky(Plugin):
        name = "picky"

        @hookimpl
        def configure(self, agent: Registry) -> None:
            agent.reserve_argument("why")
            agent.problem("one")
            agent.problem("two")
            agent.add_tool(5)

    def look(why: str) -> str:
        """Look."""
        return "seen"

    with pytest.raises(ConfigError) as caught:
        answering("never", plugins=[Picky()], tools=[look])
    assert len(caught.value.problems) == 4
    assert "plugin 'picky': one" in caught.value.problems
    assert any("parameter 'why', which plugin 'picky' reserves" in problem for problem in caught.value.problems)


# --- settings --------------------------------------------------------------------------------------------------------------------


class Tuned(Plugin):
    name = "tuned"

    class Settings(Plugin.Settings):
        opens: int = 9
        closes: int = 17


def test_a_check_sees_the_tools_of_plugins_further_down_the_list() -> None:
    def late() -> str:
        """Comes from the second plugin."""
        return "late"

    class First(Plugin):
        name = "first"

        @hookimpl
        def configure(self, agent: Registry) -> None:
            assert "late" not in agent.tools
            agent.when_complete(lambda tools: agent.problem(f"sees {sorted(tools)}"))
            agent.when_complete(lambda _tools: 1 / 0)  # type: ignore[arg-type]

    class Second(Plugin):
        name = "second"

        @hookimpl
        def configure(self, agent: Registry) -> None:
            agent.add_tool(late)

    with pytest.raises(ConfigError) as caught:
        answering(plugins=[First(), Second()])
    assert list(caught.value.problems) == [
        "plugin 'first': sees ['late']",
        "plugin 'first' failed in configure with ZeroDivisionError: division by zero",
    ]


def test_settings_are_typed_and_frozen() -> None:
    made = Tuned(opens=8)
    assert (made.settings.opens, made.settings.closes) == (8, 17)
    assert Tuned(Tuned.Settings(closes=18)).settings.closes == 18
    with pytest.raises(ValueError, match="frozen"):
        made.settings.opens = 7


def test_wrong_settings_are_refused_together_and_without_their_values() -> None:
    with pytest.raises(ConfigError) as caught:
        Tuned(openns=8, closes="SECRET")
    assert len(caught.value.problems) == 2
    assert "plugin 'tuned' has no setting 'openns'; did you mean 'opens'" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    with pytest.raises(ConfigError, match="not both"):
        Tuned(Tuned.Settings(), opens=8)


# --- defaults of the process -------------------------------------------------------------------------------------------------------


def test_defaults_are_explicit_and_reach_agents_that_are_built_later() -> None:
    before = answering("x")
    earlier = agentfp.configure(plugins=[plugin("everywhere")], dev=True)
    try:
        made = answering("x", plugins=[plugin("own")])
        assert (list(made.plugin_set.by_name), made.dev) == (["everywhere", "own"], True)
        assert (list(before.plugin_set.by_name), before.dev) == ([], False)
        with pytest.raises(ConfigError, match="two plugins are called 'everywhere'"):
            answering("x", plugins=[plugin("everywhere")])
    finally:
        agentfp.configure(plugins=earlier.plugins, dev=earlier.dev)
    assert answering("x").plugin_set.plugins == ()


def test_hooks_may_be_any_callables_of_the_plugin() -> None:
    async def later(self: Any, call: Any) -> None: ...

    made = answering("x", plugins=[plugin("odd", gate=marked(later), other=marked(lambda self: None))])
    assert [impl.is_async for impl in made.plugin_set.table["before_tool"]] == [True, False]


# --- names that two would claim ------------------------------------------------------------------------------------------------------


@event("acme.orders.checked")
class Checked(Payload):
    number: Number[int]


@event("acme.orders.checked")
class CheckedToo(Payload):
    word: Name[str]


@event("agentfp.tool.ended")
class EndedToo(Payload):
    number: Number[int]


def test_a_name_of_an_event_stands_for_one_class() -> None:
    one, other = plugin("one", events=(Checked,)), plugin("other", events=(CheckedToo, EndedToo))
    with pytest.raises(ConfigError) as caught:
        answering("x", plugins=[one, other])
    assert "plugin 'other': its event 'acme.orders.checked' is one of plugin 'one' already" in caught.value.problems[0]
    assert "plugin 'other': its event 'agentfp.tool.ended' is one of the kernel already" in caught.value.problems[1]
    answering("x", plugins=[one, plugin("same", events=(Checked,))])


def test_an_argument_is_reserved_by_one_plugin() -> None:
    def configure(self: Any, agent: Registry) -> None:
        agent.reserve_argument("_notes")

    made = [plugin(called, configure=hookimpl(moment="configure")(configure)) for called in ("one", "other")]
    answering("x", plugins=made[:1])
    with pytest.raises(ConfigError, match="plugin 'other': it reserves the argument '_notes', which plugin 'one' reserves already"):
        answering("x", plugins=made)
