"""One ask for the arguments of a batch: which questions there are, what each answer is for, and what a screen may show of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from agentfp.plugin import AskField, AskPerson
from agentfp_inputs.events import Asked, AskedField, Asking, Bound
from agentfp_inputs.ledger import Ledger
from agentfp_inputs.rules import Rule
from agentfp_inputs.text import kind_of
from agentfp_inputs.words import asked_again

FIELDS_MOST, CONTEXT_MOST, TIMES_MOST = 32, 16_384, 3
_CALLS_SHOWN = (None, 16, 4, 1, 0)

RulesOf = Callable[[str], Mapping[str, Rule]]


class Need(NamedTuple):
    """An argument of a call that a person must give.

    Args:
        call_id: the call.
        tool: its tool.
        rule: the argument's rule.
        why: what the row says.
        quoted: the person's words that the model gave for it, where they may be shown.
    """

    call_id: str
    tool: str
    rule: Rule
    why: Asked
    quoted: str | None = None


class Answer(NamedTuple):
    """What a person answered about one argument of a call so far.

    Args:
        value: the value that fits, in the argument's own spelling; None for none.
        misfits: answers that did not fit.
    """

    value: Any = None
    misfits: int = 0


def answer_of(ledger: Ledger, call_id: str, tool: str, rule: Rule, rules_of: RulesOf) -> Answer:
    """What was answered about an argument of a call of the open batch."""
    misfits = 0
    for field in ledger.fields:
        if field.key not in ledger.given or not any((b.call_id, b.tool, b.argument) == (call_id, tool, rule.argument) for b in field.bound):
            continue
        spelled = _spelled(field, ledger.given[field.key], rules_of)
        if spelled is not None:
            return Answer(spelled[tool, rule.argument])
        misfits += 1
    return Answer(None, misfits)


def _spelled(field: AskedField, given: Any, rules_of: RulesOf) -> dict[tuple[str, str], Any] | None:
    """The answer in the spelling of each argument that it is for; None where it fits not all of them."""
    first = field.bound[0]
    asked = rules_of(first.tool).get(first.argument)
    values: dict[tuple[str, str], Any] = {}
    for bound in field.bound:
        rule = rules_of(bound.tool).get(bound.argument)
        if rule is None or asked is None:
            return None
        value = given
        if (bound.tool, bound.argument) != (first.tool, first.argument):
            value = rule.marker.respell(given, asked.marker) if rule.marker is not None and asked.marker is not None else None
        if value is None or not fits(rule, value):
            return None
        values[bound.tool, bound.argument] = rule.schema.fitting(value)
    return values


def fits(rule: Rule, value: Any) -> bool:
    """Whether a person's answer can be the value of an argument."""
    if isinstance(value, str) and not value.strip():
        return False
    if rule.choices is not None and not any(kind_of(value) == kind_of(one.value) and value == one.value for one in rule.choices):
        return False
    if rule.marker is not None and rule.choices is None and rule.marker.respell(value, rule.marker) is None:
        return False
    return rule.schema.fits(value)


def _same_question(one: Need, other: Need) -> bool:
    """Whether one answer can serve two arguments."""
    if (one.tool, one.rule.argument) == (other.tool, other.rule.argument):
        return one.why == other.why or "invalid-answer" not in (one.why, other.why)
    if one.tool == other.tool or one.rule.marker is None or other.rule.marker is None:
        return False
    mine, theirs = one.rule.choices, other.rule.choices
    if mine is None or theirs is None or len(mine) != len(theirs):
        return False
    values = [choice.value for choice in theirs]
    back = [choice.value for choice in mine]
    forth = all(other.rule.marker.respell(choice.value, one.rule.marker) in values for choice in mine)
    return forth and all(one.rule.marker.respell(choice.value, other.rule.marker) in back for choice in theirs)


def ask(needs: Sequence[Need], first_key: int, host: Mapping[str, Any]) -> tuple[AskPerson, Asking, list[Need]]:
    """The ask for as many of these as one round takes.

    Args:
        needs: all that is needed, in order.
        first_key: the number of the first question.
        host: what the application adds to the context.

    Returns:
        The ask, what is filed of it, and the needs that it is about.
    """
    groups: list[list[Need]] = []
    for need in needs:
        group = next((group for group in groups if _same_question(group[0], need)), None)
        if group is not None:
            group.append(need)
        else:
            groups.append([need])
    groups, shown = _that_fit(groups[:FIELDS_MOST], first_key, host)
    fields, filed = [], []
    for number, group in enumerate(groups, first_key):
        rule = group[0].rule
        prompt = asked_again(rule) if group[0].why == "invalid-answer" else rule.question
        call_id = group[0].call_id if len({need.call_id for need in group}) == 1 else None
        fields.append(AskField(f"f{number}", prompt, schema=_schema(rule), call_id=call_id))
        filed.append(AskedField(f"f{number}", tuple([Bound(need.call_id, need.tool, need.rule.argument) for need in group])))
    context = {**host, "agentfp": {"ask": "arguments", "fields": shown}}
    return AskPerson(fields, context), Asking(tuple(filed)), [need for group in groups for need in group]


def _schema(rule: Rule) -> dict[str, Any]:
    """What is looked at when the answer comes in; the rest is looked at after it, so that it can be asked again in words."""
    schema: dict[str, Any] = {"type": "number" if rule.schema.type == "integer" else rule.schema.type}
    if rule.choices is not None:
        schema["enum"] = [choice.value for choice in rule.choices]
    return schema


def _that_fit(groups: list[list[Need]], first_key: int, host: Mapping[str, Any]) -> tuple[list[list[Need]], list[dict[str, Any]]]:
    """As many questions as the context has room for; if need be, with fewer of their calls."""
    for number in range(len(groups), 0, -1):
        for calls in _CALLS_SHOWN if number == 1 else (None,):
            shown = [_shown(group, f"f{first_key + place}", calls) for place, group in enumerate(groups[:number])]
            if len(json.dumps({**host, "agentfp": {"ask": "arguments", "fields": shown}})) <= CONTEXT_MOST:
                return groups[:number], shown
    raise _too_large()


def _shown(group: list[Need], key: str, calls: int | None) -> dict[str, Any]:
    first = group[0]
    ids = list(dict.fromkeys([need.call_id for need in group]))
    field: dict[str, Any] = {"id": key, "tool": first.tool, "argument": first.rule.argument, "calls": ids[:calls]}
    if calls is not None and len(ids) > calls:
        field["more_calls"] = len(ids) - calls
    if first.quoted is not None:
        field["quoted"] = first.quoted
    shared = list(dict.fromkeys([(need.tool, need.rule.argument) for need in group]))[1:]
    if shared:
        field["shared_with"] = [{"tool": tool, "argument": argument} for tool, argument in shared]
    return field


def host_context(make: Callable[[], Mapping[str, Any]] | None) -> dict[str, Any]:
    """What the application adds to the context of an ask.

    Raises:
        TypeError: it is no plain JSON object, too large, or uses the library's key.
    """
    if make is None:
        return {}
    given = make()
    if not isinstance(given, Mapping) or "agentfp" in given:
        raise TypeError("ask_context must return a mapping of plain JSON without the key 'agentfp'; correct the function")
    try:
        text = json.dumps(dict(given), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError("ask_context must return plain JSON: texts, numbers, lists and mappings; correct the function") from error
    if len(text) > CONTEXT_MOST - 512:
        raise _too_large()
    return dict(given)


def _too_large() -> TypeError:
    return TypeError(f"ask_context leaves no room: the context of an ask has at most {CONTEXT_MOST} characters of JSON; return less")
