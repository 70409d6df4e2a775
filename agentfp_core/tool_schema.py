"""From a function to what a model may send it: its parameters, their JSON schema, their validator, their descriptions."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import TypedDict

from agentfp_core import jsontext
from agentfp_core.declarations import Declaration
from agentfp_core.docstrings import split_docstring
from agentfp_core.errors import ToolSchemaError

_CONFIG = ConfigDict(extra="forbid", allow_inf_nan=False)
_CONTEXT_MODULE, _CONTEXT_NAME = "agentfp_core.tool_context", "ToolContext"
_CONTEXT_TEXT = re.compile(r"(?:(?:\w+\.)*Optional\[|None\s*\|\s*)?(?:\w+\.)*ToolContext(?:\[.*\])?\]?(?:\s*\|\s*None)?")


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function tells about itself.

    Args:
        parameters: the names that a call may give, in order.
        parameters_json: their JSON schema, canonical text.
        checker: the compiled check of the arguments of a call.
        description: what the docstring says before its parameter section.
        context_parameter: the name of the parameter that takes the context.
        declarations: plugins' markers by parameter.
        unbound: the first parameter is the instance of a class, which is not there yet.
    """

    parameters: tuple[str, ...]
    parameters_json: str
    checker: Any
    description: str
    context_parameter: str | None
    declarations: Mapping[str, tuple[Declaration, ...]]
    unbound: bool


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    hint: Any
    default: Any


class _PlainSchema(GenerateJsonSchema):
    """A default that JSON cannot hold is left out of the schema without a warning; the call gets it all the same."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - the base declares it so


def read_signature(function: Callable[..., Any], tool_name: str) -> Signature:
    """Make the schema and the validator of a function's arguments.

    Args:
        function: what the tool runs.
        tool_name: for the errors.

    Returns:
        Everything a tool needs to know of its function.

    Raises:
        ToolSchemaError: a parameter cannot be given by a model, or its annotation cannot be read; names it.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ToolSchemaError(f"tool {tool_name!r}: its parameters cannot be read; wrap it in a function with type hints") from error
    target = underlying(function)
    unbound = _takes_instance(function, signature)
    held = set(function.keywords) if isinstance(function, functools.partial) else set()
    context: str | None = None
    found: list[_Parameter] = []
    declared: dict[str, tuple[Declaration, ...]] = {}
    for index, parameter in enumerate(signature.parameters.values()):
        if (unbound and index == 0) or parameter.name in held:
            continue
        _refuse_kind(parameter, tool_name)
        hint = _resolve(parameter, target, tool_name)
        if hint is _CONTEXT or _is_context(hint):
            if context is not None:
                msg = f"tool {tool_name!r}: parameters {context!r} and {parameter.name!r} both take the context; keep one"
                raise ToolSchemaError(msg)
            context = parameter.name
            if marked := tuple(_declarations(hint, parameter.name, tool_name)):
                declared[parameter.name] = marked
            continue
        markers = tuple(_declarations(hint, parameter.name, tool_name))
        if markers:
            declared[parameter.name] = markers
        found.append(_Parameter(parameter.name, _on_the_wire(_without_markers(hint), markers), parameter.default))
    description, texts = split_docstring(_doc_of(function, target))
    schema, checker = _compile(found, texts, tool_name)
    names = tuple(parameter.name for parameter in found)
    return Signature(names, schema, checker, description, context, MappingProxyType(declared), unbound)


