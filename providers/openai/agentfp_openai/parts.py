"""Images and documents of messages as the two interfaces take them."""

from __future__ import annotations

import base64
import mimetypes
from typing import Any

from agentfp.model import DocumentPart, ImagePart, ModelFeatureError

Part = ImagePart | DocumentPart


def data_url(part: Part) -> str:
    """Where the provider finds a part: its own URL, or one that holds the bytes."""
    if part.url is not None:
        return part.url
    return f"data:{part.media_type};base64,{base64.b64encode(part.data or b'').decode('ascii')}"


def chat_part(part: Part, model: str) -> dict[str, Any]:
    """A part of a user message of Chat Completions.

    Raises:
        ModelFeatureError: a document by its URL, which this interface does not fetch.
    """
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    if part.data is None:
        msg = f"model {model!r} takes no documents by URL over Chat Completions; pass the bytes, or use 'openai-responses:{model}'"
        raise ModelFeatureError(msg, provider="openai", model=model)
    return {"type": "file", "file": {"filename": _file_name(part), "file_data": data_url(part)}}


def responses_part(part: Part) -> dict[str, Any]:
    """A part of a message, or of a tool's result, of the Responses interface."""
    if isinstance(part, ImagePart):
        return {"type": "input_image", "detail": "auto", "image_url": data_url(part)}
    if part.data is None:
        return {"type": "input_file", "file_url": part.url}
    return {"type": "input_file", "filename": _file_name(part), "file_data": data_url(part)}


def _file_name(part: DocumentPart) -> str:
    """The provider tells a file's kind by its name."""
    if part.name:
        return part.name
    return "document" + (mimetypes.guess_extension(part.media_type) or ".bin")
