"""What the model reads: a conversation as its template takes it, and short patterns to follow for calls and for answers from results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from agentfp.model import Message, ModelRequest, ToolSpec
from agentfp_local.choosing import Choice
from agentfp_local.digest import digest
from agentfp_local.turn import Turn, parsed

Chat: TypeAlias = list[dict[str, str]]

CALL = "Call the tool that answers the question. Write the call as JSON."
CALL_PATTERN = [
    (
        "get_capital(country): The capital of a country.\n\nWhat is the capital of Peru?",
        '{"tool": "get_capital", "arguments": {"country": "Peru"}}',
    ),
    (
        "find_books(author): Books of an author.\n\nWhich books did Jane Austen write?",
        '{"tool": "find_books", "arguments": {"author": "Jane Austen"}}',
    ),
]
ANSWER = "Answer the question with the result. Use only what the result says. One sentence."
ANSWER_PATTERN = [
    ("What is the population of Lima?\nResult:\ncity: Lima\npopulation: 10092000", "The population of Lima is 10092000."),
    ("Which rivers are in Peru?\nResult:\nname: Ucayali\nname: Amazon", "The rivers in Peru are Ucayali and Amazon."),
    ("What time is it in Oslo?\nResult:\n14:05", "It is 14:05 in Oslo."),
]

SEVERAL_FACTS = (
    "Tell me about Quito.\nResult:\nname: Quito\ncountry: Ecuador\nelevation: 2850",
    "Quito is in Ecuador, and its elevation is 2850.",
)
"""One more of the pattern where a result has this many facts; elsewhere it would make the model talk on."""


def conversation(request: ModelRequest) -> Chat:
    """The whole conversation. Calls and results are told in words, for few templates know them."""
    told = (part for message in request.messages for part in _told(message))
    return _merged([("system", request.system)] if request.system else [], told)


def _told(message: Message) -> Iterable[tuple[str, str]]:
    if message.role == "tool":
        yield "user", f"Result of {message.tool_name or 'a tool'} ({message.tool_call_id}):\n{message.text}"
        return
    calls = [f"{call.name} ({call.id}): {call.arguments_json}" for call in message.tool_calls]
    yield message.role, "\n".join([*([message.text] if message.text or not calls else []), *calls])


def calling(turn: Turn, choices: Sequence[Choice]) -> Chat:
    """The question, and the tools of which the call is to be decoded."""
    tools = {tool.name: tool for choice in choices for tool, _ in choice.options}
    lines = "\n".join(_signature(tool) for tool in tools.values())
    context = "".join(f"{text}\n" for text in turn.results[-1:])
    return _merged([("system", CALL)], [*_pattern(CALL_PATTERN), ("user", f"{lines}\n\n{context}{turn.question}")])


def _signature(tool: ToolSpec) -> str:
    about = tool.description.splitlines()[0] if tool.description else ""
    return f"{tool.name}({', '.join(tool.parameters.get('properties', {}))}): {about}"


def from_results(request: ModelRequest, turn: Turn) -> Chat:
    """The question with what came of the calls."""
    results = "\n".join(f"{label}: {shown}" if label else shown for label, text in turn.latest for shown in (digest(text, turn.question),))
    several = len(turn.latest) == 1 and isinstance(parsed(turn.latest[0][1]), dict) and results.count("\n") > 1
    pattern = [*ANSWER_PATTERN[:2], SEVERAL_FACTS, *ANSWER_PATTERN[2:]] if several else ANSWER_PATTERN
    late = "".join(f"\n{text}" for text in turn.late)
    system = f"{request.system}\n{ANSWER}" if request.system else ANSWER
    return _merged([("system", system)], [*_pattern(pattern), ("user", f"{turn.question}\nResult:\n{results}{late}")])


def _pattern(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [part for asked, answered in pairs for part in (("user", asked), ("assistant", answered))]


def _merged(head: list[tuple[str, str]], messages: Iterable[tuple[str, str]]) -> Chat:
    """Messages of one role in a row are one: many templates refuse them otherwise."""
    merged: list[tuple[str, str]] = list(head)
    for role, text in messages:
        if merged and merged[-1][0] == role:
            merged[-1] = (role, f"{merged[-1][1]}\n\n{text}")
        else:
            merged.append((role, text))
    return [{"role": role, "content": text} for role, text in merged]


def call_schema(choices: Sequence[Choice]) -> dict[str, Any]:
    """The schema of a reply that calls: one call, or all of them in order."""
    shared: dict[str, Any] = {}
    calls = [_any_of([_call(tool, schema, shared) for tool, schema in choice.options]) for choice in choices]
    if len(calls) == 1:
        schema = calls[0]
    else:
        listed = {"type": "array", "prefixItems": calls, "minItems": len(calls), "maxItems": len(calls)}
        schema = {"type": "object", "properties": {"calls": listed}, "required": ["calls"], "additionalProperties": False}
    return {**schema, "$defs": shared} if shared else schema


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _call(tool: ToolSpec, schema: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    """One call. Definitions go to the root, under names that say whose they are, for that is where references lead."""
    text = json.dumps({key: value for key, value in schema.items() if key not in ("$defs", "definitions")})
    for place in ("$defs", "definitions"):
        for name, definition in schema.get(place, {}).items():
            own = f"{tool.name}.{name}"
            text = text.replace(f'"#/{place}/{name}"', f'"#/$defs/{own}"')
            shared[own] = json.loads(json.dumps(definition).replace(f'"#/{place}/', f'"#/$defs/{tool.name}.'))
    properties = {"tool": {"const": tool.name}, "arguments": json.loads(text)}
    return {"type": "object", "properties": properties, "required": ["tool", "arguments"], "additionalProperties": False}
