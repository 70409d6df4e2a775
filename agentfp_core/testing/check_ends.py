"""Checks over how runs end and go on: cancelled in the middle, resumed from JSON; and over settings and the time of exports."""

from __future__ import annotations

import asyncio
import inspect
import statistics
import time
from dataclasses import dataclass
from typing import Any

from agentfp_core.agent import Agent
from agentfp_core.clock import StepClock
from agentfp_core.events.agent import RunEnded
from agentfp_core.events.context import Served
from agentfp_core.exported import ExportedEvent
from agentfp_core.memos import memo_of
from agentfp_core.model import ModelRequest
from agentfp_core.pause import Pause
from agentfp_core.plugins import Impl, Plugin
from agentfp_core.record import Record
from agentfp_core.result import RunResult
from agentfp_core.testing.check_runs import NOON, report_failures, words_of
from agentfp_core.testing.records import event_problems
from agentfp_core.testing.scenes import ANSWER, ASKING, PLAIN, UNASKING, Replies, one
from agentfp_core.testing.scripted import ScriptItem, example
from agentfp_core.testing.snapshots import differences, snapshot
from agentfp_core.testing.subject import Ids, Ran, Subject
from agentfp_core.testing.watch import watch
from agentfp_core.tools import Tool, tool
from agentfp_core.verdicts import approve

WAIT_SECONDS = 10.0
MAX_PAUSES = 12
UNWATCHED = ("configure", "close", "export_event", "finish_run")
"""Moments outside of the turn: nothing that a person waits for is cancelled there."""


# --- cancellation ---------------------------------------------------------------------------------------------------------------


async def check_cancelling(subject: Subject) -> None:
    """A run that is cancelled ends, with an outcome for each call: in a tool, in a model call, and in each hook."""
    await _cancel_in_tool(subject)
    await _cancel_in_model(subject)
    for index in range(len(_turn_impls(subject, _agent_for(subject)))):
        await _cancel_in_hook(subject, index)


def _agent_for(subject: Subject, reply: Any = None, tools: Any = PLAIN) -> Agent[Any, Any]:
    return subject.agent(reply or _script(), tools, clock=StepClock(NOON))


def _script() -> Replies:
    return Replies([[one("check_echo", text="one"), one("check_change", text="two")], one("check_nothing"), "Done."])


def _turn_impls(subject: Subject, agent: Agent[Any, Any]) -> list[Impl]:
    table = agent.plugin_set.table
    return [impl for moment in table if moment not in UNWATCHED for impl in table[moment] if impl.plugin == subject.name]


async def _cancel_in_tool(subject: Subject) -> None:
    reached = asyncio.Event()

    async def check_wait() -> str:
        """Waits for ever."""
        reached.set()
        await asyncio.Event().wait()
        return "never"

    waiting: Tool[..., Any] = tool(check_wait)
    replies = Replies([[one("check_nothing"), one("check_wait"), one("check_change", text="late")], "Done."])
    await _cancelled_at(subject, _agent_for(subject, replies, (*PLAIN, waiting)), reached, "a tool")


async def _cancel_in_model(subject: Subject) -> None:
    reached = asyncio.Event()
    replies = _script()

    async def reply(request: ModelRequest) -> ScriptItem:
        if request.tools and replies.at == 1:
            reached.set()
            await asyncio.Event().wait()
        return replies(request)

    await _cancelled_at(subject, _agent_for(subject, reply), reached, "a model call")


