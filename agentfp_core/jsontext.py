"""Canonical JSON text: the one way in which values from outside are stored, compared and hashed."""

from __future__ import annotations

import json
from typing import Any

import pydantic_core

from agentfp_core.errors import RecordValueError

_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical(value: Any) -> str:
    """The canonical JSON text of a value: sorted keys, no blanks.

    Args:
        value: JSON data; pydantic models, dataclasses, datetimes, Decimals and the like are turned into JSON first.

    Returns:
        The text. Equal values give equal texts.

    Raises:
        RecordValueError: the value holds something that JSON cannot hold (NaN included); names the path to it.
    """
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return _encode(pydantic_core.to_jsonable_python(value, inf_nan_mode="constants"))
    except (TypeError, ValueError, RecursionError, pydantic_core.PydanticSerializationError) as error:
        path, kind = _offender(value)
        msg = f"a value of type {kind!r} at {path!r} cannot be stored as JSON; turn it into text or numbers first"
        raise RecordValueError(msg) from error


def _offender(value: Any, path: str = "$", depth: int = 0) -> tuple[str, str]:
    """Find the path and type name of the first thing that JSON cannot hold."""
    if depth > 200:
        return path, "too deeply nested"
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, (str, int, float, bool, type(None))):
                return f"{path}.<key>", type(key).__name__
            if not _storable(item):
                return _offender(item, f"{path}.{key}", depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            if not _storable(item):
                return _offender(item, f"{path}[{index}]", depth + 1)
    elif isinstance(value, float):
        return path, "NaN or infinity"
    return path, type(value).__name__


def _storable(value: Any) -> bool:
    try:
        _encode(pydantic_core.to_jsonable_python(value, inf_nan_mode="constants"))
    except (TypeError, ValueError, RecursionError, pydantic_core.PydanticSerializationError):
        return False
    return True


def parse(text: str) -> Any:
    """Parse JSON text.

    Args:
        text: JSON; NaN and infinities are refused.

    Raises:
        ValueError: the text is not JSON, or is nested too deeply to be read.
    """
    try:
        return pydantic_core.from_json(text, allow_inf_nan=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except TypeError as error:  # a lone surrogate, which no encoding can hold
        raise ValueError("no text of Unicode") from error
