"""A reply taken in: whole, or in pieces as they are streamed. Both are objects of the same form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentfp.http import error_of_data
from agentfp.model import (
    ContentFilterError,
    ModelConnectionError,
    ModelError,
    ModelResponse,
    ProviderProtocolError,
    StopReason,
    TextChunk,
    ThinkingBlock,
    ThinkingChunk,
    ToolCall,
    Usage,
)
from agentfp_gemini.errors import explain
from agentfp_gemini.layout import checksum, written

_STOPS: Mapping[str, StopReason] = {
    "STOP": StopReason.STOP,
    "FUNCTION_CALL": StopReason.TOOL_USE,
    "MAX_TOKENS": StopReason.MAX_TOKENS,
    "CONTINUATION": StopReason.MAX_TOKENS,
    "SAFETY": StopReason.CONTENT_FILTER,
    "RECITATION": StopReason.CONTENT_FILTER,
    "BLOCKLIST": StopReason.CONTENT_FILTER,
    "PROHIBITED_CONTENT": StopReason.CONTENT_FILTER,
    "SPII": StopReason.CONTENT_FILTER,
    "MODEL_ARMOR": StopReason.CONTENT_FILTER,
    "IMAGE_SAFETY": StopReason.CONTENT_FILTER,
    "IMAGE_PROHIBITED_CONTENT": StopReason.CONTENT_FILTER,
    "IMAGE_RECITATION": StopReason.CONTENT_FILTER,
}
_BROKEN = frozenset(
    {"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"}
)
"""Reasons that say that the model wrote something which is no reply."""
_COUNTS = (
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "cachedContentTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
)


class Reading:
    """One reply.

    Args:
        provider: name of the provider, for errors.
        model: name of the model, for errors.
    """

    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._text: list[str] = []
        self._at = 0
        self._number = 0
        self._thought: list[str] = []
        self._blocks: list[tuple[int, ThinkingBlock]] = []
        self._calls: list[tuple[int, int, ToolCall, dict[str, Any]]] = []
        self._counts: dict[str, int] = {}
        self._facts: dict[str, str] = {}
        self._blocked: str | None = None
        self._finish: str | None = None

    @property
    def ended(self) -> bool:
        """Whether the model said that it is done."""
        return self._finish is not None or self._blocked is not None

    @property
    def usage(self) -> Usage:
        """The tokens reported so far."""
        counts = self._counts
        prompt, tools = counts.get("promptTokenCount"), counts.get("toolUsePromptTokenCount")
        said, thoughts = counts.get("candidatesTokenCount"), counts.get("thoughtsTokenCount")
        return Usage(
            input=_sum(prompt, tools),
            output=_sum(said, thoughts),
            cache_read=counts.get("cachedContentTokenCount"),
            thinking=thoughts,
        )

    def feed(self, data: Any) -> Iterator[TextChunk | ThinkingChunk]:
        """Take in a piece, and give what it adds to what is shown.

        Args:
            data: a ``GenerateContentResponse``.

        Raises:
            ModelError: it holds an error.
            ProviderProtocolError: it is none.
        """
        if not isinstance(data, Mapping):
            raise self._malformed("a reply that is no object")
        self._count(data.get("usageMetadata"))
        if data.get("error"):
            raise error_of_data(self._provider, self._model, 0, data, explain)
        for name in ("responseId", "modelVersion"):
            if isinstance(data.get(name), str):
                self._facts[name] = data[name]
        feedback = data.get("promptFeedback")
        if isinstance(feedback, Mapping) and isinstance(feedback.get("blockReason"), str):
            self._blocked = feedback["blockReason"]
        for candidate in self._list(data, "candidates")[:1]:
            if not isinstance(candidate, Mapping):
                raise self._malformed("a candidate that is no object")
            content = candidate.get("content")
            for part in self._list(content if isinstance(content, Mapping) else {}, "parts"):
                if not isinstance(part, Mapping):
                    raise self._malformed("a part that is no object")
                yield from self._part(part)
            if isinstance(candidate.get("finishReason"), str):
                self._finish = candidate["finishReason"]

    def response(self, request_id: str | None) -> ModelResponse:
        """The complete reply.

        Args:
            request_id: the provider's id of the request.

        Raises:
            ContentFilterError: the request or the whole reply was refused.
            ModelConnectionError: the reply has no end.
            ModelError: the model wrote something that is no reply.
        """
        self._end_thought()
        if self._blocked is not None:
            raise self._error(ContentFilterError, f"refused the request ({self._blocked}): change what is asked", request_id)
        if self._finish is None:
            raise self._error(ModelConnectionError, "broke off before the reply was complete; try again", request_id)
        text, calls = "".join(self._text), self._made_calls()
        stop = _STOPS.get(self._finish, StopReason.UNKNOWN)
        if not text and not calls:
            if stop is StopReason.CONTENT_FILTER:
                raise self._error(ContentFilterError, f"held the reply back ({self._finish}): change what is asked", request_id)
            if self._finish in _BROKEN:
                said = f"wrote something that is no reply ({self._finish}): try again, or make the tools' parameters simpler"
                raise self._error(ModelError, said, request_id)
        return ModelResponse(
            text=text,
            tool_calls=calls,
            usage=self.usage,
            stop=StopReason.TOOL_USE if calls and stop is StopReason.STOP else stop,
            provider_stop=self._finish,
            thinking=tuple(block for _, block in self._blocks),
            response_id=self._facts.get("responseId"),
            model=self._facts.get("modelVersion"),
            request_id=request_id,
        )

    # --- parts ---

    def _part(self, part: Mapping[str, Any]) -> Iterator[TextChunk | ThinkingChunk]:
        signature = part.get("thoughtSignature")
        if signature is not None and not isinstance(signature, str):
            raise self._malformed("a thought signature that is no text")
        text = part.get("text")
        if text is not None and not isinstance(text, str):
            raise self._malformed("a text that is none")
        if part.get("thought") is True and text is not None:
            if signature is not None:
                self._end_thought()  # a signature is for just the text that it comes with
            self._thought.append(text)
            if signature is not None:
                self._end_thought(signature)
            if text:
                yield ThinkingChunk(text)
            return
        self._end_thought()
        if "functionCall" in part:
            self._call(part["functionCall"], signature)
        elif text is not None or set(part) == {"thoughtSignature"}:
            text = text or ""
            if signature is not None:
                meta = written("text", n=self._next(), at=self._at, chars=len(text), crc=checksum(text))
                self._block(ThinkingBlock("", signature, provider_meta=meta))
            self._text.append(text)
            self._at += len(text)
            if text:
                yield TextChunk(text)
        elif part:
            own = {name: value for name, value in part.items() if name != "thoughtSignature"}
            meta = written("part", n=self._next(), at=self._at, part=own)
            self._block(ThinkingBlock("", signature, redacted=True, provider_meta=meta))

    def _call(self, call: Any, signature: str | None) -> None:
        if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
            raise self._malformed("a call without a name")
        if "partialArgs" in call or call.get("willContinue"):
            raise self._malformed("a call in pieces, which nobody asked for")
        given = call.get("id")
        made = ToolCall.make(call["name"], call.get("args"), id=given if isinstance(given, str) else "")
        self._calls.append((self._next(), self._at, made, {"id": made.id or None, "signature": signature}))

    def _made_calls(self) -> tuple[ToolCall, ...]:
        """The calls, each with what must go back with it. The place is kept only where something other than a call comes after it."""
        last = max([number for number, _ in self._blocks], default=0)
        made = []
        for number, at, call, kept in self._calls:
            placed = {"n": number, "at": at} if number < last or at < self._at else {}
            if placed or any(value is not None for value in kept.values()):
                call = ToolCall(call.id, call.name, call.arguments_json, written("call", **kept, **placed))
            made.append(call)
        return tuple(made)

    def _end_thought(self, signature: str | None = None) -> None:
        if not self._thought:
            return
        meta = written("thought", n=self._next(), at=self._at)
        self._block(ThinkingBlock("".join(self._thought), signature, provider_meta=meta))
        self._thought.clear()

    def _block(self, block: ThinkingBlock) -> None:
        self._blocks.append((self._number, block))

    def _next(self) -> int:
        self._number += 1
        return self._number

    # --- the rest ---

    def _count(self, usage: Any) -> None:
        """Counts come again with each piece, and the last ones hold."""
        if isinstance(usage, Mapping):
            for name in _COUNTS:
                value = usage.get(name)
                if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                    self._counts[name] = value

    def _list(self, data: Mapping[str, Any], name: str) -> list[Any]:
        value = data.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._malformed(f"{name} that are no list")
        return value

    def _malformed(self, what: str) -> ProviderProtocolError:
        msg = f"{self._provider!r} sent {what} for model {self._model!r}; is base_url that of a server for Gemini?"
        return ProviderProtocolError(msg, provider=self._provider, model=self._model)

    def _error(self, kind: type[ModelError], what: str, request_id: str | None) -> ModelError:
        msg = f"model {self._model!r} of {self._provider!r} {what}"
        return kind(msg, provider=self._provider, model=self._model, request_id=request_id)


def _sum(one: int | None, other: int | None) -> int | None:
    """A sum in which what was not reported counts nothing, unless nothing was."""
    return other if one is None else one if other is None else one + other
