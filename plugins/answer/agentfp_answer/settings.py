"""Settings that are more than plain values."""

from __future__ import annotations

import pkgutil
from typing import Any

from agentfp_answer.validating import AnswerValidation


def a_validation(value: Any) -> Any:
    """A check of answers, or the import path of one.

    Args:
        value: what was set.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, str):
        try:
            value = pkgutil.resolve_name(value)
        except Exception as error:  # what is imported may raise anything
            raise ValueError(f"it is no import path ({type(error).__name__}); write 'module:name'") from error
    if value is not None and not isinstance(value, AnswerValidation):
        raise ValueError(f"it is an AnswerValidation, got a {type(value).__name__}")
    return value
