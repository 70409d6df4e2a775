"""What people, models and tools wrote in a run, as the conventions put it on spans; used only where content is switched on."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from agentfp_otel import names

LIMIT = 32 * 1024
"""Characters of one attribute. Of messages the newest are kept, of one text its beginning."""

PARAMETERS = {
    "temperature": "gen_ai.request.temperature",
    "max_tokens": "gen_ai.request.max_tokens",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "seed": "gen_ai.request.seed",
    "stop": "gen_ai.request.stop_sequences",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
}


def cut(text: str) -> str:
    """A text that fits into an attribute."""
    return text if len(text) <= LIMIT else text[: LIMIT - 1] + "…"


class Contents:
    """The texts of one run so far. Each message is put into its form once."""

    def __init__(self) -> None:
        self._messages: deque[str] = deque()
        self._size = 0
        self._bodies: dict[str, str] = {}
        self._results: dict[int, str] = {}
        self.arguments: dict[str, str] = {}
        self._pieces: Any = ()
        self._tools: Any = ()
        self._params: str | None = None

    def request(self, payload: Any, attributes: dict[str, Any]) -> None:
        """Put what a request holds on its span. Parts that the event leaves out are as in the request before."""
        self._pieces = self._pieces if payload.pieces is None else payload.pieces
        self._tools = self._tools if payload.tools is None else payload.tools
        self._params = payload.params or self._params
        messages, count = self._newest()
        attributes[names.INPUT_MESSAGES] = messages
        attributes["agentfp.request.messages_shown"] = count
        found = {names.INSTRUCTIONS: self._instructions(), names.TOOL_DEFINITIONS: self._definitions()}
        attributes.update({key: text for key, text in found.items() if text is not None})
        settings = _parsed(self._params or "{}").get("settings", {})
        for field, key in PARAMETERS.items():
            value = settings.get(field)
            if isinstance(value, (str, int, float)) or (isinstance(value, list) and all(isinstance(item, str) for item in value)):
                attributes[key] = tuple(value) if isinstance(value, list) else value

    def blob(self, payload: Any) -> None:
        """A text that requests are made of."""
        self._bodies[payload.digest] = payload.body

    def ended(self, seq: int, content: str) -> None:
        """A tool's own result."""
        self._results[seq] = content

    def message(self, payload: Any) -> str:
        """A message joined the history; gives it in the conventions' form."""
        parts: list[Any] = []
        content = payload.content
        if payload.role == "tool":
            if content is None and payload.content_of is not None:
                content = self._results.pop(payload.content_of, None)
            notes = list(payload.notes or ())
            parts.append({"type": "tool_call_response", "id": payload.tool_call_id, "response": "\n".join([content or "", *notes])})
        elif content:
            parts.append({"type": "text", "content": content})
        for call in payload.tool_calls or ():
            self.arguments[call.id] = call.arguments
            parts.append({"type": "tool_call", "id": call.id, "name": call.name, "arguments": _parsed(call.arguments)})
        text = json.dumps({"role": payload.role, "parts": parts}, ensure_ascii=False, separators=(",", ":"))
        self._messages.append(text)
        self._size += len(text)
        while self._size > LIMIT and len(self._messages) > 1:
            self._size -= len(self._messages.popleft())
        return text

    def _newest(self) -> tuple[str, int]:
        return cut(f"[{','.join(self._messages)}]"), len(self._messages)

    def _instructions(self) -> str | None:
        texts = [self._bodies[piece.digest] for piece in self._pieces if piece.slot == "system" and piece.digest in self._bodies]
        return cut(json.dumps([{"type": "text", "content": text} for text in texts], ensure_ascii=False)) if texts else None

    def _definitions(self) -> str | None:
        made = [_definition(tool.name, self._bodies[tool.digest]) for tool in self._tools if tool.digest in self._bodies]
        return cut(json.dumps(made, ensure_ascii=False)) if made else None


def _definition(name: str, body: str) -> Mapping[str, Any]:
    made: dict[str, Any] = {"type": "function", "name": name}
    spec = _parsed(body)
    if isinstance(spec, dict):
        if spec.get("description"):
            made["description"] = spec["description"]
        made["parameters"] = _parsed(spec.get("parameters_json", "{}"))
    return made


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
