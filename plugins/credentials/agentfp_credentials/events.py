"""What stands on the record of each credential: who asked for which, and what came of it. Never a secret, a header or a URL."""

from __future__ import annotations

from typing import Literal

from agentfp.plugin import Name, Number, Payload, event

Via = Literal["push", "pull"]
Reason = Literal["no_provider", "unknown_service", "no_principal", "provider_failed", "bad_answer", "expired", "declined"]


@event("agentfp.credential.requested")
class CredentialRequested(Payload):
    """A provider is asked; ``via`` says whether the tool declares the credential (push) or asks for it while it runs (pull)."""

    service: Name[str]
    mode: Name[str]
    via: Name[Via]
    tool: Name[str]


@event("agentfp.credential.acquired")
class CredentialAcquired(Payload):
    """A provider issued a credential."""

    service: Name[str]
    kind: Name[str]
    via: Name[Via]
    expires_at_s: Number[float | None] = None


@event("agentfp.credential.authorization_required")
class CredentialAuthorizationRequired(Payload):
    """A person must consent first."""

    service: Name[str]
    session_id: Name[str]
    via: Name[Via]
    tool: Name[str]
    told_model: Number[bool] = False


@event("agentfp.credential.failed")
class CredentialFailed(Payload):
    """There is no credential, and the tool does not have one."""

    service: Name[str]
    reason: Name[Reason]
    via: Name[Via]
    tool: Name[str]
    error_class: Name[str | None] = None
    status: Number[int | None] = None


EVENTS = (CredentialRequested, CredentialAcquired, CredentialAuthorizationRequired, CredentialFailed)
