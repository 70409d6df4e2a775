"""The protocol between the kernel and a model: request, reply, chunks, features as data, and the look-up by name."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from agentfp_core import jsontext
from agentfp_core.errors import ConfigError, nearest
from agentfp_core.events.base import Payload
from agentfp_core.messages import Message, StopReason, ThinkingBlock, ToolCall, Usage
from agentfp_core.prices import Prices


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFeatures:
    """What a model can do, as data. What is not stated is not there.

    Args:
        streaming: ``stream`` may be used.
        tools: tools may be offered.
        parallel_tool_calls: a reply may hold several calls.
        forced_tool_choice: a request may name the tool to call.
        json_schema: a request may hold the schema of the answer.
        prompt_cache: how the provider caches: not, at marks of the request, or by itself.
        thinking: replies may come with thinking blocks.
        images: messages may hold images.
        documents: messages may hold documents.
        roles: roles that messages may have.
        context_window: tokens that a request and its reply may have together.
        prices: what a token costs.
    """

    streaming: bool = False
    tools: bool = True
    parallel_tool_calls: bool = False
    forced_tool_choice: bool = False
    json_schema: bool = False
    prompt_cache: Literal["none", "breakpoints", "automatic"] = "none"
    thinking: bool = False
    images: bool = False
    documents: bool = False
    roles: tuple[str, ...] = ("user", "assistant", "tool")
    context_window: int | None = None
    prices: Prices | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Wishes for a model call; ``None`` leaves it to the provider.

    Args:
        temperature: randomness, as the provider counts it.
        top_p: nucleus, 0 to 1.
        max_tokens: most tokens of the reply.
        stop: texts at which the reply ends.
        seed: for replies that can be repeated.
        thinking_tokens: budget for thinking; 0 switches it off.
        timeout: seconds for one call.
        prompt_cache: ``off`` sends no cache marks.
        extra: further fields of the provider's request, as they are.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    thinking_tokens: int | None = None
    timeout: float | None = None
    prompt_cache: Literal["auto", "off"] = "auto"
    extra: Mapping[str, Any] = field(default_factory=dict)

    def over(self, base: ModelSettings) -> ModelSettings:
        """These wishes, and those of ``base`` where these are silent."""
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if getattr(self, f.name) != f.default}
        own["extra"] = {**base.extra, **self.extra}
        return dataclasses.replace(base, **own)

    def to_json(self) -> str:
        """The wishes that are set, as canonical JSON text."""
        stated = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "extra"}
        default = {f.name: f.default for f in dataclasses.fields(self) if f.name != "extra"}
        data = {key: value for key, value in stated.items() if value != default[key]}
        if self.extra:
            data["extra"] = dict(self.extra)
        return jsontext.canonical(data)

    @classmethod
    def of(cls, settings: ModelSettings | Mapping[str, Any] | None) -> ModelSettings:
        """Settings of a mapping.

        Raises:
            ConfigError: the mapping holds names that are no setting.
        """
        if settings is None:
            return cls()
        if isinstance(settings, ModelSettings):
            return settings
        known = {f.name for f in dataclasses.fields(cls)}
        unknown = [name for name in settings if name not in known]
        if unknown:
            raise ConfigError([f"model_settings has no {name!r}; {nearest(name, known)}" for name in unknown])
        values = dict(settings)
        if "stop" in values:
            values["stop"] = (values["stop"],) if isinstance(values["stop"], str) else tuple(values["stop"])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it.

    Args:
        name: its name on the wire.
        description: what it does.
        parameters_json: JSON schema of the arguments, canonical text.
    """

    name: str
    description: str
    parameters_json: str

    @property
    def parameters(self) -> dict[str, Any]:
        """The schema, parsed anew for each reader."""
        value: dict[str, Any] = jsontext.parse(self.parameters_json)
        return value


def _drop(_payload: Payload) -> None:
    return None


