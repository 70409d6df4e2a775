"""A reply as the Responses interface gives it: whole, or put together from the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentfp.http import WholeText
from agentfp.model import ModelRequest, ModelResponse, ProviderProtocolError, StopReason, TextChunk, ThinkingChunk, Usage
from agentfp_openai.responses_items import BETWEEN_MESSAGES, Parsed, parse
from agentfp_openai.usage import cut_off, responses_usage

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_TEXTS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THOUGHTS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})


class ResponsesReply:
    """Collects a reply."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.error: Any = None
        self.ended = False
        self._reply: Mapping[str, Any] = {}
        self._items: list[Any] = []
        self._whole = WholeText(), WholeText()
        self._pieces: list[str] = []
        self._speaking: Any = None
        self._thinking: Any = None

    def add(self, event: Any) -> Iterator[TextChunk | ThinkingChunk]:
        """Take an event of a stream; gives what of it can be shown.

        Args:
            event: JSON of the provider.

        Raises:
            ProviderProtocolError: it is of no form that the interface has.
        """
        if not isinstance(event, Mapping):
            raise ProviderProtocolError(f"the provider sent a {type(event).__name__} where an event belongs")
        kind = _text_or_none(event.get("type"))
        if kind in _TEXTS:
            yield from self._text(event)
        elif kind in _THOUGHTS:
            yield from self._thought(event)
        elif kind == "response.output_item.done":
            self._items.append(event.get("item"))
        elif kind in _ENDS:
            self.end(event.get("response"))
            text = self._whole[0].finish() if self._pieces else self._parsed().text  # what no piece said is shown at the end
            if text:
                self._pieces.append(text)
                yield TextChunk(text)
        elif kind == "error" or event.get("object") == "error" or (kind is None and event.get("error")):
            self.error = event

    def end(self, reply: Any) -> None:
        """Take the complete reply.

        Args:
            reply: JSON of the provider.

        Raises:
            ProviderProtocolError: it is of no form that the interface has, or not complete.
        """
        if not isinstance(reply, Mapping):
            raise ProviderProtocolError(f"the provider sent a {type(reply).__name__} where a reply belongs")
        self._reply = reply
        self.usage = responses_usage(reply.get("usage"))
        status = reply.get("status", "completed")
        if status == "failed" or (reply.get("error") and reply.get("status") != "completed"):
            self.error = {"error": reply.get("error") or {"code": "server_error"}}
        elif status not in ("completed", "incomplete"):
            raise ProviderProtocolError(
                f"the provider sent a reply that is {str(status)[:40]!r}; replies in the background are not waited for"
            )
        elif not isinstance(reply.get("output", [] if self._items or self._pieces else None), list):
            raise ProviderProtocolError(
                "the provider sent a reply whose output is no list; is base_url right, and has the server this interface?"
            )
        self.ended = True

    def _text(self, event: Mapping[str, Any]) -> Iterator[TextChunk]:
        delta = event.get("delta")
        if not isinstance(delta, str):
            raise ProviderProtocolError(f"the provider sent a {type(delta).__name__} as text")
        if not delta:
            return
        speaking = event.get("item_id", event.get("output_index"))
        if self._pieces and speaking != self._speaking:
            delta = BETWEEN_MESSAGES + delta
        self._speaking = speaking
        if whole := self._whole[0].feed(delta):
            self._pieces.append(whole)
            yield TextChunk(whole)

    def _thought(self, event: Mapping[str, Any]) -> Iterator[ThinkingChunk]:
        delta = event.get("delta")
        if not isinstance(delta, str) or not delta:
            return
        thinking = (event.get("item_id"), event.get("summary_index"))
        delta = delta if self._thinking in (None, thinking) else BETWEEN_MESSAGES + delta
        self._thinking = thinking
        if whole := self._whole[1].feed(delta):
            yield ThinkingChunk(whole)

    def _parsed(self) -> Parsed:
        return parse(self._reply.get("output") or self._items)

    def response(self, request: ModelRequest, window: int | None, request_id: str | None) -> ModelResponse:
        """The complete reply.

        Args:
            request: what it answers.
            window: tokens that the model has room for, where known.
            request_id: the provider's id of the request.
        """
        parsed = self._parsed()
        stop, word = self._stop(request, window, parsed)
        return ModelResponse(
            text="".join(self._pieces) or parsed.text,
            tool_calls=parsed.calls,
            usage=self.usage,
            stop=stop,
            provider_stop=word,
            thinking=parsed.thinking,
            response_id=_text_or_none(self._reply.get("id")),
            model=_text_or_none(self._reply.get("model")),
            request_id=request_id,
        )

    def _stop(self, request: ModelRequest, window: int | None, parsed: Parsed) -> tuple[StopReason, str]:
        status = str(self._reply.get("status", "completed"))
        if status == "incomplete":
            details = self._reply.get("incomplete_details")
            reason = details.get("reason") if isinstance(details, Mapping) else None
            if reason == "max_output_tokens":
                return cut_off(self.usage, request.settings, window), reason
            return (StopReason.CONTENT_FILTER if reason == "content_filter" else StopReason.UNKNOWN), str(reason or status)
        if parsed.calls:
            return StopReason.TOOL_USE, status
        most, spent = request.settings.max_tokens, self.usage.output
        if most is not None and spent is not None and spent >= most:
            return StopReason.MAX_TOKENS, status  # llama.cpp calls it completed
        return (StopReason.REFUSAL if parsed.refused else StopReason.STOP), status


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None
