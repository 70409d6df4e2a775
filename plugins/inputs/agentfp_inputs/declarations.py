"""What an author writes on a parameter: ask the person, or assume a value."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

from agentfp.plugin import ConfigError, Declaration
from agentfp_inputs.text import tokens

Scalar: TypeAlias = str | int | float | bool
QUESTION_CHARS, CHOICES, SAID, SAID_CHARS = 4096, 100, 16, 120


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """One value that a person may choose.

    Args:
        value: the value.
        said: other words for it; a person who said them has chosen it.

    Raises:
        ConfigError: it cannot be a value, or the words are none.
    """

    value: Scalar
    said: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "said", (self.said,) if isinstance(self.said, str) else tuple(self.said))
        problem = wrong_value(self.value)
        if problem is None and len(self.said) > SAID:
            problem = f"has {len(self.said)} phrases in `said`; at most {SAID}"
        for phrase in self.said:
            if not isinstance(phrase, str) or len(phrase) > SAID_CHARS or not tokens(phrase):
                problem = f"`said` takes texts with a word in them, of at most {SAID_CHARS} characters"
        if problem is not None:
            raise ConfigError(f"Choice: {problem}; correct it")


class FromPerson(Declaration):
    """Marks a parameter that only the person can know: ``span: Annotated[str, FromPerson("How far back?")]``.

    The model may leave it out; then the person is asked before anything runs.

    Args:
        question: what the person is asked.
        choices: the values to choose from, plain or as :class:`Choice`; None for any value that fits the parameter.

    Raises:
        ConfigError: the question is blank, or the choices are none; says which.
    """

    __slots__ = ("choices", "question")
    plugin: ClassVar[str] = "inputs"

    def __init__(self, question: str, *, choices: Sequence[Choice | Scalar] | None = None) -> None:
        if not isinstance(question, str) or not question.strip() or len(question) > QUESTION_CHARS:
            raise ConfigError(f"FromPerson needs a question of 1 to {QUESTION_CHARS} characters; write what the person is asked")
        self.question = question
        self.choices = None if choices is None else read_choices(choices)

    def __repr__(self) -> str:
        return f"FromPerson({self.question!r})"


class Assume(Declaration):
    """Marks a parameter with the value that is taken where nobody gives one: ``top: Annotated[int, Assume(20)]``.

    Unlike a default of the function, the record says that it was assumed, and so does a note that the model reads.

    Args:
        value: the value.

    Raises:
        ConfigError: it cannot be a value of an argument.
    """

    __slots__ = ("value",)
    plugin: ClassVar[str] = "inputs"

    def __init__(self, value: Scalar) -> None:
        problem = wrong_value(value)
        if problem is not None:
            raise ConfigError(f"Assume: {problem}; correct it")
        self.value = value

    def __repr__(self) -> str:
        return f"Assume({self.value!r})"


def read_choices(given: Sequence[Choice | Scalar]) -> tuple[Choice, ...]:
    """Choices of what an author wrote.

    Raises:
        ConfigError: there are none or too many, two are the same, or two share a phrase.
    """
    if isinstance(given, str) or not isinstance(given, Sequence) or not 1 <= len(given) <= CHOICES:
        raise ConfigError(f"FromPerson: choices is a list of 1 to {CHOICES} values; leave it out for any value")
    choices = tuple([one if isinstance(one, Choice) else Choice(one) for one in given])
    seen: set[tuple[str, Scalar]] = set()
    phrases: dict[str, Scalar] = {}
    for choice in choices:
        key = (type(choice.value).__name__, choice.value)
        if key in seen:
            raise ConfigError(f"FromPerson: the choice {choice.value!r} stands there twice; leave one out")
        seen.add(key)
        for phrase in choice.said:
            if phrases.setdefault(tokens(phrase), choice.value) is not choice.value:
                raise ConfigError(f"FromPerson: two choices are called {phrase!r}; a phrase may mean one choice only")
    return choices


def wrong_value(value: Any) -> str | None:
    """What keeps a value from being one of an argument; None for nothing."""
    if isinstance(value, str):
        return None if value.strip() and len(value) <= QUESTION_CHARS else f"a text has 1 to {QUESTION_CHARS} characters and is not blank"
    if isinstance(value, float) and not math.isfinite(value):
        return "a number must be finite"
    return None if isinstance(value, (bool, int, float)) else f"a value is a text, a number or a flag, got a {type(value).__name__}"
