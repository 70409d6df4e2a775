"""The gate in agents of the OpenAI Agents SDK: ``agent = with_evidence(agent, "revise")``.

It wraps the model of the agent and of those it hands off to. A draft that is sent back stays out of the run's items; its tokens are
added to the usage of the accepted response. Streams are held until their answer is accepted, except with ``flag``. Where the
server keeps the conversation (``conversation_id``, or a ``previous_response_id`` from before the run), the gate does not see all of
it: then answers are flagged only.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Any, TypeVar

from agentfp.plugin import Usage as Tokens
from agentfp_adapters.openai_items import answer_text, messages_of, reply_of, tool_specs
from agentfp_adapters.policy import GatePolicy, Recording, Wish
from agentfp_adapters.session import PARENT, Answer, Verdict
from agentfp_adapters.versions import Needs
from agentfp_evidence import EvidenceReport, UnsupportedValuesError

_NEEDS = Needs("openai-agents", ">=0.24,<0.25", "openai-agents")

try:
    from agents import Agent, FunctionTool, Handoff, ModelProvider, MultiProvider, custom_span, get_current_trace
    from agents.items import ModelResponse
    from agents.models.interface import Model
    from agents.usage import Usage
    from openai.types.responses import ResponseCompletedEvent, ResponseOutputItemDoneEvent
    from openai.types.responses.response_usage import ResponseUsage

    from agentfp_adapters.openai_runs import Gate
    from agentfp_adapters.openai_streams import BROKEN_OFF, closed, without_words
    from agentfp_adapters.openai_usage import response_sum, response_tokens, sum_of, tokens_of
except ImportError as error:
    raise _NEEDS.unmet(error) from error

_NEEDS.check(Model, "get_response", "stream_response", "_cleanup_on_run_end")
_NEEDS.check(Agent, "clone")

AgentT = TypeVar("AgentT", bound=Agent[Any])


def with_evidence(
    agent: AgentT,
    on_unsupported: Wish = "flag",
    *,
    record: Recording = None,
    leave_out: Collection[str] = (),
    provider: ModelProvider | None = None,
    **settings: Any,
) -> AgentT:
    """The agent with its answers judged by where their values come from; the one that is given stays as it is.

    The agents that it hands off to are judged too; agents that are its tools are judged when they themselves were made by this.
    :func:`evidence_of` reads the report from a result.

    Args:
        agent: the agent.
        on_unsupported: ``flag``, ``revise`` or ``refuse``.
        record: a folder for recordings of the runs, or a function that takes each.
        leave_out: names of agents whose replies are no answers, such as routers.
        provider: where models come from that are given by name; the SDK's own unless given.
        **settings: further settings of :class:`agentfp_evidence.Evidence`, such as ``act_on`` and ``exempt``.

    Raises:
        ConfigError: a setting does not fit.
    """
    gate = Gate(GatePolicy(on_unsupported, record=record, leave_out=leave_out, **settings))
    return _Wrapping(gate, provider or MultiProvider()).of(agent)


class EvidenceProvider(ModelProvider):
    """A provider whose models are judged: ``RunConfig(model_provider=EvidenceProvider("revise"))``.

    For runs whose agents stay as they are and name their models.

    Args:
        on_unsupported: ``flag``, ``revise`` or ``refuse``.
        provider: where the models come from; the SDK's own unless given.
        record: a folder for recordings of the runs, or a function that takes each.
        leave_out: names of models whose replies are no answers.
        **settings: further settings of :class:`agentfp_evidence.Evidence`.

    Raises:
        ConfigError: a setting does not fit.
    """

    def __init__(
        self,
        on_unsupported: Wish = "flag",
        *,
        provider: ModelProvider | None = None,
        record: Recording = None,
        leave_out: Collection[str] = (),
        **settings: Any,
    ) -> None:
        self._gate = Gate(GatePolicy(on_unsupported, record=record, leave_out=leave_out, **settings))
        self._provider = provider or MultiProvider()

    def get_model(self, model_name: str | None) -> Model:
        """The model of a name, with the gate around it."""
        if model_name in self._gate.policy.leave_out:
            return self._provider.get_model(model_name)
        return _GatedModel(self._gate, lambda: self._provider.get_model(model_name), model_name or "default")

    async def aclose(self) -> None:
        """Release what the wrapped provider holds."""
        await self._provider.aclose()

    def evidence_of(self, result: Any) -> EvidenceReport | None:
        """The report on the last answer of a run; None when none was judged.

        Args:
            result: what a run returns.
        """
        return self._gate.report_of(result)


def evidence_of(result: Any) -> EvidenceReport | None:
    """The report on the last answer of a run of an agent made by :func:`with_evidence`; None when none was judged.

    Args:
        result: what a run returns.
    """
    model = getattr(result.last_agent, "model", None)
    return model.gate.report_of(result) if isinstance(model, _GatedModel) else None


class _GatedModel(Model):
    """A model whose replies are judged before anybody sees them."""

    def __init__(self, gate: Gate, make: Callable[[], Model], name: str, agent: str = "") -> None:
        self.gate = gate
        self._make = make
        self._made: Model | None = None
        self._name = name
        self._agent = agent

    @property
    def wrapped(self) -> Model:
        """The model itself; one that is given by name is looked up when it is first called."""
        if self._made is None:
            self._made = self._make()
        return self._made

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,
        model_settings: Any,
        tools: Any,
        output_schema: Any,
        handoffs: Any,
        tracing: Any,
        **rest: Any,
    ) -> ModelResponse:
        call = _Call(self, system_instructions, input, tools, output_schema, handoffs, tracing, rest)
        spent: Usage | None = None
        while True:
            asked = call.ask()
            args = (system_instructions, asked, model_settings, tools, output_schema, handoffs, tracing)
            response = await self.wrapped.get_response(*args, **rest)
            verdict = call.judge(response.output, tokens_of(response.usage))
            if spent is not None:
                response.usage = sum_of(spent, response.usage)
            if verdict.note is None:
                return response
            spent = response.usage

    async def stream_response(
        self,
        system_instructions: str | None,
        input: Any,
        model_settings: Any,
        tools: Any,
        output_schema: Any,
        handoffs: Any,
        tracing: Any,
        **rest: Any,
    ) -> AsyncIterator[Any]:
        call = _Call(self, system_instructions, input, tools, output_schema, handoffs, tracing, rest)
        held = self.gate.policy.holds
        spent: ResponseUsage | None = None
        while True:
            asked = call.ask()
            args = (system_instructions, asked, model_settings, tools, output_schema, handoffs, tracing)
            events: list[Any] = []
            done: list[Any] = []
            verdict: Verdict | None = None
            async with closed(self.wrapped.stream_response(*args, **rest)) as stream:
                async for event in stream:
                    if isinstance(event, ResponseOutputItemDoneEvent):
                        done.append(event.item)
                    elif isinstance(event, ResponseCompletedEvent):
                        event.response.output = event.response.output or done  # some servers send the items one by one alone
                        verdict = call.judge(event.response.output, response_tokens(event.response))
                        if spent is not None:
                            event.response.usage = response_sum(spent, event.response.usage)
                        spent = event.response.usage
                    if held:
                        events.append(event)
                    else:
                        yield event
            if verdict is None:
                events = [without_words(event) for event in events[-1:] if event.type in BROKEN_OFF]
            if verdict is None or verdict.note is None:
                break
        for event in events:
            yield event

    def get_retry_advice(self, request: Any) -> Any:
        """As the wrapped model advises."""
        return self.wrapped.get_retry_advice(request)

    async def close(self) -> None:
        """Release what the wrapped model holds."""
        if self._made is not None:
            await self._made.close()

    async def _cleanup_on_run_end(self, owner: object) -> None:
        self.gate.end(owner)
        if self._made is not None:
            await self._made._cleanup_on_run_end(owner)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_make", "_made"):
            raise AttributeError(name)
        return getattr(self.wrapped, name)


class _Call:
    """One model call of a run, with the further ones that revisions of its reply make."""

    def __init__(
        self,
        model: _GatedModel,
        system: str | None,
        given: Any,
        tools: Sequence[Any],
        output_schema: Any,
        handoffs: Sequence[Any],
        tracing: Any,
        rest: dict[str, Any],
    ) -> None:
        self._gate = model.gate
        self._session = model.gate.session(model._agent, model._name)
        self._system = system
        self._input: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
        self._tools, self._handoffs = tools, handoffs
        self._schema = None if output_schema is None or output_schema.is_plain_text() else output_schema.json_schema()
        self._traced = not tracing.is_disabled()
        if rest.get("conversation_id") is not None or (rest.get("previous_response_id") is not None and not self._session.calls):
            self._session.partial = True
        self._note: str | None = None
        self._session.waiting.clear()
        self._session.read(self._input, messages_of)

    def ask(self) -> list[Any]:
        """The input of the next request."""
        system = [self._system] if self._system else []
        self._session.called(system, lambda: list(tool_specs(self._tools, self._handoffs)), note=self._note)
        return self._input if self._note is None else [*self._input, {"role": "user", "content": self._note}]

    def judge(self, output: Sequence[Any], usage: Tokens) -> Verdict:
        """Say what becomes of a reply."""
        text = answer_text(output)
        answer = None if text is None else Answer(text, text, self._schema)
        if answer is not None and self._traced and get_current_trace() is not None:
            with custom_span("agentfp.evidence") as span:
                verdict = self._session.replied(reply_of(output), answer, usage=usage)
                if verdict.report is not None:
                    span.span_data.data |= {"action": verdict.action, "standing": verdict.report.standing, **verdict.report.counts}
        else:
            verdict = self._session.replied(reply_of(output), answer, usage=usage)
        self._note = verdict.note
        if verdict.note is None:
            for item in output:
                if item.type == "function_call":
                    self._gate.calls[item] = self._session
                    if item.name in {tool.name for tool in self._tools if isinstance(tool, FunctionTool)}:
                        self._session.waiting.add(item.call_id)
                elif item.type == "message" and verdict.report is not None:
                    self._gate.answers[item] = verdict.report
        return verdict


# --- wrapping agents -------------------------------------------------------------------------------------------------------------


class _Wrapping:
    """Wraps an agent and all that it hands off to, each once."""

    def __init__(self, gate: Gate, provider: ModelProvider) -> None:
        self._gate = gate
        self._provider = provider
        self._done: dict[int, Agent[Any]] = {}

    def of(self, agent: AgentT) -> AgentT:
        """The wrapped agent."""
        if id(agent) in self._done:
            return self._done[id(agent)]  # type: ignore[return-value]
        model = agent.model
        settings = agent.model_settings
        if agent.name in self._gate.policy.leave_out or isinstance(model, _GatedModel):
            made = agent.clone()
        else:
            name = model if isinstance(model, str) else type(model).__name__ if model is not None else "default"
            gated = _GatedModel(self._gate, self._maker(model), getattr(model, "model", name), agent.name)
            made = agent.clone(model=gated)
        made.model_settings = settings  # a clone with another model would get that model's defaults
        self._done[id(agent)] = made
        made.tools = [self._tool(tool) for tool in agent.tools]
        made.handoffs = [self.of(to) if isinstance(to, Agent) else self._handoff(to) for to in agent.handoffs]
        return made  # type: ignore[return-value]

    def _maker(self, model: str | Model | None) -> Callable[[], Model]:
        if isinstance(model, Model):
            return lambda: model
        return lambda: self._provider.get_model(model)

    def _handoff(self, handoff: Handoff[Any, Any]) -> Handoff[Any, Any]:
        made = copy.copy(handoff)
        invoke = handoff.on_invoke_handoff

        async def on_invoke_handoff(context: Any, arguments: str) -> Any:
            return self.of(await invoke(context, arguments))

        made.on_invoke_handoff = on_invoke_handoff
        return made

    def _tool(self, tool: Any) -> Any:
        if not isinstance(tool, FunctionTool):
            return tool
        made = copy.copy(tool)
        made.on_invoke_tool = _Within(made.on_invoke_tool, self._gate)
        return made


class _Within:
    """A tool's function that lets a run which begins within it know where it does."""

    def __init__(self, invoke: Any, gate: Gate) -> None:
        self._invoke = invoke
        self._gate = gate

    async def __call__(self, context: Any, arguments: str) -> Any:
        session = self._gate.calls[context.tool_call] if context.tool_call is not None else None
        if session is None:
            return await self._invoke(context, arguments)
        session.waiting.discard(context.tool_call_id)
        token = PARENT.set((session, context.tool_call_id))
        try:
            return await self._invoke(context, arguments)
        finally:
            PARENT.reset(token)

    def __agents_bind_function_tool__(self, tool: FunctionTool) -> _Within:  # the SDK rebinds copies of a tool by it
        bind = getattr(self._invoke, "__agents_bind_function_tool__", None)
        return self if bind is None else _Within(bind(tool), self._gate)

    def __getattr__(self, name: str) -> Any:
        if name in ("_invoke", "_gate"):
            raise AttributeError(name)
        return getattr(self._invoke, name)


__all__ = ["EvidenceProvider", "UnsupportedValuesError", "evidence_of", "with_evidence"]
