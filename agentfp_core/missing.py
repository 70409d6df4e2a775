"""The mark of what was not passed, where None would be a value."""

from __future__ import annotations

from typing import Any


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()
"""Nothing was passed; not the same as passing None."""
