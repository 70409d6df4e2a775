"""What can be set, and what is refused."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import pydantic

from agentfp.plugin import Plugin


class ExternalGround(NamedTuple):
    """A text that the application vouches for, so that an argument may carry it.

    Args:
        value: the text.
        source: where the application has it from, in words.
    """

    value: str
    source: str


class IntegritySettings(Plugin.Settings):
    """Settings of the integrity plugin."""

    posture: Literal["observe", "dev"] = "observe"
    """`dev` gives every check a known fault at the start of a leg, and refuses an answer of a run whose checks are not alive."""
    arguments_from: dict[str, tuple[str, ...]] = pydantic.Field(default_factory=dict)
    """By tool, the tools whose results its arguments come from; in place of what its author declares."""
    result_columns: dict[str, dict[str, Any]] = pydantic.Field(default_factory=dict)
    """By tool, what the columns of its result hold; in place of what its author declares."""
    check_column_types: Literal["off", "warn", "enforce"] = "off"
    """Whether columns are looked at, and whether a result that does not fit is kept from the model."""
    notice_empty_lookups: bool = pydantic.Field(False, strict=True)
    """Whether a look-up that found nothing is noticed when a result carries the value that was looked up."""
    notice_prior_turn_evidence: bool = pydantic.Field(False, strict=True)
    """Whether an answer is noticed whose values were all read in earlier turns; needs the plugin evidence."""
    external_grounds: Any = None
    """A function that gives `ExternalGround`s: texts that the application vouches for; or its import path."""

    @pydantic.field_validator("external_grounds", mode="before")
    @classmethod
    def _a_function(cls, value: Any) -> Any:
        if isinstance(value, str):
            try:
                value = pkgutil.resolve_name(value)
            except Exception as error:  # what is imported may raise anything
                raise ValueError(f"it is no import path ({type(error).__name__}); write 'module:name'") from error
        if value is not None and not callable(value):
            raise ValueError(f"it is a function without arguments, got a {type(value).__name__}")
        return value


def grounds_of(function: Any) -> list[ExternalGround]:
    """What an application vouches for now; nothing of what is malformed, and nothing at all when it raises.

    Args:
        function: the application's, or None.
    """
    if function is None:
        return []
    try:
        given = function()
        listed = list(given) if isinstance(given, Iterable) else []
    except Exception:  # what vouches for nothing grounds nothing
        return []
    found = []
    for entry in listed:
        value, source = getattr(entry, "value", None), getattr(entry, "source", None)
        if isinstance(value, str) and value.strip() and isinstance(source, str) and source.strip():
            found.append(ExternalGround(value.casefold(), source))
    return found
