"""The gate in agents of LangChain and graphs of LangGraph.

``create_agent(..., middleware=[EvidenceMiddleware("revise")])`` judges each answer before the graph has it: a draft that is sent back
is in no state and in no stream of messages; its tokens are added to the usage of the accepted message. With ``flag`` tokens stream
live. For graphs built by hand there is :class:`EvidenceCallback`, which flags only.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pydantic_core

from agentfp.model import ToolSpec
from agentfp_adapters.policy import GatePolicy, Recording, Wish
from agentfp_adapters.session import PARENT, Answer, GateSession, Verdict, tool_spec
from agentfp_adapters.versions import Needs
from agentfp_evidence import EvidenceReport, UnsupportedValuesError

_NEEDS = Needs("langchain", ">=1.5,<2", "langchain")

try:
    from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
    from langchain_core.messages.ai import add_usage
    from langchain_core.outputs import ChatGeneration, LLMResult
    from langchain_core.runnables.config import var_child_runnable_config
    from langchain_core.tools import BaseTool
    from langgraph.constants import TAG_NOSTREAM
    from langgraph.runtime import Runtime

    from agentfp_adapters.langchain_messages import INTERNAL, messages_of, output_tools, usage_of
    from agentfp_adapters.langchain_runs import Runs, agent_name
except ImportError as error:
    raise _NEEDS.unmet(error) from error

_NEEDS.check(AgentMiddleware, "wrap_model_call", "awrap_model_call", "wrap_tool_call", "awrap_tool_call")
_NEEDS.check(ModelRequest, "override", "messages", "system_message", "tools", "response_format")
_NEEDS.check(Runtime, "control")

KEY = "evidence"
"""Under which a message's ``response_metadata`` holds what the gate says of it."""


class EvidenceMiddleware(AgentMiddleware[Any, Any, Any]):
    """Judges the answers of an agent by where their values come from, and can have them revised or refused.

    One object may serve many agents and many runs at once. The report stands in the message's ``response_metadata["evidence"]``;
    :func:`evidence_of` reads it from a result.

    Args:
        on_unsupported: ``flag``, ``revise`` or ``refuse``.
        record: a folder for recordings of the runs, or a function that takes each.
        leave_out: names of agents whose replies are no answers, such as routers.
        **settings: further settings of :class:`agentfp_evidence.Evidence`, such as ``act_on`` and ``exempt``.

    Raises:
        ConfigError: a setting does not fit.
    """

    def __init__(
        self, on_unsupported: Wish = "flag", *, record: Recording = None, leave_out: Collection[str] = (), **settings: Any
    ) -> None:
        super().__init__()
        self.tools = []
        self.policy = GatePolicy(on_unsupported, record=record, leave_out=leave_out, **settings)
        self._runs = Runs(self.policy)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> Any:
        """Call the model until an answer is accepted."""
        if agent_name() in self.policy.leave_out:
            return handler(request)
        session = self._runs.here()
        call = _Call(session, request)
        with self._runs.watched(session):
            while True:
                with _quiet(self.policy.holds):
                    response = handler(call.ask())
                if (accepted := call.judge(response)) is not None:
                    return accepted

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Any:
        """Call the model until an answer is accepted."""
        if agent_name() in self.policy.leave_out:
            return await handler(request)
        session = self._runs.here()
        call = _Call(session, request)
        with self._runs.watched(session):
            while True:
                with _quiet(self.policy.holds):
                    response = await handler(call.ask())
                if (accepted := call.judge(response)) is not None:
                    return accepted

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Let a run that begins within a tool know where it does."""
        with self._within(request):
            return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Let a run that begins within a tool know where it does."""
        with self._within(request):
            return await handler(request)

    @contextmanager
    def _within(self, request: Any) -> Iterator[None]:
        session = self._runs.here()
        token = PARENT.set((session, request.tool_call["id"]))
        try:
            with self._runs.watched(session):
                yield
        finally:
            PARENT.reset(token)


