"""A reply as Chat Completions gives it: whole, or put together from the chunks of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentfp.http import WholeText, without_surrogates
from agentfp.model import (
    ModelRequest,
    ModelResponse,
    ProviderProtocolError,
    StopReason,
    TextChunk,
    ThinkingBlock,
    ThinkingChunk,
    ToolCall,
    Usage,
)
from agentfp_openai.chat_request import CHAT, THINKING_FIELDS
from agentfp_openai.request import note
from agentfp_openai.usage import chat_usage, cut_off

_STOPS: Mapping[str, StopReason] = {
    "stop": StopReason.STOP,
    "eos": StopReason.STOP,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "content_filter": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
}
_CALL_FIELDS = frozenset({"id", "type", "index", "function"})


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)


class ChatReply:
    """Collects a reply. A whole one is a single chunk whose message takes the place of the pieces.

    Args:
        origin: name of the host that it comes from; what it notes of the reply goes back to that one only.
    """

    def __init__(self, origin: str = "") -> None:
        self._origin = origin
        self.usage = Usage()
        self.finish: str | None = None
        self.begun = False
        self._id: str | None = None
        self._model: str | None = None
        self._whole = WholeText(), WholeText()
        self._text: list[str] = []
        self._refused = False
        self._thoughts: dict[str, list[str]] = {}
        self._details: list[Any] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def add(self, chunk: Any, piece: str = "delta") -> Iterator[TextChunk | ThinkingChunk]:
        """Take a chunk; gives what of it can be shown.

        Args:
            chunk: JSON of the provider.
            piece: what a choice has in it: ``delta`` in a stream, ``message`` in a whole reply.

        Raises:
            ProviderProtocolError: it is of no form that the interface has.
        """
        if not isinstance(chunk, Mapping):
            raise ProviderProtocolError(f"the provider sent a {type(chunk).__name__} where an object belongs")
        if chunk.get("usage"):
            self.usage = chat_usage(chunk["usage"])
        if self._id is None:
            self._id, self._model = _text_or_none(chunk.get("id")), _text_or_none(chunk.get("model"))
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            if choices is not None or piece == "message":
                raise ProviderProtocolError("the provider sent a reply without choices")
            return
        if not choices:
            if piece == "message":
                raise ProviderProtocolError("the provider sent a reply without choices")
            return
        choice = next((c for c in choices if isinstance(c, Mapping) and not c.get("index")), None)
        if choice is None:
            return  # one of several that nobody asked for
        self.begun = True
        if choice.get("finish_reason"):
            self.finish = str(choice["finish_reason"])
            if not self.usage.total and isinstance(groq := chunk.get("x_groq"), Mapping):
                self.usage = chat_usage(groq.get("usage"))
        delta = choice.get(piece)
        if isinstance(delta, Mapping):
            yield from self._delta(delta)

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[TextChunk | ThinkingChunk]:
        content = delta.get("content")
        if content:
            yield from self._say(content if isinstance(content, str) else _text_of_parts(content))
            if len(delta) == 1:  # nearly all of a long reply
                return
        for name in THINKING_FIELDS:
            if (thought := delta.get(name)) and isinstance(thought, str):
                self._thoughts.setdefault(name, []).append(thought)
                if name == next(iter(self._thoughts)) and (whole := self._whole[1].feed(thought)):  # some servers say it in both fields
                    yield ThinkingChunk(whole)
        if (details := delta.get("reasoning_details")) and isinstance(details, list):
            self._add_details(details)
        if (refusal := delta.get("refusal")) and isinstance(refusal, str):
            self._refused = True
            yield from self._say(refusal)
        if calls := delta.get("tool_calls"):
            if not isinstance(calls, list):
                raise ProviderProtocolError(f"the provider sent tool calls as a {type(calls).__name__}, not as a list")
            for call in calls:
                self._add_call(call)

    def _say(self, text: str) -> Iterator[TextChunk]:
        if whole := self._whole[0].feed(text):
            self._text.append(whole)
            yield TextChunk(whole)

    def finished(self) -> Iterator[TextChunk]:
        """What the end of a stream leaves to show."""
        if rest := self._whole[0].finish():
            self._text.append(rest)
            yield TextChunk(rest)

    def _add_call(self, piece: Any) -> None:
        function = piece.get("function", {}) if isinstance(piece, Mapping) else None
        if not isinstance(function, Mapping):
            raise ProviderProtocolError("the provider sent a tool call that is none")
        call = self._call_of(piece.get("index"), _text_or_none(piece.get("id")) or "")
        name = function.get("name")
        if isinstance(name, str) and name != call.name:
            call.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments.append(arguments)
        elif arguments is not None:
            call.arguments.append(json.dumps(arguments))
        call.fields.update({key: value for key, value in piece.items() if key not in _CALL_FIELDS and value is not None})

    def _call_of(self, index: Any, id: str) -> _Call:
        """The call that a piece belongs to. Servers may leave out the index, give each call the same one, or repeat the id."""
        found = self._by_index.get(index) if isinstance(index, int) else (self._calls[-1] if self._calls else None)
        if id:
            if found is None or (found.id and found.id != id):
                found = next((call for call in self._calls if call.id == id), None)
            if found is not None:
                found.id = id
        if found is None:
            found = _Call(id)
            self._calls.append(found)
        if isinstance(index, int):
            self._by_index[index] = found
        return found

    def _add_details(self, details: list[Any]) -> None:
        """Pieces of one detail follow one another; they go back joined."""
        for detail in details:
            last = self._details[-1] if self._details else None
            if not (isinstance(detail, Mapping) and isinstance(last, dict) and _same_detail(last, detail)):
                self._details.append(dict(detail) if isinstance(detail, Mapping) else detail)
                continue
            for key, value in detail.items():
                joined = key in ("text", "summary", "data") and isinstance(value, str) and isinstance(last.get(key), str)
                if joined:
                    last[key] += value
                elif value is not None:
                    last[key] = value

    def response(self, request: ModelRequest, window: int | None, request_id: str | None) -> ModelResponse:
        """The complete reply.

        Args:
            request: what it answers.
            window: tokens that the model has room for, where known.
            request_id: the provider's id of the request.
        """
        calls = tuple(
            ToolCall.make(call.name, without_surrogates("".join(call.arguments)), id=call.id, provider_meta=self._meta("call", call.fields))
            for call in self._calls
        )
        return ModelResponse(
            text="".join(self._text),
            tool_calls=calls,
            usage=self.usage,
            stop=self._stop(request, window, bool(calls)),
            provider_stop=self.finish,
            thinking=self._thinking(),
            response_id=self._id,
            model=self._model,
            request_id=request_id,
        )

    def _stop(self, request: ModelRequest, window: int | None, calls: bool) -> StopReason:
        if self.finish == "length":
            return cut_off(self.usage, request.settings, window)
        stop = _STOPS.get(self.finish or "", StopReason.UNKNOWN)
        if stop is StopReason.STOP and self._refused:
            return StopReason.REFUSAL
        return StopReason.TOOL_USE if calls and stop in (StopReason.STOP, StopReason.UNKNOWN) else stop

    def _thinking(self) -> tuple[ThinkingBlock, ...]:
        fields: dict[str, Any] = {name: without_surrogates("".join(pieces)) for name, pieces in self._thoughts.items()}
        text = next(iter(fields.values()), "")
        if self._details:
            fields["reasoning_details"] = self._details
        return (ThinkingBlock(text, redacted=not text, provider_meta=self._meta("message", fields)),) if fields else ()

    def _meta(self, of: str, fields: Mapping[str, Any]) -> str | None:
        return note(CHAT, {of: fields, "host": self._origin}) if fields else None


def _same_detail(last: Mapping[str, Any], detail: Mapping[str, Any]) -> bool:
    return last.get("type") == detail.get("type") and detail.get("index") is not None and last.get("index") == detail.get("index")


def _text_of_parts(content: Any) -> str:
    """Some servers give a message's content as a list of parts."""
    if not isinstance(content, list):
        raise ProviderProtocolError(f"the provider sent a {type(content).__name__} as text")
    return "".join(part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str))


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None
