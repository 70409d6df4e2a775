"""Ids and names of calls in the letters and the length that a provider takes: calls of other providers, and made-up ones, have all kinds.

Within a conversation different ids stay different, and the same one is written the same way each time, so that a result finds its call.
"""

from __future__ import annotations

import hashlib
import re

_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_SEAL = 12


def fitting_id(call_id: str, *, longest: int = 64, any_letters: bool = False) -> str:
    """The id of a call as a provider takes it: unchanged where it fits, else shortened and sealed with a digest of the whole.

    Args:
        call_id: the id in the conversation.
        longest: characters that it may have.
        any_letters: whether letters other than ``a-z A-Z 0-9 _ -`` are taken.
    """
    plain = call_id if any_letters else _OTHER.sub("_", call_id)
    if plain and plain == call_id and len(plain) <= longest:
        return plain
    seal = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:_SEAL]
    return f"{plain[: longest - _SEAL - 1]}_{seal}"


def fitting_name(name: str, *, longest: int = 64) -> str:
    """The name of a called tool as every provider takes it; tools have such names, but a model may have made one up.

    Args:
        name: the name in the conversation.
        longest: characters that it may have.
    """
    return _OTHER.sub("_", name)[:longest] or "_"
