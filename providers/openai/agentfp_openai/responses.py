"""The model that speaks the Responses interface: OpenAI's present one, in which a model's reasoning goes on from call to call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agentfp.http import error_of_data
from agentfp.model import ModelChunk, ModelRequest, ModelResponse
from agentfp_openai.base import OpenAIModel, rest_of
from agentfp_openai.errors import explain
from agentfp_openai.responses_reply import ResponsesReply
from agentfp_openai.responses_request import responses_body

_CALL = "/responses"


class ResponsesModel(OpenAIModel):
    """A model behind the Responses interface; made by ``openai-responses:NAME``."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer at once.

        Raises:
            ModelError: of the kind that fits.
        """
        reply = await self.http.post(self.server.path(_CALL, self.name), self._body(request, streaming=False), request)
        collected = ResponsesReply()
        with self.facts(collected, reply.request_id):
            collected.end(reply.json())
            self._refuse_error(collected)
            return collected.response(request, self.features.context_window, reply.request_id)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer in pieces.

        Raises:
            ModelError: of the kind that fits; ``ModelConnectionError`` for a reply that breaks off. Carries the usage where it is known.
        """
        collected = ResponsesReply()
        body = self._body(request, streaming=True)
        async with self.opened(_CALL, body, request, collected) as (stream, events):
            async for event in events:
                if event.data == "[DONE]":
                    continue
                for chunk in collected.add(event.json()):
                    yield chunk
                self._refuse_error(collected)
                if collected.ended:
                    await rest_of(events)
                    break
            else:
                raise self.broken_off()
            yield collected.response(request, self.features.context_window, stream.request_id)

    def _body(self, request: ModelRequest, *, streaming: bool) -> dict[str, Any]:
        return responses_body(
            self.name,
            request,
            kind=self.server.kind,
            family=self.family,
            effort=self.reasoning_effort,
            summary=self.reasoning_summary,
            streaming=streaming,
        )

    def _refuse_error(self, collected: ResponsesReply) -> None:
        if collected.error is not None:
            raise error_of_data("openai", self.name, 0, collected.error, explain)
