"""Messages made the ``contents`` of a request."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from agentfp.events import ThinkingOmitted
from agentfp.model import DocumentPart, ImagePart, Message, ModelRequest, ToolCall, fitting_name, report_foreign_thinking
from agentfp_gemini.layout import Part, meta_of, parts_of

UNSIGNED = "skip_thought_signature_validator"
"""Stands in for the signature of a call that another model made; the documentation of thought signatures names it for that."""


def contents_of(request: ModelRequest, *, provider: str, model: str, signatures: bool) -> list[dict[str, Any]]:
    """The contents of a request.

    Args:
        request: the request.
        provider: name of the provider, for what is reported.
        model: name of the model, likewise.
        signatures: the model takes no calls without a signature.
    """
    report_foreign_thinking(request, provider, model, lambda block: meta_of(block) is not None)
    contents: list[dict[str, Any]] = []
    calls: dict[str, tuple[int, ToolCall]] = {}
    results: list[Message] = []
    for index, message in enumerate(request.messages):
        if message.role == "tool":
            results.append(message)
            continue
        if results:
            contents.append({"role": "user", "parts": _results(results, calls)})
            results = []
        if message.role == "assistant":

            def omitted(block: int, reason: str, index: int = index) -> None:
                request.report(ThinkingOmitted(provider, model, index, block, reason))

            parts = parts_of(message, omitted)
            if signatures:
                _sign(parts)
            contents.append({"role": "model", "parts": parts})
            calls.update((call.id, (place, call)) for place, call in enumerate(message.tool_calls))
        else:
            contents.append({"role": "user", "parts": _words(message)})
    if results:
        contents.append({"role": "user", "parts": _results(results, calls)})
    return contents


def _words(message: Message) -> list[Part]:
    media = [_media(part) for part in message.parts]
    return [*media, {"text": message.text}] if message.text or not media else media


def _results(messages: Sequence[Message], calls: dict[str, tuple[int, ToolCall]]) -> list[Part]:
    """The results of one batch in one content, in the order of the calls: where calls have no ids, their order tells them apart."""
    found = [(calls.get(message.tool_call_id or ""), message) for message in messages]
    found.sort(key=lambda item: -1 if item[0] is None else item[0][0])
    parts = [_result(message, None if asked is None else asked[1]) for asked, message in found]
    return [*parts, *(_media(part) for _, message in found for part in message.parts)]


def _result(message: Message, call: ToolCall | None) -> Part:
    name = message.tool_name or ("" if call is None else call.name)
    made: Part = {"name": fitting_name(name), "response": {"output": message.text}}
    meta = None if call is None else meta_of(call)
    if meta is not None and isinstance(meta.get("id"), str):
        made["id"] = meta["id"]
    return {"functionResponse": made}


def _media(part: ImagePart | DocumentPart) -> Part:
    if part.data is None:
        return {"fileData": {"mimeType": part.media_type, "fileUri": part.url or ""}}
    return {"inlineData": {"mimeType": part.media_type, "data": base64.b64encode(part.data).decode("ascii")}}


def _sign(parts: Iterable[Part]) -> None:
    """Mark the first call of a batch that has no signature: such a call is another model's."""
    first = next((part for part in parts if "functionCall" in part), None)
    if first is not None:
        first.setdefault("thoughtSignature", UNSIGNED)
