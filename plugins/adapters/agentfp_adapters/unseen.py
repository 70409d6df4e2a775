"""What stands in a text for a part that is none, such as an image: the judgement then knows that values may come from there."""

from __future__ import annotations

_KINDS = {
    "image": "image",
    "screenshot": "image",
    "audio": "audio",
    "video": "video",
    "file": "document",
    "document": "document",
    "media": "document",
    "pdf": "document",
}


def placeholder(kind: str) -> str | None:
    """The line that stands for a part; None for one that holds no content of its own.

    Args:
        kind: what the framework calls it, or its media type.
    """
    return next((f"[{name}]" for word, name in _KINDS.items() if word in kind), None)