def underlying(function: Any) -> Any:
    """The plain function behind partials, methods, callable objects and decorators."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function):
        function = type(function).__call__
    return inspect.unwrap(getattr(function, "__func__", function))


def _doc_of(function: Any, target: Any) -> str:
    own = None if isinstance(function, functools.partial) else getattr(function, "__doc__", None)
    if not inspect.isroutine(function) and not isinstance(function, functools.partial):
        return inspect.cleandoc(target.__doc__ or own or "")
    return inspect.cleandoc(own or target.__doc__ or "")


def _takes_instance(function: Any, signature: inspect.Signature) -> bool:
    if not inspect.isfunction(function):
        return False
    first = next(iter(signature.parameters.values()), None)
    owner = function.__qualname__.rpartition(".")[0]
    in_class = bool(owner) and not owner.endswith("<locals>")
    return in_class and first is not None and first.name in ("self", "cls") and first.annotation is inspect.Parameter.empty


def _refuse_kind(parameter: inspect.Parameter, tool_name: str) -> None:
    name = parameter.name
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        raise ToolSchemaError(f"tool {tool_name!r}: *{name} has no schema; take a list parameter in its place")
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        raise ToolSchemaError(f"tool {tool_name!r}: **{name} has no schema; name the parameters, or make it with raw_tool(...)")
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise ToolSchemaError(f"tool {tool_name!r}: {name!r} is positional-only, and models name arguments; remove the '/'")


# --- annotations --------------------------------------------------------------------------------------------------------

_CONTEXT: Any = object()


def _resolve(parameter: inspect.Parameter, target: Any, tool_name: str) -> Any:
    """The parameter's type, or ``_CONTEXT`` where one is named that is not there; each is read on its own, a bad one spoils none."""
    hint = parameter.annotation
    if hint is inspect.Parameter.empty:
        return Any
    if _is_context(hint):
        return hint
    try:
        hint = _evaluate(hint, getattr(target, "__globals__", {}), _enclosed(target))
    except NameError as error:
        if isinstance(hint, str) and _CONTEXT_TEXT.fullmatch(hint.strip(" '\"")):
            return _CONTEXT
        msg = (
            f"tool {tool_name!r}: the annotation {_shown(hint)} of parameter {parameter.name!r} names {error.name!r}, "
            "which is not there at run time; import it outside `if TYPE_CHECKING`, or define it at module level"
        )
        raise ToolSchemaError(msg) from error
    except Exception as error:
        msg = f"tool {tool_name!r}: the annotation {_shown(hint)} of parameter {parameter.name!r} cannot be read; correct it"
        raise ToolSchemaError(msg) from error
    return hint


def _shown(hint: Any) -> str:
    return repr(hint)[:120]


def _evaluate(hint: Any, names: dict[str, Any], local: dict[str, Any]) -> Any:
    holder = types.SimpleNamespace(__annotations__={"hint": hint})
    return typing.get_type_hints(holder, names, local, include_extras=True)["hint"]


def _enclosed(target: Any) -> dict[str, Any]:
    """Names of the function that the tool is defined in: what it closes over, and the live locals while it is being defined."""
    code = getattr(target, "__code__", None)
    if code is None or "<locals>" not in target.__qualname__:
        return {}
    names = {name: cell.cell_contents for name, cell in zip(code.co_freevars, target.__closure__ or (), strict=True) if _is_filled(cell)}
    frame = sys._getframe(1)
    while frame is not None:
        if any(constant is code for constant in frame.f_code.co_consts):
            return {**frame.f_locals, **names}
        frame = frame.f_back  # type: ignore[assignment]
    return names


def _is_filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _is_context(hint: Any) -> bool:
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_context(get_args(hint)[0])
    if origin is Union or origin is types.UnionType:
        members = [member for member in get_args(hint) if member is not type(None)]
        return len(members) == 1 and _is_context(members[0])
    cls = origin if isinstance(origin, type) else hint
    return isinstance(cls, type) and any(c.__module__ == _CONTEXT_MODULE and c.__name__ == _CONTEXT_NAME for c in cls.__mro__)


def _on_the_wire(hint: Any, markers: tuple[Declaration, ...]) -> Any:
    """The type that the model's JSON must fit; what else stands in ``Annotated``, such as a description, is kept."""
    wire = next((marker.wire_type for marker in markers if marker.wire_type is not None), None)
    if wire is None:
        return hint
    return _annotated(wire, list(hint.__metadata__)) if hasattr(hint, "__metadata__") else wire


def _declarations(hint: Any, parameter: str, tool_name: str) -> typing.Iterator[Declaration]:
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *metadata = get_args(hint)
        yield from _declarations(inner, parameter, tool_name)
        for item in metadata:
            if isinstance(item, type) and issubclass(item, Declaration):
                msg = f"tool {tool_name!r}: parameter {parameter!r} is marked with the class {item.__name__!r}; write {item.__name__}(...)"
                raise ToolSchemaError(msg)
            if isinstance(item, Declaration):
                yield item
    elif origin is Union or origin is types.UnionType:
        for member in get_args(hint):
            yield from _declarations(member, parameter, tool_name)


