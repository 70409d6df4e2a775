"""``before_tool``: the calls of a batch go through its phases, and come out live, refused, or waiting for a person."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentfp_core import arguments, jsontext
from agentfp_core.asks import PendingAsk, live_asks, pending, refuse_unasked
from agentfp_core.calling import check_verdict, each, file_verdict
from agentfp_core.errors import PluginError
from agentfp_core.events.pause import ApprovalDecided
from agentfp_core.events.tool import AnsweredOffWire, ArgsInvalid, Outcome
from agentfp_core.hookspecs import PHASES
from agentfp_core.outcomes import end_call
from agentfp_core.redaction import PLACEHOLDER
from agentfp_core.results import unknown_tool_text
from agentfp_core.run import KERNEL
from agentfp_core.tool_context import ToolContext
from agentfp_core.verdicts import Allow, Approval, AskField, AskPerson, Deny, Halt

if TYPE_CHECKING:
    from agentfp_core.batch import Batch, CallView
    from agentfp_core.events.hook import VerdictFiled
    from agentfp_core.plugins import Impl
    from agentfp_core.replay import Resumption
    from agentfp_core.run import Run

ORDER = PHASES["before_tool"]
AGAIN = ("authorize", "validate", "resolve", "credential")
DENIED = "This call is not permitted."
MASKED = f"An argument holds a secret, or {PLACEHOLDER} in place of one. Call without it: tools have the credentials that they need."
FAILED = "This call could not be checked and was not run. Go on without it."


class Gate:
    """One pass of a batch through the phases.

    Args:
        run: the run.
        batch: the calls.
        resumption: on a resume, the phase of the pause, who asked in it, and what was answered.
    """

    def __init__(self, run: Run[Any], batch: Batch, resumption: Resumption) -> None:
        self.run = run
        self.batch = batch
        self.resumed_at = resumption.phase
        self.asked = resumption.asked
        for (plugin, call_id), answers in resumption.about.items():
            if call_id is not None and (call := batch.get(call_id)) is not None:
                call._answers[plugin] = answers
        self.asks: list[PendingAsk] = []

    async def go(self) -> tuple[str, list[PendingAsk]] | None:
        """Take the batch through the phases.

        Returns:
            The phase and its questions when the run must pause; None when all calls are decided.
        """
        at = len(ORDER) if self.resumed_at == "tool" else -1 if self.resumed_at is None else ORDER.index(self.resumed_at)
        batch = self.batch
        if self.resumed_at == "consent":
            self._take_decisions()  # first, so that the arguments which a person put in are authorized and validated
        for index, phase, impls in self.run.agent.gate_plan:
            if index < at and phase not in AGAIN:
                continue
            if phase == "screen":
                self._refuse_unknown()
            elif phase == "validate":
                self._validate()
            elif phase == "consent":
                await self._consent()
            if impls and index == at:
                impls = await self._asking(phase, impls)
            if impls:
                await self._hooks(phase, impls, again=index < at, answered=index == at)
            if batch.halt is not None:
                return None
            if self.asks:
                if asks := live_asks(self.asks, batch):
                    return phase, asks
                self.asks.clear()
            if not batch.any_live:
                return None
        return None

    # --- hooks ---

    async def _asking(self, phase: str, impls: tuple[Impl, ...]) -> tuple[Impl, ...]:
        """Of the phase of an answered pause, the implementations that asked; a check that others made is made again."""
        others = tuple([impl for impl in impls if self._asker(impl) not in self.asked])
        if others and phase in AGAIN:
            await self._hooks(phase, others, again=True, answered=False)
        return tuple([impl for impl in impls if impl not in others])

    async def _hooks(self, phase: str, impls: tuple[Impl, ...], *, again: bool, answered: bool) -> None:
        batch, run = self.batch, self.run
        units: list[tuple[Impl, CallView | None, tuple[Any, ...]]] = []
        for impl in impls:
            if impl.per == "batch":
                units.append((impl, None, (batch, run)))
            else:
                asked = [call for call in batch.calls if call.outcome is None and (not answered or self._asked_about(impl, call))]
                units += [(impl, call, (call, batch, run)) for call in asked]

        def alive(call: CallView | None) -> bool:
            return bool(batch.live) if call is None else call.outcome is None

        def take(impl: Impl, call: CallView | None, answer: Any) -> bool:
            if call is None:
                self._take_batch(impl, answer, again=again)
            else:
                self._apply(impl, call, check_verdict(impl, answer), again=again)
            return batch.halt is None

        def failed(impl: Impl, call: CallView | None, error: Exception) -> bool:
            run.plugin_failed(impl.plugin, impl.moment, phase, "call-refused", error)
            for refused in batch.live if call is None else (call,):
                if refused.live:
                    self._refuse(refused, "denied", FAILED, f"plugin {impl.plugin} failed")
            return True

        if phase == "screen":
            self._screen(on=True)
        await each(run, units, take, failed, alive=alive)
        if phase == "screen":
            self._screen(on=False)

    def _screen(self, *, on: bool) -> None:
        for call in self.batch.calls:
            call._screen(on=on)

    def _asked_about(self, impl: Impl, call: CallView) -> bool:
        about = self.asked.get(self._asker(impl), set())
        return None in about or call.id in about

    def _asker(self, impl: Impl) -> tuple[str, int]:
        """An implementation in terms that are the same in another process: its plugin, and its place among those of the phase."""
        same_phase = self.run.agent.plugin_set.phases["before_tool"][impl.phase]
        return impl.plugin, [other for other in same_phase if other.plugin == impl.plugin].index(impl)

    def _take_batch(self, impl: Impl, answer: Any, *, again: bool) -> None:
        if isinstance(answer, AskPerson):
            if not again:
                self._ask(impl, answer, None)
            return
        if not isinstance(answer, Mapping) or any(self.batch.get(key) is None for key in answer):
            what = "None, AskPerson or a mapping of call id to verdict"
            msg = f"plugin {impl.plugin!r} with per='batch' must answer {what}, got a {type(answer).__name__}"
            raise PluginError(msg, plugin=impl.plugin, moment=impl.moment)
        checked = {call_id: check_verdict(impl, verdict) for call_id, verdict in answer.items()}
        for call in self.batch.live:
            if checked.get(call.id) is not None:
                self._apply(impl, call, checked[call.id], again=again)

    def _apply(self, impl: Impl, call: CallView, verdict: Any, *, again: bool) -> None:
        if isinstance(verdict, Allow) and verdict.values:
            self._put_in(impl, call, verdict.values)
        if again and not isinstance(verdict, (Deny, Halt)):
            return
        if impl.phase == "screen" and not isinstance(verdict, (Deny, Halt)):
            if isinstance(verdict, AskPerson):
                raise refuse_unasked(impl.plugin, impl.moment)
            return
        if isinstance(verdict, AskPerson):
            self._ask(impl, verdict, call.id)
            return
        text = None if not isinstance(verdict, Allow) or verdict.args is None else jsontext.canonical(dict(verdict.args))
        file_verdict(self.run, impl, verdict, call.id, arguments=text)
        if text is not None:
            call._rewrite(text)
            if ORDER.index(impl.phase) > ORDER.index("validate"):
                self._validate_one(call)
        elif isinstance(verdict, Deny):
            self._refuse(call, "denied", verdict.tell_model or DENIED, verdict.rule)
        elif isinstance(verdict, Halt):
            self._refuse(call, "halted", verdict.tell_model or DENIED, verdict.rule)
            self.batch._stop(call.id, verdict.reason, verdict.tell_model, impl.plugin)

    def _put_in(self, impl: Impl, call: CallView, values: Mapping[str, Any]) -> None:
        known = () if call.tool is None else call.tool.parameters
        wrong = next((name for name in values if name not in known and not (call.tool is not None and call.tool.raw)), None)
        if impl.phase != "resolve" or wrong is not None:
            what = "values= in phase 'resolve' only" if wrong is None else f"values= for arguments of {call.name!r}, not for {wrong!r}"
            raise PluginError(f"plugin {impl.plugin!r} must answer Allow with {what}", plugin=impl.plugin, moment=impl.moment)
        call._put_in(values)

    def _ask(self, impl: Impl, ask: AskPerson, call_id: str | None) -> None:
        self.asks += pending(impl.plugin, ask, call_id, self._asker(impl)[1])

    def _refuse(self, call: CallView, outcome: Outcome, text: str, cause: str | None = None) -> None:
        end_call(self.run, call, outcome, text, ran=False, cause=cause)

    # --- the kernel's own phases ---

    def _refuse_unknown(self) -> None:
        tools = self.run.tools
        for call in self.batch.live:
            if call.tool is None:
                self._refuse(call, "failure", unknown_tool_text(call.name, tools), "unknown tool")
            elif call.name not in self.run.state.served.wire_names():
                self.run.emit(AnsweredOffWire(call.name), call_id=call.id)
                self._refuse(call, "denied", f"The tool {call.name} is not available now.", "off the wire")

    def _validate(self) -> None:
        for call in self.batch.live:
            self._validate_one(call)

    def _validate_one(self, call: CallView) -> None:
        tool, mode = call.tool, self.run.agent.argument_validation
        assert tool is not None
        if self.run.handed and (PLACEHOLDER in call.arguments_json or self.run.mask_text(call.arguments_json) != call.arguments_json):
            self._refuse(call, "invalid", MASKED, "masked value")
            return
        checked = arguments.validate(tool, call.arguments_json)
        if isinstance(checked, arguments.Validated):
            call._bind(checked.arguments)
            return
        if mode != "off":
            self.run.emit(ArgsInvalid(tool.name, checked.issues, mode == "enforce"), call_id=call.id)
        if mode == "enforce" or (not call.arguments and call.arguments_json != "{}"):
            self._refuse(call, "invalid", checked.message)
        else:
            call._bind(call.arguments)

    # --- approvals ---

    async def _consent(self) -> None:
        for call in self.batch.live:
            tool = call.tool
            if tool is not None and tool.approval is not False and not call.approved and await self._needed(call):
                prompt = f"May {tool.name} run?"
                from agentfp_core.approval import evidence_pack

                pack = jsontext.canonical(evidence_pack(self.run, call))
                self.asks.append(PendingAsk(KERNEL, AskField(f"approve:{call.id}", prompt, "decision"), call.id, pack))

    async def _needed(self, call: CallView) -> bool:
        approval = call.tool.approval if call.tool is not None else False
        if not callable(approval):
            return bool(approval)
        try:
            answer = approval(ToolContext(self.run, call), dict(call._kwargs or {}))
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception as error:  # whether a person must be asked could not be told, so ask
            self.run.plugin_failed(KERNEL, "before_tool", "consent", "call-refused", error)
            return True
        return bool(answer)

    def _take_decisions(self) -> None:
        for key, decision in self.batch.answers.get(KERNEL, {}).items():
            call = self.batch.get(key.removeprefix("approve:"))
            if call is not None and call.live and isinstance(decision, Approval):
                self._decide(call, decision)

    def _decide(self, call: CallView, decision: Approval) -> None:
        changed = decision.approved and decision.args is not None
        self.run.emit(ApprovalDecided(call.name, decision.approved, decision.by, decision.note, changed), call_id=call.id)
        if not decision.approved:
            note = f": {decision.note}" if decision.note else ""
            self._refuse(call, "declined", f"declined by human{note}")
            return
        args = None if decision.args is None else jsontext.canonical(dict(decision.args))
        self.run.emit(_approved(args), call_id=call.id)
        call._approve()
        if args is not None:
            call._rewrite(args)


def _approved(args: str | None) -> VerdictFiled:
    from agentfp_core.events.hook import VerdictFiled

    return VerdictFiled("before_tool", "consent", KERNEL, "Allow", arguments=args, origin=None if args is None else "person")
