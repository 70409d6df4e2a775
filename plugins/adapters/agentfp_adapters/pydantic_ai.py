"""The gate in agents of Pydantic AI: ``Agent(..., capabilities=[EvidenceGate("revise")])``.

It wraps the model of each request. A draft that is sent back stays out of the message history; what it cost is on the accepted
response as a rejected attempt, and so in the run's usage and limits. Streams are held until their answer is accepted, except with
``flag``, where they go out live and the report follows.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pydantic_core

from agentfp.model import ToolSpec
from agentfp.plugin import Message, ToolCall, Usage
from agentfp_adapters.policy import GatePolicy, Recording, Wish
from agentfp_adapters.session import PARENT, Answer, GateSession, Verdict, tool_spec
from agentfp_adapters.unseen import placeholder
from agentfp_adapters.versions import Needs
from agentfp_evidence import EvidenceReport, UnsupportedValuesError

_NEEDS = Needs("pydantic-ai-slim", ">=2.68,<3", "pydantic-ai")

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelRequestAttempt,
        ModelResponse,
        NativeToolCallPart,
        NativeToolReturnPart,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import CompletedStreamedResponse, Model, ModelRequestContext, ModelRequestParameters, StreamedResponse
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.usage import RequestUsage, RunUsage
except ImportError as error:
    raise _NEEDS.unmet(error) from error

_NEEDS.check(AbstractCapability, "get_wrapper_model", "before_model_request", "wrap_tool_execute", "wrap_run", "for_run")
_NEEDS.check(ModelResponse, "metadata", "failed_attempts", "state")
_NEEDS.check(ModelRequestContext, "messages", "model_request_parameters")
_NEEDS.check(ModelRequestParameters, "instruction_parts", "output_tools", "output_object", "allow_text_output", "function_tools")

KEY = "evidence"
"""Under which a response's ``metadata`` holds what the gate says of it."""


class EvidenceGate(AbstractCapability[Any]):
    """Judges the answers of an agent by where their values come from, and can have them revised or refused.

    One gate may serve many agents and many runs at once. The report stands in the response's ``metadata["evidence"]``;
    :func:`evidence_of` reads it from a result.

    Args:
        on_unsupported: ``flag``, ``revise`` or ``refuse``.
        record: a folder for recordings of the runs, or a function that takes each.
        leave_out: names of agents or models whose replies are no answers.
        **settings: further settings of :class:`agentfp_evidence.Evidence`, such as ``act_on`` and ``exempt``.

    Raises:
        ConfigError: a setting does not fit.
    """

    def __init__(
        self, on_unsupported: Wish = "flag", *, record: Recording = None, leave_out: Collection[str] = (), **settings: Any
    ) -> None:
        self.policy = GatePolicy(on_unsupported, record=record, leave_out=leave_out, **settings)
        self._session: GateSession | None = None
        self._usage: RunUsage | None = None
        """What the run has used, of a gate of one run."""

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        """A gate of this run alone."""
        name = (ctx.agent.name if ctx.agent is not None else None) or "agent"
        if name in self.policy.leave_out:
            return self
        mine = copy.copy(self)
        model = getattr(ctx.model, "model_name", "")
        mine._session = GateSession(self.policy, framework="pydantic-ai", agent=name, model=model, run_id=ctx.run_id)
        return mine

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Any) -> Any:
        """Complete the recording, however the run ends."""
        session = self._session
        if session is None:
            return await handler()
        try:
            result = await handler()
        except asyncio.CancelledError:
            session.finish("cancelled")
            raise
        except BaseException:
            session.finish("failed")
            raise
        session.finish("answered")
        return result

    async def before_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        """Take in the conversation as the agent has it, before it is put into a model's own form."""
        if self._session is not None:
            self._usage = ctx.usage
            outputs = {tool.name for tool in request_context.model_request_parameters.output_tools}
            self._session.read(request_context.messages, lambda message: messages_of(message, outputs))
        return request_context

    async def wrap_tool_execute(self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: Any, args: Any, handler: Any) -> Any:
        """Let a run that begins within a tool know where it does."""
        if self._session is None:
            return await handler(args)
        token = PARENT.set((self._session, call.tool_call_id))
        try:
            return await handler(args)
        finally:
            PARENT.reset(token)

    def get_wrapper_model(self, model: Model) -> Model | None:
        """The model with the gate around it."""
        if self._session is None or model.model_name in self.policy.leave_out:
            return None
        return _GatedModel(model, self._session, self._spent)

    def _spent(self, attempts: Sequence[ModelRequestAttempt]) -> None:
        """Count replies that no response will: those of a request that ends with an error."""
        for attempt in attempts:
            if self._usage is not None and attempt.usage is not None:
                self._usage.incr(attempt.usage)


