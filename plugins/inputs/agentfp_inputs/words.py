"""The sentences of the plugin: what a schema says of an argument, what a note says, what a person is asked again."""

from __future__ import annotations

from typing import Any

from agentfp_inputs.declarations import QUESTION_CHARS
from agentfp_inputs.rules import Rule
from agentfp_inputs.text import clip, json_text

SOURCES = "_sources"
"""The argument in which the model says where values come from."""
AGAIN = "That answer does not fit: {expects} is needed. {question}"
UNREADABLE = "The rules for this tool's arguments cannot be read, so it did not run. Go on without it."


def schema_text(rule: Rule, *, sources: bool) -> str:
    """What the schema says of a ruled argument."""
    if rule.kind == "assume":
        filled = "a value that the tool keeps to itself" if rule.hidden else json_text(rule.value)
        said = f"Left out, it is filled with {filled} and recorded as assumed."
    else:
        said = "Leave it out unless the person gave it; the person is then asked."
    return f"{said} If the person gave it, quote their words in {SOURCES}." if sources else said


def sources_fragment() -> dict[str, Any]:
    """The schema of the argument in which the model says where values come from."""
    entry = {
        "type": "object",
        "properties": {
            "argument": {"type": "string"},
            "source": {"type": "string", "enum": ["user", "result", "turn", "app", "assumed"]},
            "quote": {"type": "string", "description": "of source user: the person's own words"},
            "id": {"type": "string", "description": "of source result: the id of the call that gave it"},
        },
        "required": ["argument", "source"],
    }
    return {"type": "array", "items": entry, "description": "Where the values of arguments come from, one entry for each."}


def assumed_note(tool: str, rule: Rule, value: str) -> str:
    """Of a value that was assumed."""
    return f"{rule.argument} of {tool} was assumed to be {value}; nobody gave it."


def answered_note(tool: str, rule: Rule, value: str, *, proposed: bool, sources: bool) -> str:
    """Of a value that a person gave on being asked."""
    if rule.hidden:
        said = f"{rule.argument} of {tool} was given by the person on being asked."
    else:
        said = f"{rule.argument} of {tool} is {value}, which the person gave on being asked."
    if proposed:
        said += " The call had carried a value of its own."
    if sources and not rule.hidden:
        said += " A later call may name it as source turn."
    return said


def expected(rule: Rule) -> str:
    """Words for what a value must be."""
    if rule.choices is None:
        return rule.schema.expects
    return "one of " + ", ".join([json_text(choice.value) for choice in rule.choices])


def asked_again(rule: Rule) -> str:
    """The question after an answer that does not fit."""
    return clip(AGAIN.format(expects=expected(rule), question=rule.question), QUESTION_CHARS)


def refused(rule: Rule, times: int) -> str:
    """What the model reads when no answer fitted."""
    return (
        f"The person was asked for {rule.argument} {times} times, and no answer was {expected(rule)}. "
        "The call did not run. Go on without it, or ask the person in words."
    )
