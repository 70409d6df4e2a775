"""What a tool's author declares for these checks: where arguments come from, and what the columns of a result hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from agentfp import Tool
from agentfp.plugin import ConfigError, nearest

KEY = "integrity"
ColumnType: TypeAlias = Literal["number", "string", "boolean", "date"]
TYPES: tuple[ColumnType, ...] = ("number", "string", "boolean", "date")
_TYPES: dict[str, ColumnType] = {name: name for name in TYPES}


@dataclass(frozen=True, slots=True)
class Column:
    """What a column of a result holds.

    Args:
        type: its type.
        nullable: whether a row may have nothing in it.
    """

    type: ColumnType
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Declared:
    """What is declared of one tool.

    Args:
        arguments_from: tools whose results its arguments come from.
        columns: what its result's columns hold.
    """

    arguments_from: tuple[str, ...] = ()
    columns: Mapping[str, Column] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.arguments_from or self.columns)


NOTHING = Declared()


def declares(*, arguments_from: Sequence[str] = (), result_columns: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The metadata of a tool: ``@tool(metadata=declares(arguments_from=["list_ports"]))``.

    Args:
        arguments_from: tools whose results its arguments come from.
        result_columns: by column, ``number``, ``string``, ``boolean`` or ``date``, or ``{"type": ..., "nullable": True}``.

    Raises:
        ConfigError: lists all that is wrong.
    """
    made: dict[str, Any] = {}
    if isinstance(arguments_from, str) or list(arguments_from) or arguments_from != ():
        made["arguments_from"] = arguments_from if isinstance(arguments_from, str) else list(arguments_from)
    if result_columns is not None:
        made["result_columns"] = result_columns
    _, problems = read_declared(made, "this tool")
    if not made:
        problems = ["declares() needs arguments_from or result_columns"]
    if problems:
        raise ConfigError(problems)
    return {KEY: made}


def read_declared(data: Any, name: str) -> tuple[Declared, list[str]]:
    """What is declared of a tool, and what is wrong with it.

    Args:
        data: ``arguments_from`` and ``result_columns``.
        name: of the tool.
    """
    if not isinstance(data, Mapping):
        return NOTHING, [f"tool {name!r}: what is declared is a mapping, got a {type(data).__name__}"]
    problems = [
        f"tool {name!r}: there is no declaration {key!r}; {nearest(str(key), ('arguments_from', 'result_columns'))}"
        for key in data
        if key not in ("arguments_from", "result_columns")
    ]
    sources = data.get("arguments_from")
    if sources is not None and (isinstance(sources, str) or not isinstance(sources, (list, tuple)) or not sources):
        problems.append(f"tool {name!r}: arguments_from is a list with at least one tool's name; leave it out for none")
        sources = None
    for source in sources or ():
        if not isinstance(source, str) or not source.strip():
            problems.append(f"tool {name!r}: arguments_from holds {source!r}, which is no tool's name")
        elif source == name:
            problems.append(f"tool {name!r}: its arguments cannot come from its own results; leave it out of arguments_from")
    columns, wrong = _columns(data.get("result_columns"), name)
    problems += wrong
    return (NOTHING if problems else Declared(tuple(sources or ()), columns)), problems


def _columns(data: Any, name: str) -> tuple[dict[str, Column], list[str]]:
    if data is None:
        return {}, []
    if not isinstance(data, Mapping) or not data:
        return {}, [f"tool {name!r}: result_columns is a mapping of at least one column to its type; leave it out for none"]
    columns, problems = {}, []
    for column, said in data.items():
        where = f"tool {name!r}, column {column!r}"
        spec = {"type": said} if isinstance(said, str) else said
        if not isinstance(column, str) or not column.strip():
            problems.append(f"{where}: a column has a name")
        elif not isinstance(spec, Mapping) or set(spec) - {"type", "nullable"}:
            problems.append(f"{where}: write its type, or a mapping with 'type' and 'nullable'")
        elif spec.get("type") not in TYPES:
            problems.append(f"{where}: {spec.get('type')!r} is no type; {nearest(str(spec.get('type')), TYPES)}")
        elif not isinstance(spec.get("nullable", False), bool):
            problems.append(f"{where}: nullable is true or false")
        else:
            columns[column] = Column(_TYPES[str(spec["type"])], spec.get("nullable") is True)
    return columns, problems


def declared_of(tool: Tool[..., Any] | None, own: Mapping[str, Declared]) -> Declared:
    """What holds of a tool: what the settings say of it, else its author.

    Args:
        tool: the tool.
        own: what the settings say, by tool.
    """
    if tool is None:
        return NOTHING
    found = own.get(tool.name)
    if found is not None:
        return found
    data = tool.metadata.get(KEY)
    return NOTHING if data is None else read_declared(data, tool.name)[0]
