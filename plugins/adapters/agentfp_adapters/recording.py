"""The recording of one run. It watches: whatever goes wrong in it is logged, ends it, and leaves the run alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec

from agentfp.events import AnswerDrafted, AnswerRefused
from agentfp.model import ToolSpec
from agentfp.plugin import AnswerRefusedError, Message, Usage
from agentfp.transcripts import RunRecorder
from agentfp_adapters.policy import GatePolicy
from agentfp_evidence import Action, Evidence, EvidenceReport, checked_event

_log = logging.getLogger("agentfp.adapters")
_OWN = Evidence.name
P = ParamSpec("P")


def _watching(step: Callable[Concatenate[RunRecording, P], None]) -> Callable[Concatenate[RunRecording, P], None]:
    def guarded(self: RunRecording, /, *args: P.args, **kwargs: P.kwargs) -> None:
        if self.broken:
            return
        try:
            step(self, *args, **kwargs)
        except Exception as error:
            self.broken = True
            _log.error("the recording of a run failed and ends here; the run goes on", exc_info=error)

    return guarded


class RunRecording:
    """Writes what a gate sees and does into a record, and puts it where the settings say.

    Args:
        policy: the settings.
        framework: what drives the run.
        agent: name of the agent.
        model: name of its model.
        run_id: id of the run.
        within: the recording of another run, and the call of it that this run began in.
    """

    def __init__(
        self, policy: GatePolicy, framework: str, agent: str, model: str, run_id: str | None, within: tuple[RunRecording, str] | None
    ) -> None:
        self.broken = False
        self._policy = policy
        self._inner = within is not None
        self._reply: Message | None = None
        """The reply that went out last, until it comes back in the conversation."""
        self._pending = False
        """Whether it is not on the record yet."""
        self._going_on = True
        """Whether anything happened since the recording was kept last."""
        outer = None if within is None else (within[0]._recorder, within[1])
        plugins = [(_OWN, Evidence.version)]
        self._recorder: RunRecorder = RunRecorder(
            agent=agent or "agent", provider=framework, model=model, run_id=run_id, plugins=plugins, within=outer
        )

    @_watching
    def read(self, fresh: Iterable[Message]) -> None:
        """New messages. The last reply is on the record once, though it may come back as several."""
        self._flush()
        for message in fresh:
            if self._reply is not None and _belongs_to(message, self._reply):
                continue
            self._reply = None
            self._recorder.add(message)

    @_watching
    def called(self, system: Sequence[str], tools: Callable[[], Sequence[ToolSpec]], note: str | None, model: str) -> None:
        """A request goes out."""
        pieces: list[tuple[str, str, Literal["system", "late"], str]] = [
            ("kernel", f"instructions.{number}", "system", text) for number, text in enumerate(system) if text
        ]
        if note is not None:
            pieces.append((_OWN, "revise.values", "late", note))
        self._going_on = True
        self._recorder.serve(pieces, tools(), model or None)

    @_watching
    def replied(self, message: Message, usage: Usage | None, took_ms: int) -> None:
        """A reply came."""
        self._recorder.replied(calls=len(message.tool_calls), duration_ms=took_ms, usage=usage, text_chars=len(message.content))

    @_watching
    def accepted(self, message: Message) -> None:
        """A reply goes out; it joins the record with what follows it."""
        self._reply, self._pending = message, True

    @_watching
    def judged(self, action: Action, report: EvidenceReport, text: str, *, after_revision: bool, turns: tuple[int, int]) -> None:
        """A reply was judged."""
        own = self._policy.settings
        event = checked_event(
            report, action, on_unsupported=own.on_unsupported, act_on=own.act_on, after_revision=after_revision, turns=turns
        )
        self._recorder.emit(event, source=_OWN)
        if action == "revision-asked":
            self._recorder.emit(AnswerDrafted(text, f"{_OWN}.values", _OWN))
            self._recorder.route("revision", _OWN)

    @_watching
    def refused(self, error: AnswerRefusedError, text: str) -> None:
        """The answer was refused, and the run with it."""
        self._recorder.emit(AnswerRefused(_OWN, "assess_answer", type(error).__name__, str(error), text))
        self._end("refused")

    @_watching
    def finish(self, status: Literal["answered", "paused", "stopped_early", "refused", "failed", "cancelled"]) -> None:
        """The run is over."""
        self._end(status)

    def _end(self, status: Any) -> None:
        if not self._going_on:
            return
        self._going_on = False
        self._flush()
        self._recorder.end(status)
        if not self._inner:
            self._policy.keep(self._recorder.record)

    def _flush(self) -> None:
        if self._pending and self._reply is not None:
            self._recorder.add(self._reply)
            self._pending = False


def _belongs_to(message: Message, reply: Message) -> bool:
    calls = {call.id for call in reply.tool_calls}
    return message.role == "assistant" and message.content in reply.content and all(call.id in calls for call in message.tool_calls)
