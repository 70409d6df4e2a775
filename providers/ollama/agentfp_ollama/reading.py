"""A reply taken in: whole, or in pieces as they are streamed. Both are objects of the same form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentfp.http import Explain, error_of_data
from agentfp.model import (
    ModelConnectionError,
    ModelResponse,
    ProviderProtocolError,
    StopReason,
    TextChunk,
    ThinkingBlock,
    ThinkingChunk,
    ToolCall,
    Usage,
)
from agentfp_ollama.request import MARK

_STOPS: Mapping[str, StopReason] = {"stop": StopReason.STOP, "length": StopReason.MAX_TOKENS}


class Reading:
    """One reply.

    Args:
        provider: name of the provider, for errors.
        model: name of the model, for errors.
        explain: tells the server's errors apart.
    """

    def __init__(self, provider: str, model: str, explain: Explain) -> None:
        self._provider = provider
        self._model = model
        self._explain = explain
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ToolCall] = []
        self._reason: str | None = None
        self._answered_by: str | None = None
        self.ended = False
        self.usage = Usage()

    def feed(self, data: Any) -> Iterator[TextChunk | ThinkingChunk]:
        """Take in a piece, and give what it adds to what is shown.

        Args:
            data: an object of the reply.

        Raises:
            ModelError: it holds an error.
            ProviderProtocolError: it is no object of a reply.
        """
        if not isinstance(data, Mapping):
            raise self._malformed("a reply that is no object")
        if data.get("error"):
            raise error_of_data(self._provider, self._model, 0, data, self._explain)
        if isinstance(data.get("model"), str):
            self._answered_by = data["model"]
        message = data.get("message")
        if isinstance(message, Mapping):
            yield from self._message(message)
        elif message is not None or not data.get("done"):
            raise self._malformed("a piece without a message")
        if data.get("done") is True:
            self.ended = True
            self.usage = Usage(_count(data, "prompt_eval_count"), _count(data, "eval_count"))
            self._reason = data["done_reason"] if isinstance(data.get("done_reason"), str) else None

    def response(self, request_id: str | None) -> ModelResponse:
        """The complete reply.

        Args:
            request_id: of the request, where a proxy gave it one.

        Raises:
            ModelConnectionError: the reply has no end.
        """
        if not self.ended:
            msg = f"model {self._model!r} of {self._provider!r} broke off before the reply was complete; try again"
            raise ModelConnectionError(msg, provider=self._provider, model=self._model, request_id=request_id)
        stop = _STOPS.get(self._reason or "stop", StopReason.UNKNOWN)
        thinking = "".join(self._thinking)
        return ModelResponse(
            text="".join(self._text),
            tool_calls=tuple(self._calls),
            usage=self.usage,
            stop=StopReason.TOOL_USE if self._calls and stop is StopReason.STOP else stop,
            provider_stop=self._reason,
            thinking=(ThinkingBlock(thinking, provider_meta=MARK),) if thinking else (),
            model=self._answered_by,
            request_id=request_id,
        )

    def _message(self, message: Mapping[str, Any]) -> Iterator[TextChunk | ThinkingChunk]:
        thinking, text, calls = message.get("thinking"), message.get("content"), message.get("tool_calls")
        if not all(value is None or isinstance(value, str) for value in (thinking, text)):
            raise self._malformed("a text that is none")
        if calls is not None and not isinstance(calls, list):
            raise self._malformed("calls that are no list")
        if thinking:
            self._thinking.append(thinking)
            yield ThinkingChunk(thinking)
        if text:
            self._text.append(text)
            yield TextChunk(text)
        self._calls += [self._call(call) for call in calls or ()]

    def _call(self, call: Any) -> ToolCall:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise self._malformed("a call without a name")
        given = call.get("id")
        return ToolCall.make(function["name"], function.get("arguments"), id=given if isinstance(given, str) else "")

    def _malformed(self, what: str) -> ProviderProtocolError:
        msg = f"{self._provider!r} sent {what} for model {self._model!r}; is base_url that of an Ollama server?"
        return ProviderProtocolError(msg, provider=self._provider, model=self._model)


def _count(data: Mapping[str, Any], name: str) -> int | None:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
