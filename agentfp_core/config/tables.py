"""The tables of a file as pydantic models: what is accepted where. The JSON Schema and the checks are made of the same."""

from __future__ import annotations

import dataclasses
import typing
from typing import Annotated, Any, Literal, TypeAlias

import pydantic
from pydantic import Field

from agentfp_core.limits import Limits
from agentfp_core.model import ModelSettings

ImportPath: TypeAlias = Annotated[str, Field(examples=["app.module:attribute"])]
"""``module:attribute``."""
Count: TypeAlias = Annotated[int, Field(ge=1)]


class Table(pydantic.BaseModel):
    """A table of the file. Types are those of TOML: no text passes for a number."""

    model_config = pydantic.ConfigDict(
        extra="forbid", strict=True, hide_input_in_errors=True, use_attribute_docstrings=True, protected_namespaces=()
    )


def _table_of(cls: type[Any], **changed: Any) -> type[Table]:
    """A table with the fields of a dataclass of the kernel."""
    hints = typing.get_type_hints(cls)
    fields: dict[str, Any] = {}
    for item in dataclasses.fields(cls):
        default = item.default if item.default is not dataclasses.MISSING else None
        kind = changed.get(item.name, hints[item.name])
        fields[item.name] = (kind, default)
    made: type[Table] = pydantic.create_model(cls.__name__, __base__=Table, __doc__=(cls.__doc__ or "").split("\n", 1)[0], **fields)
    return made


LimitsTable = _table_of(Limits, usd=float | None)
ModelSettingsTable = _table_of(ModelSettings, stop=str | list[str], extra=dict[str, Any])


class PricesTable(Table):
    """Dollars per ONE token; a text keeps all digits."""

    input: float | str | None = None
    """Of a request's token."""
    output: float | str | None = None
    """Of a reply's token."""
    cache_read: float | str | None = None
    """Of a token read from the provider's cache."""
    cache_write: float | str | None = None
    """Of a token written to it."""
    reasoning: float | str | None = None
    """Of a reply's token of thinking; the output price when left out."""
    embedding: float | str | None = None
    """Of a token of a text that is turned into a vector; the input price when left out."""


class RedactTable(Table):
    """What to mask in everything that is served."""

    keys: list[str] = []
    """Names; the value under such a key is masked."""
    patterns: dict[str, str] | list[str] = []
    """Regular expressions, best with a name each."""
    content: bool = False
    """Mask everything that a person, a model or a tool wrote."""


class BudgetTable(Table):
    """Characters above which an event is filed."""

    system: Annotated[int, Field(ge=0)] | None = None
    """Of the system text."""
    messages: Annotated[int, Field(ge=0)] | None = None
    """Of the messages."""
    tools: Annotated[int, Field(ge=0)] | None = None
    """Of the tools' schemas."""


class AgentTable(Table):
    """One agent."""

    extends: str | None = None
    """The agent whose values hold where this one says nothing: `agent`, or a name under `agents`."""
    model: str | None = None
    """`provider:name` of an installed provider, or the name of an alias under `models`."""
    name: str | None = None
    """The agent's name on records."""
    deps_type: ImportPath | None = None
    """Import path of the type that `deps=` of a run takes."""
    output_type: ImportPath | None = None
    """Import path of the type that an answer must be."""
    output_retries: Annotated[int, Field(ge=0)] | None = None
    """How often the model is asked again when its answer does not fit."""
    output_strategy: Literal["auto", "native", "instruct", "tool"] | None = None
    """How the model is told the schema."""
    output_fallback: ImportPath | None = None
    """Import path of a function that gives a value when no answer fits."""
    output_canned: Any = None
    """The value when that fails too."""
    tools: list[str] | None = None
    """Import paths of tools."""
    instructions: str | list[str] | None = None
    """What the model is told; after that of `instructions_file`."""
    instructions_file: str | list[str] | None = None
    """Files with instructions, relative to this file."""
    plugins: list[str] | None = None
    """Names of the plugins that are on, in their order."""
    required_plugins: list[str] | None = None
    """Names of plugins without which this agent is not built."""
    limits: LimitsTable | None = None  # type: ignore[valid-type]
    """How far a run may go."""
    model_settings: ModelSettingsTable | None = None  # type: ignore[valid-type]
    """Wishes for every model call."""
    prices: dict[str, PricesTable] | None = None
    """Prices by model name, where the provider states none."""
    listeners: list[ImportPath] | dict[str, ImportPath | list[ImportPath]] | None = None
    """Import paths of functions that are called with events; by pattern of the events' names."""
    redact: RedactTable | None = None
    """What to mask in everything that is served."""
    stream: Literal["hold", "live"] | None = None
    """Whether text goes out before it is accepted."""
    tool_concurrency: Count | None = None
    """Calls of a batch that run side by side."""
    tool_threads: Count | None = None
    """Worker threads for sync tools."""
    argument_validation: Literal["enforce", "warn", "off"] | None = None
    """What happens to arguments that do not fit."""
    repeated_call_note: bool | None = None
    """Whether the model is told that it repeats a call."""
    context_budget: BudgetTable | None = None
    """Characters above which an event is filed; an empty table for none."""
    exclusive: bool | None = None
    """Refuse a second run of this agent while one is live."""
    index: ImportPath | None = None
    """Import path of the object that knows which conversations are live."""
    dev: bool | None = None
    """Check every event as it is filed."""


class PluginTable(Table):
    """Settings of a plugin; its own model says which."""

    model_config = pydantic.ConfigDict(extra="allow")

    enabled: bool = True
    """Off keeps the settings and loads nothing, whatever the lists say."""


class ModelTable(Table):
    """An alias of a model, with what its provider is told."""

    model_config = pydantic.ConfigDict(extra="allow")

    use: str
    """`provider:name` of an installed provider."""
    fallback: list[str] = []
    """Models that serve in its place when it fails, in this order: `provider:name`, or other aliases."""


def _whole(value: Any) -> Any:
    """A whole number; ``true`` and ``1.0`` equal 1 and are none."""
    return value if type(value) is int else None


class FileTable(Table):
    """Agents, their models and the settings of their plugins."""

    version: Annotated[Literal[1], pydantic.BeforeValidator(_whole)]
    """Of this format: 1."""
    agent: AgentTable | None = None
    """The agent that is meant when none is named."""
    agents: dict[str, AgentTable] = {}
    """Further agents by name."""
    models: dict[str, ModelTable] = {}
    """Aliases of models."""
    plugins: dict[str, PluginTable] = {}
    """Settings of plugins; `agent.plugins` switches them on."""
    env: dict[str, Any] = {}
    """Overlays: tables like these at the top, merged over them when `AGENTFP_ENV` names one."""


PASSED = (
    "name",
    "output_retries",
    "output_strategy",
    "output_canned",
    "stream",
    "tool_concurrency",
    "tool_threads",
    "argument_validation",
    "repeated_call_note",
    "context_budget",
    "exclusive",
    "dev",
)
"""Values of an agent's table that the constructor takes as they are."""
