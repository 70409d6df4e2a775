"""A result that is too long goes to the store, and the model reads a ticket in its place."""

from __future__ import annotations

import json
import logging
from typing import Any

from agentfp.artifacts import ArtifactError, ArtifactMeta
from agentfp.plugin import CallView, Replace
from agentfp_artifacts.scoped import ScopedArtifacts

LOG = logging.getLogger("agentfp.artifacts")
RESULT_KIND = "result_kind"
"""Key of a tool's metadata: the kind of its results."""


def kind_of(call: CallView) -> str:
    """The kind of a call's result."""
    named = None if call.tool is None else call.tool.metadata.get(RESULT_KIND)
    return named if isinstance(named, str) and named.strip() else f"tool-result/{call.name}"


async def put_result(artifacts: ScopedArtifacts, call: CallView, text: str) -> ArtifactMeta | None:
    """Store a result's text.

    Returns:
        What is known of it; None where the store failed, and the result stays where it is.
    """
    media_type = "text/plain" if _json_in(text) is None else "application/json"
    try:
        return await artifacts.put(kind=kind_of(call), media_type=media_type, data=text, label=f"{call.name} result", digest="sha-256")
    except ArtifactError as error:
        LOG.warning("the result of %r stays in the conversation: %s", call.name, error)
        return None


def ticket(meta: ArtifactMeta, tool: str, text: str, threshold: int, preview_chars: int) -> Replace:
    """What the model reads in place of a result.

    Args:
        meta: the artifact.
        tool: the tool's name.
        text: the result.
        threshold: characters that a result may have.
        preview_chars: characters of the result that stand in it.
    """
    found: dict[str, Any] = {"placed": True, "ref": meta.ref, "kind": meta.kind, "media_type": meta.media_type, "bytes": meta.bytes}
    data = _json_in(text) if meta.media_type == "application/json" else None
    if isinstance(data, list):
        found["rows"] = len(data)
        if data and isinstance(data[0], dict):
            found["columns"] = len(data[0])
    if preview_chars:
        found["preview"] = text[:preview_chars]
    found["reason"] = (
        f"The result of {tool} has {len(text)} characters, more than the {threshold} that may stand here; it is kept whole as "
        f"{meta.ref}. Read a part of it with read_artifact (ref, offset, length), pass the ref to a tool that wants {meta.kind}, or show "
        "it to the person with present. Do not summarise what you have not read."
    )
    return Replace(json.dumps(found, ensure_ascii=False, separators=(",", ":")))


def _json_in(text: str) -> Any:
    """The data of a text that is a JSON object or array; else None."""
    if not text.startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
