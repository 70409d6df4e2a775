"""What the official SDK says of a request and of a reply."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from typing import Any

from tests.providers.faults import Faults, reply

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the SDK's own, while it is imported
    from google import genai
    from google.genai import types as types

_KINDS: Mapping[str, Any] = {
    "systemInstruction": types.Content,
    "toolConfig": types.ToolConfig,
    "generationConfig": types.GenerationConfig,
}
_LISTS: Mapping[str, Any] = {"contents": types.Content, "tools": types.Tool, "safetySettings": types.SafetySetting}
_ROUND: dict[str, Any] = {"by_alias": True, "exclude_none": True, "mode": "json"}


def check_body(body: Mapping[str, Any]) -> None:
    """Refuse a body that holds what the SDK's types do not know, or what they would write otherwise."""
    for name, value in body.items():
        if name in _LISTS:
            for item in value:
                assert _url_safe(_LISTS[name].model_validate(item).model_dump(**_ROUND)) == _url_safe(item)
        else:
            assert _KINDS[name].model_validate(value).model_dump(**_ROUND) == value


def sent_by_the_sdk(faults: Faults, model: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body that the SDK sends when it is handed the same request as its own objects."""
    faults.plays(reply(200, {"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": "STOP"}]}))
    config = {name: body[name] for name in ("systemInstruction", "tools", "toolConfig", "safetySettings") if name in body}
    made = types.GenerateContentConfig.model_validate({**config, **body.get("generationConfig", {})})
    made.automatic_function_calling = types.AutomaticFunctionCallingConfig(disable=True)
    with genai.Client(api_key="k", http_options=types.HttpOptions(base_url=faults.url, api_version="v1beta")) as client:
        client.models.generate_content(model=model, contents=[types.Content.model_validate(c) for c in body["contents"]], config=made)
    sent: dict[str, Any] = _camel_case(json.loads(faults.requests[-1].body))
    return sent


def _camel_case(value: Any) -> Any:
    """Data with the names as the documentation has them; the SDK writes some as protobuf's JSON also takes them."""
    if isinstance(value, Mapping):
        return {re.sub("_([a-z])", lambda found: found[1].upper(), name): _camel_case(item) for name, item in value.items()}
    return [_camel_case(item) for item in value] if isinstance(value, list) else value


def check_reply(data: Mapping[str, Any]) -> None:
    """Refuse a reply that the SDK could not take."""
    assert _url_safe(types.GenerateContentResponse.model_validate(data).model_dump(**_ROUND)) == _url_safe(data)


def _url_safe(value: Any, key: str = "") -> Any:
    """Data with the bytes in it in one alphabet."""
    if isinstance(value, Mapping):
        return {name: _url_safe(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_url_safe(item) for item in value]
    return value.translate({ord("+"): "-", ord("/"): "_"}) if key == "thoughtSignature" else value
