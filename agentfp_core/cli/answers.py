"""A person's words as the answer to a question: what is typed in a terminal, and what ``--answer`` says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentfp_core.cli.exits import CommandError
from agentfp_core.verdicts import approve, reject

if TYPE_CHECKING:
    from agentfp_core.pause import Pause, Question

_YES = frozenset({"approve", "approved", "yes", "y", "a"})
_NO = re.compile(r"(?:reject|rejected|no|n|r)(?::\s*(?P<reason>.*))?", re.DOTALL | re.IGNORECASE)


def answer_of(question: Question, text: str, *, by: str | None = None) -> Any:
    """The answer that a text is.

    Args:
        question: what was asked.
        text: of a decision ``approve``, ``reject``, ``reject: why`` or a JSON object such as ``{"approved": true, "args": {...}}``;
            of a value the text itself, or JSON where the question's schema asks for something else than text.
        by: who decides.

    Raises:
        ValueError: a decision is none; says what one is.
    """
    if question.kind == "decision":
        return _decision(text.strip(), by, question.pinned)
    if question.kind == "acknowledge":
        return True
    return _value(question.schema, text)


def _decision(text: str, by: str | None, pinned: str | None) -> Any:
    if text.lower() in _YES:
        return approve(by=by, pinned=pinned)
    refused = _NO.fullmatch(text)
    if refused is not None:
        return reject((refused["reason"] or "").strip() or None, by=by, pinned=pinned)
    given = _json(text)
    if isinstance(given, dict) and isinstance(given.get("approved"), bool):
        return {"by": by, **given} if by is not None else given
    raise ValueError('a decision is approve, reject, reject: WHY, or {"approved": true, "args": {...}}')


def _value(schema: Mapping[str, Any] | None, text: str) -> Any:
    if schema is None:
        return text
    given = _json(text)
    for candidate in (given if not isinstance(given, str) else None, text, given):
        if candidate is not None and _fits(candidate, schema):
            return candidate
    return text  # the library says what is wrong with it


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    import jsonschema

    try:
        jsonschema.validate(value, dict(schema))
    except jsonschema.ValidationError:
        return False
    except jsonschema.SchemaError:
        return True
    return True


def answers_of(pause: Pause, given: Sequence[str], *, by: str | None = None) -> dict[str, Any]:
    """The answers that ``--answer ID=VALUE`` options give; of a single question ``VALUE`` alone will do.

    Raises:
        CommandError: a question is unknown, or a decision is none.
    """
    by_id = {question.id: question for question in pause.questions}
    made: dict[str, Any] = {}
    for option in given:
        name, sign, value = option.partition("=")
        if not (sign and name in by_id):
            if len(by_id) != 1 or (sign and name.startswith("q_")):
                raise CommandError(f"--answer {option!r} names no open question; write ID=VALUE with one of {', '.join(by_id)}")
            name, value = next(iter(by_id)), option
        if name in made:
            raise CommandError(f"--answer for {name} is there twice; say one thing")
        try:
            made[name] = answer_of(by_id[name], value, by=by)
        except ValueError as error:
            raise CommandError(f"--answer for {name}: {error}") from error
    if not made and any(question.required for question in pause.questions):
        options = [f"--answer {q.id}={'approve' if q.kind == 'decision' else 'VALUE'}  {q.prompt}" for q in pause.questions]
        raise CommandError("nothing is answered; the pause has open questions:\n  " + "\n  ".join(options))
    return made
