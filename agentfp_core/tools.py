"""What a tool is: the ``tool`` decorator, the immutable ``Tool``, its options and their refusals, tools of a raw schema."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import types
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeAlias, cast, overload

from typing_extensions import ParamSpec, TypedDict, TypeVar, Unpack

from agentfp_core import jsontext
from agentfp_core.callables import is_async
from agentfp_core.declarations import Declaration
from agentfp_core.errors import ConfigError, LimitsError, RecordValueError, ToolNameError, ToolSchemaError, UnknownOptionError, nearest
from agentfp_core.model import ToolSpec
from agentfp_core.raw_arguments import RawChecker
from agentfp_core.tool_schema import Signature, read_signature

P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)

Approval: TypeAlias = bool | Callable[[Any, Mapping[str, Any]], bool | Awaitable[bool]]
"""Whether a person decides on each call: never, always, or as a function of the context and the arguments says."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ResultCeiling:
    """The most that a tool's result may hold; a longer one is refused whole, never cut.

    Args:
        max_chars: characters of the text that the model would read.
        narrow_by: arguments by which the model can ask for less.
    """

    max_chars: int
    narrow_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what can be no ceiling.

        Raises:
            LimitsError: ``max_chars`` is no positive whole number.
            ConfigError: ``narrow_by`` holds something that is no name.
        """
        if isinstance(self.max_chars, bool) or not isinstance(self.max_chars, int) or self.max_chars < 1:
            raise LimitsError(f"result ceiling: max_chars must be a whole number of at least 1, got {self.max_chars!r}; correct it")
        names = (self.narrow_by,) if isinstance(self.narrow_by, str) else tuple(self.narrow_by)
        if not all(isinstance(name, str) and name.strip() for name in names):
            raise ConfigError(f"result ceiling: narrow_by must hold names of arguments, got {names!r}; leave it out for none")
        object.__setattr__(self, "narrow_by", names)


class ToolOptions(TypedDict, total=False):
    """What ``@tool(...)``, ``Tool.of`` and ``raw_tool`` take; each is an attribute of :class:`Tool`."""

    name: str | None
    description: str | None
    approval: Approval
    mutating: bool
    idempotent: bool
    inline: bool
    timeout: float | None
    result_ceiling: ResultCeiling | int | None
    repeated_when: Literal["result", "arguments"]
    redact: Iterable[str]
    metadata: Mapping[str, Any]
    deferred: bool
    source: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Tool(Generic[P, R]):
    """A function that a model may call; immutable, and still called like the function it is made of.

    Make one with :func:`tool`, :meth:`of` or :func:`raw_tool`.

    Args:
        name: its name on the wire.
        description: what the model is told of it.
        parameters_json: JSON schema of the arguments, canonical text.
        function: what runs.
        parameters: the names of the arguments, in order.
        spec: the tool as a model sees it.
        is_async: the function is a coroutine function.
        raw: the function takes the context and one mapping of arguments.
        unbound: the function is a method whose instance is not there yet; look the tool up on the instance.
        approval: see :data:`Approval`.
        mutating: it changes something; calls of one batch do not run beside it.
        idempotent: it may be run again when nobody knows whether it ran.
        inline: a sync function runs on the loop, not in a worker thread.
        timeout: seconds that one call may take.
        result_ceiling: the most its result may hold.
        repeated_when: what must be the same for a call to count as repeated.
        redact: arguments whose values are masked in everything that is served, and stand neither in words about wrong
            arguments nor in the summary of an approval.
        metadata: plain JSON for plugins and the application.
        deferred: it is offered to the model only when it is looked for.
        source: where it comes from: ``code``, or the name of what contributed it.
        context_parameter: the parameter that takes the context.
        declarations: plugins' markers by parameter.
        checker: the compiled check of the arguments.
    """

    name: str
    description: str
    parameters_json: str
    function: Callable[P, R]
    parameters: tuple[str, ...]
    spec: ToolSpec
    is_async: bool
    raw: bool = False
    unbound: bool = False
    approval: Approval = False
    mutating: bool = False
    idempotent: bool = False
    inline: bool = False
    timeout: float | None = None
    result_ceiling: ResultCeiling | None = None
    repeated_when: Literal["result", "arguments"] = "result"
    redact: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    deferred: bool = False
    source: str = "code"
    context_parameter: str | None = None
    declarations: Mapping[str, tuple[Declaration, ...]] = field(default_factory=lambda: _NOTHING)
    checker: Any = field(default=None, repr=False)

    @staticmethod
    def of(function: Any, /, **options: Unpack[ToolOptions]) -> Tool[..., Any]:
        """Make a tool of any callable, or a tool with other options of a tool.

        Args:
            function: a function, sync or async, a bound method, a partial, a callable object, a static method, or a tool.
            **options: see :class:`ToolOptions`; what is not given stays as it was.

        Raises:
            ToolNameError: the name cannot stand on the wire.
            ToolSchemaError: no schema can be made of the signature.
            ConfigError: an option has a value that it cannot have.
            UnknownOptionError: there is no such option.
        """
        _refuse_unknown(options)
        if isinstance(function, Tool):
            return _changed(function, options) if options else function
        return _from_function(function, options)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, past every check."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., Any]:
        """Bind a tool that was made of a method in a class body."""
        if not self.unbound or instance is None:
            return self
        bound = types.MethodType(self.function, instance)
        return dataclasses.replace(cast("Tool[..., Any]", self), function=bound, unbound=False)

    def __repr__(self) -> str:
        return f"<Tool {self.name!r}>"

    @property
    def __name__(self) -> str:
        """The tool's name."""
        return self.name

    @property
    def __wrapped__(self) -> Callable[P, R]:
        """The function, for ``inspect`` and documentation tools."""
        return self.function

    def invoke(self, context: Any, arguments: Mapping[str, Any]) -> Any:
        """Call the function with validated arguments.

        Args:
            context: the context of the call; functions that do not ask for it do not get it.
            arguments: what ``arguments.validate`` made of the model's JSON.

        Returns:
            What the function returns; to be awaited where that is an awaitable, which a sync wrapper may give too.
        """
        function = cast("Callable[..., Any]", self.function)
        if self.raw:
            return function(context, arguments)
        if self.context_parameter is not None:
            return function(**{self.context_parameter: context}, **arguments)
        return function(**arguments)


