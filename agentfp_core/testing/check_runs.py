"""Checks over whole runs: nothing is shared between them, off is absent, odd payloads do no harm, events are in order."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import anyio

from agentfp_core import defaults
from agentfp_core.clock import StepClock
from agentfp_core.errors import AgentfpError
from agentfp_core.events.app import AppEvent
from agentfp_core.events.base import Event, check_payload
from agentfp_core.events.catalog import CATALOG
from agentfp_core.model import ModelRequest
from agentfp_core.patterns import matcher
from agentfp_core.segments import event_line
from agentfp_core.testing.records import events_difference
from agentfp_core.testing.scenes import ODD, PLAIN, Replies, RepliesByRun, Scene, one
from agentfp_core.testing.scripted import ScriptItem
from agentfp_core.testing.snapshots import differences, snapshot
from agentfp_core.testing.subject import Ran, Subject, let_others

NOON = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
NIGHT = datetime.datetime(2030, 1, 6, 3, tzinfo=datetime.UTC)
"""A Tuesday at noon and a Sunday at night: a plugin that looks at the clock takes both of its ways."""
BEHALF = ("agentfp.message.added", "agentfp.model.helper_replied", "agentfp.run.stop_requested", "agentfp.cost.*")
"""What the kernel files in a plugin's name: messages it delivers, its own model calls with their cost, its wish for the turn to end."""
TOGETHER_SECONDS = 0.5


# --- nothing is shared -------------------------------------------------------------------------------------------------------


async def check_sharing(subject: Subject) -> None:
    """Two runs at once, and one after the other, on one plugin object."""
    before = snapshot(subject.plugin, without=subject.may_change)
    marks = ("zq1alpha7", "zq2bravo8", "zq3charlie9")
    replies = RepliesByRun()
    meeting = _Meeting(2)
    agent = subject.agent(_meeting_first(replies, meeting), PLAIN, clock=StepClock(NOON))
    runs: dict[str, Ran] = {}

    async def go(mark: str) -> None:
        replies.current.set(Replies([one("check_echo", text=f"{mark} asks"), f"{mark} is answered"]))
        runs[mark] = await subject.run(agent, f"{mark} wants to know")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(go, marks[0])
        tasks.start_soon(go, marks[1])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(go, marks[2])
    for mark, ran in runs.items():
        _look_for_others(subject, ran, [other for other in marks if other != mark])
    await _compare_repeats(subject)
    for line in differences(before, snapshot(subject.plugin, without=subject.may_change)):
        subject.report.problem(
            "sharing",
            f"the plugin object changed during runs: self.{line}. One object serves many runs at once; keep what belongs to a run in "
            "events that fold() reads, and name an attribute that is of no run in may_change=",
        )


class _Meeting:
    """Where tasks wait for one another, for a moment."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._all = anyio.Event()

    async def join(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self._all.set()
        with anyio.move_on_after(TOGETHER_SECONDS):
            await self._all.wait()


def _meeting_first(replies: RepliesByRun, meeting: _Meeting) -> Any:
    """A model that answers the first requests only when both runs have sent theirs, so that they are in the middle together."""

    async def reply(request: ModelRequest) -> ScriptItem:
        if replies.current.get().at == 0:
            await meeting.join()
        await let_others()
        return replies(request)

    return reply


def _look_for_others(subject: Subject, ran: Ran, others: Sequence[str]) -> None:
    for event in ran.events:
        line = event_line(event)
        for other in others:
            if other in line:
                subject.report.problem("sharing", f"text of another run stands in event {event.name} (source {event.source}) of a run")
    if ran.error is not None:
        subject.report.problem("sharing", f"a run beside another one failed: {words_of(ran.error)}")


async def _compare_repeats(subject: Subject) -> None:
    """The same script twice: a second run that differs from the first has found something that the first one left behind."""
    for start in (NOON, NIGHT):
        records = []
        for _ in range(2):
            replies = Replies([[one("check_echo", text="again"), one("check_change", text="again")], "Once more."])
            agent = subject.agent(replies, PLAIN, clock=StepClock(start))
            ran = await subject.run(agent, "Do it again.")
            if ran.result is not None:
                records.append(ran.result.record)
        if len(records) == 2 and (difference := events_difference(*records)):
            subject.report.problem(
                "sharing",
                "two runs of one script differ: the first one left something behind, or time and ids are not taken from run.clock and "
                f"run.ids:\n{difference}",
            )
            return


# --- off is absent ------------------------------------------------------------------------------------------------------------


class Absence:
    """The bytes of runs without the plugin, before it was first made and after everything that it did."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._defaults = defaults.current()
        self._before: tuple[list[str], list[ModelRequest]] = ([], [])

    async def begin(self) -> None:
        """Run without the plugin."""
        self._before = await self._plain()

    async def end(self) -> None:
        """Run without the plugin again: nothing may have changed."""
        report = self._subject.report
        lines, requests = await self._plain()
        for was, now in zip(self._before[0], lines, strict=False):
            if was != now:
                report.problem(
                    "off", f"a run without the plugin is another one since the plugin was made and run:\n- {was[:300]}\n+ {now[:300]}"
                )
                break
        if len(lines) != len(self._before[0]):
            report.problem(
                "off", f"a run without the plugin files {len(lines)} events since the plugin was made; before: {len(self._before[0])}"
            )
        if requests != self._before[1]:
            report.problem("off", "the requests of a run without the plugin are others since the plugin was made and run")
        if defaults.current() != self._defaults:
            report.problem("off", "the process-wide defaults are others since the plugin was made; only the application sets them")
        if "enabled" in type(self._subject.plugin).Settings.model_fields:
            await self._disabled(requests)

    async def _plain(self) -> tuple[list[str], list[ModelRequest]]:
        agent = self._agent(on=False)
        ran = await self._subject.run(agent, "Do it.", on=False)
        if ran.result is None:
            raise ran.error or AssertionError("a run without the plugin gave nothing")
        model: Any = agent.model
        return list(ran.result.record.to_lines()), list(model.requests)

    def _agent(self, *, on: bool, plugin: Any = None) -> Any:
        replies = Replies([[one("check_echo", text="plain"), one("check_change", text="plain")], one("check_nothing"), "Plainly done."])
        return self._subject.agent(replies, PLAIN, clock=StepClock(NOON), on=on, plugin=plugin)

    async def _disabled(self, requests: list[ModelRequest]) -> None:
        """A plugin with a switch of its own is to be as absent with it off, its entry in the manifest apart."""
        subject = self._subject
        settings = subject.plugin.settings.model_copy(update={"enabled": False})
        agent = self._agent(on=True, plugin=type(subject.plugin)(settings))
        ran = await subject.run(agent, "Do it.")
        model: Any = agent.model
        if list(model.requests) != requests:
            subject.report.problem("off", "with enabled=False the requests are others than without the plugin")
        if any(event.source == subject.name for event in ran.events):
            subject.report.problem("off", "with enabled=False the plugin still emits events")


