"""Making tools: what a signature becomes, what is refused while building, and how a tool is called."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import pydantic
import pytest
from pydantic import Field
from typing_extensions import TypedDict

from agentfp_core.declarations import Declaration
from agentfp_core.errors import ConfigError, LimitsError, ToolNameError, ToolSchemaError, UnknownOptionError
from agentfp_core.tool_context import ToolContext
from agentfp_core.tools import ResultCeiling, Tool, raw_tool, tool

if TYPE_CHECKING:
    from elsewhere import Missing  # type: ignore[import-not-found]


class Row(pydantic.BaseModel):
    id: int
    title: str = ""


@dataclasses.dataclass
class Point:
    x: int


class Options(TypedDict):
    deep: bool


class Colour(enum.Enum):
    RED = "red"


class FromPerson(Declaration):
    plugin = "inputs"

    def __init__(self, question: str) -> None:
        self.question = question


@tool
def lookup(ctx: ToolContext[dict[str, str]], switch: str, port: Annotated[int, Field(ge=1)] = 1) -> str:
    """State of one port.

    Reads the database.

    Args:
        switch: Which switch.
        port (int): Which port,
            from 1.

    Returns:
        The state.
    """
    return f"{switch}:{port}"


# --- what a signature becomes ---------------------------------------------------------------------------------------------


def test_a_function_becomes_a_tool_with_schema_and_descriptions() -> None:
    assert lookup.name == "lookup"
    assert lookup.description == "State of one port.\n\nReads the database."
    assert lookup.parameters == ("switch", "port")
    assert lookup.context_parameter == "ctx"
    assert lookup.spec.parameters == {
        "type": "object",
        "properties": {
            "switch": {"type": "string", "description": "Which switch."},
            "port": {"type": "integer", "minimum": 1, "default": 1, "description": "Which port, from 1."},
        },
        "required": ["switch"],
        "additionalProperties": False,
    }
    assert lookup.spec is lookup.spec
    assert lookup.source == "code"
    assert not lookup.is_async


def test_a_tool_is_called_like_the_function() -> None:
    context: Any = object()
    assert lookup(context, "A", port=3) == "A:3"
    assert lookup.__name__ == "lookup"
    assert list(inspect.signature(lookup).parameters) == ["ctx", "switch", "port"]


def test_a_tool_is_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        lookup.name = "other"  # type: ignore[misc]


def test_every_kind_of_type_has_a_schema() -> None:
    @tool
    def wide(  # type: ignore[no-untyped-def]
        row: Row,
        point: Point,
        options: Options,
        colour: Colour,
        word: Literal["a", "b"],
        maybe: int | None,
        when: datetime.datetime,
        price: decimal.Decimal,
        many: list[Row],
        bare,  # noqa: ANN001
    ) -> None: ...

    schema = wide.spec.parameters
    assert set(schema["$defs"]) == {"Row", "Point", "Options", "Colour"}
    assert schema["properties"]["bare"] == {}
    assert schema["properties"]["word"]["enum"] == ["a", "b"]
    assert schema["properties"]["when"]["format"] == "date-time"
    assert schema["properties"]["maybe"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert set(schema["$defs"]["Row"]["properties"]) == {"id", "title"}
    assert '"title":"' not in wide.parameters_json


def test_the_schema_is_the_same_each_time() -> None:
    def make() -> str:
        return Tool.of(lookup.function).parameters_json

    assert make() == make() == lookup.parameters_json


def test_parameters_may_have_any_name() -> None:
    @tool
    def odd(_private: int, model_config: str, model_x: int, schema: str, json: int, copy: int, validate: int, self_: int) -> None: ...

    assert odd.parameters == ("_private", "model_config", "model_x", "schema", "json", "copy", "validate", "self_")
    assert set(odd.spec.parameters["properties"]) == set(odd.parameters)


def test_a_default_that_is_no_json_is_left_out_of_the_schema() -> None:
    marker = object()

    @tool
    def with_marker(x: Any = marker) -> None: ...

    assert with_marker.spec.parameters["properties"]["x"] == {}
    assert with_marker.checker.validate_json("{}")["x"] is marker


def test_none_as_default_lets_null_in() -> None:
    @tool
    def lax(x: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    assert lax.checker.validate_json('{"x": null}') == {"x": None}


def test_field_as_default_value_is_understood() -> None:
    @tool
    def styled(n: int = Field(3, ge=1, description="How many.")) -> None: ...

    assert styled.spec.parameters["properties"]["n"] == {"type": "integer", "default": 3, "minimum": 1, "description": "How many."}


def test_an_explicit_description_wins_over_the_docstring() -> None:
    @tool
    def described(a: Annotated[int, Field(description="explicit")], b: int) -> None:
        """Do.

        Args:
            a: from the docstring
            b: kept
        """

    properties = described.spec.parameters["properties"]
    assert properties["a"]["description"] == "explicit"
    assert properties["b"]["description"] == "kept"


def numpy_style(a: int, b: int, c: int) -> None: ...


numpy_style.__doc__ = """Add things.

    Parameters
    ----------
    a : int
        First
        number.
    b, c : int
        Others.

    Returns
    -------
    int
        Sum.
    """


def google_style(a: int, b: int, c: int) -> None:
    """Add things.

    Args:
        a: First
            number.
        b, c (int): Others.

    Returns:
        Sum.
    """


def sphinx_style(a: int, b: int, c: int) -> None:
    """Add things.

    :param a: First
        number.
    :param int b: Others.
    :parameter c: Others.
    :returns: Sum.
    """


@pytest.mark.parametrize("function", [numpy_style, google_style, sphinx_style])
def test_other_docstring_styles(function: Any) -> None:
    made = Tool.of(function)
    assert made.description == "Add things."
    texts = {name: item["description"] for name, item in made.spec.parameters["properties"].items()}
    assert texts == {"a": "First number.", "b": "Others.", "c": "Others."}


def test_a_docstring_without_parameters_is_the_description() -> None:
    @tool
    def plain() -> None:
        """Say: hello.

        Returns:
            Nothing.
        """

    assert plain.description == "Say: hello.\n\nReturns:\n    Nothing."
    assert plain.spec.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


# --- the context ------------------------------------------------------------------------------------------------------------


def bare_context(x: int, c: ToolContext) -> None: ...
def optional_context(x: int, c: Optional[ToolContext[Any]] = None) -> None: ...  # noqa: UP045
def union_context(x: int, c: ToolContext[Any] | None = None) -> None: ...
def string_context(x: int, c: "ToolContext[Missing]") -> None: ...  # noqa: UP037
def string_union_context(x: int, c: ToolContext[Missing] | None = None) -> None: ...
def annotated_context(x: int, c: Annotated[ToolContext[Any], "note"]) -> None: ...


class OwnContext(ToolContext[int]): ...


def derived_context(x: int, c: OwnContext) -> None: ...


@pytest.mark.parametrize(
    "function",
    [bare_context, optional_context, union_context, string_context, string_union_context, annotated_context, derived_context],
)
def test_the_context_is_found_by_its_type(function: Any) -> None:
    made = Tool.of(function)
    assert made.context_parameter == "c"
    assert made.parameters == ("x",)


def test_the_context_is_found_in_annotations_that_are_no_text() -> None:
    names: dict[str, Any] = {"ToolContext": ToolContext}
    exec("def f(x: int, c: ToolContext[int]) -> None: ...", names)
    assert Tool.of(names["f"]).context_parameter == "c"


def test_two_contexts_are_refused() -> None:
    def two(a: ToolContext[Any], b: ToolContext[Any]) -> None: ...

    with pytest.raises(ToolSchemaError, match="'a' and 'b' both take the context"):
        Tool.of(two)


def test_a_parameter_named_ctx_of_another_type_is_an_argument() -> None:
    def other(ctx: str) -> None: ...

    assert Tool.of(other).parameters == ("ctx",)


def test_local_types_are_found() -> None:
    class Local(pydantic.BaseModel):
        n: int

    @tool
    def takes_local(item: Local) -> None: ...

    assert takes_local.checker.validate_json('{"item": {"n": 1}}')["item"] == Local(n=1)


# --- declarations -----------------------------------------------------------------------------------------------------------


def test_declarations_are_collected_and_are_no_part_of_the_schema() -> None:
    asked = FromPerson("Which period?")

    @tool
    def report(period: Annotated[str, Field(min_length=2), asked], maybe: Annotated[int, FromPerson("n")] | None = None) -> None: ...

    assert report.declarations["period"] == (asked,)
    assert [d.question for d in report.declarations["maybe"] if isinstance(d, FromPerson)] == ["n"]
    assert report.spec.parameters["properties"]["period"] == {"type": "string", "minLength": 2}


def test_a_declaration_class_in_place_of_an_instance_is_refused() -> None:
    def report(period: Annotated[str, FromPerson]) -> None: ...

    with pytest.raises(ToolSchemaError, match=re.escape("write FromPerson(...)")):
        Tool.of(report)


# --- kinds of callables -----------------------------------------------------------------------------------------------------


class Service:
    """A service."""

    def __init__(self, base: int) -> None:
        self.base = base

    def method(self, n: int) -> int:
        """Add."""
        return self.base + n

    @tool
    def decorated(self, n: int) -> int:
        """Add."""
        return self.base + n

    @staticmethod
    def static(n: int) -> int:
        return n

    async def __call__(self, n: int) -> int:
        """Add, later."""
        return self.base + n


def test_bound_method() -> None:
    made = Tool.of(Service(1).method)
    assert (made.name, made.description, made.parameters) == ("method", "Add.", ("n",))
    assert made.invoke(None, {"n": 2}) == 3


def test_decorated_method_binds_to_its_instance() -> None:
    assert Service.decorated.unbound
    assert Service.decorated.parameters == ("n",)
    made = Service(5).decorated
    assert not made.unbound
    assert made.invoke(None, {"n": 2}) == 7


def test_static_method() -> None:
    assert Tool.of(Service.static).parameters == ("n",)
    assert Tool.of(staticmethod(Service.static)).invoke(None, {"n": 2}) == 2


def test_callable_object() -> None:
    made = Tool.of(Service(1))
    assert (made.name, made.description, made.is_async, made.parameters) == ("Service", "Add, later.", True, ("n",))


def test_partial_hides_what_it_holds() -> None:
    def call(key: str, n: int) -> str:
        """Call."""
        return f"{key}{n}"

    made = Tool.of(functools.partial(call, key="s3cret"))
    assert (made.name, made.description, made.parameters) == ("call", "Call.", ("n",))
    assert "s3cret" not in made.parameters_json
    assert made.invoke(None, {"n": 1}) == "s3cret1"
    assert Tool.of(functools.partial(call, "s3cret")).parameters == ("n",)


def test_decorated_function_keeps_its_signature() -> None:
    def loud(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @tool
    @loud
    def wrapped(row: Row) -> int:
        """Wrapped."""
        return row.id

    assert wrapped.parameters == ("row",)
    assert wrapped.description == "Wrapped."


def test_async_function() -> None:
    @tool
    async def later() -> None: ...

    assert later.is_async


def test_of_a_tool_is_the_tool_and_takes_other_options() -> None:
    assert Tool.of(lookup) is lookup
    renamed = Tool.of(lookup, name="other", mutating=True)
    assert (renamed.name, renamed.spec.name, renamed.mutating, renamed.parameters) == ("other", "other", True, lookup.parameters)
    assert renamed.checker is lookup.checker
    assert not lookup.mutating


def test_invoke_gives_the_context_only_to_those_who_ask() -> None:
    seen: list[Any] = []

    def with_context(x: int, c: ToolContext[Any]) -> None:
        seen.append(c)

    context = object()
    Tool.of(with_context).invoke(context, {"x": 1})
    assert seen == [context]
    assert Tool.of(lambda x: x, name="plain").invoke(context, {"x": 4}) == 4


# --- refusals ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "has space", "dot.ted", "x" * 65, "ümlaut", "new\n"])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(ToolNameError):
        Tool.of(lookup.function, name=name)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ToolNameError, match="pass name="):
        Tool.of(lambda x: x)
    assert Tool.of(lambda x: x, name="same").name == "same"


def _star(*rest: int) -> None: ...
def _kwargs(**rest: int) -> None: ...
def _positional(a: int, /) -> None: ...
def _unresolvable(good: int, bad: Missing) -> None: ...
def _no_schema(good: int, bad: Callable[[], object]) -> None: ...
def _no_type(good: int, bad: inspect.Signature) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_star, "*rest has no schema"),
        (_kwargs, "**rest has no schema"),
        (_positional, "'a' is positional-only"),
        (_unresolvable, "parameter 'bad' names 'Missing'"),
        (_no_schema, "parameter 'bad'"),
        (_no_type, "parameter 'bad'"),
        (Service, "is a class"),
        ("text", "got a str"),
        (classmethod(lambda cls: None), "class method"),
    ],
)
def test_signatures_without_a_schema_are_refused(function: Any, words: str) -> None:
    with pytest.raises(ToolSchemaError, match=re.escape(words)):
        Tool.of(function)


def test_the_cause_of_an_unresolvable_annotation_is_chained() -> None:
    with pytest.raises(ToolSchemaError) as caught:
        Tool.of(_unresolvable)
    assert isinstance(caught.value.__cause__, NameError)


@pytest.mark.parametrize("max_chars", [0, -1, True, 1.5, "10", None])
def test_a_ceiling_must_be_a_positive_whole_number(max_chars: Any) -> None:
    with pytest.raises(LimitsError, match="max_chars"):
        ResultCeiling(max_chars)
    if max_chars is not None:
        with pytest.raises(LimitsError, match="'lookup'"):
            Tool.of(lookup, result_ceiling=max_chars)


def test_a_ceiling_as_a_number_and_with_names() -> None:
    assert Tool.of(lookup, result_ceiling=10).result_ceiling == ResultCeiling(10)
    assert Tool.of(lookup, result_ceiling=ResultCeiling(10, ("port",))).result_ceiling == ResultCeiling(10, ("port",))
    with pytest.raises(ConfigError, match="did you mean 'switch'"):
        Tool.of(lookup, result_ceiling=ResultCeiling(10, ("swich",)))
    for empty in (("",), (" ",), (3,)):
        with pytest.raises(ConfigError, match="narrow_by"):
            ResultCeiling(10, empty)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"timeout": 0}, LimitsError, "timeout"),
        ({"timeout": -1.5}, LimitsError, "timeout"),
        ({"timeout": True}, LimitsError, "timeout"),
        ({"timeout": "3"}, LimitsError, "timeout"),
        ({"timeout": float("nan")}, LimitsError, "timeout"),
        ({"timeout": 3, "inline": True}, ConfigError, "inline"),
        ({"approval": "always"}, ConfigError, "approval"),
        ({"approval": None}, ConfigError, "approval"),
        ({"approval": 1}, ConfigError, "approval"),
        ({"mutating": "yes"}, ConfigError, "mutating"),
        ({"repeated_when": "never"}, ConfigError, "repeated_when"),
        ({"redact": ("swich",)}, ConfigError, "did you mean 'switch'"),
        ({"metadata": {"a": object()}}, ConfigError, "metadata"),
        ({"metadata": [1]}, ConfigError, "metadata"),
        ({"aproval": True}, UnknownOptionError, "did you mean 'approval'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    for make in (lambda: tool(lookup.function, **options), lambda: tool(**options)(lookup.function), lambda: Tool.of(lookup, **options)):
        with pytest.raises(error, match=words):
            make()


def test_options_are_kept() -> None:
    def decide(ctx: Any, args: Any) -> bool:
        return bool(args)

    made = Tool.of(
        lookup,
        approval=decide,
        mutating=True,
        idempotent=True,
        inline=True,
        deferred=True,
        repeated_when="arguments",
        redact=("switch",),
        metadata={"team": ["net"]},
        source="mcp:net",
        description="  Other.\n  More.",
    )
    assert made.approval is decide
    assert (made.mutating, made.idempotent, made.inline, made.deferred) == (True, True, True, True)
    assert (made.repeated_when, made.redact, dict(made.metadata), made.source) == ("arguments", ("switch",), {"team": ["net"]}, "mcp:net")
    assert made.description == made.spec.description == "Other.\nMore."
    with pytest.raises(TypeError):
        made.metadata["team"] = 1  # type: ignore[index]


# --- raw tools --------------------------------------------------------------------------------------------------------------


def test_raw_tool() -> None:
    async def handler(ctx: Any, arguments: dict[str, Any]) -> Any:
        return ctx, arguments

    schema: dict[str, Any] = {"properties": {"url": {"type": "string"}}}
    made = raw_tool("fetch", "Fetch.", schema, handler, source="mcp:web", result_ceiling=ResultCeiling(9, ("url",)))
    assert made.raw
    assert made.is_async
    assert (made.name, made.description, made.source, made.parameters) == ("fetch", "Fetch.", "mcp:web", ("url",))
    assert made.spec.parameters == {"type": "object", "properties": {"url": {"type": "string"}}}
    assert raw_tool("none", "", None, lambda ctx, arguments: (ctx, arguments)).invoke(1, {"a": 2}) == (1, {"a": 2})
    assert raw_tool("none", "", None, handler).spec.parameters == {"type": "object", "properties": {}}


def test_raw_tool_refusals() -> None:
    with pytest.raises(ToolNameError):
        raw_tool("a.b", "", None, print)
    with pytest.raises(ToolSchemaError, match="got a list"):
        raw_tool("a", "", [], print)  # type: ignore[arg-type]
    with pytest.raises(ToolSchemaError, match="not JSON"):
        raw_tool("a", "", {"properties": {"x": object()}}, print)
    with pytest.raises(ToolSchemaError, match="handler"):
        raw_tool("a", "", None, 3)  # type: ignore[arg-type]
    with pytest.raises(UnknownOptionError, match="did you mean 'timeout'"):
        raw_tool("a", "", None, print, timout=3)  # type: ignore[call-arg]


def test_importing_tools_does_not_import_jsonschema() -> None:
    code = "import sys, agentfp_core.tools, agentfp_core.arguments; print('jsonschema' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
