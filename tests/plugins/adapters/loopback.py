"""OpenAI on loopback, both interfaces on one address, for the frameworks' own provider classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentfp.model import Model, ModelResponse, StopReason, Usage
from agentfp.plugin import ToolCall
from agentfp.testing import Endpoint, Refusal, SeenRequest, Wire, WireReply, WireServer
from tests.providers.openai.wires import ChatWire, ResponsesWire

Play = Callable[[str], str | ToolCall]
"""From all texts of a request, the answer or the call."""


class BothWires(Wire):
    """Answers in the form of the interface that was asked."""

    def __init__(self) -> None:
        self._chat, self._responses = ChatWire(), ResponsesWire()

    def _of(self, request: SeenRequest) -> Wire:
        return self._responses if "/responses" in request.path else self._chat

    def model(self, endpoint: Endpoint) -> Model:
        return self._chat.model(endpoint)

    def reply(self, request: SeenRequest, response: ModelResponse) -> WireReply:
        return self._of(request).reply(request, response)

    def refusal(self, request: SeenRequest, refusal: Refusal) -> WireReply:
        return self._of(request).refusal(request, refusal)

    def refusal_in_stream(self, refusal: Refusal) -> bytes:
        return self._chat.refusal_in_stream(refusal)


def openai_on_loopback(play: Play) -> WireServer:
    """A server that answers by a function of what it was sent."""

    def reply(request: SeenRequest) -> ModelResponse:
        said: Any = play(" ".join(request.strings()))
        usage = Usage(10, 3)
        if isinstance(said, ToolCall):
            return ModelResponse(text="", tool_calls=(said,), usage=usage, stop=StopReason.TOOL_USE)
        return ModelResponse(text=said, tool_calls=(), usage=usage, stop=StopReason.STOP)

    return WireServer(BothWires(), reply)
