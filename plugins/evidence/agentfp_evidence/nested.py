"""What the answer of a nested agent grounds: only what its own run grounds. Delegation launders no inventions.

A call that several nested runs answered has a record of each: under the call's id, ``CALL#2`` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agentfp.plugin import Message, Record
from agentfp.transcripts import Transcript
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
    return _grounded(record.history, failed_calls(record), nested_grounds(record, options), options)


def nested_grounds(record: Record, options: EvidenceOptions) -> Mapping[str, list[str]]:
    """By call id, what the answers of nested runs ground.

    Args:
        record: of the run that called them.
        options: how to judge.
    """
    return by_call({key: grounded_texts(child, options) for key, child in record.children.items()})


def transcript_grounds(transcript: Transcript, options: EvidenceOptions) -> Mapping[str, list[str]]:
    """The same of a transcript that holds the conversations of its nested agents.

    Args:
        transcript: of the agent that called them.
        options: how to judge.
    """
    return by_call(
        {
            key: _grounded(child.messages, child.failed, transcript_grounds(child, options), options)
            for key, child in transcript.nested.items()
        }
    )


def by_call(texts: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """What the nested runs of each call ground together.

    Args:
        texts: what each grounds, by its key.
    """
    found: dict[str, list[str]] = {}
    for key, each in texts.items():
        found.setdefault(_FURTHER.sub("", key) if _FURTHER.sub("", key) in texts else key, []).extend(each)
    return found


_FURTHER = re.compile(r"#\d+\Z")


def _grounded(
    history: Sequence[Message], failed: set[str] | frozenset[str], nested: Mapping[str, list[str]], options: EvidenceOptions
) -> list[str]:
    if not history or history[-1].role != "assistant":
        return []
    tools = {index for index, message in enumerate(history) if message.role == "tool"}
    index = EvidenceIndex(history[:-1], failed=failed, nested=nested)
    report = judge_with(index, history[-1].content, options=options)
    return [v.text for v in report.values if v.verdict == "supported" and any(source.message in tools for source in v.sources)]
