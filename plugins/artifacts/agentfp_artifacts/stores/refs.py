"""Mints refs. They are random and say nothing of what they stand for."""

from __future__ import annotations

import secrets
import string

from agentfp.artifacts import REF

ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits
LENGTH = 22
_FAIR = 256 - 256 % len(ALPHABET)
"""Random bytes from here on are thrown away, for they would make some characters likelier than others."""


def mint() -> str:
    """A new ref."""
    found = ""
    while len(found) < LENGTH:
        found += "".join([ALPHABET[byte % len(ALPHABET)] for byte in secrets.token_bytes(2 * LENGTH) if byte < _FAIR])
    return f"art_{found[:LENGTH]}"


def is_ref(value: object) -> bool:
    """Whether something can be a ref."""
    return isinstance(value, str) and REF.fullmatch(value) is not None
