"""Domains ``error``, ``reliability``, ``fallback`` and ``resilience``: failures, and what was done about them."""

from __future__ import annotations

from typing import Literal

from agentfp_core.events.base import Content, Name, Number, Payload, event


@event("agentfp.error.fatal")
class Fatal(Payload):
    """The run failed, or a listener raised (then the run goes on)."""

    stage: Name[str]
    scope: Name[Literal["run", "observer"]]
    error_class: Name[str]
    error: Content[str | None] = None


@event("agentfp.error.retried", kind="diagnostic")
class Retried(Payload):
    """A request is sent again after a wait."""

    attempt: Number[int]
    max_attempts: Number[int]
    backoff_ms: Number[int]
    reason: Name[str]
    stated_wait_ms: Number[int | None] = None
    last_error: Content[str | None] = None


@event("agentfp.error.recovered", kind="diagnostic")
class Recovered(Payload):
    """A retry succeeded."""

    attempt: Number[int]
    total_duration_ms: Number[int]


@event("agentfp.error.circuit_changed", kind="diagnostic")
class CircuitChanged(Payload):
    """A circuit breaker moved."""

    state: Name[Literal["closed", "open", "half-open"]]
    provider: Name[str]
    reason: Content[str | None] = None


@event("agentfp.reliability.retried", kind="diagnostic")
class ReliabilityRetried(Payload):
    """A reliability rule asked for another attempt."""

    attempt: Number[int]
    action: Name[Literal["retry", "retry-other"]]
    error_kind: Name[str]
    from_provider: Name[str]
    to_provider: Name[str]
    error_message: Content[str | None] = None


@event("agentfp.reliability.recovered", kind="diagnostic")
class ReliabilityRecovered(Payload):
    """An attempt after failures served."""

    attempt: Number[int]
    recovered_via: Name[Literal["retry", "retry-other", "fallback"]]
    prior_failures: Number[int]
    error_kind: Name[str]


@event("agentfp.reliability.fail_fast")
class ReliabilityFailFast(Payload):
    """A reliability rule ended the run."""

    phase: Name[Literal["pre-check", "post-decide"]]
    rule: Name[str]
    attempt: Number[int]
    provider: Name[str | None] = None
    error_kind: Name[str | None] = None
    error_message: Content[str | None] = None


@event("agentfp.reliability.rule_failed", kind="diagnostic")
class RuleFailed(Payload):
    """The predicate of a reliability rule raised; the rule was passed over."""

    phase: Name[Literal["pre-check", "post-decide"]]
    rule: Name[str]
    error_class: Name[str]
    error: Content[str | None] = None


@event("agentfp.fallback.triggered")
class FallbackTriggered(Payload):
    """Another model serves in place of the first."""

    kind: Name[Literal["provider", "tool", "skill"]]
    primary: Name[str]
    fallback: Name[str]
    reason: Content[str | None] = None


@event("agentfp.resilience.output_fallback_triggered")
class OutputFallbackTriggered(Payload):
    """No answer fits the output type; the fallback function is asked."""

    stage: Name[Literal["json-parse", "schema-validate"]]
    retries_spent: Number[int]
    error: Content[str | None] = None


@event("agentfp.resilience.output_canned_used")
class OutputCannedUsed(Payload):
    """The fallback function failed too; the canned output is used."""

    retries_spent: Number[int]
    error: Content[str | None] = None
