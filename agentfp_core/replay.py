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


@dataclass(slots=True)
class Resumption:
    """Where in a batch a leg goes on.

    Args:
        phase: the phase of the pause that was answered, ``tool``, or None to begin with the first phase.
        asked: who asked (a plugin, and which of its implementations in the phase), each with the calls it asked about.
        answers: for each plugin, its own field keys with the answers.
        about: the same by plugin and call, for hooks that are called once a call and use one key for all of them.
        tool_answers: answers to what tools asked.
    """

    phase: str | None = None
    asked: dict[tuple[str, int], set[str | None]] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    about: dict[tuple[str, str | None], dict[str, Any]] = field(default_factory=dict)
    tool_answers: ToolAnswers = field(default_factory=ToolAnswers)


def resumption_of(run: Run[Any], request: PauseRequest, answers: dict[str, Any]) -> Resumption:
    """Sort a person's answers to those who asked.

    Args:
        run: the resuming run; answers to questions of nested runs are left with it.
        request: the pause.
        answers: by question id.
    """
    made = Resumption(phase=request.phase)
    for question in request.questions:  # who asked is called again, also where a question that may be left open was
        plugin, key, call_id = question.plugin, question.key, question.tool_call_id
        if question.path:
            places = [run.child_answers.setdefault(question.path[0], {})]
            key = question.id
        elif plugin == TOOL and call_id is not None:
            places = [made.tool_answers.values.setdefault(call_id, {})]
        else:
            made.asked.setdefault((plugin, question.asker), set()).add(call_id)
            places = [made.answers.setdefault(plugin, {}), made.about.setdefault((plugin, call_id), {})]
        if question.id in answers:
            for place in places:
                place[key] = answers[question.id]
    return made


def recovery_of(run: Run[Any]) -> Resumption:
    """Where a leg goes on that broke off without a pause: after the gates when a call was dispatched, else before them."""
    batch = run.state.batch
    return Resumption(phase="tool" if batch is not None and batch.dispatched else None)


def new_batch(run: Run[Any]) -> Batch:
    """The open batch of a run as hooks see it, with everything that the record says of it."""
    opened = run.state.batch
    assert opened is not None
    tools = run.tools
    batch = Batch(tuple([CallView(call, index, tools.get(call.name)) for index, call in enumerate(opened.calls)]))
    for event in opened.verdicts:
        verdict: VerdictFiled = event.payload  # type: ignore[assignment]
        call = batch.get(event.call_id or "")
        if call is not None and verdict.verdict == "Allow":
            if verdict.arguments is not None:
                call._rewrite(verdict.arguments)
            if verdict.plugin == KERNEL and verdict.phase == "consent":
                call._approve()
    for call_id, (_, ended) in opened.ended.items():
        view = batch.get(call_id)
        if view is not None:
            view._end(ended.outcome)
    return batch
