"""What can be set, and what is refused."""

from __future__ import annotations

import inspect
import pkgutil
from typing import Any, Literal

import pydantic

from agentfp.plugin import Plugin


def _a_classifier(value: Any) -> Any:
    """A classifier, or the import path of what makes one."""
    if isinstance(value, str):
        try:
            value = pkgutil.resolve_name(value)()
        except Exception as error:  # what is imported and called may raise anything
            raise ValueError(
                f"it is no import path of a function without arguments ({type(error).__name__}); write 'module:name'"
            ) from error
    if value is None:
        return None
    name = getattr(value, "name", None)
    if isinstance(value, type) or not isinstance(name, str) or not name.strip():
        raise ValueError(f"it is a classifier with a name, got {'the class ' if isinstance(value, type) else 'a '}{_kind(value)}")
    if not inspect.iscoroutinefunction(getattr(value, "classify", None)):
        raise ValueError(f"it is a classifier with an async method 'classify', which {_kind(value)} has not")
    return value


def _kind(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else type(value).__name__


class FindingsSettings(Plugin.Settings):
    """Settings of the findings plugin."""

    serve: Literal["ledger-and-facts", "ledger-only"] = "ledger-and-facts"
    """Which results are served in full: facts too, or only what is open or undeclared."""
    offer: Literal["text", "enum"] = "text"
    """Where the ids that may be named stand: in the ledger's piece, or in the schemas, which then change from call to call."""
    answer_ask: Literal["none", "quote-facts"] = "none"
    """Whether the model is asked to answer from its facts and to quote them."""
    keep_ledger_facts: int | None = pydantic.Field(None, ge=0)
    """How many turns a window keeps for the facts in them; 4 when it is not set, 0 or false for none."""
    max_context_bytes: int = pydantic.Field(16_384, ge=1024, le=262_144, strict=True)
    """Ceiling of the ledger's piece, in bytes."""
    argument_sources: bool = pydantic.Field(False, strict=True)
    """Whether calls say where arguments come from; needs the plugin inputs."""
    judge: Any = None
    """A classifier that judges each result too, for the record; or the import path of a function that makes one."""

    @pydantic.field_validator("keep_ledger_facts", mode="before")
    @classmethod
    def _a_number(cls, value: Any) -> Any:
        if value is True or not isinstance(value, (int, type(None))):
            raise ValueError("it is false or a whole number from 0")
        return 0 if value is False else value

    _a_classifier = pydantic.field_validator("judge", mode="before")(_a_classifier)
