"""What a tool says of the period that it reads: its forms and its limits, on a parameter or in its metadata."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from agentfp.plugin import ConfigError, Declaration, Tool, nearest
from agentfp_results.forms import Bounds, Day, Form, Joined, Lookback, Object, Reading
from agentfp_results.grammar import Length, duration

KEY = "period"
"""Key of a tool's metadata under which its period stands."""
Direction: TypeAlias = Literal["past", "future", "any"]
SPELLINGS = ("lookback", "signed-lookback", "iso-range", "wall-range")
_FORMS: Mapping[str, type[Any]] = {form.kind: form for form in (Bounds, Joined, Object, Day, Lookback)}
_FACTS = ("direction", "retention", "max_range", "granularity", "filters_to_asked")
_UNDERSCORED = {"from": "from_", "as": "as_"}


@dataclasses.dataclass(frozen=True, slots=True)
class ToolPeriod:
    """What a tool says of the period that it reads.

    Args:
        forms: the ways to say it, those that are preferred first.
        direction: which times it knows: ``past``, ``future`` or ``any``.
        retention: how far back it keeps anything, such as ``30d``.
        max_range: the longest period that it takes.
        granularity: the distance of its readings.
        filters_to_asked: what it was asked for beyond the period it filters out by itself.

    Attributes:
        arguments: the arguments that say the period, each once.
        argument: the one that stands for it.
        needs_zone: whether one of its forms cannot be read without a zone.
    """

    forms: tuple[Form, ...]
    direction: Direction = "any"
    retention: Length | None = None
    max_range: Length | None = None
    granularity: Length | None = None
    filters_to_asked: bool = False
    arguments: tuple[str, ...] = dataclasses.field(init=False)
    argument: str = dataclasses.field(init=False)
    needs_zone: bool = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        names = tuple(dict.fromkeys([name for form in self.forms for name in form.arguments]))
        object.__setattr__(self, "arguments", names)
        object.__setattr__(self, "argument", names[0])
        object.__setattr__(self, "needs_zone", any(form.needs_zone for form in self.forms))


def spelled(spelling: str, argument: str, zone: str | None = None) -> Form:
    """The form with a short name.

    Raises:
        ConfigError: there is no such spelling, or it needs a zone.
    """
    if spelling not in SPELLINGS:
        raise ConfigError(f"Period: there is no spelling {spelling!r}; {nearest(str(spelling), SPELLINGS)}")
    if spelling == "iso-range":
        return Joined(argument)
    if spelling == "wall-range":
        return Joined(argument, as_="wall", zone=zone)
    return Lookback(argument, signed=spelling == "signed-lookback")


class Period(Declaration):
    """Marks the parameter that says a period: ``span: Annotated[str, Period("lookback", retention="30d")]``.

    Args:
        *spellings: how it may be said, preferred first: ``lookback`` (``45m``), ``signed-lookback`` (``-45m``), ``iso-range``
            (``2027-03-04T09:15:00Z..2027-03-04T11:00:00Z``), ``wall-range`` (the same without a zone).
        zone: the parameter that takes the zone of a ``wall-range``; None for the run's zone.
        direction: which times the tool knows: ``past``, ``future`` or ``any``.
        retention: how far back it keeps anything, such as ``30d``.
        max_range: the longest period that it takes.
        granularity: the distance of its readings.
        filters_to_asked: it leaves out of its result what lies beyond the period.

    Raises:
        ConfigError: a spelling or a length cannot be read.
    """

    __slots__ = ("facts", "spellings", "zone")
    plugin: ClassVar[str] = "results"

    def __init__(
        self,
        *spellings: str,
        zone: str | None = None,
        direction: Direction = "any",
        retention: str | None = None,
        max_range: str | None = None,
        granularity: str | None = None,
        filters_to_asked: bool = False,
    ) -> None:
        if not spellings:
            raise ConfigError(f"Period: say how it is spelled: one or more of {', '.join(SPELLINGS)}")
        self.spellings = spellings
        self.zone = zone
        self.facts = facts_of(
            {
                "direction": direction,
                "retention": retention,
                "max_range": max_range,
                "granularity": granularity,
                "filters_to_asked": filters_to_asked,
            }
        )
        self.forms_for("argument")

    def forms_for(self, argument: str) -> tuple[Form, ...]:
        """The forms, for a parameter."""
        return tuple([spelled(spelling, argument, self.zone) for spelling in self.spellings])

    def respell(self, value: Any, other: Declaration) -> Any:
        """The same length of time as another parameter's spelling has it; a value of its own where it can be read.

        Args:
            value: the argument of the other parameter.
            other: what is declared of that parameter.
        """
        by = Reading(0)
        if other is self:
            forms = self.forms_for("it")
            known = any(form.needs_zone or form.read({"it": value}, by) is not None for form in forms)
            return value if known else None
        if not isinstance(other, Period):
            return None
        for theirs in other.forms_for("it"):
            found = theirs.read({"it": value}, by) if isinstance(theirs, Lookback) else None
            if isinstance(found, Length):
                for mine in self.forms_for("it"):
                    written = mine.write(found, by) if isinstance(mine, Lookback) else None
                    if written is not None:
                        return written.arguments["it"]
        return None

    def __repr__(self) -> str:
        return f"Period({', '.join(map(repr, self.spellings))})"


