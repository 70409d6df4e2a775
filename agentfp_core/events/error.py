"""Domains ``error``, ``reliability``, ``fallback`` and ``resilience``: failures, and what was done about them."""

from __future__ import annotations

from typing import Literal

from agentfp_core.events.base import Content, Name, Number, Payload, event


def _why(text: str | None) -> str:
    return "" if not text else f": {text}"


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

    def __str__(self) -> str:
        return f"the request is sent again after {self.backoff_ms} ms ({self.reason}): attempt {self.attempt} of {self.max_attempts}"


@event("agentfp.error.recovered", kind="diagnostic")
class Recovered(Payload):
    """A retry succeeded."""

    attempt: Number[int]
    total_duration_ms: Number[int]

    def __str__(self) -> str:
        return f"attempt {self.attempt} succeeded after {self.total_duration_ms} ms"


@event("agentfp.error.circuit_changed", kind="diagnostic")
class CircuitChanged(Payload):
    """A circuit breaker moved."""

    state: Name[Literal["closed", "open", "half-open"]]
    provider: Name[str]
    reason: Content[str | None] = None

    def __str__(self) -> str:
        return f"the circuit breaker of {self.provider} is {self.state}{_why(self.reason)}"


@event("agentfp.reliability.retried", kind="diagnostic")
class ReliabilityRetried(Payload):
    """A reliability rule asked for another attempt."""

    attempt: Number[int]
    action: Name[Literal["retry", "retry-other"]]
    error_kind: Name[str]
    from_provider: Name[str]
    to_provider: Name[str]
    error_message: Content[str | None] = None

    def __str__(self) -> str:
        if self.action == "retry-other":
            return f"{self.to_provider} is asked in place of {self.from_provider} ({self.error_kind}){_why(self.error_message)}"
        return f"{self.to_provider} is asked again ({self.error_kind}), attempt {self.attempt}{_why(self.error_message)}"


@event("agentfp.reliability.recovered", kind="diagnostic")
class ReliabilityRecovered(Payload):
    """An attempt after failures served."""

    attempt: Number[int]
    recovered_via: Name[Literal["retry", "retry-other", "fallback"]]
    prior_failures: Number[int]
    error_kind: Name[str]

    def __str__(self) -> str:
        return f"attempt {self.attempt} served, by {self.recovered_via}, after {self.prior_failures} that failed ({self.error_kind})"


@event("agentfp.reliability.fail_fast")
class ReliabilityFailFast(Payload):
    """A reliability rule ended the run."""

    phase: Name[Literal["pre-check", "post-decide"]]
    rule: Name[str]
    attempt: Number[int]
    provider: Name[str | None] = None
    error_kind: Name[str | None] = None
    error_message: Content[str | None] = None

    def __str__(self) -> str:
        return f"the rule {self.rule} ended the call in {self.phase}, at attempt {self.attempt}{_why(self.error_message)}"


@event("agentfp.reliability.rule_failed", kind="diagnostic")
class RuleFailed(Payload):
    """The predicate of a reliability rule raised; the rule was passed over."""

    phase: Name[Literal["pre-check", "post-decide"]]
    rule: Name[str]
    error_class: Name[str]
    error: Content[str | None] = None

    def __str__(self) -> str:
        return f"the rule {self.rule} raised {self.error_class} in {self.phase} and was passed over{_why(self.error)}"


@event("agentfp.fallback.triggered")
class FallbackTriggered(Payload):
    """Another model serves in place of the first."""

    kind: Name[Literal["provider", "tool", "skill"]]
    primary: Name[str]
    fallback: Name[str]
    reason: Content[str | None] = None

    def __str__(self) -> str:
        return f"{self.fallback} serves in place of {self.primary}{_why(self.reason)}"


@event("agentfp.resilience.output_fallback_triggered")
class OutputFallbackTriggered(Payload):
    """No answer fits the output type; the fallback function is asked."""

    stage: Name[Literal["json-parse", "schema-validate"]]
    retries_spent: Number[int]
    error: Content[str | None] = None

    def __str__(self) -> str:
        return f"no answer fits the output type ({self.stage}), so the fallback function is asked{_why(self.error)}"


@event("agentfp.resilience.output_canned_used")
class OutputCannedUsed(Payload):
    """The fallback function failed too; the canned output is used."""

    retries_spent: Number[int]
    error: Content[str | None] = None

    def __str__(self) -> str:
        return f"the canned output is used{_why(self.error)}"