def _without_markers(hint: Any) -> Any:
    if get_origin(hint) is not Annotated:
        return hint
    inner, *metadata = get_args(hint)
    return _annotated(inner, [item for item in metadata if not isinstance(item, Declaration)])


def _annotated(hint: Any, metadata: list[Any]) -> Any:
    return Annotated[(hint, *metadata)] if metadata else hint  # type: ignore[return-value,unused-ignore]


# --- the schema -----------------------------------------------------------------------------------------------------------


def _compile(parameters: list[_Parameter], texts: Mapping[str, str], tool_name: str) -> tuple[str, Any]:
    """The schema text and the validator of a set of parameters.

    They become keys of a ``TypedDict``, not fields of a model: so any name goes, ``schema`` and ``_x`` too, and what
    comes out of validation is the keyword arguments themselves.
    """
    fields: dict[str, Any] = {}
    for parameter in parameters:
        hint = _with_field(parameter, texts.get(parameter.name))
        fields[parameter.name] = NotRequired[hint] if _has_default(parameter, hint) else hint
    try:
        adapter = _adapter(fields)
        schema = adapter.json_schema(schema_generator=_PlainSchema)
        return jsontext.canonical(_without_titles(schema)), adapter.validator
    except Exception as error:
        culprit = next((name for name, hint in fields.items() if not _compiles({name: hint})), None)
        where = f"the type of parameter {culprit!r}" if culprit else "its parameters"
        msg = f"tool {tool_name!r}: {where} cannot be written as a JSON schema ({type(error).__name__}); use types that pydantic knows"
        raise ToolSchemaError(msg) from error


def _adapter(fields: dict[str, Any]) -> TypeAdapter[Any]:
    arguments = TypedDict("_ToolArguments", fields)  # type: ignore[operator,misc,unused-ignore]
    arguments.__pydantic_config__ = _CONFIG  # type: ignore[attr-defined,unused-ignore]
    return TypeAdapter(arguments)


def _compiles(fields: dict[str, Any]) -> bool:
    try:
        _adapter(fields).json_schema(schema_generator=_PlainSchema)
    except Exception:
        return False
    return True


def _with_field(parameter: _Parameter, text: str | None) -> Any:
    """The hint with the docstring's text before, so that an explicit description wins, and the default after."""
    inner, *metadata = get_args(parameter.hint) if get_origin(parameter.hint) is Annotated else (parameter.hint,)
    if text:
        metadata.insert(0, Field(description=text))
    if isinstance(parameter.default, FieldInfo):
        metadata.append(parameter.default)
    elif parameter.default is not inspect.Parameter.empty:
        metadata.append(Field(default=parameter.default))
        if parameter.default is None and not _takes_none(inner):
            inner = inner | None if isinstance(inner, type) else Union[inner, None]  # noqa: UP007
    return _annotated(inner, metadata)


def _takes_none(hint: Any) -> bool:
    if hint is Any or hint is object or hint is None or hint is type(None):
        return True
    if get_origin(hint) is Annotated:
        return _takes_none(get_args(hint)[0])
    return (get_origin(hint) in (Union, types.UnionType) and any(map(_takes_none, get_args(hint)))) or None in get_args(hint)


def _has_default(parameter: _Parameter, hint: Any) -> bool:
    if parameter.default is not inspect.Parameter.empty and not isinstance(parameter.default, FieldInfo):
        return True
    return not FieldInfo.from_annotation(hint).is_required()


_MAPS_OF_SCHEMAS = frozenset({"properties", "$defs", "patternProperties", "dependentSchemas"})
_PLAIN_DATA = frozenset({"default", "const", "enum", "examples"})


def _without_titles(schema: Any) -> Any:
    """The schema without the titles that pydantic makes of names; a property that is called ``title`` stays."""
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _MAPS_OF_SCHEMAS and isinstance(value, dict):
            plain[key] = {name: _without_titles(item) for name, item in value.items()}
        elif key in _PLAIN_DATA:
            plain[key] = value
        elif key != "title":
            plain[key] = _without_titles(value)
    return plain