# --- odd payloads -------------------------------------------------------------------------------------------------------------


async def check_payloads(subject: Subject, own: Scene | None) -> None:
    """No hook raises, whatever a model, a tool or a person comes with."""
    for scene in (*ODD, *(() if own is None else (own,))):
        for start in (NOON, NIGHT):
            replies = Replies(scene.script)
            ran = await subject.run(subject.agent(replies, PLAIN, clock=StepClock(start), **scene.settings), scene.prompt)
            report_failures(subject, ran, scene.name)
            for problem in ran.problems():
                subject.report.problem("payloads", f"over {scene.name} the record does not hold: {problem}")
    await _second_turn(subject)


async def _second_turn(subject: Subject) -> None:
    replies = Replies([one("check_nothing"), "One.", one("check_words"), "Two."])
    agent = subject.agent(replies, PLAIN, clock=StepClock(NOON))
    ran = await subject.run(agent, "First.")
    if ran.result is not None and ran.result.status in ("answered", "refused"):
        ran = await subject.run(agent, "Second.", history=ran.result.history)
        report_failures(subject, ran, "a second turn")
    try:
        await agent.shutdown()
    except Exception as error:
        subject.report.problem("payloads", f"close raised {words_of(error)}")


def report_failures(subject: Subject, ran: Ran, over: str, *, check: str = "payloads") -> None:
    """Note hooks that raised, and a run that failed."""
    failures = ran.failures(subject.name)
    for failed in failures if not subject.may_fail else ():
        where = f"{failed.moment}{f' ({failed.phase})' if failed.phase else ''}"
        subject.report.problem(check, f"over {over}, {where} raised {failed.error_class}: {failed.error} (policy: {failed.policy})")
    if ran.error is not None and not (subject.may_fail and failures):
        subject.report.problem(check, f"over {over} the run failed: {words_of(ran.error)}")


# --- events -------------------------------------------------------------------------------------------------------------------


async def check_events(subject: Subject) -> None:
    """What the plugin emitted in all runs: of types that it declares, in a domain of its own, of values that can stand on a record."""
    for event in subject.emitted:
        _check_event(subject, event)
    for kind in subject.plugin.events:
        name = getattr(kind, "event_name", "")
        if not name:
            subject.report.problem("events", f"events lists {kind!r}, which no @event(...) made")
        elif not _matches(name, subject.may_emit) and not _may_be_called(subject, name):
            subject.report.problem("events", f"the declared event {name!r} {_elsewhere(subject, name)}")


def _check_event(subject: Subject, event: Event) -> None:
    report, payload = subject.report, event.payload
    if _matches(event.name, (*BEHALF, *subject.may_emit)):
        return
    if isinstance(payload, AppEvent):
        report.problem(
            "events", f"event {event.name!r} has no type; make a payload class with @event({event.name!r}) and declare it in events"
        )
        return
    if type(payload) not in subject.plugin.events:
        report.problem("events", f"event {event.name!r} is emitted and not declared; put {type(payload).__name__} into the class's events")
    if not _may_be_called(subject, event.name):
        report.problem("events", f"event {event.name!r} {_elsewhere(subject, event.name)}")
    try:
        check_payload(payload)
    except AgentfpError as error:
        report.problem("events", f"event {event.name!r} has a payload that cannot stand on a record: {error}")


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(matcher(pattern)(name) for pattern in patterns)


def _may_be_called(subject: Subject, name: str) -> bool:
    """A name outside of the library's, or in a domain that is neither the kernel's nor another plugin's."""
    if not name.startswith("agentfp."):
        return True
    domain = name.split(".")[1]
    theirs = {known.split(".")[1] for known in CATALOG} | {other.name for other in subject.others}
    return name not in CATALOG and (domain == subject.name or domain not in theirs)


def _elsewhere(subject: Subject, name: str) -> str:
    return f"is in a domain of others; call it agentfp.{subject.name}.{name.split('.')[-1]}, or begin it with a word of your own"


def words_of(error: BaseException) -> str:
    """An error in words, with its cause."""
    cause = error.__cause__
    return f"{type(error).__name__}: {error}" + (f" (from {type(cause).__name__}: {cause})" if cause is not None else "")
