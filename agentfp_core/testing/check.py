"""``check_plugin``: the checks that every plugin should pass, in one call of its author's tests."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import anyio

from agentfp_core.clock import StepClock
from agentfp_core.errors import AgentfpError, RunningLoopError
from agentfp_core.plugins import Plugin
from agentfp_core.testing import check_ends, check_runs
from agentfp_core.testing.scenes import Replies
from agentfp_core.testing.scripted import ScriptItem
from agentfp_core.testing.subject import CheckReport, PluginSource, Subject, own_scene


class PluginCheckError(AssertionError):
    """A plugin does not pass its checks. ``report`` lists every problem."""

    def __init__(self, report: CheckReport) -> None:
        self.report = report
        super().__init__(str(report))


def check_plugin(
    plugin: PluginSource,
    *,
    tools: Sequence[Any] = (),
    script: Sequence[ScriptItem] = (),
    message: Any = "Do what you can.",
    others: Iterable[Plugin] = (),
    deps: Any = None,
    options: Mapping[str, Any] | None = None,
    may_change: Collection[str] = (),
    may_emit: Collection[str] = (),
    may_fail: bool = False,
    compare_uninterrupted: bool = True,
) -> CheckReport:
    """Check that a plugin keeps the rules of plugins. Call it in a test of the plugin, one without an event loop.

    A plugin, and its whole test file::

        from agentfp import tool
        from agentfp.plugin import Deny, Plugin, hookimpl
        from agentfp.testing import Harness, StepClock, call, check_plugin

        class OfficeHours(Plugin):
            \"\"\"Tools that change something run in office hours only.\"\"\"

            name = "office_hours"

            class Settings(Plugin.Settings):
                opens: int = 9
                closes: int = 17

            @hookimpl(phase="authorize")
            def before_tool(self, call, run):
                if call.tool.mutating and not self.settings.opens <= run.clock.now().hour < self.settings.closes:
                    return Deny("changes are made in office hours only", tell_model="Not possible at this hour.")

        @tool(mutating=True)
        def shut_port(port: int) -> str:
            \"\"\"Shut a port.\"\"\"
            return f"port {port} is shut"

        def test_keeps_the_rules_of_plugins():
            check_plugin(OfficeHours)

        async def test_nothing_changes_at_night(anyio_backend):
            night = StepClock(datetime(2030, 1, 1, 3, tzinfo=UTC))
            harness = Harness(OfficeHours(), tools=[shut_port], script=[call("shut_port", port=3), "Not now."], clock=night)
            outcome = await harness.run("Shut port 3")
            outcome.assert_denied("shut_port", by="office_hours", told="Not possible at this hour.").assert_answered("Not now.")

    What is checked, under the word that stands before each problem:

    * ``sharing``: two runs at once share nothing: no text of one turns up in the record of the other, the second run of a script is
      like the first, and the plugin object is afterwards what it was before.
    * ``off``: runs without the plugin are byte for byte what they were before it was made; so are its requests when its settings have
      ``enabled`` and it is False.
    * ``payloads``: no hook raises over empty arguments, a megabyte, many scripts, deep data, failing and unknown tools, large batches,
      empty answers and results, or the script that you give; each run's record is valid.
    * ``cancelling``: a run that is cancelled in a tool, in a model call or in any hook of the plugin is cancelled, and each call has
      its outcome.
    * ``events``: what it emits is declared in ``events``, in a domain of its own, and of values that can stand on a record.
    * ``resuming``: at each pause, a run resumed from JSON by objects made anew has the same memo and serves the same requests as the run
      that went on; the memo over the saved and loaded record is the live one.
    * ``settings``: unknown settings are refused, and the class has a docstring.

    The time of ``export_event`` is noted, and is no problem.

    Args:
        plugin: the plugin, its class, or a function that makes one. With the latter two, other objects can be made where another process
            is played, and runs before the first one was made are compared too.
        tools: tools that make the plugin do its work, besides those of the checks.
        script: the model's replies of a run that makes the plugin do its work, as for :class:`ScriptedModel`.
        message: what the person says in it.
        others: plugins that it needs, listed before it.
        deps: for the runs.
        options: options of plugins for the runs, by plugin.
        may_change: attributes of the plugin object that may change in runs and belong to none, such as a connection.
        may_emit: names of events, or ``domain.*`` patterns, that it may emit besides those in its own domain.
        may_fail: whether its hooks may raise over odd payloads.
        compare_uninterrupted: whether a run with pauses must serve the requests of the same run without.

    Returns:
        What was checked, with notes; there are no problems in it.

    Raises:
        PluginCheckError: lists all problems.
        RunningLoopError: it was called inside a running event loop.
    """
    __tracebackhide__ = True
    _refuse_loop()
    report = CheckReport(getattr(plugin, "name", "") or getattr(plugin, "__name__", "of this function"))
    subject = Subject(
        plugin,
        others=others,
        tools=tools,
        deps=deps,
        options=options,
        may_change=may_change,
        may_emit=may_emit,
        may_fail=may_fail,
        compare_uninterrupted=compare_uninterrupted,
        report=report,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Pydantic serializer warnings")  # of payloads that check "events" reports in its own words
        anyio.run(_check, subject, own_scene(script, message) if script else None, backend="asyncio")
    if report.problems:
        raise PluginCheckError(report)
    return report


async def _check(subject: Subject, own: Any) -> None:
    report = subject.report
    absence = check_runs.Absence(subject)
    await absence.begin()
    report.plugin = subject.plugin.name or type(subject.plugin).__name__
    try:
        check_ends.check_settings(subject)
        subject.agent(Replies(["Done."]), (), clock=StepClock(check_runs.NOON))
    except AgentfpError as error:
        report.checks.append("settings")
        report.problem("settings", f"no agent can be built with it: {error}")
        return
    checks: dict[str, Callable[[], Awaitable[None]]] = {
        "payloads": lambda: check_runs.check_payloads(subject, own),
        "sharing": lambda: check_runs.check_sharing(subject),
        "cancelling": lambda: check_ends.check_cancelling(subject),
        "resuming": lambda: check_ends.check_resuming(subject),
        "events": lambda: check_runs.check_events(subject),
        "off": absence.end,
    }
    for check in checks.values():
        await check()
    await check_ends.time_exports(subject)
    report.checks += ["settings", *checks]


def _refuse_loop() -> None:
    try:
        anyio.get_current_task()
    except RuntimeError:
        return
    raise RunningLoopError("check_plugin", "a test function that is not async")
