"""A small provider over `agentfp.http` with a wire format of its own, and that format seen from its server: the suite's reference.

The body of a request is an object with `model`, `stream`, `system`, `messages`, `tools` and settings. A whole reply is one object.
A stream is server-sent events: first `{"usage": ...}`, then `{"t": text}`, `{"th": thinking}`, `{"seal": signature}`,
`{"call": [id, name, arguments]}`, and last `{"end": ...}`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentfp.http import HttpRequest, ModelHttp, SseDecoder, error_of_data
from agentfp.model import (
    ContentFilterError,
    ContextTooLongError,
    Message,
    Model,
    ModelChunk,
    ModelError,
    ModelFeatures,
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
from agentfp.testing import Endpoint, Refusal, SeenRequest, Wire, WireReply, cut

FULL = ModelFeatures(
    streaming=True,
    parallel_tool_calls=True,
    forced_tool_choice=True,
    json_schema=True,
    thinking=True,
    images=True,
    documents=True,
    roles=("user", "assistant", "tool", "system"),
)
USAGE = ("input", "output", "cache_read", "cache_write", "thinking")
STOPS = {"stop": StopReason.STOP, "length": StopReason.MAX_TOKENS, "calls": StopReason.TOOL_USE, "filter": StopReason.CONTENT_FILTER}


def explain(status: int, data: Any) -> type[ModelError] | None:
    code = data.get("error", {}).get("code") if isinstance(data, Mapping) else None
    return {"too_long": ContextTooLongError, "filtered": ContentFilterError}.get(str(code))


class Tiny:
    """The provider."""

    provider = "tiny"

    def __init__(self, endpoint: Endpoint, features: ModelFeatures = FULL) -> None:
        self.name = endpoint.model
        self.features = features
        self._key = endpoint.key
        self._http = ModelHttp(
            provider="tiny",
            model=self.name,
            base_url=endpoint.base_url,
            authorize=self._authorize,
            explain=explain,
            options=endpoint.options,
        )

    def _authorize(self, _attempt: HttpRequest) -> dict[str, str]:
        return {"authorization": f"Bearer {self._key}"}

    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        settings = request.settings
        body: dict[str, Any] = {"model": self.name, "stream": stream, "messages": [self.message(m) for m in request.messages]}
        wishes = {
            "system": request.system or None,
            "tools": [{"name": t.name, "about": t.description, "schema": t.parameters} for t in request.tools] or None,
            "must_call": request.tool_choice,
            "schema": json.loads(request.output_schema_json) if request.output_schema_json else None,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_tokens": settings.max_tokens,
            "stop": list(settings.stop) or None,
            "seed": settings.seed,
            "think": settings.thinking_tokens,
        }
        return body | {key: value for key, value in wishes.items() if value is not None} | dict(settings.extra)

    def message(self, message: Message) -> dict[str, Any]:
        data: dict[str, Any] = {"role": message.role, "text": message.text}
        if message.tool_calls:
            data["calls"] = [[c.id, c.name, c.arguments_json] for c in message.tool_calls]
        if message.tool_call_id:
            data["answers"] = message.tool_call_id
        if message.thinking:
            data["thinking"] = [[block.text, block.signature] for block in message.thinking]
        if message.parts:
            data["parts"] = [[part.media_type, base64.b64encode(part.data or b"").decode()] for part in message.parts]
        return data

    async def complete(self, request: ModelRequest) -> ModelResponse:
        reply = await self._http.post("/say", self.body(request, stream=False), request)
        return self.response(reply.json())

    def response(self, data: Any) -> ModelResponse:
        try:
            return ModelResponse(
                text=data["text"],
                tool_calls=tuple(ToolCall.make(name, arguments, id=one) for one, name, arguments in data["calls"]),
                thinking=tuple(ThinkingBlock(text, signature) for text, signature in data["thinking"]),
                **self.ending(data["end"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise self.malformed() from error

    def ending(self, end: Any) -> dict[str, Any]:
        return {"usage": self.usage(end), "stop": STOPS.get(end["stop"], StopReason.UNKNOWN), "provider_stop": end["stop"]}

    def usage(self, data: Any) -> Usage:
        return Usage(**{name: data["usage"].get(name) for name in USAGE})

    def malformed(self) -> ProviderProtocolError:
        return ProviderProtocolError("'tiny' sent a reply of another shape; report it", provider="tiny", model=self.name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        got = _Got()
        async with self._http.open("/say", self.body(request, stream=True), request) as stream:
            try:
                async for event in stream.read(SseDecoder()):
                    chunk = self.take(got, event.json())
                    if chunk is not None:
                        yield chunk
            except ModelError as error:
                error.usage = error.usage or got.usage
                raise
            except (KeyError, TypeError, ValueError) as error:
                raise self.malformed() from error
        if got.end is None:
            msg = "'tiny' ended its stream before the end"
            raise ProviderProtocolError(msg, provider="tiny", model=self.name, usage=got.usage)
        yield ModelResponse(
            text="".join(got.texts),
            tool_calls=tuple(got.calls),
            thinking=(ThinkingBlock("".join(got.thoughts), got.seal),) if got.thoughts else (),
            **self.ending(got.end),
        )

    def take(self, got: _Got, event: Any) -> ModelChunk | None:
        if "t" in event:
            got.texts.append(event["t"])
            return TextChunk(event["t"])
        if "th" in event:
            got.thoughts.append(event["th"])
            return ThinkingChunk(event["th"])
        if "error" in event:
            raise error_of_data("tiny", self.name, 529, event, explain, usage=got.usage)
        if "call" in event:
            one, name, arguments = event["call"]
            got.calls.append(ToolCall.make(name, arguments, id=one))
        elif "usage" in event:
            got.usage = self.usage(event)
        elif "seal" in event:
            got.seal = event["seal"]
        else:
            got.end = event["end"]
        return None


@dataclass
class _Got:
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    seal: str | None = None
    usage: Usage | None = None
    end: Any = None


class TinyWire(Wire):
    """Its server."""

    usage_fields = USAGE
    stops = (StopReason.STOP, StopReason.MAX_TOKENS, StopReason.CONTENT_FILTER)
    refusals = (*Wire.refusals, "content_filter")
    features: ClassVar[ModelFeatures] = FULL
    kind: ClassVar[type[Tiny]] = Tiny

    def model(self, endpoint: Endpoint) -> Model:
        return self.kind(endpoint, self.features)

    def reply(self, request: SeenRequest, response: ModelResponse) -> WireReply:
        usage = {name: getattr(response.usage, name) for name in USAGE if getattr(response.usage, name) is not None}
        words = {stop: word for word, stop in STOPS.items()}
        end = {"stop": response.provider_stop or words[response.stop], "usage": usage}
        calls = [[call.id, call.name, call.arguments_json] for call in response.tool_calls]
        if not request.json()["stream"]:
            thinking = [[block.text, block.signature] for block in response.thinking]
            return WireReply((_json({"text": response.text, "calls": calls, "thinking": thinking, "end": end}),))
        events: list[Any] = [{"usage": usage}]
        for block in response.thinking:
            events += [{"th": piece} for piece in cut(block.text)] + [{"seal": block.signature}]
        events += [{"t": piece} for piece in cut(response.text)] + [{"call": call} for call in calls] + [{"end": end}]
        return WireReply(tuple(self.event(event) for event in events), "text/event-stream")

    def event(self, data: Any) -> bytes:
        return b"data: " + _json(data) + b"\n\n"

    def refusal(self, request: SeenRequest, refusal: Refusal) -> WireReply:
        status, code = {
            "authentication": (401, "bad_key"),
            "not_found": (404, "no_model"),
            "rate_limit": (429, "slow_down"),
            "overloaded": (529, "busy"),
            "context_too_long": (400, "too_long"),
            "bad_request": (400, "bad"),
            "content_filter": (400, "filtered"),
        }[refusal.kind]
        return WireReply((_json({"error": {"code": code, "message": refusal.words}}),), status=status)

    def refusal_in_stream(self, refusal: Refusal) -> bytes:
        return self.event({"error": {"code": "busy", "message": refusal.words}})


def _json(data: Any) -> bytes:
    return json.dumps(data).encode()
