"""One model call: streamed or not, through the reply filters, billed, and filed."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agentfp_core.billing import bill, bill_failure
from agentfp_core.cancelling import stray
from agentfp_core.errors import ModelError, PluginError, StreamChunkError
from agentfp_core.events.stream import LlmEnd, Retracted, ThinkingDelta, ThinkingEnd, Token
from agentfp_core.jsonable import without_surrogates
from agentfp_core.messages import ToolCall
from agentfp_core.model import ModelResponse, TextChunk
from agentfp_core.protocol import check_chunk, check_response, complete, open_stream
from agentfp_core.run import KERNEL, Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentfp_core.model import Model, ModelRequest
    from agentfp_core.output import OutputContract


class ReplyFilter(Protocol):
    """Takes a reply's text in pieces of any size and gives the text to show. Made anew for each reply."""

    def feed(self, text: str) -> str:
        """Take a piece; give what can be shown by now."""

    def finish(self) -> str:
        """The reply is complete, or broke off: give the rest."""


@dataclass(slots=True)
class Reply:
    """A complete reply.

    Args:
        response: the model's reply; its calls have ids that are unique in the conversation.
        shown: its text after the reply filters.
        held: pieces of shown text that were not let out yet.
        tokens: pieces that were let out.
    """

    response: ModelResponse
    shown: str
    held: list[str]
    tokens: int

    @property
    def own(self) -> str | None:
        """The model's own text, when filters changed it."""
        return None if self.response.text == self.shown else self.response.text


def _filter_failed(run: Run[Any], plugin: str, error: Exception) -> PluginError:
    """A filter that raises fails the run: without it, text would be shown that must not be."""
    run.plugin_failed(plugin, "reply_filter", "", "run-failed", error)
    return PluginError(f"the reply filter of plugin {plugin!r} failed", plugin=plugin, moment="reply_filter")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a reply filter gives text, got a {type(value).__name__}")
    return value


class _Shower:
    """The way of a reply's text to those who watch: filters, then out as tokens or held back."""

    def __init__(self, run: Run[Any], *, tools: bool) -> None:
        self.run = run
        self.filters: list[tuple[str, ReplyFilter]] = []
        for plugin, make in run.agent.reply_filters:
            run.source = plugin  # what a filter emits carries its plugin's name
            try:
                self.filters.append((plugin, make(run)))
            except Exception as error:
                raise _filter_failed(run, plugin, error) from error
            finally:
                run.source = KERNEL
        if run.handed:
            self.filters.append((KERNEL, run.stream_mask()))
        self.pieces: list[str] = []
        self.held: list[str] = []
        self.tokens = 0
        self._watched = run.wants(Token.event_name)
        self._live = run.stream_mode == "live"
        self._draft = tools or run.agent.may_replace_answers or bool(run.agent.plugin_set.table["finish_run"])

    def feed(self, text: str) -> None:
        run = self.run
        for plugin, item in self.filters:
            run.source = plugin
            try:
                text = _text(item.feed(text))
            except Exception as error:
                raise _filter_failed(run, plugin, error) from error
            finally:
                run.source = KERNEL
        self._show(text)

    def finish(self) -> str:
        run, rest = self.run, ""
        for plugin, item in self.filters:
            run.source = plugin
            try:
                rest = (_text(item.feed(rest)) if rest else "") + _text(item.finish())
            except Exception as error:
                raise _filter_failed(run, plugin, error) from error
            finally:
                run.source = KERNEL
        self._show(rest)
        return "".join(self.pieces)

    def give_up(self) -> None:
        """The reply broke off: what the filters still hold is dropped."""
        for _, item in self.filters:
            with suppress(Exception):
                item.finish()

    def replace(self, text: str) -> str:
        """The answer came as a call; what was said beside it is no part of it."""
        if self.tokens:
            self.run.emit(Retracted("rewritten", self.tokens))
        self.pieces, self.held, self.tokens = [], [], 0
        self._show(text)
        return text

    def _show(self, text: str) -> None:
        if not text:
            return
        self.pieces.append(text)
        if not self._watched:
            return
        if self._live:
            self.run.emit(Token(self.tokens, text, self._draft))
            self.tokens += 1
        else:
            self.held.append(text)