class _GatedModel(WrapperModel):
    """A model whose replies are judged before anybody sees them."""

    def __init__(self, wrapped: Model, session: GateSession, spent: Callable[[Sequence[ModelRequestAttempt]], None]) -> None:
        super().__init__(wrapped)
        self._session = session
        self._spent = spent

    @contextmanager
    def _counted(self) -> Iterator[list[ModelRequestAttempt]]:
        """Collects the replies of one request, and has them counted should it end with an error."""
        replies: list[ModelRequestAttempt] = []
        try:
            yield replies
        except BaseException:
            self._spent(replies)
            raise

    async def request(
        self, messages: list[ModelMessage], model_settings: ModelSettings | None, model_request_parameters: ModelRequestParameters
    ) -> ModelResponse:
        note: str | None = None
        with self._counted() as replies:
            while True:
                began = self._called(model_request_parameters, note)
                response = await self.wrapped.request(_with_note(messages, note), model_settings, model_request_parameters)
                replies.append(_attempt(response, began))
                verdict = self._judge(response, model_request_parameters)
                note = verdict.note
                if note is None:
                    return _accepted(response, verdict, replies[:-1])

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        if not self._session.policy.holds:
            self._called(model_request_parameters, None)
            async with self.wrapped.request_stream(messages, model_settings, model_request_parameters, run_context) as live:
                self._judge_at_end(live, model_request_parameters)
                yield live
            return
        note: str | None = None
        with self._counted() as replies:
            while True:
                began = self._called(model_request_parameters, note)
                asked = _with_note(messages, note)
                async with self.wrapped.request_stream(asked, model_settings, model_request_parameters, run_context) as stream:
                    events = [event async for event in stream]
                    response = stream.get()
                replies.append(_attempt(response, began))
                verdict = self._judge(response, model_request_parameters)
                note = verdict.note
                if note is None:
                    break
        accepted = _accepted(response, verdict, replies[:-1])
        yield CompletedStreamedResponse(accepted, model_request_parameters=model_request_parameters, replay_events=events)

    def _judge_at_end(self, live: StreamedResponse, parameters: ModelRequestParameters) -> None:
        """Judge a reply that streams live once it is complete: the run asks for it then, and finds the report on it."""
        whole = live.get
        verdict: Verdict | None = None

        def get() -> ModelResponse:
            nonlocal verdict
            response = whole()
            if response.state != "complete":
                return response
            if verdict is None:
                verdict = self._judge(response, parameters)
            return _accepted(response, verdict, [])

        live.get = get  # type: ignore[method-assign]

    def _called(self, parameters: ModelRequestParameters, note: str | None) -> float:
        system = [part.content for part in parameters.instruction_parts or ()]
        self._session.called(system, lambda: _specs(parameters), note=note, model=self.wrapped.model_name)
        return time.monotonic()

    def _judge(self, response: ModelResponse, parameters: ModelRequestParameters) -> Verdict:
        outputs = {tool.name for tool in parameters.output_tools}
        replies = [message for message in messages_of(response, outputs) if message.role == "assistant"]
        reply = replies[-1] if replies else Message(id="", role="assistant", content="", author="model")
        answer = _answer(response, parameters) if response.state == "complete" else None
        return self._session.replied(reply, answer, usage=_usage(response.usage))


# --- what is read ----------------------------------------------------------------------------------------------------------------


def messages_of(message: ModelMessage, output_tools: Collection[str] = ()) -> Iterator[Message]:
    """Our messages of one of theirs.

    Args:
        message: a request or a response.
        output_tools: names of the tools by which the model gives its output: what it passes to them is what it says.
    """
    if isinstance(message, ModelResponse):
        yield from _of_response(message, output_tools)
        return
    for part in message.parts:
        if isinstance(part, SystemPromptPart):
            yield Message(id="system", role="system", content=part.content, author="app")
        elif isinstance(part, UserPromptPart):
            yield Message(id="user", role="user", content=_user_text(part.content))
        elif isinstance(part, ToolReturnPart):
            if part.tool_name not in output_tools:
                yield _result(part, failed=part.outcome != "success")
        elif hasattr(part, "model_response"):  # the framework's own words on a reply that it could not use
            yield Message(id="feedback", role="user", content=part.model_response(), author="library")


