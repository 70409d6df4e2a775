"""Whether to call tools or to answer, and which tools: by a rule over words, for a model of this size cannot tell.

A tool is a candidate when the question speaks in words of its name, description or arguments, and names what it needs. After a
result the rule prefers to answer; it calls another tool only for words of the question that no call has dealt with yet, and never
the same tool with the same arguments again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentfp.model import ModelRequest, ToolSpec
from agentfp_local.filling import Filling, filling
from agentfp_local.turn import Turn
from agentfp_local.wording import terms

_FOLLOWS_UP = re.compile(r"\s*(?:and|or|what about|how about|same for)\b", re.IGNORECASE)
_FIRST_SENTENCE = re.compile(r"[^.\n]*")


@dataclass(frozen=True, slots=True)
class Choice:
    """A call that may be decoded: one of several tools, each with its schema.

    Args:
        options: names of tools with the schemas of their arguments.
    """

    options: tuple[tuple[ToolSpec, dict[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class _Match:
    tool: ToolSpec
    filling: Filling
    strong: frozenset[str]
    weak: frozenset[str]

    @property
    def score(self) -> int:
        return 3 * len(self.strong) + len(self.weak) + 3 * self.filling.exact


def choose(request: ModelRequest, turn: Turn) -> tuple[Choice, ...]:
    """The calls to decode; none when the model is to answer.

    Args:
        request: the request.
        turn: its present turn.
    """
    tools = [_without_notes(tool) for tool in request.tools]
    if request.tool_choice is not None:
        forced = [tool for tool in tools if tool.name == request.tool_choice]
        return tuple(Choice(((tool, filling(tool, turn).schemas[0]),)) for tool in forced)
    called = {call.name for call in turn.calls}
    done = {term for tool in tools if tool.name in called for term in _own_terms(tool) | _words(tool)}
    matches = [match for tool in tools if (match := _match(tool, turn, done)) is not None and tool.name not in called]
    if turn.results and not turn.late:
        return _calls(_further(matches, turn))
    if turn.results or turn.late:
        return ()  # whoever spoke after the question wants words now
    return _calls(_first(matches)) or _follow_up(tools, turn)


def _without_notes(tool: ToolSpec) -> ToolSpec:
    """The tool without arguments such as ``_note``: those are for what a model notes of a call, and one of this size notes nothing."""
    if '"_' not in tool.parameters_json:
        return tool
    schema = tool.parameters
    properties, required = schema.get("properties"), schema.get("required", ())
    if not isinstance(properties, dict):
        return tool
    kept = {name: part for name, part in properties.items() if not name.startswith("_") or name in required}
    return replace(tool, parameters_json=json.dumps({**schema, "properties": kept}))


def _match(tool: ToolSpec, turn: Turn, done: set[str]) -> _Match | None:
    asked = terms(turn.question) - done
    strong = frozenset(asked & _own_terms(tool))
    weak = frozenset(asked & _words(tool)) - strong
    if not (strong or weak):
        return None
    filled = filling(tool, turn)
    return _Match(tool, filled, strong, weak) if filled.complete else None


def _own_terms(tool: ToolSpec) -> set[str]:
    return terms(tool.name)


def _words(tool: ToolSpec) -> set[str]:
    first = _FIRST_SENTENCE.match(tool.description)
    parameters = tool.parameters.get("properties", {})
    return terms(first[0] if first is not None else "") | {term for name in parameters for term in terms(name)}


def _first(matches: list[_Match]) -> list[list[_Match]]:
    """The best tool, or the best ones between which the model decides; and those that the question names besides."""
    chosen: list[list[_Match]] = []
    named: set[str] = set()
    rest = matches
    while rest:
        best = max(rest, key=lambda match: match.score)
        group = [match for match in rest if match.score == best.score and match.strong == best.strong]
        chosen.append(group)
        named |= {term for match in group for term in match.strong | match.weak}
        rest = [replace(match, weak=frozenset(), strong=match.strong - named) for match in rest if match not in group]
        rest = [match for match in rest if match.strong]
    return chosen


def _further(matches: list[_Match], turn: Turn) -> list[list[_Match]]:
    """After results: a tool that the question names and nobody called, or one whose arguments the results brought."""
    named = [match for match in matches if match.strong or any(key in text for key in _required(match) for text in turn.results)]
    return _first(named)[:1]


def _required(match: _Match) -> list[str]:
    return [f'"{name}"' for name in match.tool.parameters.get("required", ())]


def _calls(groups: Sequence[list[_Match]]) -> tuple[Choice, ...]:
    calls: list[Choice] = []
    for group in groups:
        if len(group) > 1:
            calls.append(Choice(tuple((match.tool, match.filling.schemas[0]) for match in group)))
        else:
            calls += [Choice(((group[0].tool, schema),)) for schema in group[0].filling.schemas]
    return tuple(calls)


def _follow_up(tools: Sequence[ToolSpec], turn: Turn) -> tuple[Choice, ...]:
    """``And in Rome?``: the tool of the turn before, with what is named now."""
    if turn.before is None or _FOLLOWS_UP.match(turn.question) is None:
        return ()
    alone = replace(turn, earlier=())
    for tool in tools:
        if tool.name == turn.before.name and (filled := filling(tool, alone)).complete:
            return tuple(Choice(((tool, schema),)) for schema in filled.schemas)
    return ()