@dataclass(frozen=True, slots=True)
class CacheMark:
    """Where a part of a request ends that will come again unchanged, so that the provider may cache it.

    Args:
        field: ``system``, ``tools`` or ``messages``.
        upto: how much of the field, from its beginning: characters of the system text, tools, or messages.
        ttl: whether it is worth keeping for minutes or for hours.
    """

    field: Literal["system", "tools", "messages"]
    upto: int
    ttl: Literal["short", "long"] = "short"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """All that a model call is given; immutable.

    Args:
        system: the system text, empty for none.
        messages: the messages as served, the late lines last.
        tools: the tools on the wire.
        settings: wishes.
        tool_choice: the name of the tool that must be called.
        output_schema_json: JSON schema of the answer, for models that take one.
        model: the model's own name.
        cache_marks: where the provider's cache may end; only for models with ``prompt_cache="breakpoints"``.
        report: takes events of wrappers and adapters (retries, omitted thinking) to the record.
    """

    system: str
    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...] = ()
    settings: ModelSettings = ModelSettings()
    tool_choice: str | None = None
    output_schema_json: str | None = None
    model: str = ""
    cache_marks: tuple[CacheMark, ...] = ()
    report: Callable[[Payload], None] = field(default=_drop, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """A model's complete reply.

    Args:
        text: what it says.
        tool_calls: what it wants called.
        usage: tokens, as reported.
        stop: why it stopped.
        provider_stop: the provider's own word for that.
        thinking: thinking blocks, to go back byte by byte.
        response_id: the provider's id of the reply.
        model: the name of the model that really answered.
        request_id: the provider's id of the request, for its support.
        by: the model that served, where a wrapper chose one; its prices hold.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    stop: StopReason = StopReason.STOP
    provider_stop: str | None = None
    thinking: tuple[ThinkingBlock, ...] = ()
    response_id: str | None = None
    model: str | None = None
    request_id: str | None = None
    by: Model | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A piece of a streamed reply's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingChunk:
    """A piece of a streamed reply's thinking."""

    text: str


ModelChunk: TypeAlias = TextChunk | ThinkingChunk | ModelResponse
"""What ``stream`` yields: pieces, and last the complete reply. The pieces of text joined are its text."""


@runtime_checkable
class Model(Protocol):
    """What a provider implements. One object serves many calls at once and holds no state of a run."""

    @property
    def provider(self) -> str:
        """Name of the provider."""

    @property
    def name(self) -> str:
        """Name of the model."""

    @property
    def features(self) -> ModelFeatures:
        """What it can do."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer at once.

        Raises:
            ModelError: the call failed.
        """

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer in pieces; used in place of ``complete`` when the features say ``streaming``.

        Raises:
            ModelError: the call failed.
        """


class ModelWrapper:
    """Base of models that wrap another one: everything goes through unless a subclass says otherwise.

    Args:
        inner: the wrapped model.
    """

    def __init__(self, inner: Model) -> None:
        self.inner = inner

    @property
    def behind(self) -> Sequence[Model]:
        """The models that may serve a call."""
        return (self.inner,)

    @property
    def provider(self) -> str:
        """Provider of the wrapped model."""
        return self.inner.provider

    @property
    def name(self) -> str:
        """Name of the wrapped model."""
        return self.inner.name

    @property
    def features(self) -> ModelFeatures:
        """Features of the wrapped model."""
        return self.inner.features

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Call the wrapped model."""
        return await self.inner.complete(request)

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream from the wrapped model."""
        return self.inner.stream(request)

    def check_ready(self) -> None:
        """What :func:`check_ready` does, for the wrapped model."""
        check_ready(self.inner)


def check_ready(model: Model) -> None:
    """Say without a request what a request would fail for, such as a key that is nowhere.

    A model tells by a method of this name, which is not part of the protocol; nothing is known of one without it.

    Args:
        model: the model.

    Raises:
        ModelError: what lacks, and where it belongs.
    """
    check = getattr(model, "check_ready", None)
    if callable(check):
        check()


def resolve_model(model: Model | str, *, settings: Mapping[str, Any] | None = None) -> Model:
    """Find a model by ``"provider:name"`` through the entry points of installed providers.

    Args:
        model: a model, which is returned as it is, or a name. ``"provider"`` alone takes the provider's default.
        settings: keyword arguments for the provider, such as ``api_key`` or ``base_url``.

    Raises:
        ModelNotFoundError: no installed provider has the name, and what to install; or it cannot be loaded, and why.
    """
    if not isinstance(model, str):
        return model
    from agentfp_core.discovery import load_provider

    found: Model = load_provider(model)(model.partition(":")[2], **(settings or {}))
    return found