def _of_response(response: ModelResponse, output_tools: Collection[str]) -> Iterator[Message]:
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    calls, results = [], []
    for part in response.parts:
        if isinstance(part, ToolCallPart) and part.tool_name in output_tools:
            texts.append(part.args_as_json_str())
        elif isinstance(part, (ToolCallPart, NativeToolCallPart)):
            calls.append(ToolCall(part.tool_call_id, part.tool_name, part.args_as_json_str()))
        elif isinstance(part, NativeToolReturnPart):
            results.append(_result(part, failed=part.outcome != "success"))
    if results:  # what the provider's own tools found stands before what is said of it
        yield Message(id="reply", role="assistant", content="", author="model", tool_calls=tuple(calls))
        yield from results
        calls = []
    yield Message(id="reply", role="assistant", content="".join(texts), author="model", tool_calls=tuple(calls))


def _result(part: ToolReturnPart | NativeToolReturnPart, *, failed: bool) -> Message:
    texts = [part.model_response_str(wrap_if_error=False), *(_item_text(file) or "[document]" for file in part.files)]
    return Message(
        id=part.tool_call_id,
        role="tool",
        content="\n".join(text for text in texts if text),
        author="tool",
        tool_call_id=part.tool_call_id,
        tool_name=part.tool_name,
        failed=failed,
    )


def _user_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text for item in content if (text := _item_text(item)))


def _item_text(item: Any) -> str | None:
    if isinstance(item, str):
        return item
    content = getattr(item, "content", None)
    return content if isinstance(content, str) else placeholder(str(getattr(item, "media_type", "") or getattr(item, "kind", "")))


def _answer(response: ModelResponse, parameters: ModelRequestParameters) -> Answer | None:
    """What the reply answers: the arguments of an output tool, or its text where it calls nothing."""
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    schemas = {tool.name: tool.parameters_json_schema for tool in parameters.output_tools}
    given = [call for call in calls if call.tool_name in schemas]
    if len(given) == 1:
        return Answer(given[0].args_as_dict(), given[0].args_as_json_str(), schemas[given[0].tool_name])
    if given:  # the run takes one that fits, and runs the functions of others too
        schema = {"type": "array", "prefixItems": [schemas[call.tool_name] for call in given]}
        data = [call.args_as_dict() for call in given]
        return Answer(data, pydantic_core.to_json(data).decode(), schema)
    wanted = parameters.output_object
    if calls or not (parameters.allow_text_output or wanted is not None):
        return None
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    return Answer(text, text, wanted.json_schema if wanted is not None else None)


def _specs(parameters: ModelRequestParameters) -> list[ToolSpec]:
    tools = [*parameters.function_tools, *parameters.output_tools]
    return [tool_spec(tool.name, tool.description, tool.parameters_json_schema) for tool in tools]


def _usage(usage: RequestUsage) -> Usage:
    return Usage(
        usage.input_tokens, usage.output_tokens, cache_read=usage.cache_read_tokens or None, cache_write=usage.cache_write_tokens or None
    )


# --- what is handed on -----------------------------------------------------------------------------------------------------------


def _with_note(messages: list[ModelMessage], note: str | None) -> list[ModelMessage]:
    """The messages of one request with a note at their end; the agent's own messages stay as they are."""
    if note is None:
        return messages
    last = messages[-1] if messages else None
    if isinstance(last, ModelRequest):
        return [*messages[:-1], replace(last, parts=[*last.parts, UserPromptPart(note)])]
    return [*messages, ModelRequest(parts=[UserPromptPart(note)])]


def _attempt(response: ModelResponse, began: float) -> ModelRequestAttempt:
    took = timedelta(seconds=time.monotonic() - began)
    return ModelRequestAttempt(
        model_name=response.model_name or "",
        provider_name=response.provider_name,
        outcome="rejected",
        timestamp=datetime.now(UTC) - took,
        duration=took,
        usage=response.usage,
    )


def _accepted(response: ModelResponse, verdict: Verdict, attempts: Sequence[ModelRequestAttempt]) -> ModelResponse:
    if verdict.report is not None:
        said = {"action": verdict.action, **verdict.report.to_json(), "answer": verdict.report.answer}
        response = replace(response, metadata={**(response.metadata or {}), KEY: said})
    if attempts:
        response = replace(response, failed_attempts=[*(response.failed_attempts or ()), *attempts])
    return response


def evidence_of(result: Any) -> EvidenceReport | None:
    """The report on the last answer of a run; None when none was judged.

    Args:
        result: what a run returns, or its messages.
    """
    messages = result if isinstance(result, Sequence) else result.all_messages()
    for message in reversed(messages):
        if isinstance(message, ModelResponse) and KEY in (message.metadata or {}):
            assert message.metadata is not None
            return EvidenceReport.from_json(message.metadata[KEY], message.metadata[KEY]["answer"])
    return None


__all__ = ["EvidenceGate", "UnsupportedValuesError", "evidence_of", "messages_of"]