async def call_model(run: Run[Any], request: ModelRequest, model: Model, *, output: OutputContract[Any] | None) -> Reply:
    """Send a request and take the reply.

    Args:
        run: the run.
        request: the request.
        model: where it goes.
        output: the output contract, when its schema is sent as a tool.

    Returns:
        The reply, accepted, billed and filed.

    Raises:
        ModelError: the call failed or the reply is malformed.
    """
    run.phase = "llm"
    shower = _Shower(run, tools=bool(request.tools))
    begun = run.clock.monotonic_ns()
    try:
        response = await _streamed(run, request, model, shower) if model.features.streaming else await complete(model, request)
    except BaseException as error:
        shower.give_up()
        bill_failure(run, model, error)
        if stray(error):
            raise ModelError(f"the call of model {model.name!r} waited for something that was cancelled") from error
        raise
    if not model.features.streaming and response.text:
        shower.feed(response.text)
    shown = shower.finish()
    if output is not None and (answer := output.unwrap(response)) is not None:
        response, shown = answer, shower.replace(run.mask_text(answer.text))
    response = _masked(run, _with_unique_ids(run, response))
    used = response.usage
    ended = run.emit(
        LlmEnd(
            response.stop.value,
            len(response.tool_calls),
            (run.clock.monotonic_ns() - begun) // 1_000_000,
            used.input,
            used.output,
            used.cache_read,
            used.cache_write,
            used.thinking,
            response.provider_stop,
            response.response_id,
            len(response.text),
            response.request_id,
        )
    )
    if response.thinking:
        run.emit(ThinkingEnd(len(response.thinking), sum(len(block.text) for block in response.thinking)))
    served = response.by or model
    bill(run, ended, served.provider, response.model or model.name, used, stated=served.features.prices)
    return Reply(response, shown, shower.held, shower.tokens)


async def _streamed(run: Run[Any], request: ModelRequest, model: Model, shower: _Shower) -> ModelResponse:
    pieces: list[str] = []
    thoughts = 0
    thinking = run.stream_mask() if run.handed else None
    response: ModelResponse | None = None
    stream = open_stream(model, request)
    try:
        async for raw in stream:
            chunk = check_chunk(model, raw)
            if response is not None:
                raise StreamChunkError(f"{model.provider!r} went on after the complete reply, which is the last thing that a stream gives")
            if isinstance(chunk, ModelResponse):
                response = check_response(model, chunk)
            elif isinstance(chunk, TextChunk):
                if chunk.text:
                    pieces.append(chunk.text)
                    shower.feed(chunk.text)
            elif text := chunk.text if thinking is None else thinking.feed(chunk.text):
                run.emit(ThinkingDelta(thoughts, text))
                thoughts += 1
    finally:
        close: Callable[[], Any] | None = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    if thinking is not None and (rest := thinking.finish()):
        run.emit(ThinkingDelta(thoughts, rest))
    joined = "".join(pieces)
    if response is None:
        response = await complete(model, request)
    if not pieces and response.text:
        shower.feed(response.text)
        return response
    return response if response.text == joined else dataclasses.replace(response, text=joined)


def _masked(run: Run[Any], response: ModelResponse) -> ModelResponse:
    """The reply without the values that must not stand on the record."""
    if not run.handed:
        return response
    mask = run.mask_text

    def masked(call: ToolCall) -> ToolCall:
        name = call.name if call.name in run.tools else mask(call.name)
        return dataclasses.replace(call, name=name, arguments_json=mask(call.arguments_json))

    return dataclasses.replace(
        response,
        text=mask(response.text),
        tool_calls=tuple([masked(call) for call in response.tool_calls]),
        thinking=tuple([dataclasses.replace(block, text=mask(block.text)) for block in response.thinking]),
    )


def _with_unique_ids(run: Run[Any], response: ModelResponse) -> ModelResponse:
    """Mint an id for each call that has none, or whose id the conversation has already."""
    if not response.tool_calls:
        return response
    used = run.state.call_ids
    calls: list[ToolCall] = []
    fresh: set[str] = set()
    for call in response.tool_calls:
        kept = call
        if not call.id or call.id in used or call.id in fresh or run.mask_text(without_surrogates(call.id)) != call.id:
            kept = dataclasses.replace(call, id=run.ids.new("call"))
        fresh.add(kept.id)
        calls.append(kept)
    if all(a is b for a, b in zip(calls, response.tool_calls, strict=True)):
        return response
    return dataclasses.replace(response, tool_calls=tuple(calls))


def let_out(run: Run[Any], reply: Reply) -> None:
    """Let out what was held back of an accepted answer."""
    for index, piece in enumerate(reply.held):
        run.emit(Token(reply.tokens + index, piece))
    reply.tokens += len(reply.held)
    reply.held = []


def take_back(run: Run[Any], reply: Reply, reason: Literal["wrap-up", "re-ask", "rewritten", "refused", "tool-calls"]) -> None:
    """Say that text which was let out is not part of the answer."""
    reply.held = []
    if reply.tokens:
        run.emit(Retracted(reason, reply.tokens))
