"""What X-Ray accepts, as its API reference and quotas said on CHECKED."""

from __future__ import annotations

import re

CHECKED = "2026-12-01"
"""The day on which the numbers below were last compared with the reference of PutTraceSegments."""
MAX_DOCUMENTS = 50
"""Segment documents of one call."""
MAX_DOCUMENT_BYTES = 64_000
"""Bytes of one document, as UTF-8."""
MAX_ANNOTATIONS = 50
"""Annotations of one trace that are indexed."""
MAX_NAME = 200
"""Characters of the name of a segment."""
MAX_TEXT = 250
"""Characters of a text in an annotation or in metadata: not the service's limit, but enough for names."""

_NOT_OF_A_NAME = re.compile(r"[^\w\s.:/%&#=+\-@]")
_NOT_OF_A_KEY = re.compile(r"[^A-Za-z0-9_]")


def name_of(text: str) -> str:
    """A name that a segment may have: letters, digits, blanks and some signs."""
    return _NOT_OF_A_NAME.sub("_", text)[:MAX_NAME].strip() or "_"


def key_of(text: str) -> str:
    """A key that an annotation may have."""
    return _NOT_OF_A_KEY.sub("_", text)[:MAX_NAME] or "_"
