"""The rules of a tool, read from its markers and its metadata, and checked against its schema. Nothing is repaired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from agentfp import AgentfpError
from agentfp.plugin import ConfigError, Declaration, Tool, nearest
from agentfp_inputs.declarations import Assume, Choice, FromPerson, Scalar
from agentfp_inputs.schemas import Property, property_of
from agentfp_inputs.text import tokens

KEY = "inputs"
"""Key of a tool's metadata under which rules stand: ``{"top": {"assume": 20}, "span": {"ask": "How far back?"}}``."""
PRIMITIVES = ("string", "number", "integer", "boolean")
ASKED_MOST = 32


class Rule(NamedTuple):
    """What holds for one argument.

    Args:
        argument: its name.
        kind: whether the person is asked or a value is assumed.
        schema: what a value must fit.
        hidden: the tool keeps its value to itself.
        question: what the person is asked.
        choices: what there is to choose; None for any value.
        value: what is assumed.
        marker: another plugin's marker that tells how a value is spelled.
    """

    argument: str
    kind: Literal["ask", "assume"]
    schema: Property
    hidden: bool
    question: str = ""
    choices: tuple[Choice, ...] | None = None
    value: Scalar = ""
    marker: Declaration | None = None

    def phrases(self, value: Any) -> list[str]:
        """Tokens of the other words for a value."""
        return [tokens(phrase) for choice in self.choices or () if choice.value == value for phrase in choice.said]


def read_rules(tool: Tool[..., Any]) -> dict[str, Rule]:
    """The rules of a tool by argument, in the order of its parameters.

    Raises:
        ConfigError: with everything that is wrong with them, each naming tool and argument.
    """
    problems: list[str] = []
    written = _marked(tool, problems) | _in_metadata(tool, problems)
    rules: dict[str, Rule] = {}
    for argument, rule in written.items():
        try:
            rules[argument] = _checked(tool, argument, rule)
        except ConfigError as error:
            problems += [f"tool {tool.name!r}, argument {argument!r}: {problem}" for problem in error.problems]
    asked = sum(rule.kind == "ask" for rule in rules.values())
    if asked > ASKED_MOST:
        problems.append(f"tool {tool.name!r} asks a person for {asked} arguments; at most {ASKED_MOST}")
    if problems:
        raise ConfigError(problems)
    order = {name: index for index, name in enumerate(tool.parameters)}
    return dict(sorted(rules.items(), key=lambda item: order.get(item[0], len(order))))


def _marked(tool: Tool[..., Any], problems: list[str]) -> dict[str, FromPerson | Assume]:
    found: dict[str, FromPerson | Assume] = {}
    for argument, markers in tool.declarations.items():
        own = [marker for marker in markers if isinstance(marker, (FromPerson, Assume))]
        if len(own) > 1:
            problems.append(f"tool {tool.name!r}, argument {argument!r}: it has {len(own)} rules; keep FromPerson or Assume")
        elif own:
            found[argument] = own[0]
    return found


def _in_metadata(tool: Tool[..., Any], problems: list[str]) -> dict[str, FromPerson | Assume]:
    given = tool.metadata.get(KEY)
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not given:
        problems.append(f"tool {tool.name!r}: metadata[{KEY!r}] is a mapping of arguments to their rules, and not an empty one")
        return {}
    found: dict[str, FromPerson | Assume] = {}
    for argument, rule in given.items():
        try:
            found[argument] = _of_data(rule)
        except AgentfpError as error:
            problems.append(f"tool {tool.name!r}, argument {argument!r}: {error}")
    return found


def _of_data(rule: Any) -> FromPerson | Assume:
    if not isinstance(rule, Mapping) or ("ask" in rule) == ("assume" in rule):
        raise ConfigError('its rule is {"ask": "question"} or {"assume": value}; write one of them')
    known = ("ask", "choices") if "ask" in rule else ("assume",)
    for key in rule:
        if key not in known:
            raise ConfigError(f"its rule has an unknown key {key!r}; {nearest(str(key), known)}")
    if "assume" in rule:
        return Assume(rule["assume"])
    choices = rule.get("choices")
    if isinstance(choices, (list, tuple)):
        choices = [_choice(one) for one in choices]
    return FromPerson(rule["ask"], choices=choices)


def _choice(one: Any) -> Any:
    if not isinstance(one, Mapping):
        return one
    wrong = next((key for key in one if key not in ("value", "said")), None)
    if wrong is not None or "value" not in one:
        raise ConfigError(f'a choice is a value, or {{"value": ..., "said": [...]}}; got the key {wrong!r}')
    return Choice(one["value"], one.get("said", ()))


def _checked(tool: Tool[..., Any], argument: str, rule: FromPerson | Assume) -> Rule:
    schema = property_of(tool, argument)
    others = [marker for marker in tool.declarations.get(argument, ()) if not isinstance(marker, (FromPerson, Assume))]
    if any(marker.wire_type is not None for marker in others):
        raise ConfigError(f"another plugin puts its value in ({others[0]!r}), so it cannot have a rule")
    if schema.type not in PRIMITIVES:
        raise ConfigError(f"its type must be one of {', '.join(PRIMITIVES)}, without null and without alternatives; give it a plain type")
    problems: list[str] = []
    choices = rule.choices if isinstance(rule, FromPerson) else None
    values = [rule.value] if isinstance(rule, Assume) else [choice.value for choice in choices or ()]
    marker = next((one for one in others if type(one).respell is not Declaration.respell), None)
    for value in values:
        if not schema.fits(value):
            problems.append(f"the value {value!r} does not fit its schema: {schema.expects}")
        elif marker is not None and marker.respell(value, marker) is None:
            problems.append(f"the value {value!r} is not spelled as {marker!r} says")
    if problems:
        raise ConfigError(problems)
    hidden = argument in tool.redact
    if isinstance(rule, Assume):
        return Rule(argument, "assume", schema, hidden, value=rule.value, marker=marker)
    return Rule(argument, "ask", schema, hidden, rule.question, choices, marker=marker)
