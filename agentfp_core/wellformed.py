"""Whether values that were made outside of the kernel hold what they declare.

Python checks no annotation. What a model's adapter, a plugin or a caller hands over goes onto the record, and one field of
another type would make a record that nobody can read back. So it is looked at where it comes in; values are named in no message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from agentfp_core.messages import DocumentPart, ImagePart, Message, ThinkingBlock, ToolCall, Usage
from agentfp_core.verdicts import Allow, Approval, AskField, AskPerson, Deny, Halt, Note, Refuse, Replace, Revise, Withhold

Rule: TypeAlias = "tuple[str, Callable[[Any], bool]]"
"""What a field must be, in words, and the test for it."""


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _count_or_none(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _object_or_none(value: Any) -> bool:
    return value is None or isinstance(value, Mapping)


def _seconds_or_none(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9)


def _texts(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(item, str) for item in value)


def _times(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _error(value: Any) -> bool:
    return isinstance(value, Exception)


def _tuple_of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, tuple) and all(isinstance(item, kinds) and misfit(item) is None for item in value)


TEXT: Rule = ("a text", _text)
TEXT_OR_NONE: Rule = ("a text or None", _text_or_none)
FLAG: Rule = ("True or False", _flag)
COUNT: Rule = ("a whole number from 0 or None", _count_or_none)
OBJECT: Rule = ("a mapping or None", _object_or_none)
SECONDS: Rule = ("seconds above 0 or None", _seconds_or_none)
ROLE: Rule = ("a role", lambda value: isinstance(value, str) and value in ("system", "user", "assistant", "tool"))
TURN: Rule = ("a number of a turn", lambda value: _count_or_none(value) and value is not None and value < 2**31)

_RULES: Mapping[type, Mapping[str, Rule]] = {
    ToolCall: {"id": TEXT_OR_NONE, "name": TEXT, "arguments_json": TEXT, "provider_meta": TEXT_OR_NONE},
    ThinkingBlock: {"text": TEXT, "signature": TEXT_OR_NONE, "redacted": FLAG, "provider_meta": TEXT_OR_NONE},
    Usage: dict.fromkeys(("input", "output", "cache_read", "cache_write", "thinking"), COUNT),
    Message: {
        "id": TEXT,
        "role": ROLE,
        "content": TEXT,
        "turn": TURN,
        "author": TEXT,
        "tool_calls": ("a tuple of ToolCall whose fields are texts", _tuple_of(ToolCall)),
        "tool_call_id": TEXT_OR_NONE,
        "tool_name": TEXT_OR_NONE,
        "notes": ("a tuple of texts", lambda value: isinstance(value, tuple) and _texts(value)),
        "parts": ("a tuple of ImagePart and DocumentPart", _tuple_of(ImagePart, DocumentPart)),
        "thinking": ("a tuple of ThinkingBlock whose fields are texts", _tuple_of(ThinkingBlock)),
        "own": TEXT_OR_NONE,
        "failed": FLAG,
    },
    Approval: {"approved": FLAG, "by": TEXT_OR_NONE, "note": TEXT_OR_NONE, "args": OBJECT, "pinned": TEXT_OR_NONE},
    Allow: {"args": OBJECT, "origin": ("'person', 'app' or None", lambda value: value in ("person", "app", None))},
    Deny: {"reason": TEXT, "tell_model": TEXT_OR_NONE, "rule": TEXT_OR_NONE},
    Halt: {"reason": TEXT, "tell_model": TEXT_OR_NONE, "rule": TEXT_OR_NONE},
    AskField: {
        "key": TEXT,
        "prompt": TEXT,
        "schema": OBJECT,
        "call_id": TEXT_OR_NONE,
        "pinned": TEXT_OR_NONE,
        "required": FLAG,
    },
    AskPerson: {"component": TEXT_OR_NONE, "expires_in": SECONDS},
    Replace: {"content": TEXT},
    Withhold: {"reason": TEXT, "tell_model": TEXT_OR_NONE},
    Note: {"text": TEXT},
    Revise: {"pieces": ("a list of texts", _texts), "key": TEXT, "max": ("a whole number", _times)},
    Refuse: {"error": ("an exception", _error), "tell_person": TEXT_OR_NONE},
}


def plain(value: Any) -> bool:
    """Whether a value is one of the frequent ones with nothing out of the ordinary; where it is not, :func:`misfit` says more."""
    if type(value) is Usage:
        for count in (value.input, value.output, value.cache_read, value.cache_write, value.thinking):
            if count is not None and (type(count) is not int or count < 0):
                return False
        return True
    if type(value) is not ToolCall:
        return False
    return type(value.id) is str and type(value.name) is str and type(value.arguments_json) is str and value.provider_meta is None


def misfit(value: Any) -> str | None:
    """What is wrong with a value's fields, in words that name no value; None when all of them fit.

    Args:
        value: one of the value types that come in from outside; of any other type nothing is known.
    """
    rules = _RULES.get(type(value))
    if rules is None:
        rules = next((found for kind, found in _RULES.items() if isinstance(value, kind)), {})
    for name, (words, fits) in rules.items():
        held = getattr(value, name)
        if not fits(held):
            return f"{type(value).__name__}.{name} must be {words}, got a {type(held).__name__}"
    return None