@overload
def tool(function: Callable[P, R], /, **options: Unpack[ToolOptions]) -> Tool[P, R]: ...
@overload
def tool(function: None = None, /, **options: Unpack[ToolOptions]) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Any = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Make a function a tool: ``@tool`` or ``@tool(approval=True)``.

    Args:
        function: the function.
        **options: see :class:`ToolOptions`.

    Returns:
        The tool, or a decorator that makes it.

    Raises:
        ToolNameError: the name cannot stand on the wire.
        ToolSchemaError: no schema can be made of the signature.
        ConfigError: an option has a value that it cannot have.
        UnknownOptionError: there is no such option.
    """
    _refuse_unknown(options)
    if function is None:
        return functools.partial(Tool.of, **options)
    return Tool.of(function, **options)


def raw_tool(
    name: str,
    description: str,
    parameters: Mapping[str, Any] | None,
    handler: Callable[[Any, dict[str, Any]], R],
    /,
    **options: Unpack[ToolOptions],
) -> Tool[[Any, dict[str, Any]], R]:
    """Make a tool of a JSON schema that came from elsewhere.

    Args:
        name: its name on the wire.
        description: what the model is told of it.
        parameters: JSON schema of the arguments; None for a tool without any.
        handler: called with the context and the arguments, sync or async.
        **options: see :class:`ToolOptions`.

    Raises:
        ToolNameError: the name cannot stand on the wire.
        ToolSchemaError: the schema is no JSON object.
        ConfigError: an option has a value that it cannot have.
        UnknownOptionError: there is no such option.
    """
    _refuse_unknown(options)
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ToolSchemaError(f"tool {name!r}: its parameters must be a JSON schema object, got a {type(parameters).__name__}; pass a dict")
    if not callable(handler):
        msg = f"tool {name!r}: its handler must be callable, got a {type(handler).__name__}; pass a function of (ctx, arguments)"
        raise ToolSchemaError(msg)
    schema: dict[str, Any] = {"type": "object"}
    schema.update(parameters or {"properties": {}})
    try:
        text = jsontext.canonical(schema)
    except RecordValueError as error:
        raise ToolSchemaError(f"tool {name!r}: its schema is not JSON; pass plain dicts, lists, texts and numbers") from error
    properties = schema.get("properties")
    names = tuple(properties) if isinstance(properties, Mapping) else ()
    signature = Signature(names, text, RawChecker(text), description, None, _NOTHING, unbound=False)
    return cast("Tool[[Any, dict[str, Any]], R]", _finished(handler, signature, {**options, "name": name}, raw=True))


# --- building -------------------------------------------------------------------------------------------------------------


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    known = ToolOptions.__annotations__
    for name in options:
        if name not in known:
            raise UnknownOptionError(f"tool has no option {name!r}; {nearest(name, known)}")


def _from_function(function: Any, options: ToolOptions) -> Tool[..., Any]:
    if isinstance(function, (staticmethod, classmethod)):
        if isinstance(function, classmethod):
            raise ToolSchemaError(f"{_called(function)!r} is a class method without its class; pass it as Class.{_called(function)}")
        function = function.__func__
    if not callable(function):
        raise ToolSchemaError(f"a tool is made of a callable, got a {type(function).__name__}; pass a function")
    if isinstance(function, type):
        raise ToolSchemaError(f"{function.__name__!r} is a class; pass a function, a method or an instance with __call__")
    given = options.get("name")
    name = _called(function) if given is None else given
    if name == "<lambda>":
        raise ToolNameError("a lambda has no name for the model; pass name=...")
    return _finished(function, read_signature(function, name), {**options, "name": name}, raw=False)


def _called(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _finished(function: Any, signature: Signature, options: ToolOptions, *, raw: bool) -> Tool[..., Any]:
    name = _checked_name(options["name"])
    plain: Tool[..., Any] = Tool(
        name=name,
        description=signature.description,
        parameters_json=signature.parameters_json,
        function=function,
        parameters=signature.parameters,
        spec=ToolSpec(name, signature.description, signature.parameters_json),
        is_async=is_async(function),
        raw=raw,
        unbound=signature.unbound,
        context_parameter=signature.context_parameter,
        declarations=signature.declarations,
        checker=signature.checker,
    )
    return _changed(plain, {key: value for key, value in options.items() if key != "name"})


def _changed(base: Tool[..., Any], options: Mapping[str, Any]) -> Tool[..., Any]:
    """The same tool with other options, each of them checked."""
    changes = dict(options)
    if changes.get("name") is None:
        changes.pop("name", None)
    given = changes.pop("description", None)
    changes["description"] = base.description if given is None else inspect.cleandoc(given)
    name = _checked_name(changes.get("name", base.name))
    for option in ("mutating", "idempotent", "inline", "deferred"):
        if not isinstance(changes.get(option, False), bool):
            raise ConfigError(f"tool {name!r}: {option} must be True or False, got {changes[option]!r}; correct it")
    if "approval" in changes and not (isinstance(changes["approval"], bool) or callable(changes["approval"])):
        msg = f"tool {name!r}: approval must be True, False or a callable of (ctx, args), got {changes['approval']!r}; correct it"
        raise ConfigError(msg)
    if changes.get("repeated_when", "result") not in ("result", "arguments"):
        msg = f"tool {name!r}: repeated_when is 'result' or 'arguments', got {changes['repeated_when']!r}; choose one"
        raise ConfigError(msg)
    _check_timeout(base, changes, name)
    if "result_ceiling" in changes:
        changes["result_ceiling"] = _checked_ceiling(base, changes["result_ceiling"], name)
    if "redact" in changes:
        changes["redact"] = _checked_redact(base, changes["redact"], name)
    if "metadata" in changes:
        changes["metadata"] = _checked_metadata(changes["metadata"], name)
    return dataclasses.replace(base, **changes, spec=ToolSpec(name, changes["description"], base.parameters_json))


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ToolNameError(f"{name!r} cannot be the name of a tool; use 1 to 64 of the letters A-Z, a-z, 0-9, '_' and '-'")
    return name


def _check_timeout(base: Tool[..., Any], changes: Mapping[str, Any], name: str) -> None:
    timeout = changes.get("timeout", base.timeout)
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
        raise LimitsError(f"tool {name!r}: timeout must be a number of seconds above 0, got {timeout!r}; leave it out for none")
    if changes.get("inline", base.inline) and not base.is_async:
        raise ConfigError(f"tool {name!r}: a timeout cannot stop a sync function that runs inline; drop inline=True or the timeout")


def _checked_ceiling(base: Tool[..., Any], ceiling: Any, name: str) -> ResultCeiling | None:
    if ceiling is None:
        return None
    try:
        made = ceiling if isinstance(ceiling, ResultCeiling) else ResultCeiling(ceiling)
    except LimitsError as error:
        raise LimitsError(f"tool {name!r}: {error}") from error
    _check_parameters(base, made.narrow_by, name, "result_ceiling narrows by")
    return made


def _checked_redact(base: Tool[..., Any], redact: Any, name: str) -> tuple[str, ...]:
    names = (redact,) if isinstance(redact, str) else tuple(redact)
    _check_parameters(base, names, name, "redact names")
    return names


def _check_parameters(base: Tool[..., Any], names: tuple[str, ...], name: str, what: str) -> None:
    if base.raw and not base.parameters:
        return
    for wanted in names:
        if wanted not in base.parameters:
            raise ConfigError(f"tool {name!r}: {what} {wanted!r}, which is no argument of it; {nearest(str(wanted), base.parameters)}")


def _checked_metadata(metadata: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(metadata, Mapping):
        raise ConfigError(f"tool {name!r}: metadata must be a mapping of plain JSON, got a {type(metadata).__name__}; pass a dict")
    try:
        return MappingProxyType(jsontext.parse(jsontext.canonical(dict(metadata))))
    except ValueError as error:
        raise ConfigError(f"tool {name!r}: metadata holds something that is no JSON; keep it to texts, numbers, lists and dicts") from error