class _Call:
    """One model call of a run, with the further ones that revisions of its reply make."""

    def __init__(self, session: GateSession, request: ModelRequest[Any]) -> None:
        self._session = session
        self._request = request
        self._note: str | None = None
        self._spent: Any = None
        self._outputs = output_tools(request.response_format)
        if session.answered and request.messages and isinstance(request.messages[-1], HumanMessage):
            session.next_turn()
        session.read(request.messages, lambda message: messages_of(message, self._outputs))

    def ask(self) -> ModelRequest[Any]:
        """The next request."""
        request = self._request
        system = [request.system_message.text] if request.system_message is not None else []
        model = getattr(request.model, "model_name", None) or getattr(request.model, "model", None)
        self._session.called(system, lambda: _specs(request.tools), note=self._note, model=model if isinstance(model, str) else "")
        if self._note is None:
            return request
        return request.override(messages=[*request.messages, HumanMessage(self._note)])

    def judge(self, response: ModelResponse[Any]) -> ModelResponse[Any] | None:
        """The response that goes out; None for one that is sent back."""
        place = next((i for i, message in enumerate(response.result) if isinstance(message, AIMessage)), None)
        if place is None:
            return response
        reply = response.result[place]
        assert isinstance(reply, AIMessage)
        answer = self._answer(reply, response.structured_response)
        [said] = [message for message in messages_of(reply, self._outputs) if message.role == "assistant"]
        verdict = self._session.replied(said, answer, usage=usage_of(reply))
        self._note = verdict.note
        total = add_usage(self._spent, reply.usage_metadata)
        if verdict.note is not None:
            self._spent = total
            return None
        if verdict.action is not None:
            self._session.finish("answered")
        result = list(response.result)
        result[place] = _marked(reply, verdict, total if self._spent is not None else reply.usage_metadata)
        return ModelResponse(result=result, structured_response=response.structured_response)

    def _answer(self, reply: AIMessage, structured: Any) -> Answer | None:
        if structured is not None:
            data = pydantic_core.to_jsonable_python(structured)
            schema = None if isinstance(structured, dict) else type(structured)
            return Answer(data, pydantic_core.to_json(data).decode(), schema)
        if reply.tool_calls:
            return None
        return Answer(str(reply.text), str(reply.text))


