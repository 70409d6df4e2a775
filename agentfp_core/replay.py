"""Going on in the middle of a batch: the calls, their verdicts and outcomes as the record has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentfp_core.asks import TOOL
from agentfp_core.batch import Batch, CallView
from agentfp_core.execute import ToolAnswers
from agentfp_core.run import KERNEL

if TYPE_CHECKING:
    from agentfp_core.events.hook import VerdictFiled
    from agentfp_core.events.pause import PauseRequest
    from agentfp_core.run import Run


@dataclass
class Resumption:
    """Where in a batch a leg goes on.

    Args:
        phase: the phase of the pause that was answered, ``tool``, or None to begin with the first phase.
        asked: the plugins that asked, each with the calls it asked about.
        answers: for each plugin, its own field keys with the answers.
        tool_answers: answers to what tools asked.
    """

    phase: str | None = None
    asked: dict[str, set[str | None]] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    tool_answers: ToolAnswers = field(default_factory=ToolAnswers)


def resumption_of(run: Run[Any], request: PauseRequest, answers: dict[str, Any]) -> Resumption:
    """Sort a person's answers to those who asked.

    Args:
        run: the resuming run; answers to questions of nested runs are left with it.
        request: the pause.
        answers: by question id.
    """
    made = Resumption(phase=request.phase)
    for question in request.questions:
        if question.id not in answers:
            continue
        answer = answers[question.id]
        if question.path:
            run.child_answers.setdefault(question.path[0], {})[question.id] = answer
        elif question.plugin == TOOL and question.tool_call_id is not None:
            made.tool_answers.values.setdefault(question.tool_call_id, {})[question.key] = answer
        else:
            made.answers.setdefault(question.plugin, {})[question.key] = answer
            made.asked.setdefault(question.plugin, set()).add(question.tool_call_id)
    return made


def recovery_of(run: Run[Any]) -> Resumption:
    """Where a leg goes on that broke off without a pause: after the gates when a call was dispatched, else before them."""
    batch = run.state.batch
    return Resumption(phase="tool" if batch is not None and batch.dispatched else None)


def new_batch(run: Run[Any]) -> Batch:
    """The open batch of a run as hooks see it, with everything that the record says of it."""
    opened = run.state.batch
    assert opened is not None
    tools = run.agent.tools
    batch = Batch(tuple([CallView(call, index, tools.get(call.name)) for index, call in enumerate(opened.calls)]))
    for event in opened.verdicts:
        verdict: VerdictFiled = event.payload  # type: ignore[assignment]
        call = batch.get(event.call_id or "")
        if call is not None and verdict.verdict == "Allow":
            if verdict.arguments is not None:
                call.arguments_json = verdict.arguments
            if verdict.plugin == KERNEL and verdict.phase == "consent":
                call.approved = True
    for call_id, (_, ended) in opened.ended.items():
        view = batch.get(call_id)
        if view is not None:
            view.outcome = ended.outcome
    return batch
