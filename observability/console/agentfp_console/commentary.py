"""Tells a run in sentences, one an event, for whoever reads along: the agent acts, the model says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentfp.plugin import ExportedEvent, MemoSource, Record, record_of
from agentfp_console.thinking import filled, one_line

UNKNOWN: Final = "unknown"
"""The key of an event that this module does not know: an application's, or one of a plugin that came later."""

TEMPLATES: Mapping[str, str] = {
    "asked": "The user asked {agent} something.",
    "asked.content": 'The user asked {agent}: "{text}"',
    "llm.first": "{agent} put the question to the model.",
    "llm.again": "{agent} gave the model what the tools had found.",
    "llm.more": "{agent} asked the model once more.",
    "reply.tools": "The model wants to use a tool.",
    "reply.final": "The model gave its answer.",
    "reply.failed": "A call of the model failed.",
    "helper": "{plugin} asked a model for its own work ({purpose}).",
    "tool": "{agent} called {tool}{which}.",
    "tool.undeclared": "The model called a tool that there is not.",
    "tool.success": "{tool} gave its result.",
    "tool.partial": "{tool} gave a part of its result.",
    "tool.absent": "{tool} looked and found nothing.",
    "tool.failure": "{tool} failed.",
    "tool.denied": "{agent} was not allowed to use {tool}.",
    "tool.invalid": "The arguments for {tool} did not fit, so it did not run.",
    "tool.declined": "A person said no to {tool}.",
    "tool.cancelled": "{tool} was cancelled.",
    "tool.halted": "{tool} did not run, for the run was halted.",
    "tool.abandoned": "{tool} did not run, for the question about it was dropped.",
    "tool.unknown": "It is not known whether {tool} ran to its end.",
    "tool.progress": "{tool} reported how far it is.",
    "pause": "{agent} stopped to ask a person.",
    "resume": "A person answered, and {agent} went on.",
    "approved": "A person let {tool} run.",
    "rejected": "A person did not let {tool} run.",
    "revision": "The answer was sent back to the model.",
    "refused": "The answer was refused.",
    "not_assessed": "{plugin} could not judge the answer.",
    "evidence.grounded": "Every value of the answer was found in a result.",
    "evidence.flagged": "{unsupported} value(s) of the answer could not be found in any result; they were marked.",
    "evidence.revision-asked": "{unsupported} value(s) of the answer could not be found in any result; the model was asked to mend it.",
    "evidence.refused": "{unsupported} value(s) of the answer could not be found in any result; the answer was refused.",
    "finding.fact": "The model called a result a fact.",
    "finding.open": "The model called a result open.",
    "finding.noise": "The model called a result noise.",
    "finding.ruled-out": "The model said that a result rules something out.",
    "repeated.result": "{tool} was called again and gave the same result.",
    "repeated.arguments": "{tool} was called again with the same arguments.",
    "result_refused": "What {tool} gave was too long to be used.",
    "retried": "The request is sent again.",
    "fallback": "Another model took over.",
    "limit.warn": "A limit was crossed ({kind}); {agent} carried on.",
    "limit.abort": "A limit was crossed ({kind}); {agent} stopped there.",
    "budget.wrapped-up": "The budget was used up, so the model was asked for a last word.",
    "budget.cut-short": "The budget was used up, and {agent} stopped there.",
    "cancelled": "The run was cancelled.",
    "failed": "The run failed.",
    "plugin_failed": "{plugin} failed.",
    "ended.answered": "{agent} answered.",
    "ended.stopped_early": "{agent} ended early.",
    "ended.refused": "{agent} gave no answer.",
}

SKIPPED = frozenset(
    {
        "agent.run_configured", "agent.turn_start", "agent.iteration_start", "agent.iteration_end", "agent.route_decided",
        "agent.output_attempt", "agent.output_schema_retry", "agent.output_contract_unmet", "agent.thinking_omitted", "agent.turn_end",
        "context.blob", "context.budget_pressure", "cost.tick", "cost.unpriced", "error.recovered", "error.circuit_changed",
        "hook.verdict", "message.repaired", "pause.answered", "pause.abandoned", "plugin.slow", "reliability.retried",
        "reliability.recovered", "reliability.fail_fast", "reliability.rule_failed", "resilience.output_fallback_triggered",
        "resilience.output_canned_used", "run.stop_requested", "stream.token", "stream.thinking_delta", "stream.thinking_end",
        "stream.draft_discarded", "tool.dispatched", "tools.changed", "tools.answered_off_wire", "tools.session_started",
        "tools.session_reused", "tools.session_closed", "tools.session_close_failed", "validation.args_invalid",
    }
)  # fmt: skip
"""Events of the kernel that say nothing to somebody who reads along."""