class EvidenceCallback(BaseCallbackHandler):
    """Flags answers in graphs that are built by hand: ``graph.invoke(..., config={"callbacks": [EvidenceCallback()]})``.

    It looks at what a model is called with and what it replies, and changes nothing but the message's
    ``response_metadata["evidence"]``; to have answers revised or refused, use :class:`EvidenceMiddleware`. One object may serve
    many runs at once.

    Args:
        record: a folder for recordings of the runs, or a function that takes each.
        leave_out: names of nodes whose replies are no answers, such as summarisers and routers.
        **settings: further settings of :class:`agentfp_evidence.Evidence`, such as ``exempt``.

    Raises:
        ConfigError: a setting does not fit.
    """

    run_inline = True
    """The report is on the message before the node has it."""

    def __init__(self, *, record: Recording = None, leave_out: Collection[str] = (), **settings: Any) -> None:
        self.policy = GatePolicy("flag", record=record, leave_out=leave_out, **settings)
        self._lock = threading.Lock()
        self._roots: dict[UUID, UUID] = {}
        self._sessions: dict[UUID, dict[str, GateSession]] = {}
        self._open: dict[UUID, GateSession] = {}

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any) -> None:
        """A graph or a node begins."""
        with self._lock:
            self._roots[run_id] = self._roots.get(parent_run_id, run_id) if parent_run_id is not None else run_id

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        """A graph or a node is over."""
        self._close(run_id, "answered")

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A graph or a node failed."""
        self._close(run_id, "failed")

    def _close(self, run_id: UUID, status: Any) -> None:
        with self._lock:
            self._roots.pop(run_id, None)
            sessions = self._sessions.pop(run_id, {})
        for session in sessions.values():
            session.finish(status)

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        invocation_params: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """A model is called."""
        about = metadata or {}
        node = str(about.get("langgraph_node", ""))
        if node in self.policy.leave_out or about.get("lc_source") in INTERNAL or len(messages) != 1:
            return
        with self._lock:
            root = self._roots.get(parent_run_id, run_id) if parent_run_id is not None else run_id
            sessions = self._sessions.setdefault(root, {})
            busy = {id(session) for session in self._open.values()}
            place, count = node, 1
            while id(sessions.get(place)) in busy:  # branches of one node that go on at once have a state each
                count += 1
                place = f"{node}#{count}"
            if place not in sessions:
                sessions[place] = GateSession(self.policy, framework="langgraph", agent=node or "agent")
            session = self._open[run_id] = sessions[place]
        session.read(messages[0], messages_of)
        session.called([], list)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """A model replied."""
        with self._lock:
            session = self._open.pop(run_id, None)
        generation = response.generations[0][0] if response.generations and response.generations[0] else None
        if session is None or not isinstance(generation, ChatGeneration) or not isinstance(generation.message, AIMessage):
            return
        reply = generation.message
        answer = None if reply.tool_calls else Answer(str(reply.text), str(reply.text))
        [said] = [message for message in messages_of(reply) if message.role == "assistant"]
        verdict = session.replied(said, answer, usage=usage_of(reply))
        if verdict.report is not None:
            reply.response_metadata = {**reply.response_metadata, KEY: _said(verdict)}
        with self._lock:  # a model that is called outside of any graph or chain
            alone = self._sessions.pop(run_id, {})
        for one in alone.values():
            one.finish("answered")

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A model call failed."""
        with self._lock:
            self._open.pop(run_id, None)
            alone = self._sessions.pop(run_id, {})
        for one in alone.values():
            one.finish("failed")


# --- what is handed on -----------------------------------------------------------------------------------------------------------


def _specs(tools: Sequence[BaseTool | dict[str, Any]]) -> list[ToolSpec]:
    named = [tool for tool in tools if isinstance(tool, BaseTool)]
    return [tool_spec(tool.name, tool.description, _schema(tool)) for tool in named]


def _schema(tool: BaseTool) -> Any:
    schema: Any = tool.tool_call_schema
    return schema if isinstance(schema, dict) else schema.model_json_schema()


@contextmanager
def _quiet(held: bool) -> Iterator[None]:
    """Keep the tokens of model calls within out of the streams of messages; the accepted message streams when its node has it."""
    config = var_child_runnable_config.get()
    if not held or config is None:
        yield
        return
    token = var_child_runnable_config.set({**config, "tags": [*(config.get("tags") or ()), TAG_NOSTREAM]})
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def _said(verdict: Verdict) -> dict[str, Any]:
    assert verdict.report is not None
    return {"action": verdict.action, **verdict.report.to_json(), "answer": verdict.report.answer}


def _marked(reply: AIMessage, verdict: Verdict, usage: Any) -> AIMessage:
    update: dict[str, Any] = {"usage_metadata": usage}
    if verdict.report is not None:
        update["response_metadata"] = {**reply.response_metadata, KEY: _said(verdict)}
    return reply.model_copy(update=update)


def evidence_of(result: Any) -> EvidenceReport | None:
    """The report on the last answer of a run; None when none was judged.

    Args:
        result: what a run returns: a state with ``messages``, a list of messages, or a message.
    """
    found = result["messages"] if isinstance(result, Mapping) else result
    for message in reversed(found if isinstance(found, Sequence) else [found]):
        said = message.response_metadata.get(KEY) if isinstance(message, AIMessage) else None
        if said is not None:
            return EvidenceReport.from_json(said, said["answer"])
    return None


__all__ = ["EvidenceCallback", "EvidenceMiddleware", "UnsupportedValuesError", "evidence_of", "messages_of"]
