"""Payloads of records that were loaded without this package: their classes are put in place of the JSON text that was kept."""

from __future__ import annotations

from typing import Any

import pydantic

from agentfp.plugin import Payload


def upgraded(payload: Payload, kind: type[Payload]) -> Payload:
    """The payload, as one of this class.

    Args:
        payload: of this class, or of an unknown one that holds JSON text.
        kind: the class.
    """
    if isinstance(payload, kind):
        return payload
    made: Any = pydantic.TypeAdapter(kind).validate_json(getattr(payload, "data", "{}"))
    return made  # type: ignore[no-any-return]
