"""The model that speaks Chat Completions: OpenAI's older interface, and the one that compatible servers have."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agentfp.http import error_of_data
from agentfp.model import ModelChunk, ModelError, ModelRequest, ModelResponse, ProviderProtocolError, Usage
from agentfp_openai.base import OpenAIModel, rest_of
from agentfp_openai.chat_reply import ChatReply
from agentfp_openai.chat_request import chat_body
from agentfp_openai.errors import explain

_CALL = "/chat/completions"


class ChatModel(OpenAIModel):
    """A model behind Chat Completions; made by ``openai-chat:NAME``."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer at once.

        Raises:
            ModelError: of the kind that fits.
        """
        reply = await self.http.post(self.server.path(_CALL, self.name), self._body(request, streaming=False), request)
        collected = ChatReply(self.server.host)
        with self.facts(collected, reply.request_id):
            data = reply.json()
            self._refuse_error(data, None, collected, reply.request_id)
            for _ in (*collected.add(data, "message"), *collected.finished()):
                pass
            return collected.response(request, self.features.context_window, reply.request_id)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer in pieces.

        Raises:
            ModelError: of the kind that fits; ``ModelConnectionError`` for a reply that breaks off. Carries the usage where it is known.
        """
        collected = ChatReply(self.server.host)
        body = self._body(request, streaming=True)
        async with self.opened(_CALL, body, request, collected) as (stream, events):
            async for event in events:
                if event.data == "[DONE]":
                    await rest_of(events)
                    break
                data = event.json()
                self._refuse_error(data, event.event, collected, stream.request_id)
                for chunk in collected.add(data):
                    yield chunk
            else:
                if collected.finish is None or collected.usage == Usage():  # the tokens come last, and are asked for
                    raise self.broken_off()
            if not collected.begun:
                raise ProviderProtocolError("the provider sent a reply without choices")
            for chunk in collected.finished():
                yield chunk
            yield collected.response(request, self.features.context_window, stream.request_id)

    def _body(self, request: ModelRequest, *, streaming: bool) -> dict[str, Any]:
        return chat_body(self.name, request, server=self.server, family=self.family, effort=self.reasoning_effort, streaming=streaming)

    def _refuse_error(self, data: Any, event: str | None, collected: ChatReply, request_id: str | None) -> None:
        """Servers report an error in place of a chunk, whatever the status was."""
        if isinstance(data, dict) and (data.get("error") or event == "error" or data.get("object") == "error"):
            raised: ModelError = error_of_data("openai", self.name, 0, data, explain, request_id=request_id)
            raise raised
