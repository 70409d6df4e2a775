"""Models for tests: one that follows a script, one that calls every tool once."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeAlias

import anyio
import pydantic_core

from agentfp_core import jsontext
from agentfp_core.errors import ModelError, UsageError
from agentfp_core.messages import StopReason, ToolCall, Usage
from agentfp_core.model import ModelChunk, ModelFeatures, ModelRequest, ModelResponse, TextChunk, ThinkingChunk, ToolSpec

ScriptItem: TypeAlias = Any
"""A text, a call or a list of calls, a ``ModelResponse``, an exception, a typed output, or a function of the request."""


class ScriptExhaustedError(ModelError):
    """The script has no reply left for this request."""


def call(name: str, /, *, id: str = "", **arguments: Any) -> ToolCall:
    """A tool call for a script.

    Args:
        name: the tool.
        id: its id; minted when left out.
        **arguments: its arguments. For arguments that are called ``id`` use ``ToolCall.make``.
    """
    return ToolCall.make(name, arguments, id=id)


class ScriptedModel:
    """A model that gives the replies of a script, one a request, in order, whoever asks.

    Args:
        script: the replies, or a function of the request that gives each. When the list is used up, the next request fails:
            a script that repeats itself would hide an agent that does.
        features: what it can do; streaming, several calls a reply, forced tools and schemas unless you say otherwise.
        chunk: characters of a streamed piece; words when None.
        delay: seconds before each reply.
        provider: its provider's name.
        name: its name.

    Attributes:
        requests: the requests it got.
    """

    def __init__(
        self,
        script: Iterable[ScriptItem] | Callable[[ModelRequest], ScriptItem],
        *,
        features: ModelFeatures | None = None,
        chunk: int | None = None,
        delay: float = 0.0,
        provider: str = "scripted",
        name: str = "script",
    ) -> None:
        if isinstance(script, str):
            raise TypeError(f"a script is a list of replies, got a text; write ScriptedModel([{script[:20]!r}])")
        self._respond = script if callable(script) else None
        self._script = [] if callable(script) else list(script)
        self._next = 0
        self.features = features or ModelFeatures(
            streaming=True, parallel_tool_calls=True, forced_tool_choice=True, thinking=True, images=True, documents=True
        )
        self.chunk = chunk
        self.delay = delay
        self.provider = provider
        self.name = name
        self.requests: list[ModelRequest] = []

    @property
    def left(self) -> int:
        """Replies of the script that nobody asked for yet."""
        return len(self._script) - self._next

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Give the next reply.

        Raises:
            ScriptExhaustedError: there is none.
            Exception: the script says so.
        """
        self.requests.append(request)
        if self.delay:
            await anyio.sleep(self.delay)
        item: ScriptItem
        if self._respond is not None:
            item = self._respond(request)
        elif self._next < len(self._script):
            item = self._script[self._next]
            self._next += 1
        else:
            raise ScriptExhaustedError(f"the script has no reply for request {len(self.requests)}; it holds {len(self._script)}")
        return await _reply_of(item, request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Give the next reply in pieces."""
        response = await self.complete(request)
        for block in response.thinking:
            yield ThinkingChunk(block.text)
        for piece in _pieces(response.text, self.chunk):
            yield TextChunk(piece)
        yield response

    def __repr__(self) -> str:
        return f"ScriptedModel({self.name!r}, {len(self.requests)} requests)"


def _pieces(text: str, chunk: int | None) -> list[str]:
    if chunk is not None:
        return [text[i : i + chunk] for i in range(0, len(text), chunk)]
    words = text.split(" ")
    return [word if index == len(words) - 1 else f"{word} " for index, word in enumerate(words) if word or index < len(words) - 1]


async def _reply_of(item: ScriptItem, request: ModelRequest) -> ModelResponse:
    if callable(item) and not isinstance(item, (ToolCall, type)):
        made = item(request)
        if inspect.isawaitable(made):
            made = await made
        return await _reply_of(made, request)
    if isinstance(item, Awaitable):
        return await _reply_of(await item, request)
    if isinstance(item, BaseException) or (isinstance(item, type) and issubclass(item, BaseException)):
        raise item
    if isinstance(item, ModelResponse):
        return item
    if isinstance(item, ToolCall):
        return _calls((item,), request)
    if isinstance(item, (list, tuple)) and item and all(isinstance(one, ToolCall) for one in item):
        return _calls(tuple(item), request)
    text = item if isinstance(item, str) else pydantic_core.to_json(item).decode()
    return ModelResponse(text=text, usage=_usage(request, len(text)))


def _calls(calls: tuple[ToolCall, ...], request: ModelRequest) -> ModelResponse:
    size = sum(len(c.arguments_json) + len(c.name) for c in calls)
    return ModelResponse(tool_calls=calls, stop=StopReason.TOOL_USE, usage=_usage(request, size))


def _usage(request: ModelRequest, reply_chars: int) -> Usage:
    """A quarter of the characters; of the request only its last message, so that a long script stays linear."""
    last = request.messages[-1].text if len(request.messages) else ""
    return Usage(math.ceil((len(request.system) + len(last)) / 4), math.ceil(reply_chars / 4))


class AutoModel(ScriptedModel):
    """A model that calls each tool once, all in one reply, with arguments made of its schema, and then answers.

    Args:
        answer: what it answers; an object made of the output schema when there is one.
        only: names of the tools to call; all when left out.
    """

    def __init__(self, answer: Any = "done", *, only: Sequence[str] | None = None) -> None:
        self._answer = answer
        self._only = only
        super().__init__(self._next_reply, provider="auto", name="auto")

    def _next_reply(self, request: ModelRequest) -> ScriptItem:
        called = {c.name for m in request.messages for c in m.tool_calls}
        wanted = [t for t in request.tools if t.name not in called and (self._only is None or t.name in self._only)]
        if wanted and not any(m.role == "tool" for m in request.messages):
            return [ToolCall.make(t.name, arguments_for(t)) for t in wanted]
        if request.output_schema_json is not None and isinstance(self._answer, str):
            return json.dumps(example(jsontext.parse(request.output_schema_json)))
        return self._answer


def arguments_for(tool: ToolSpec) -> dict[str, Any]:
    """Arguments that fit a tool's schema: its required ones."""
    made = example(tool.parameters)
    if not isinstance(made, dict):
        raise UsageError(f"the schema of tool {tool.name!r} is no object's")
    return made


def example(schema: Any, defs: dict[str, Any] | None = None) -> Any:
    """A small value that fits a JSON schema.

    Args:
        schema: the schema.
        defs: definitions that references point to.
    """
    if not isinstance(schema, dict):
        return "x"
    defs = {**(defs or {}), **schema.get("$defs", {})}
    if "$ref" in schema:
        return example(defs.get(schema["$ref"].rsplit("/", 1)[-1], {}), defs)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return example(schema[key][0], defs)
    kind = schema.get("type", "string")
    return _example_of(kind[0] if isinstance(kind, list) else kind, schema, defs)


_FORMATS = {
    "date-time": "2030-01-01T00:00:00Z",
    "date": "2030-01-01",
    "time": "00:00:00Z",
    "duration": "PT1S",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "email": "a@example.org",
    "uri": "https://example.org/",
}


def _example_of(kind: str, schema: dict[str, Any], defs: dict[str, Any]) -> Any:
    if kind == "object":
        return {name: example(schema.get("properties", {}).get(name, {}), defs) for name in schema.get("required", [])}
    if kind == "array":
        items = schema.get("prefixItems") or [schema.get("items", {})] * max(schema.get("minItems", 0), 0)
        return [example(item, defs) for item in items]
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0) + (1 if "exclusiveMinimum" in schema else 0))
        step = schema.get("multipleOf")
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        value = max(low, 1) if high is None or high >= 1 else low
        return math.ceil(value / step) * step if step else value
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    text = _FORMATS.get(schema.get("format", ""), "x")
    return text.ljust(schema.get("minLength", 0), "x")