def key_for(event: ExportedEvent, *, calls: int = 1) -> str | None:
    """The key of an event's sentence.

    Args:
        event: the event.
        calls: which model call of the turn it is, where it is one.

    Returns:
        The key; None for an event that is passed over, :data:`UNKNOWN` for one that is not known here.
    """
    name, data = event.name.removeprefix("agentfp."), event.data
    if name in SKIPPED:
        return None
    if name in SIMPLE:
        return SIMPLE[name]
    if name == "message.added":
        if data.get("role") == "user" and data.get("author") == "person":
            return "asked.content" if data.get("content") else "asked"
        return None
    if name == "context.served":
        return "llm.first" if calls == 1 else "llm.again"
    if name == "stream.llm_end":
        return "reply.tools" if data.get("tool_call_count") else "reply.final"
    if name == "model.helper_replied":
        return None if data.get("purpose") == "nested" else "helper"
    if name == "tool.started":
        return "tool" if data.get("tool") else "tool.undeclared"
    if name == "approval.decided":
        return "approved" if data.get("approved") else "rejected"
    if name == "error.fatal":
        return "failed" if data.get("scope") == "run" else None
    if name == "run.ended":
        return f"ended.{data.get('status')}" if data.get("status") in ("answered", "stopped_early", "refused") else None
    for prefix, (head, field) in BY_WORD.items():
        if name == prefix:
            key = f"{head}.{data.get(field)}"
            return key if key in TEMPLATES else None
    return None if name.startswith(("findings.", "evidence.")) else UNKNOWN


SIMPLE: Mapping[str, str] = {
    "answer.drafted": "revision",
    "answer.refused": "refused",
    "answer.not_assessed": "not_assessed",
    "error.retried": "retried",
    "fallback.triggered": "fallback",
    "model.call_failed": "reply.failed",
    "pause.request": "pause",
    "pause.resume": "resume",
    "plugin.failed": "plugin_failed",
    "run.cancelled": "cancelled",
    "tool.progress": "tool.progress",
    "tools.result_refused": "result_refused",
}
BY_WORD: Mapping[str, tuple[str, str]] = {
    "agent.budget_exhausted": ("budget", "action"),
    "cost.limit_hit": ("limit", "action"),
    "evidence.checked": ("evidence", "action"),
    "findings.standing": ("finding", "standing"),
    "tool.ended": ("tool", "outcome"),
    "tools.repeated_call": ("repeated", "mode"),
}


class Commentator:
    """Tells one run and those nested in it; knows which tool a call was of.

    Args:
        app_name: who acts, where an agent has no name.
        templates: over the default ones, by key.
        descriptions: of tools, by name, in words that go after "which".
    """

    def __init__(
        self, app_name: str = "Agent", templates: Mapping[str, str] | None = None, descriptions: Mapping[str, str] | None = None
    ) -> None:
        self._app_name = app_name
        self._templates = {**TEMPLATES, **(templates or {})}
        self._descriptions = descriptions or {}
        self._tools: dict[tuple[str, str | None], str] = {}
        self._calls: dict[tuple[str, int], int] = {}

    def tell(self, event: ExportedEvent) -> str | None:
        """The sentence for an event; None for one that is passed over or not known here."""
        run_id, data = event.header.run_id, event.data
        calls = 1
        if event.name == "agentfp.context.served":
            calls = self._calls[run_id, event.turn] = self._calls.get((run_id, event.turn), 0) + 1
        tool = data.get("tool")
        if tool and event.call_id is not None:
            self._tools[run_id, event.call_id] = tool
        key = key_for(event, calls=calls)
        template = self._templates.get(key or "")
        if key is None or template is None:
            return None
        tool = tool or self._tools.get((run_id, event.call_id)) or "A tool"
        which = self._descriptions.get(tool)
        values = {
            "agent": event.header.agent_id or self._app_name,
            "app": self._app_name,
            "tool": tool,
            "which": f", which {which}" if which else "",
            "text": data.get("content", ""),
            **{name: data.get(name, "") for name in ("plugin", "purpose", "unsupported", "kind")},
        }
        return one_line(filled(template, values))


def commentary(event: ExportedEvent, *, app_name: str = "Agent", templates: Mapping[str, str] | None = None) -> str | None:
    """The sentence for one event by itself.

    Args:
        event: the event.
        app_name: who acts, where the agent has no name.
        templates: over the default ones, by key.
    """
    return Commentator(app_name, templates).tell(event)


def narrate(source: MemoSource, *, content: bool = False, app_name: str = "Agent", templates: Mapping[str, str] | None = None) -> list[str]:
    """The story of a recorded run, in sentences.

    Args:
        source: a result, a record, or the path of a saved one.
        content: whether the person's question is quoted.
        app_name: who acts, where the agent has no name.
        templates: over the default ones, by key.
    """
    return _told(Commentator(app_name, templates), record_of(source), content)


def _told(commentator: Commentator, record: Record, content: bool) -> list[str]:
    told: list[str] = []
    nested: dict[str, Any] = dict(record.children)
    for header in record.headers:
        for event in record.events(run_id=header.run_id):
            if event.name == "agentfp.tool.ended" and event.call_id in nested:
                told += _told(commentator, nested.pop(event.call_id), content)
            sentence = commentator.tell(ExportedEvent(event, header, full=content))
            if sentence is not None:
                told.append(sentence)
    return told
