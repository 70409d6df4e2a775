"""Records a run that another framework drives: told of messages, model calls and ends, it writes the record that our own loop would."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from agentfp_core.events.agent import IterationEnd, IterationStart, PluginEntry, RouteDecided, RunConfigured, RunEnded, RunStatus, TurnStart
from agentfp_core.events.base import Event, Payload
from agentfp_core.events.context import Blob, PieceRef, Served, Slot, ToolRef
from agentfp_core.events.message import MessageAdded, ProposedCall
from agentfp_core.events.stream import LlmEnd
from agentfp_core.events.tool import Outcome, ToolDispatched, ToolEnded, ToolStarted
from agentfp_core.messages import Message, Usage
from agentfp_core.model import ToolSpec
from agentfp_core.record import Record
from agentfp_core.segments import SegmentHeader
from agentfp_core.served import digest, spec_json
from agentfp_core.state import RunState


class RunRecorder:
    """Writes the record of one run, as another framework drives it. Requests in it can be rebuilt, like those of our own loop.

    Times of tools are those from the reply that called them to the message with their result.

    Args:
        agent: name of the agent.
        provider: name of the model's provider.
        model: name of the model.
        run_id: id of the run; made when None.
        plugins: name and version of what stepped in.
        within: the recorder of another run, and the call of it that this one runs in; the outer record holds this one then.
    """

    def __init__(
        self,
        *,
        agent: str,
        provider: str,
        model: str,
        run_id: str | None = None,
        plugins: Iterable[tuple[str, str]] = (),
        within: tuple[RunRecorder, str] | None = None,
    ) -> None:
        run_id = run_id or uuid.uuid4().hex
        self._begun = time.monotonic_ns()
        outer = None if within is None else within[0].record.headers[-1]
        place = "" if within is None else within[0].place_of(within[1])
        header = SegmentHeader(
            root_id=f"c_{run_id}" if outer is None else outer.root_id,
            run_id=run_id,
            first_seq=0,
            started_ns=time.time_ns(),
            agent_id=agent,
            path=() if outer is None else (*outer.path, place),
            parent_run=None if outer is None else outer.run_id,
        )
        self.record: Record = Record().open_segment(header)
        if within is not None:
            within[0].record.children[place] = self.record
        self._state = RunState(header.root_id)
        self._model = (provider, model)
        self._iteration = self._turn = self._calls = 0
        self._pieces: dict[tuple[str, str], PieceRef] = {}
        self._tools: tuple[Sequence[ToolSpec], tuple[ToolRef, ...]] = ((), ())
        self._waiting: dict[str, int] = {}
        self._ids: set[str] = set()
        self._ended = False
        entries = tuple(PluginEntry(name, version, order) for order, (name, version) in enumerate(plugins))
        self.emit(RunConfigured("run", agent, provider, model, (), entries, 0, "off", ""))

    def place_of(self, call_id: str) -> str:
        """Where a run that begins within a call is held: under the call's id, further ones under that with a number."""
        place, count = call_id, 1
        while place in self.record.children:
            count += 1
            place = f"{call_id}#{count}"
        return place

    def emit(self, payload: Payload, *, call_id: str | None = None, source: str = "kernel") -> int:
        """File an event.

        Args:
            payload: its content.
            call_id: the tool call it is about.
            source: who says it.

        Returns:
            its seq.
        """
        now = time.monotonic_ns() - self._begun
        seq = self.record.next_seq
        event = Event(seq, payload.event_name, time.time_ns(), now, self._turn, self._iteration, call_id, source, payload)
        self.record.tail.events.append(event)
        self._state.apply(event)
        return seq

    def add(self, message: Message) -> Message:
        """A message joined the conversation.

        Args:
            message: the message; it gets another id when its own is taken.

        Returns:
            the message as it is on the record.
        """
        own, count = message.id, 1
        while own in self._ids:
            count += 1
            own = f"{message.id}#{count}"
        self._ids.add(own)
        if message.role == "tool":
            self._result(own, message)
            return message
        person = message.role == "user" and message.author == "person"
        if person:
            self._close_iteration()
            self._turn += 1
        calls = tuple(ProposedCall(call.id, call.name, call.arguments_json) for call in message.tool_calls)
        self.emit(MessageAdded(own, message.role, message.author, message.content, tool_calls=calls or None))
        if person:
            self.emit(TurnStart(own))
        for call in calls:
            self._waiting[call.id] = time.monotonic_ns()
            self.emit(ToolStarted(call.name, parallel_count=len(calls)), call_id=call.id)
        if calls:
            self.emit(ToolDispatched(tuple(call.id for call in calls)))
        return message

    def _result(self, own: str, message: Message) -> None:
        call_id = message.tool_call_id
        outcome: Outcome = "failure" if message.failed else "success"
        since = self._waiting.pop(call_id, None) if call_id is not None else None
        content_of = None
        if since is not None:
            took = (time.monotonic_ns() - since) // 1_000_000
            child = self.record.children.get(call_id or "")
            run = None if child is None else child.run_id
            content_of = self.emit(ToolEnded(outcome, took, message.content, child_run=run), call_id=call_id)
        self.emit(
            MessageAdded(
                own, "tool", message.author, None if content_of is not None else message.content, content_of,
                tool_call_id=call_id, tool_name=message.tool_name, failed=message.failed or None,
            ),
            call_id=call_id,
        )  # fmt: skip

    def serve(self, pieces: Iterable[tuple[str, str, Slot, str]], tools: Sequence[ToolSpec] = (), model: str | None = None) -> None:
        """A request with all messages so far goes to the model.

        Args:
            pieces: texts besides the messages: who adds each, its key, where it stands, and the text.
            tools: the tools that are offered.
            model: name of the model, where it is another one than the run's.
        """
        self._close_iteration()
        self._ended = False
        self._iteration += 1
        self._calls += 1
        self.emit(IterationStart(self._iteration))
        state = self._state.served
        texts = list(pieces)
        refs = tuple(PieceRef(plugin, key, slot, self._blob(text), slot == "late") for plugin, key, slot, text in texts)
        if tools != self._tools[0]:
            self._tools = (tuple(tools), tuple(ToolRef(spec.name, self._blob(spec_json(spec))) for spec in tools))
        wanted = (self._model[0], model or self._model[1])
        served = Served(
            call=self._calls,
            messages=len(self._state.messages),
            receipt="",
            provider=wanted[0] if wanted != state.model else None,
            model=wanted[1] if wanted != state.model else None,
            pieces=refs if refs != state.pieces else None,
            tools=self._tools[1] if self._tools[1] != state.tools else None,
            system_chars=sum(len(text) for _, _, slot, text in texts if slot == "system"),
            message_chars=state.message_chars,
        )
        state.apply(served)
        served.receipt = state.receipt()
        self.emit(served)

    def _blob(self, body: str) -> str:
        value = digest(self._state.served.salt, "blob", body)
        if value not in self._state.served.blobs:
            self.emit(Blob(value, body))
        return value

    def replied(self, *, calls: int, duration_ms: int, usage: Usage | None = None, text_chars: int = 0, final: bool = False) -> None:
        """The model's reply is complete.

        Args:
            calls: number of tools that it calls.
            duration_ms: how long it took, in milliseconds.
            usage: its tokens.
            text_chars: length of its text.
            final: whether it would be the answer.
        """
        usage = usage or Usage()
        self.emit(
            LlmEnd(
                "tool_use" if calls else "stop", calls, duration_ms, usage.input, usage.output,
                usage.cache_read, usage.cache_write, usage.thinking, text_chars=text_chars,
            )
        )  # fmt: skip
        self.route("final" if final else "tool-calls")

    def route(self, chosen: Any, by: str | None = None) -> None:
        """What is done with the reply, in the words of the event.

        Args:
            chosen: the way, such as ``tool-calls`` or ``final``.
            by: the plugin that chose it, where one did.
        """
        self.emit(RouteDecided(chosen, by))

    def _close_iteration(self) -> None:
        if self._state.open_iteration:
            batch = self._state.batch
            self.emit(IterationEnd(len(batch.calls) if batch is not None else 0))

    def end(self, status: RunStatus) -> None:
        """The run is over, unless a further request goes out; a second end is left out.

        Args:
            status: how it ended.
        """
        if self._ended:
            return
        self._ended = True
        self._close_iteration()
        self.emit(RunEnded(status, (time.monotonic_ns() - self._begun) // 1_000_000))
