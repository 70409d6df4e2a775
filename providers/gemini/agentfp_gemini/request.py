"""The body of a request, and what is refused before it is sent."""

from __future__ import annotations

import functools
import json
from typing import Any

from agentfp.model import ModelFeatureError, ModelRequest, ModelSettings, lacking, with_extra
from agentfp_gemini.contents import contents_of
from agentfp_gemini.known import Known
from agentfp_gemini.schemas import Schema, SchemaError, converted

_LEVEL = 'extra={"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}}'


class Bodies:
    """Makes the bodies of requests to one model.

    Args:
        provider: name of the provider.
        model: name of the model.
        known: what is known of the model.
    """

    def __init__(self, provider: str, model: str, known: Known) -> None:
        self._provider = provider
        self._model = model
        self._known = known
        # The same tools come with each request of a run.
        self._converted = functools.lru_cache(maxsize=512)(_converted)

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body of a request.

        Raises:
            ModelFeatureError: the request wishes for what the model does not have; names both.
        """
        body: dict[str, Any] = {
            "contents": contents_of(request, provider=self._provider, model=self._model, signatures=self._known.signatures)
        }
        if request.system:
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            declared = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": self._schema(f"tool {tool.name!r}", tool.parameters_json),
                }
                for tool in request.tools
            ]
            body["tools"] = [{"functionDeclarations": declared}]
        if request.tool_choice is not None:
            body["toolConfig"] = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [request.tool_choice]}}
        config = self._config(request.settings)
        if request.output_schema_json is not None:
            if not self._known.features.json_schema:
                raise self._refuse("JSON schema output (json_schema)", "let the agent ask for it in words: output_strategy='instruct'")
            config["responseMimeType"] = "application/json"
            config["responseJsonSchema"] = self._schema("the answer", request.output_schema_json)
        if config:
            body["generationConfig"] = config
        return with_extra(body, request.settings.extra)

    def _config(self, settings: ModelSettings) -> dict[str, Any]:
        wishes = {
            "temperature": settings.temperature,
            "topP": settings.top_p,
            "maxOutputTokens": settings.max_tokens,
            "stopSequences": list(settings.stop) or None,
            "seed": settings.seed,
            "thinkingConfig": self._thinking(settings.thinking_tokens),
        }
        return {name: value for name, value in wishes.items() if value is not None}

    def _thinking(self, tokens: int | None) -> dict[str, Any] | None:
        if tokens is None:
            return None
        thinking = self._known.thinking
        if thinking == "none":
            if tokens == 0:
                return None
            raise self._refuse("thinking", "leave thinking_tokens out")
        if thinking == "levels":
            raise self._refuse("thinking budget (thinking_tokens)", f"it has levels: {_LEVEL}")
        if tokens == 0 and thinking == "always":
            raise self._refuse("thinking that can be switched off (thinking_tokens=0)", "leave it out, or give a small budget")
        return {"thinkingBudget": tokens, "includeThoughts": tokens != 0}

    def _schema(self, what: str, text: str) -> Schema:
        try:
            return self._converted(text)
        except SchemaError as error:
            raise self._refuse(f"way to say {error} of the schema of {what}", "say it without, or leave it out") from error

    def _refuse(self, what: str, instead: str) -> ModelFeatureError:
        return lacking(self._provider, self._model, what, f"{instead}, or choose another model")


def _converted(text: str) -> Schema:
    return converted(json.loads(text))