async def _cancelled_at(subject: Subject, agent: Agent[Any, Any], reached: asyncio.Event, where: str) -> None:
    ran = Ran([])
    task = asyncio.create_task(_run_into(subject, agent, ran))
    there = asyncio.create_task(reached.wait())
    await asyncio.wait({task, there}, timeout=WAIT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        task.cancel()
    there.cancel()
    await asyncio.wait({task, there}, timeout=WAIT_SECONDS)
    if not reached.is_set():  # refused or denied on the way, which is no fault
        if task.done() and not task.cancelled():
            task.exception()  # taken, for what fails here was found over the payloads
        return
    _judge(subject, task, ran, where)


async def _cancel_in_hook(subject: Subject, index: int) -> None:
    """Cancel the run the moment it comes to one hook: what the hook awaits next is cancelled."""
    agent = _agent_for(subject)
    impl = _turn_impls(subject, agent)[index]
    ran, tasks = Ran([]), list[asyncio.Task[None]]()
    reached = asyncio.Event()

    def before(called: Impl) -> None:
        if called is impl and not reached.is_set():
            reached.set()
            tasks[0].cancel()

    watch(agent.plugin_set, before)
    tasks.append(asyncio.create_task(_run_into(subject, agent, ran)))
    await asyncio.wait(tasks, timeout=WAIT_SECONDS)
    if reached.is_set():
        _judge(subject, tasks[0], ran, f"{impl.moment}{f' ({impl.phase})' if impl.phase else ''}")


async def _run_into(subject: Subject, agent: Agent[Any, Any], ran: Ran) -> None:
    await agent.run("Do it.", on_event=ran.events.append, deps=subject.deps, options=subject.options)


def _judge(subject: Subject, task: asyncio.Task[None], ran: Ran, where: str) -> None:
    report = subject.report
    subject.heard(ran.events)
    if not task.done():
        task.cancel()
        report.problem("cancelling", f"a run cancelled in {where} did not end within {WAIT_SECONDS:g} s")
        return
    if not task.cancelled():
        error = task.exception()
        ended = f"failed with {words_of(error)}" if error is not None else "went on to its end"
        report.problem(
            "cancelling",
            f"a run cancelled in {where} {ended}: CancelledError was swallowed; let it through, with `finally` for what must be done",
        )
    stored = [event for event in ran.events if event.seq >= 0]
    for problem in event_problems(stored):
        report.problem("cancelling", f"after a run was cancelled in {where}: {problem}")
    if stored and not isinstance(stored[-1].payload, RunEnded):
        report.problem("cancelling", f"after a run was cancelled in {where}, its last event is {stored[-1].name}")


# --- pauses and memos --------------------------------------------------------------------------------------------------------------


@dataclass
class _Leg:
    """A run up to a pause or its end."""

    result: RunResult[Any]
    memo: dict[str, str]
    receipts: list[str]


async def check_resuming(subject: Subject) -> None:
    """A run resumed from JSON in another process is the run that went on: the same memo, the same requests."""
    live = _PausingAgent(subject, subject.plugin, ASKING)
    try:
        leg = await live.begin()
        legs = 1
        while leg.result.pause is not None and legs <= MAX_PAUSES:
            elsewhere = await _resumed_elsewhere(subject, live, leg)
            leg = await live.resume(leg.result.pause)
            legs += 1
            _compare_legs(subject, leg, elsewhere, f"after pause {legs - 1}")
    except Exception as error:
        subject.report.problem("resuming", f"a run with pauses failed: {words_of(error)}")
        return
    if legs < 3:
        subject.report.notes.append(f"the run with an approval and a question paused {legs - 1} times; only there resuming was checked")
    _check_memo(subject, leg)
    await _compare_uninterrupted(subject, leg)


class _PausingAgent:
    """An agent whose script comes to an approval, beside another call, and then to a tool that asks.

    Its clock stands still, for a resumed run reads it more often than one that is not paused.
    """

    def __init__(self, subject: Subject, plugin: Plugin, tools: Any, *, replies: Replies | None = None, ids_at: int = 0) -> None:
        self.replies = replies or Replies(
            [
                [one("check_echo", text="before"), one("check_approve", text="it")],
                one("check_ask", question="Which?"),
                one("check_echo", _id="c_later", text="after"),
                "All is done.",
            ]
        )
        self.ids = Ids(ids_at)
        self.tools = tools
        self._subject = subject
        self._agent = subject.agent(self.replies, tools, clock=StepClock(NOON, step_ns=0), ids=self.ids, plugin=plugin)

    async def begin(self) -> _Leg:
        ran = await self._subject.run(self._agent, "Go ahead.")
        if ran.result is None:
            raise ran.error or AssertionError("a run gave nothing")
        return self._leg(ran.result)

    async def resume(self, pause: Pause) -> _Leg:
        subject = self._subject
        return self._leg(await self._agent.resume(pause, _answers(pause), deps=subject.deps, options=subject.options))

    def _leg(self, result: RunResult[Any]) -> _Leg:
        ran = Ran(list(result.record.of_run(result.run_id)), result)
        self._subject.heard(ran.events)
        report_failures(self._subject, ran, "a run with pauses", check="resuming")
        memo = result._head.memos.get(self._subject.name)
        receipts = [served.receipt for served in result.record.of(Served)]
        return _Leg(result, {} if memo is None else snapshot(memo.state), receipts)


def _answers(pause: Pause) -> dict[str, Any]:
    """An answer to each question: yes, the words that the unasking tool gives, or an example of a schema."""
    made: dict[str, Any] = {}
    for question in pause.questions:
        if question.kind == "value":
            made[question.id] = example(dict(question.schema)) if question.schema is not None else ANSWER
        else:
            made[question.id] = approve(by="check_plugin")
    return made


async def _resumed_elsewhere(subject: Subject, live: _PausingAgent, leg: _Leg) -> _Leg:
    """Store the pause as JSON, read it with everything made anew, compare the memos, and go on from there."""
    assert leg.result.pause is not None
    again = Pause.from_json(leg.result.pause.to_json())
    plugin = subject.fresh()
    if plugin.memo_events:
        _report_memo(subject, leg.memo, snapshot(memo_of(plugin, again.record)), "read from the JSON of a pause")
    elsewhere = _PausingAgent(subject, plugin, live.tools, replies=live.replies.copy(), ids_at=live.ids.at)
    return await elsewhere.resume(again)


def _compare_legs(subject: Subject, live: _Leg, elsewhere: _Leg, when: str) -> None:
    _report_memo(subject, live.memo, elsewhere.memo, f"of a run resumed from JSON {when}")
    if live.receipts != elsewhere.receipts:
        number = next((n for n, (a, b) in enumerate(zip(live.receipts, elsewhere.receipts, strict=False), 1) if a != b), 0)
        subject.report.problem(
            "resuming",
            f"{when}, a run resumed from JSON serves another request than the run that went on (model call {number or 'count'}): "
            "what shapes a request must come from the record, by way of the memo",
        )
    if live.result.status != elsewhere.result.status:
        subject.report.problem(
            "resuming", f"{when}, a run resumed from JSON is {elsewhere.result.status}, the live one {live.result.status}"
        )


def _report_memo(subject: Subject, live: dict[str, str], other: dict[str, str], what: str) -> None:
    for line in differences(live, other):
        subject.report.problem(
            "resuming", f"the memo of a live run is not the memo {what}: {line}. Only fold() may change the memo, reading events alone"
        )


def _check_memo(subject: Subject, leg: _Leg) -> None:
    """The memo over the record, over the record as saved and read, and over its checkpoint."""
    if not subject.plugin.memo_events:
        return
    record = leg.result.record
    sources = {
        "computed over the record": record,
        "computed over the record once more": record,
        "over the saved record": Record.from_lines(record.to_lines()),
        "over the checkpoint": Record.from_lines(record.to_lines(checkpoint=True)),
    }
    for what, source in sources.items():
        _report_memo(subject, leg.memo, snapshot(memo_of(subject.plugin, source)), what)


async def _compare_uninterrupted(subject: Subject, resumed: _Leg) -> None:
    """A run of the same script in which nobody is asked serves the same requests."""
    if not subject.compare_uninterrupted or resumed.result.status == "paused":
        return
    straight = await _PausingAgent(subject, subject.plugin, UNASKING).begin()
    if straight.result.status == "paused":
        return  # the plugin itself asks, whatever the tools do
    for number, (one_receipt, other) in enumerate(zip(straight.receipts, resumed.receipts, strict=False), 1):
        if one_receipt != other:
            subject.report.problem(
                "resuming",
                f"model call {number} after a pause is served another request than in the same run without pauses: what a hook keeps "
                "beside the record is lost at a pause. Pass compare_uninterrupted=False when the plugin acts on pauses by design",
            )
            return


# --- settings, and the time of exports ------------------------------------------------------------------------------------------------


def check_settings(subject: Subject) -> None:
    """Unknown settings are refused, and there is a docstring to show."""
    kind = type(subject.plugin)
    made: Any = kind
    for what, make in {"Settings": made.Settings, kind.__name__: made}.items():
        try:
            make(no_such_setting_at_all=1)
        except (ValueError, TypeError):
            continue
        except Exception as error:
            subject.report.problem("settings", f"{what} refuses an unknown setting with {words_of(error)}, not with a ConfigError")
        else:
            subject.report.problem(
                "settings", f"{what} takes an unknown setting silently; derive Settings from Plugin.Settings and leave extra='forbid'"
            )
    if not (kind.__doc__ or "").strip():
        subject.report.notes.append(f"class {kind.__name__} has no docstring; its first line is what people see of a plugin")


async def time_exports(subject: Subject) -> None:
    """Note how long `export_event` takes."""
    agent = _agent_for(subject)
    if not any(impl.plugin == subject.name for impl in agent.plugin_set.table["export_event"]):
        return
    ran = await subject.run(_agent_for(subject), "Do it.")
    if ran.result is None:
        return
    header, events = ran.result.record.headers[0], list(ran.result.record)
    for impl in agent.plugin_set.table["export_event"]:
        if impl.plugin != subject.name or impl.is_async:
            continue
        spent = []
        state: dict[Any, Any] = {}
        for event in events * 3:
            shown = ExportedEvent(event, header, full=subject.plugin.sees_content)
            begun = time.perf_counter_ns()
            try:
                answer = impl.call(shown, state)
            except Exception:  # what it raises was reported by the runs
                continue
            spent.append(time.perf_counter_ns() - begun)
            if inspect.iscoroutine(answer):
                answer.close()
        if spent:
            median = statistics.median(spent) / 1_000
            slow = median >= 50 and not subject.plugin.exports_in_thread
            advice = "; above 50 µs, so set `exports_in_thread`, or hand the work to a thread or a batch of your own" if slow else ""
            subject.report.notes.append(f"export_event takes {median:.1f} µs an event (median of {len(spent)}){advice}")
