"""The harness for people who write plugins: an agent over a script, and what became of each run, ready to be asserted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agentfp_core.agent import Agent
from agentfp_core.clock import CountingIds, StepClock
from agentfp_core.events.context import Served
from agentfp_core.events.hook import PluginFailed, VerdictFiled
from agentfp_core.missing import MISSING
from agentfp_core.pause import Pause
from agentfp_core.plugins import Plugin
from agentfp_core.testing.called import Called, calls_of
from agentfp_core.testing.scripted import AutoModel, ScriptedModel, ScriptItem
from agentfp_core.testing.watch import HookCall, hearing, watch

if TYPE_CHECKING:
    from agentfp_core.events.base import Event
    from agentfp_core.model import Model, ModelRequest
    from agentfp_core.record import Record
    from agentfp_core.result import RunResult, Status


class Outcome:
    """What became of a run of the harness: its result, and which hooks were called on the way.

    Attributes:
        result: the run's result.
        record: its record; helpers such as ``assert_called`` take the outcome itself.
    """

    def __init__(self, result: RunResult[Any], calls: list[HookCall]) -> None:
        self.result = result
        self.record: Record = result.record
        self._calls = calls

    # --- what it was ---

    @property
    def status(self) -> Status:
        """``answered``, ``paused``, ``stopped_early`` or ``refused``."""
        return self.result.status

    @property
    def text(self) -> str:
        """The answer; raises when there is none, as the result does."""
        return self.result.text

    @property
    def pause(self) -> Pause | None:
        """What waits for a person, when the run is paused."""
        return self.result.pause

    def events(self, pattern: str = "*", *, call_id: str | None = None) -> list[Event]:
        """The events of this leg that match.

        Args:
            pattern: a name, ``agentfp.tool.*`` or ``*``.
            call_id: only about this tool call.
        """
        return self.record.events(pattern, run_id=self.result.run_id, call_id=call_id)

    def hook_calls(self, moment: str | None = None, *, plugin: str | None = None) -> list[HookCall]:
        """The hooks that were called in this leg, in order, each with what it answered.

        Args:
            moment: only of this moment, such as ``before_tool``.
            plugin: only of this plugin.
        """
        return [c for c in self._calls if moment in (None, c.moment) and plugin in (None, c.plugin)]

    def verdicts(self, moment: str | None = None, *, plugin: str | None = None, tool: str | None = None) -> list[VerdictFiled]:
        """The verdicts of hooks that are on the record of this leg, in order. A question stands in the pause instead.

        Args:
            moment: only of this moment.
            plugin: only of this plugin.
            tool: only about calls of this tool.
        """
        about = {call.id for call in self.calls if call.tool == tool}
        return [
            event.payload
            for event in self.events(VerdictFiled.event_name)
            if isinstance(event.payload, VerdictFiled)
            and moment in (None, event.payload.moment)
            and plugin in (None, event.payload.plugin)
            and (tool is None or event.call_id in about)
        ]

    @property
    def calls(self) -> list[Called]:
        """The tool calls of the conversation, each with its arguments and outcome."""
        return calls_of(self.record)

    @property
    def requests(self) -> list[ModelRequest]:
        """The requests that the run's model was served in this leg, rebuilt from the record. A plugin's own calls are not among them."""
        numbers = [event.payload.call for event in self.events(Served.event_name) if isinstance(event.payload, Served)]
        return [self.record.served_at(number) for number in numbers]

    @property
    def failures(self) -> list[PluginFailed]:
        """The hooks that raised or overran in this leg."""
        return [event.payload for event in self.events(PluginFailed.event_name) if isinstance(event.payload, PluginFailed)]

    def memo(self, plugin: Plugin | type[Plugin]) -> Any:
        """A plugin's memo over the record.

        Args:
            plugin: the plugin, or its class (then with default settings).
        """
        from agentfp_core.memos import memo_of

        return memo_of(plugin, self.record)

    # --- what it should be ---

    def assert_answered(self, text: str | None = None) -> Outcome:
        """Check that there is an answer.

        Args:
            text: what it must be.

        Raises:
            AssertionError: says what the run ended with instead.
        """
        __tracebackhide__ = True
        self._assert_status("answered")
        if text is not None and self.text != text:
            raise AssertionError(f"the answer is {self.text!r}, not {text!r}")
        return self

    def assert_refused(self, by: str | None = None) -> Outcome:
        """Check that a plugin refused the message, a call (by halting) or the answer.

        Args:
            by: the plugin.

        Raises:
            AssertionError: says what the run ended with instead.
        """
        __tracebackhide__ = True
        self._assert_status("refused")
        if by is not None and self.result.refused_by != by:
            raise AssertionError(f"the run was refused by {self.result.refused_by!r}, not by {by!r}")
        return self

    def assert_paused(self, *tools: str) -> Outcome:
        """Check that the run waits for a person.

        Args:
            *tools: the tools that its questions must be about, in order; any when left out.

        Raises:
            AssertionError: says what the run ended with instead.
        """
        __tracebackhide__ = True
        self._assert_status("paused")
        asked = tuple(question.tool for question in self.pause.questions) if self.pause is not None else ()
        if tools and asked != tools:
            raise AssertionError(f"the questions are about {asked}, not about {tools}")
        return self

    def assert_denied(self, tool: str, *, by: str | None = None, told: str | None = None) -> Outcome:
        """Check that every call of a tool was denied, and that there was one.

        Args:
            tool: the tool's name.
            by: the plugin that must have denied it.
            told: what the model must read in place of a result.

        Raises:
            AssertionError: shows the calls that there were.
        """
        __tracebackhide__ = True
        calls = [call for call in self.calls if call.tool == tool]
        if not calls or any(call.outcome != "denied" for call in calls):
            shown = "\n".join(f"  {call}" for call in self.calls) or "  none"
            raise AssertionError(f"{tool} was {'not denied' if calls else 'not called'}; the calls were:\n{shown}")
        denials = [verdict for verdict in self.verdicts("before_tool", tool=tool) if verdict.verdict == "Deny"]
        if by is not None and not any(verdict.plugin == by for verdict in denials):
            raise AssertionError(f"{tool} was denied by {sorted({v.plugin for v in denials}) or 'the kernel'}, not by {by!r}")
        if told is not None:
            ids = {call.id for call in calls}
            read = [message.text for message in self.result.history if message.tool_call_id in ids]
            if told not in read:
                raise AssertionError(f"the model reads {read} of {tool}, not {told!r}")
        return self

    def _assert_status(self, wanted: str) -> None:
        __tracebackhide__ = True
        if self.status == wanted:
            return
        result = self.result
        detail = ""
        if result.pause is not None:
            detail = f": {[question.prompt for question in result.pause.questions]}"
        elif result.status == "refused":
            detail = f" by {result.refused_by!r}: {result.error}"
        elif result.stopped_early is not None:
            detail = f": {result.stopped_early.reason}"
        failed = "".join(f"\n  plugin {f.plugin} failed in {f.moment} {f.phase}: {f.error_class}: {f.error}" for f in self.failures)
        raise AssertionError(f"the run is {result.status}{detail}, not {wanted}{failed}")

    def __repr__(self) -> str:
        return f"Outcome({self.status!r}, {len(self._calls)} hook calls)"


class Harness:
    """Runs plugins over a script and keeps what they did.

    For example::

        harness = Harness(OfficeHours(), tools=[shut_port], script=[call("shut_port", port=3), "Not now."])
        outcome = await harness.run("Shut port 3")
        outcome.assert_denied("shut_port", by="office_hours", told="Not possible at this hour.").assert_answered("Not now.")
        assert [(c.phase, c.answer) for c in outcome.hook_calls("before_tool")] == [("authorize", "Deny")]

    Time steps a millisecond a reading from 2030-01-01 00:00 UTC and ids count, so that two runs of a harness made anew are the same.
    For another time pass ``clock=StepClock(start)``. Payloads of events are checked as they are filed.

    Args:
        plugins: the plugin, or several in order.
        tools: tools, or any callables.
        script: as for :class:`ScriptedModel`; without one, each tool is called once, as by :class:`AutoModel`.
        model: in place of a script.
        **settings: further arguments of the agent, such as ``limits=`` or ``instructions=``.

    Attributes:
        agent: the agent.
        model: its model.
    """

    def __init__(
        self,
        plugins: Plugin | Iterable[Plugin] = (),
        *,
        tools: Iterable[Any] = (),
        script: Iterable[ScriptItem] | None = None,
        model: Model | None = None,
        **settings: Any,
    ) -> None:
        self.model: Model = model or (AutoModel() if script is None else ScriptedModel(script))
        listed = (plugins,) if isinstance(plugins, Plugin) else tuple(plugins)
        chosen = {"clock": StepClock(), "ids": CountingIds(), "dev": True, **settings}
        self.agent: Agent[Any, Any] = Agent(self.model, tools=tools, plugins=listed, **chosen)
        watch(self.agent.plugin_set)

    async def run(self, message: Any, **call: Any) -> Outcome:
        """Run one turn.

        Args:
            message: what the person says.
            **call: as for ``agent.run``: ``deps``, ``history``, ``options``, ``limits`` and so on.
        """
        with hearing() as calls:
            return Outcome(await self.agent.run(message, **call), calls)

    async def resume(self, paused: Outcome | Pause, answers: Any = MISSING, **call: Any) -> Outcome:
        """Go on with a paused run.

        Args:
            paused: what :meth:`run` gave, or a pause.
            answers: as for ``agent.resume``; ``approve()`` or one answer when there is one question, else by question id.
            **call: as for ``agent.resume``.
        """
        pause = paused.pause if isinstance(paused, Outcome) else paused
        if pause is None:
            raise AssertionError(f"there is nothing to resume; the run is {paused.status if isinstance(paused, Outcome) else 'over'}")
        with hearing() as calls:
            return Outcome(await self.agent.resume(pause, answers, **call), calls)

    def answers(self, paused: Outcome, answer: Any) -> Mapping[str, Any]:
        """The same answer to every open question of a pause.

        Args:
            paused: what :meth:`run` gave.
            answer: the answer.
        """
        return {question.id: answer for question in (paused.pause.questions if paused.pause is not None else ())}

    def __repr__(self) -> str:
        return f"Harness({list(self.agent.plugin_set.by_name)}, {self.model!r})"