def period(*forms: Form, **facts: Any) -> dict[str, Any]:
    """What a tool with a period in several parameters, or of another form, says in its metadata.

    ``@tool(metadata=period(Bounds("start", "end", edge="exclusive"), retention="30d"))``

    Args:
        *forms: how it may be said, preferred first.
        **facts: as of :class:`Period`.

    Raises:
        ConfigError: there is no form, or a fact cannot be read.
    """
    if not forms:
        raise ConfigError("period: name one or more forms, such as Bounds('start', 'end', edge='exclusive')")
    facts_of(facts)
    return {KEY: {"forms": [_form_data(form) for form in forms], **facts}}


def _form_data(form: Form) -> dict[str, Any]:
    back = {name: key for key, name in _UNDERSCORED.items()}
    fields = {back.get(name, name): value for name, value in dataclasses.asdict(form).items() if value is not None}
    return {"form": form.kind, **fields}


# --- reading ---------------------------------------------------------------------------------------------------------------


def read_period(tool: Tool[..., Any]) -> ToolPeriod | None:
    """What a tool says of its period; None when it says nothing.

    Raises:
        ConfigError: with everything that is wrong with it, naming the tool.
    """
    marked = [(name, marker) for name, markers in tool.declarations.items() for marker in markers if isinstance(marker, Period)]
    given = tool.metadata.get(KEY)
    if not marked and given is None:
        return None
    who = f"tool {tool.name!r}, its period"
    if len(marked) + (given is not None) > 1:
        raise ConfigError(f"{who}: it is declared {len(marked) + (given is not None)} times; declare it once, with all its forms")
    try:
        found = ToolPeriod(marked[0][1].forms_for(marked[0][0]), **marked[0][1].facts) if marked else _of_data(given)
    except ConfigError as error:
        raise ConfigError([f"{who}: {problem}" for problem in error.problems]) from error
    problems = [f"{who}: {problem}" for problem in _against_schema(tool, found)]
    if problems:
        raise ConfigError(problems)
    return found


def _of_data(given: Any) -> ToolPeriod:
    if not isinstance(given, Mapping):
        raise ConfigError("it must be a mapping")
    known = ("forms", "argument", "spelling", "accepts", "zone_argument", *_FACTS)
    for key in given:
        if key not in known:
            raise ConfigError(f"it has an unknown key {key!r}; {nearest(str(key), known)}")
    facts = facts_of({name: given[name] for name in _FACTS if name in given})
    if "forms" in given:
        forms = given["forms"]
        if not isinstance(forms, Sequence) or isinstance(forms, str) or not forms:
            raise ConfigError("forms must be a list with one or more forms")
        return ToolPeriod(tuple([_form_of(form) for form in forms]), **facts)
    spellings = given.get("accepts", [given["spelling"]] if "spelling" in given else [])
    if not isinstance(given.get("argument"), str) or not isinstance(spellings, (list, tuple)) or not spellings:
        raise ConfigError("it needs `forms`, or `argument` with `spelling` or `accepts`")
    return ToolPeriod(tuple([spelled(one, given["argument"], given.get("zone_argument")) for one in spellings]), **facts)


def _form_of(given: Any) -> Form:
    made = _FORMS.get(str(given.get("form"))) if isinstance(given, Mapping) else None
    if made is None:
        raise ConfigError(f"a form is a mapping whose `form` is one of {', '.join(_FORMS)}")
    fields = {_UNDERSCORED.get(key, key): value for key, value in given.items() if key != "form"}
    known = [field.name for field in dataclasses.fields(made)]
    for key in fields:
        if key not in known:
            raise ConfigError(f"form {given['form']!r} has no key {key!r}; {nearest(str(key), known)}")
    try:
        form: Form = made(**fields)
    except TypeError as error:
        raise ConfigError(f"form {given['form']!r} needs more keys: {', '.join(known)}") from error
    if not all(isinstance(name, str) for name in form.arguments):
        raise ConfigError(f"form {given['form']!r} names its arguments by texts")
    return form


def facts_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The facts beside the forms, read.

    Raises:
        ConfigError: one is unknown or cannot be read.
    """
    facts: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _FACTS:
            raise ConfigError(f"a period has no fact {name!r}; {nearest(name, _FACTS)}")
        if name == "direction":
            if value not in ("past", "future", "any"):
                raise ConfigError(f"direction is 'past', 'future' or 'any', got {value!r}; correct it")
            facts[name] = value
        elif name == "filters_to_asked":
            if not isinstance(value, bool):
                raise ConfigError(f"filters_to_asked is True or False, got {value!r}; correct it")
            facts[name] = value
        elif value is not None:
            length = duration(value, "smhdw")
            if length is None:
                raise ConfigError(f"{name} is a length such as '30d' or '45m', got {value!r}; correct it")
            facts[name] = length
    return facts


def _against_schema(tool: Tool[..., Any], found: ToolPeriod) -> list[str]:
    properties = json.loads(tool.parameters_json).get("properties", {})
    problems = []
    for form in found.forms:
        for name in (*form.arguments, *([form.zone] if form.zone is not None else [])):
            if name not in properties:
                problems.append(f"it names {name!r}, which is no argument; {nearest(name, list(properties))}")
                continue
            types = ("string",) if name == form.zone else form.types
            has = _types_in(properties[name])
            if has and not has & set(types):
                problems.append(f"argument {name!r} must be of type {' or '.join(types)} for {type(form).__name__}")
    return list(dict.fromkeys(problems))


def _types_in(schema: Any) -> set[str]:
    """The types that a property may have; empty where that cannot be told."""
    if not isinstance(schema, Mapping):
        return set()
    found: set[str] = set()
    for one in (schema, *(schema.get("anyOf") or ())):
        kind = one.get("type") if isinstance(one, Mapping) else None
        found.update([kind] if isinstance(kind, str) else kind if isinstance(kind, list) else [])
    return found - {"null"}
