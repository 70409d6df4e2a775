"""What a tool's result grounds that hands on the answers of agents which ran within the tool: never what those agents made up."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NestedAnswer:
    """The judged answer of a nested agent.

    Args:
        text: the answer.
        grounded: its values that stand in results of its own tools.
        others: its further values.
    """

    text: str
    grounded: Sequence[str]
    others: Sequence[str]


def grounds_of(content: str, answers: Sequence[NestedAnswer]) -> list[str]:
    """The texts that a result grounds: its own words, and what the tools of the nested agents ground.

    An answer that is found in the result is taken out of it. Of one that the tool wrote anew, the values are that no tool grounds.

    Args:
        content: the result.
        answers: the answers of the agents that ran within the call.
    """
    grounded = [value for answer in answers for value in answer.grounded]
    reworded = []
    for answer in sorted(answers, key=lambda answer: len(answer.text), reverse=True):
        form = next((form for form in _forms(answer.text) if form in content), None)
        if form is not None:
            content = content.replace(form, " ")
        elif _same_data(answer.text, content):
            return grounded
        else:
            reworded += [value for value in answer.others if value not in grounded]
    for value in sorted(set(reworded), key=len, reverse=True):
        content = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", " ", content)
    return [content, *grounded]


def _forms(text: str) -> list[str]:
    """An answer as a tool may hand it on: as it is, trimmed, and within JSON."""
    trimmed = text.strip()
    within = [json.dumps(trimmed, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)]
    return [form for form in (text, trimmed, *within) if form]


def _same_data(one: str, other: str) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False
