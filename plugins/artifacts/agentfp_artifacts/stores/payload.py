"""Data as bytes and back: what is stored, measured and digested. What would not come back as it was is refused."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, Literal, TypeAlias, cast

from agentfp.artifacts import InvalidArtifactError

Shape: TypeAlias = Literal["bytes", "text", "json"]
SHAPES: tuple[Shape, ...] = ("bytes", "text", "json")
DEEPEST = 500
"""Levels of lists and dicts; reading stops at a depth that depends on who reads."""
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def canonical_bytes(data: Any) -> tuple[bytes, Shape]:
    """The canonical bytes of data: bytes as they are, a text as UTF-8, all else as compact JSON.

    Args:
        data: what is to be stored.

    Returns:
        The bytes, and what they were.

    Raises:
        InvalidArtifactError: the data would come back as something else, or not at all.
    """
    try:
        if type(data) is bytes:
            return data, "bytes"
        if type(data) is str:
            return data.encode(), "text"
        _check(data, "data", set())
        return _encode(data).encode(), "json"
    except UnicodeEncodeError as error:
        raise InvalidArtifactError("data holds a lone surrogate, which no encoding can hold; mend the text, or put bytes") from error
    except RecursionError as error:
        raise InvalidArtifactError("data is nested too deeply to be written as JSON; flatten it, or put bytes") from error
    except ValueError as error:
        raise InvalidArtifactError("data holds a number with too many digits to be written; put it as a text of your own") from error


def restored(raw: bytes, shape: Shape) -> Any:
    """The data of canonical bytes."""
    if shape == "bytes":
        return raw
    return raw.decode() if shape == "text" else json.loads(raw)


def digest_of(raw: bytes) -> str:
    """The digest of canonical bytes."""
    return f"sha-256:{hashlib.sha256(raw).hexdigest()}"


def _check(value: Any, path: str, above: set[int]) -> None:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return
    if kind is float:
        if not math.isfinite(value):
            raise _refused(path, "NaN or an infinity", "put None or a text in its place")
        return
    if kind is not dict and kind is not list:
        raise _refused(path, f"a {kind.__name__}", "turn it into dicts, lists, texts and numbers first")
    if id(value) in above:
        raise _refused(path, "a cycle", "cut it")
    if len(above) >= DEEPEST:
        raise InvalidArtifactError(f"data is nested in more than {DEEPEST} levels; flatten it, or put bytes")
    above.add(id(value))
    if kind is dict:
        for key, item in cast("dict[Any, Any]", value).items():
            if type(key) is not str:
                raise _refused(path, f"a key that is a {type(key).__name__}", "keys are texts")
            _check(item, f"{path}.*", above)
    else:
        for item in cast("list[Any]", value):
            _check(item, f"{path}[]", above)
    above.discard(id(value))


def _refused(path: str, what: str, now: str) -> InvalidArtifactError:
    return InvalidArtifactError(f"{path} is {what}, which would not come back as it was; {now}")
