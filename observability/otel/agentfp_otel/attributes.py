"""Attributes that a span begins with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentfp.plugin import SegmentHeader
from agentfp_otel import names
from agentfp_otel.kit import Kit


def conversation(header: SegmentHeader) -> dict[str, Any]:
    """The conversation, when the caller named one; the library's own ids are no names of it."""
    named = header.session_id or (None if header.identity is None else header.identity.conversation_id)
    return {} if named is None else {names.CONVERSATION: named}


def of_leg(kit: Kit, header: SegmentHeader, data: Mapping[str, Any]) -> dict[str, Any]:
    """Whose run a leg is of, and with what it runs.

    Args:
        kit: what spans are made with.
        header: of the leg.
        data: of its first event.
    """
    made: dict[str, Any] = {
        "agentfp.run.id": header.run_id,
        "agentfp.record.id": header.root_id,
        "agentfp.semconv.profile": kit.conventions.name,
        "agentfp.content": kit.content,
    }
    if kit.conventions.agent_ids and "agent_id" in data:
        made["gen_ai.agent.id"] = data["agent_id"]
    if "config_hash" in data:
        made["agentfp.config.hash"] = data["config_hash"]
    if data.get("leg", "run") != "run":
        made["agentfp.run.leg"] = data["leg"]
    if header.resumed_from is not None:
        made["agentfp.run.resumed_from"] = header.resumed_from
    if header.correlation_id is not None:
        made["agentfp.correlation.id"] = header.correlation_id
    identity = header.identity
    if identity is not None and identity.principal is not None:
        made["agentfp.principal.id"] = identity.principal
    if identity is not None and identity.tenant is not None:
        made["agentfp.tenant.id"] = identity.tenant
    return made


def of_call(call_id: str, tool: str | None, parallel: int) -> dict[str, Any]:
    """A tool call, of None where no tool has the name that the model wrote."""
    made: dict[str, Any] = {names.OPERATION: "execute_tool", names.TOOL_CALL_ID: call_id, names.TOOL_TYPE: "function"}
    if tool is None:
        made["agentfp.tool.undeclared"] = True
    else:
        made[names.TOOL] = tool
    if parallel > 1:
        made["agentfp.tool.parallel_count"] = parallel
    return made
