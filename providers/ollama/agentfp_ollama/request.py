"""The body of a request, and what is refused before it is sent."""

from __future__ import annotations

import base64
import functools
import json
from typing import Any

from agentfp.model import (
    ImagePart,
    Message,
    ModelFeatureError,
    ModelFeatures,
    ModelRequest,
    ModelSettings,
    ToolCall,
    lacking,
    report_foreign_thinking,
    with_extra,
)
from agentfp_ollama.schemas import inlined

MARK = '{"ollama":"thinking"}'
"""The ``provider_meta`` of a thinking block that came from here; blocks of other providers mean nothing to these models."""


class Bodies:
    """Makes the bodies of requests to one model.

    Args:
        provider: name of the provider.
        model: name of the model.
        features: what the model can do.
        num_ctx: tokens of the context that the server is to make room for.
    """

    def __init__(self, provider: str, model: str, features: ModelFeatures, num_ctx: int | None) -> None:
        self._provider = provider
        self._model = model
        self._features = features
        self._num_ctx = num_ctx
        # The same tools come with each request of a run.
        self._parameters = functools.lru_cache(maxsize=512)(_parameters)

    def body(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        """The body of a request.

        Args:
            request: the request.
            stream: whether the reply is to come in pieces.

        Raises:
            ModelFeatureError: the request wishes for what the model or the server does not have; names both.
        """
        if request.tool_choice is not None:
            raise self._refuse("forced tool choice (forced_tool_choice)", "leave it to the model")
        if request.tools and not self._features.tools:
            raise self._refuse("tools", "leave them out")
        report_foreign_thinking(request, self._provider, self._model, lambda block: block.provider_meta == MARK)
        messages = [self._message(message) for message in request.messages]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        body: dict[str, Any] = {"model": self._model, "messages": messages, "stream": stream}
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": self._parameters(tool.parameters_json),
                    },
                }
                for tool in request.tools
            ]
        if request.output_schema_json is not None:
            body["format"] = json.loads(request.output_schema_json)
        think = self._think(request.settings.thinking_tokens)
        if think is not None:
            body["think"] = think
        options = self._options(request.settings)
        if options:
            body["options"] = options
        return with_extra(body, request.settings.extra)

    def _options(self, settings: ModelSettings) -> dict[str, Any]:
        wishes = {
            "num_ctx": self._num_ctx,
            "num_predict": settings.max_tokens,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "seed": settings.seed,
            "stop": list(settings.stop) or None,
        }
        return {name: value for name, value in wishes.items() if value is not None}

    def _think(self, tokens: int | None) -> bool | None:
        if tokens is None or (tokens == 0 and not self._features.thinking):
            return None
        if not self._features.thinking:
            raise self._refuse("thinking (thinking_tokens)", "leave it out")
        return tokens > 0

    def _message(self, message: Message) -> dict[str, Any]:
        made: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.parts:
            made["images"] = [self._image(part) for part in message.parts]
        if message.role == "assistant":
            thinking = "".join(block.text for block in message.thinking if block.provider_meta == MARK)
            if thinking:
                made["thinking"] = thinking
            if message.tool_calls:
                made["tool_calls"] = [_call(call) for call in message.tool_calls]
        elif message.role == "tool" and message.tool_name:
            made["tool_name"] = message.tool_name
        return made

    def _image(self, part: Any) -> str:
        if not isinstance(part, ImagePart):
            raise self._refuse("documents", "give their text")
        if not self._features.images:
            raise self._refuse("images", "leave them out")
        if part.data is None:
            raise self._refuse("images by URL", "give the bytes")
        return base64.b64encode(part.data).decode("ascii")

    def _refuse(self, what: str, instead: str) -> ModelFeatureError:
        return lacking(self._provider, self._model, what, f"{instead}, or choose another model")


def _call(call: ToolCall) -> dict[str, Any]:
    return {"function": {"name": call.name, "arguments": call.arguments}}


def _parameters(text: str) -> dict[str, Any]:
    return inlined(json.loads(text))
