"""What the answer of a nested agent grounds: only what its own run grounds. Delegation launders no inventions."""

from __future__ import annotations

from collections.abc import Mapping

from agentfp.plugin import Record
from agentfp_evidence.index import EvidenceIndex
from agentfp_evidence.judging import judge_with
from agentfp_evidence.ledger import failed_calls
from agentfp_evidence.options import EvidenceOptions


def grounded_texts(record: Record, options: EvidenceOptions) -> list[str]:
    """The values of a nested run's answer that results of its own tools carry.

    What only its request gave does not count: that was written by the model that called it.

    Args:
        record: of the nested run.
        options: how to judge.
    """
    history = record.history
    if not history or history[-1].role != "assistant":
        return []
    tools = {index for index, message in enumerate(history) if message.role == "tool"}
    index = EvidenceIndex(history[:-1], failed=failed_calls(record), nested=nested_grounds(record, options))
    report = judge_with(index, history[-1].content, options=options)
    return [v.text for v in report.values if v.verdict == "supported" and any(source.message in tools for source in v.sources)]


def nested_grounds(record: Record, options: EvidenceOptions) -> Mapping[str, list[str]]:
    """By call id, what the answers of nested runs ground.

    Args:
        record: of the run that called them.
        options: how to judge.
    """
    return {call_id: grounded_texts(child, options) for call_id, child in record.children.items()}
