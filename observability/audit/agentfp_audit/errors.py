"""What is raised about audit logs."""

from __future__ import annotations

from typing import ClassVar

from agentfp import AgentfpError
from agentfp.plugin import PluginError


class AuditError(PluginError):
    """A log cannot be written or gone on with."""

    code: ClassVar[str] = "ERR_AUDIT"

    def __init__(self, text: str) -> None:
        super().__init__(text, plugin="audit", moment="export_event")


class ProofError(AgentfpError):
    """A record cannot be proved, or what was given is no proof."""

    code: ClassVar[str] = "ERR_AUDIT_PROOF"
