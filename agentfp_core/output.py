"""Typed output: the contract between an answer's text and the output type, how a model is told, and the last resorts."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

import pydantic

from agentfp_core import jsontext
from agentfp_core.errors import ConfigError, OutputSchemaError
from agentfp_core.model import ModelResponse, ToolSpec

if TYPE_CHECKING:
    from agentfp_core.model import Model

Out = TypeVar("Out")
Stage: TypeAlias = Literal["json-parse", "schema-validate"]
Strategy: TypeAlias = Literal["auto", "instruct", "native", "tool"]
RESPOND = "respond_with_schema"
MARKER = "[agentfp:output]"
_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OutputProblem:
    """Why a text does not fit the output type.

    Args:
        stage: it is no JSON, or JSON that does not fit.
        path: where, of the first thing that does not fit.
        error: what is wrong there, as the validator says it.
    """

    stage: Stage
    path: str | None
    error: str


class OutputContract(Generic[Out]):
    """What an answer must be.

    Args:
        output_type: any type that pydantic can validate.
        retries: how often the model is asked again.
        strategy: ``native`` sends the schema to models that take one, ``tool`` as a forced tool, ``instruct`` as words;
            ``auto`` is native where the model has it.
        fallback: called with the error and the last text when no answer fits; gives a value of the type.
        canned: the value when that fails too.

    Raises:
        ConfigError: no schema can be made, or the settings do not go together; lists all problems.
    """

    def __init__(
        self,
        output_type: type[Out] | Any,
        *,
        retries: int = 1,
        strategy: Strategy = "auto",
        fallback: Callable[[OutputSchemaError, str], Any] | None = None,
        canned: Out | None = None,
    ) -> None:
        self.output_type: Any = output_type
        problems = []
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            problems.append(f"output_retries must be a whole number from 0, got {retries!r}")
        if strategy not in ("auto", "instruct", "native", "tool"):
            problems.append(f"output_strategy must be 'auto', 'instruct', 'native' or 'tool', got {strategy!r}")
        try:
            self.adapter: pydantic.TypeAdapter[Out] = pydantic.TypeAdapter(output_type)
            schema = self.adapter.json_schema()
            self.schema_json = jsontext.canonical(schema)
        except (pydantic.PydanticUserError, pydantic.PydanticInvalidForJsonSchema) as error:
            raise ConfigError([*problems, f"output_type {output_type!r} has no JSON schema: {error.message}"]) from error
        if strategy == "tool" and schema.get("type", "object") != "object":
            problems.append("output_strategy='tool' needs an output_type that is an object in JSON, for arguments are one; choose 'auto'")
        if canned is not None:
            try:
                self.adapter.validate_python(canned)
            except pydantic.ValidationError:
                problems.append("output_canned does not fit output_type; give a value of that type")
        if problems:
            raise ConfigError(problems)
        self.retries = retries
        self.strategy: Strategy = strategy
        self.fallback = fallback
        self.canned = canned
        self.tool = ToolSpec(RESPOND, "Give the final answer.", self.schema_json)

    # --- telling the model ---

    def way(self, model: Model) -> Strategy:
        """How this model is told."""
        if self.strategy == "auto":
            return "native" if model.features.json_schema else "instruct"
        return self.strategy

    def instruction(self, model: Model) -> str | None:
        """Words for the system text, where the schema is not sent otherwise."""
        if self.way(model) != "instruct":
            return None
        return f"Give the final answer as JSON that fits this JSON schema, and nothing else:\n{self.schema_json}"

    def request_fields(self, model: Model, *, tools: bool) -> tuple[str | None, str | None]:
        """The tool choice and the output schema of a request."""
        way = self.way(model)
        if way == "tool" and tools:
            return RESPOND, None
        return None, self.schema_json if way == "native" else None

    def unwrap(self, response: ModelResponse) -> ModelResponse | None:
        """Make an answer of a call of the synthetic tool, which is never run and never recorded as a call; None without one."""
        for call in response.tool_calls:
            if call.name == RESPOND:
                return dataclasses.replace(response, text=call.arguments_json, tool_calls=())
        return None

    # --- judging ---

    def check(self, text: str) -> Out | OutputProblem:
        """Judge an answer; JSON in one code fence is taken out of it first.

        Args:
            text: the answer.

        Returns:
            The value, or what is wrong.
        """
        fenced = _FENCE.match(text)
        body = fenced.group(1) if fenced else text
        try:
            jsontext.parse(body)
        except ValueError as error:
            return OutputProblem("json-parse", None, f"it is not JSON: {error}")
        try:
            return self.adapter.validate_json(body)
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            return OutputProblem("schema-validate", ".".join(map(str, first["loc"])) or None, first["msg"])

    def corrective(self, draft: str, problem: OutputProblem) -> str:
        """The words of a re-ask: the draft quoted, what is asked, and last what the validator says, as data."""
        where = f" at {problem.path}" if problem.path else ""
        return (
            f"{MARKER} The answer drafted for this was not accepted, for it does not fit the required JSON schema.\n"
            f"<draft>\n{draft}\n</draft>\n"
            f"Give the answer again as JSON that fits the schema, and nothing else. The validator says{where}:\n{problem.error}"
        )

    # --- last resorts ---

    async def last_resort(self, text: str, problem: OutputProblem) -> tuple[Out | None, str | None, str | None]:
        """Try the fallback, then the canned value.

        Returns:
            The value; which one it is (``fallback``, ``canned`` or None); and the class of the error of a fallback that failed.
        """
        failed: str | None = None
        if self.fallback is not None:
            try:
                made = self.fallback(OutputSchemaError(text, problem.stage, problem.error), text)
                if inspect.isawaitable(made):
                    made = await made
                return self.adapter.validate_python(made), "fallback", None
            except Exception as error:  # the user's function; the canned value is there for this
                failed = type(error).__name__
        if self.canned is not None:
            return self.adapter.validate_python(self.canned), "canned", failed
        return None, None, failed
