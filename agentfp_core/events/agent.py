"""Domains ``agent``, ``answer`` and ``run``: a leg of a run from its manifest to its end."""

from __future__ import annotations

from typing import Literal

from agentfp_core.events.base import Content, Hash, Name, Number, Payload, event, part

Leg = Literal["run", "resume", "recovery"]
EarlyReason = Literal["max-iterations", "cost-budget", "token-budget", "max-wallclock", "requested"]
RunStatus = Literal["answered", "paused", "stopped_early", "refused", "failed", "cancelled"]


@part
class PluginEntry:
    """A plugin of the run: its name, version and place in the order."""

    name: Name[str]
    version: Name[str]
    order: Number[int]


@event("agentfp.agent.run_configured")
class RunConfigured(Payload):
    """First event of each leg: who runs with what. Names only, never an address, a key or a person."""

    leg: Name[Leg]
    agent_id: Name[str]
    provider: Name[str]
    model: Name[str]
    tools: Name[tuple[str, ...]]
    plugins: tuple[PluginEntry, ...]
    max_iterations: Number[int]
    stream: Name[str]
    config_hash: Hash[str]
    resumed_from: Name[str | None] = None
    redaction: Content[tuple[str, ...]] = ()
    plugin_problems: Content[tuple[str, ...]] = ()


@event("agentfp.agent.turn_start")
class TurnStart(Payload):
    """The person's message was admitted; it stands in ``message.added`` of the same id."""

    message_id: Name[str]


@event("agentfp.agent.iteration_start")
class IterationStart(Payload):
    """Before each model call; exactly one ``iteration_end`` follows."""

    iteration: Number[int]


@event("agentfp.agent.iteration_end")
class IterationEnd(Payload):
    """An iteration is closed, in whatever way."""

    tool_call_count: Number[int]


@event("agentfp.agent.route_decided")
class RouteDecided(Payload):
    """What the loop does with a reply; one for each reply."""

    chosen: Name[Literal["tool-calls", "wrap-up", "output-retry", "step-nudge", "evidence-recheck", "revision", "final"]]
    by: Name[str | None] = None
    early: Name[EarlyReason | None] = None


@event("agentfp.agent.budget_exhausted")
class BudgetExhausted(Payload):
    """A limit cut the turn short."""

    reason: Name[EarlyReason]
    pending_tool_calls: Number[int]
    action: Name[Literal["wrapped-up", "cut-short"]]
    limit: Number[int | None] = None


@event("agentfp.agent.turn_end")
class TurnEnd(Payload):
    """The answer of a turn is fixed; it stands in ``message.added`` of ``message_id`` unless it was refused."""

    status: Name[RunStatus]
    iteration_count: Number[int]
    duration_ms: Number[int]
    message_id: Name[str | None] = None
    input_tokens: Number[int | None] = None
    output_tokens: Number[int | None] = None
    stopped_early: Name[EarlyReason | None] = None
    pending_tool_calls: Number[int] = 0
    answer_was_empty: Number[bool] = False
    wrapped_up: Number[bool] = False
    truncated: Number[bool] = False


@event("agentfp.agent.output_schema_retry")
class OutputSchemaRetry(Payload):
    """A corrective re-ask for the output type is sent."""

    attempt: Number[int]
    retries_remaining: Number[int]
    stage: Name[Literal["json-parse", "schema-validate"]]
    corrective_message_hash: Hash[str]
    path: Content[str | None] = None
    error: Content[str | None] = None


@event("agentfp.agent.output_attempt")
class OutputAttempt(Payload):
    """An answer was judged against the output type."""

    attempt: Number[int]
    outcome: Name[Literal["passed", "retried", "exhausted"]]
    stage: Name[Literal["json-parse", "schema-validate"] | None] = None
    reason: Name[Literal["limit"] | None] = None
    broken_by: Name[str | None] = None
    path: Content[str | None] = None
    error: Content[str | None] = None


@event("agentfp.agent.output_contract_unmet")
class OutputContractUnmet(Payload):
    """The delivered answer does not fit the output type."""

    stage: Name[Literal["json-parse", "schema-validate"]]
    attempts: Number[int]
    retries_spent: Number[int]
    fallback_configured: Number[bool]
    broken_by: Name[str | None] = None
    stop_reason: Name[str | None] = None
    path: Content[str | None] = None
    error: Content[str | None] = None


@event("agentfp.agent.thinking_omitted")
class ThinkingOmitted(Payload):
    """A provider adapter prepared a request without a thinking block that could have gone back."""

    provider: Name[str]
    model: Name[str]
    message_index: Number[int]
    block_index: Number[int]
    reason: Name[str]


@event("agentfp.answer.drafted")
class AnswerDrafted(Payload):
    """A would-be answer that was sent back; it stands nowhere else."""

    text: Content[str]
    key: Name[str]
    by: Name[str]


@event("agentfp.answer.refused")
class AnswerRefused(Payload):
    """A message, a call or an answer was refused, and the run with it. The refused text stands here only.

    An answer that was in the history already is taken out of it: ``withdraws`` names its message.
    """

    by: Name[str]
    moment: Name[str]
    error_class: Name[str]
    reason: Content[str]
    text: Content[str | None] = None
    withdraws: Name[str | None] = None


@event("agentfp.answer.not_assessed")
class AnswerNotAssessed(Payload):
    """A plugin that should have judged the answer failed; the answer went out without its judgement."""

    plugin: Name[str]
    phase: Name[str]

    def __str__(self) -> str:
        return f"plugin {self.plugin} failed to judge the answer in {self.phase}, and it went out without"


@event("agentfp.run.stop_requested")
class StopRequested(Payload):
    """A hook asked for the turn to end before its next model call; ``limit`` says which limit it keeps, where it keeps one."""

    by: Name[str]
    reason: Content[str]
    limit: Name[EarlyReason] = "requested"

    def __str__(self) -> str:
        return f"{self.by} asks for the turn to end: {self.reason}"


@event("agentfp.run.cancelled")
class RunCancelled(Payload):
    """The task was cancelled or its time was up."""

    phase: Name[Literal["llm", "tool", "compose", "answer"]]
    tool_name: Name[str | None] = None
    cause: Name[Literal["cancelled", "timeout"]] = "cancelled"


@event("agentfp.run.ended")
class RunEnded(Payload):
    """Last event of each leg.

    ``delivered`` are the events that were handed to sinks up to here, or still wait for them; ``dropped`` those that were given up.
    """

    status: Name[RunStatus]
    duration_ms: Number[int]
    delivered: Number[int] = 0
    dropped: Number[int] = 0
    plugin_failures: Number[int] = 0
    listener_failures: Number[int] = 0
