"""One way only to write JSON data, so that the same data has the same hash whoever writes it: ``agentfp-cjson/1``.

Keys in the order of their code points, no blanks, text as it is and not escaped more than JSON demands, the shortest digits of a
number. A number that is whole is written without a point; one that is none (NaN, infinity) is null. Reading and writing again changes
nothing.
"""

from __future__ import annotations

import json
import math
from typing import Any

NAME = "agentfp-cjson/1"
WHOLE = 2**53
"""From here on a float does not tell neighbouring whole numbers apart, and is written as a float."""
DEEPEST = 200


def canonical(data: Any, depth: int = 0) -> str:
    """JSON data as text.

    Args:
        data: dicts with text as keys, lists, tuples, text, numbers, bools, None.
        depth: how deep it stands in what it is written into.

    Raises:
        TypeError: something else is in it.
        ValueError: it holds itself, or is nested too deep.
    """
    return json.dumps(_plain(data, depth), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_bytes(data: Any) -> bytes:
    """JSON data as the bytes that are hashed; what is no text in it (half of a surrogate pair) becomes ``?``."""
    return canonical(data).encode("utf-8", "replace")


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < WHOLE else value
    if depth >= DEEPEST:
        raise ValueError(f"data nested deeper than {DEEPEST} levels, or holding itself, cannot be written")
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"a key must be text, got {type(key).__name__}")
        return {key: _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    raise TypeError(f"{type(value).__name__} is no JSON data")
