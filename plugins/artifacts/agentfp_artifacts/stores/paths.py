"""Scopes as folder names: no two scopes share one, on no disk, whatever stands in their fields."""

from __future__ import annotations

import hashlib

from agentfp.artifacts import Scope

LONGEST = 200
"""Bytes of a name; file systems end at 255."""
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")


def segment(value: str | None) -> str:
    """A field of a scope as the name of a folder.

    Capitals are ``~`` and the small letter, for some disks do not tell them apart; what is no letter, digit, ``-`` or ``_`` is
    percent-encoded. What would be too long is its hash, after a ``=``, which no other name holds.

    Args:
        value: the field; None and an empty text are the same.
    """
    if not value:
        return "_"
    if value == "_":
        return "%5F"
    made = []
    for byte in value.encode("utf-8", "surrogatepass"):
        if byte in _PLAIN:
            made.append(chr(byte))
        elif 65 <= byte <= 90:
            made.append("~" + chr(byte + 32))
        else:
            made.append("~~" if byte == 126 else f"%{byte:02X}")
    name = "".join(made)
    return name if len(name) <= LONGEST else "=" + hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def segments(scope: Scope) -> tuple[str, str, str]:
    """The folders of a scope, outermost first."""
    return segment(scope.tenant), segment(scope.principal), segment(scope.conversation_id)
