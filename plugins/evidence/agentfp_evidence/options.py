"""How answers are judged: the options of a judgement, checked once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

from agentfp.plugin import ConfigError, nearest
from agentfp_evidence.normalise import forms, normalise

Profile: TypeAlias = Literal["standard", "lexical", "strict"]
PROFILES: tuple[str, ...] = get_args(Profile)
_FLAGS = re.IGNORECASE | re.ASCII


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape of values that are data in this application, for example ``Shape("ticket", "ops-[a-z]{4}")``.

    Args:
        name: what such a value is called in reports.
        pattern: a regular expression for the whole value; case does not count.
    """

    name: str
    pattern: str | re.Pattern[str]

    def matches(self, token: str) -> bool:
        """Whether a token has this shape."""
        return re.compile(_text_of(self.pattern), _FLAGS).fullmatch(token) is not None


@dataclass(frozen=True)
class EvidenceOptions:
    """Options of a judgement.

    Args:
        profile: ``standard``; ``lexical``, which compares tokens; or ``strict``, where weak numbers and dates are strong.
        min_digits: digits that a bare number needs to be data at the lexical level.
        figures: at the lexical level, judge numbers with units and look for derivations.
        shapes: further shapes of data.
        exempt: values that are never judged: texts, or patterns for whole values.

    Raises:
        ConfigError: an option does not fit; names all that do not.
    """

    profile: Profile = "standard"
    min_digits: int = 4
    figures: bool = False
    shapes: tuple[Shape, ...] = ()
    exempt: tuple[str | re.Pattern[str], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "shapes", tuple(self.shapes))
        exempt: Any = self.exempt
        object.__setattr__(self, "exempt", (exempt,) if isinstance(exempt, (str, re.Pattern)) else tuple(exempt))
        problems = list(self._problems())
        if problems:
            raise ConfigError(problems)

    def _problems(self) -> Iterable[str]:
        if self.profile not in PROFILES:
            yield f"profile {self.profile!r} is unknown; {nearest(str(self.profile), PROFILES)}"
        if isinstance(self.min_digits, bool) or not isinstance(self.min_digits, int) or self.min_digits < 1:
            yield f"min_digits takes a whole number from 1, got {self.min_digits!r}"
        if not isinstance(self.figures, bool):
            yield f"figures takes True or False, got {self.figures!r}"
        names: set[str] = set()
        for shape in self.shapes:
            if not isinstance(shape, Shape):
                yield f"shapes takes Shape objects, got {shape!r}"
                continue
            if not isinstance(shape.name, str) or not shape.name.strip():
                yield "a shape needs a name"
            elif shape.name in names:
                yield f"two shapes are named {shape.name!r}; give each its own name"
            names.add(str(shape.name))
            yield from _bad_pattern(shape.pattern, f"the pattern of shape {shape.name!r}")
        for entry in self.exempt:
            if not isinstance(entry, (str, re.Pattern)):
                yield f"exempt takes texts and compiled patterns, got {entry!r}"
            elif isinstance(entry, re.Pattern):
                yield from _bad_pattern(entry, "a pattern of exempt")

    @cached_property
    def _exempt_forms(self) -> frozenset[str]:
        return frozenset(f for entry in self.exempt if isinstance(entry, str) for f in forms(normalise(entry)))

    @cached_property
    def _exempt_patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(e.pattern, _FLAGS) for e in self.exempt if isinstance(e, re.Pattern))

    @cached_property
    def _shape_patterns(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        return tuple((s.name, re.compile(_text_of(s.pattern), _FLAGS)) for s in self.shapes)

    def is_exempt(self, token: str) -> bool:
        """Whether a normalised token is never judged."""
        if self._exempt_forms and any(form in self._exempt_forms for form in forms(token)):
            return True
        return any(pattern.fullmatch(token) for pattern in self._exempt_patterns)

    def shape_of(self, token: str) -> str | None:
        """Name of the declared shape that a token has."""
        return next((name for name, pattern in self._shape_patterns if pattern.fullmatch(token)), None)


def _text_of(pattern: str | re.Pattern[str]) -> str:
    return pattern.pattern if isinstance(pattern, re.Pattern) else pattern


def _bad_pattern(pattern: Any, what: str) -> Iterable[str]:
    text = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
    if not isinstance(text, str):
        yield f"{what} must be a regular expression for text, got {pattern!r}"
        return
    try:
        re.compile(text, _FLAGS)
    except re.error as error:
        yield f"{what} is no regular expression ({error})"
    except ValueError as error:
        yield f"{what} cannot be used ({error}); leave its flags out"
