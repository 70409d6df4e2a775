"""``assess_answer``: a would-be answer goes through its phases and is accepted, sent back, or refused."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agentfp_core.batch import View, put
from agentfp_core.calling import check_verdict, each, file_verdict
from agentfp_core.errors import AnswerRefusedError, PluginError, text_of
from agentfp_core.events.agent import AnswerDrafted, AnswerNotAssessed, AnswerRefused, OutputAttempt, OutputSchemaRetry
from agentfp_core.hookspecs import PHASES
from agentfp_core.output import OutputProblem
from agentfp_core.served import KERNEL, Piece
from agentfp_core.verdicts import Refuse, Replace, Revise

if TYPE_CHECKING:
    from agentfp_core.messages import StopReason
    from agentfp_core.plugins import Impl
    from agentfp_core.replies import Reply
    from agentfp_core.run import Run

MAX_REVISIONS = 3
NO_NATIVE_ANSWER = ("refusal", "max_tokens", "context_window", "content_filter")


class AnswerDraft(View):
    """A would-be answer, as ``assess_answer`` hooks see it.

    Attributes:
        text: what people would be shown.
        output: the value of the output type; None before phase ``schema``, without an output type, or when it does not fit.
        stop: why the model stopped.
        may_revise: whether the model can be asked once more.
        stopped_early: whether a limit has fired.
    """

    __slots__ = ("may_revise", "output", "stop", "stopped_early", "text")
    text: str
    output: Any
    stop: StopReason
    may_revise: bool
    stopped_early: bool

    def __init__(self, text: str, stop: StopReason, *, may_revise: bool, stopped_early: bool) -> None:
        put(self, "text", text)
        put(self, "output", None)
        put(self, "stop", stop)
        put(self, "may_revise", may_revise)
        put(self, "stopped_early", stopped_early)

    def _replace(self, text: str) -> None:
        put(self, "text", text)

    def _take(self, output: Any) -> None:
        put(self, "output", output)


@dataclass(slots=True)
class Judged:
    """What became of a would-be answer.

    Args:
        kind: ``final``, ``retry`` (of the output type), ``revise``, ``refused``.
        draft: the draft as it stands.
        problem: why it does not fit the output type.
        late: what the next request says.
        by: the plugin that decided.
        phase: the phase in which it did.
        error: of a refusal.
        replaced: whether its text is another than the model's.
        tell_person: of a refusal, a sentence that may be shown.
        broken_by: the plugin whose rewriting made it unfit.
    """

    kind: Literal["final", "retry", "revise", "refused"]
    draft: AnswerDraft
    problem: OutputProblem | None = None
    late: tuple[Piece, ...] = ()
    by: str | None = None
    phase: str = ""
    error: Exception | None = None
    replaced: bool = False
    tell_person: str | None = None
    broken_by: str | None = None


class _Judge:
    def __init__(self, run: Run[Any], reply: Reply, *, limit_fired: bool) -> None:
        self.run = run
        self.reply = reply
        self.limit_fired = limit_fired
        may_revise = not limit_fired and sum(run.state.revisions.values()) < MAX_REVISIONS
        draft = AnswerDraft(reply.shown, reply.response.stop, may_revise=may_revise, stopped_early=run.state.early is not None)
        self.judged = Judged("final", draft)
        self.rewritten_by: str | None = None

    async def go(self) -> Judged:
        phases = self.run.agent.plugin_set.phases["assess_answer"]
        for phase in PHASES["assess_answer"]:
            if phase == "schema":
                self.schema()
            elif phases[phase]:
                await each(self.run, [(impl, None, (self.judged.draft, self.run)) for impl in phases[phase]], self.take, self.failed)
            if self.judged.kind != "final":
                break
        return self.judged

    def take(self, impl: Impl, _: None, answer: Any) -> bool:
        verdict = check_verdict(impl, answer)
        if not self.run.agent.plugin_set.by_name[impl.plugin].may_change_answers:
            msg = f"plugin {impl.plugin!r} answered 'assess_answer' with a {type(verdict).__name__}, but says that it changes no answers"
            raise PluginError(msg, plugin=impl.plugin, moment=impl.moment)
        file_verdict(self.run, impl, verdict)
        judged = self.judged
        if isinstance(verdict, Replace):
            if verdict.content != judged.draft.text:
                judged.draft._replace(verdict.content)
                judged.replaced = True
                self.rewritten_by = impl.plugin
            return True
        if isinstance(verdict, Refuse):
            self.refuse(impl, verdict.error, verdict.tell_person)
            return False
        return not self.revise(impl, verdict)

    def failed(self, impl: Impl, _: None, error: Exception) -> bool:
        plugin = self.run.agent.plugin_set.by_name[impl.plugin]
        refuses = impl.on_error == "answer-refused" or plugin.refuse_on_failure
        self.run.plugin_failed(impl.plugin, "assess_answer", impl.phase, "answer-refused" if refuses else "skipped", error)
        if not refuses:
            self.run.emit(AnswerNotAssessed(impl.plugin, impl.phase))
            return True
        why = AnswerRefusedError(f"plugin {impl.plugin!r} failed to judge the answer in phase {impl.phase!r}", plugin=impl.plugin)
        why.__cause__ = error
        self.refuse(impl, why, None)
        return False

    def refuse(self, impl: Impl, error: Exception, tell_person: str | None) -> None:
        judged = self.judged
        judged.kind, judged.by, judged.phase, judged.error, judged.tell_person = "refused", impl.plugin, impl.phase, error, tell_person
        self.run.emit(AnswerRefused(impl.plugin, "assess_answer", type(error).__name__, text_of(error), judged.draft.text))

    def revise(self, impl: Impl, verdict: Revise) -> bool:
        """Send the draft back, when that is still allowed."""
        judged, state = self.judged, self.run.state
        key = f"{impl.plugin}.{verdict.key}"
        if not judged.draft.may_revise or state.revisions.get(key, 0) >= verdict.max:
            return False
        judged.kind, judged.by, judged.phase = "revise", impl.plugin, impl.phase
        quoted = f"<draft>\n{judged.draft.text}\n</draft>"
        texts = ["An answer was drafted and is sent back for revision. It was not shown to anybody.", quoted, *verdict.pieces]
        judged.late = (Piece(impl.plugin, f"revise.{verdict.key}", "late", "\n\n".join(texts)),)
        self.run.emit(AnswerDrafted(judged.draft.text, key, impl.plugin))
        return True

    def schema(self) -> None:
        """The kernel's own judgement: does the text fit the output type."""
        output, run, judged = self.run.agent.output, self.run, self.judged
        if output is None:
            return
        checked = output.check(judged.draft.text)
        native = output.way(run.model) == "native" and judged.draft.stop.value in NO_NATIVE_ANSWER
        if native and not isinstance(checked, OutputProblem):
            checked = OutputProblem("schema-validate", None, f"the model stopped with {judged.draft.stop.value}")
        attempt = run.state.schema_attempts + 1
        if not isinstance(checked, OutputProblem):
            judged.draft._take(checked)
            run.emit(OutputAttempt(attempt, "passed"))
            return
        judged.problem = checked
        if self.rewritten_by is not None and not isinstance(output.check(self.reply.shown), OutputProblem):
            judged.broken_by = self.rewritten_by
        left = output.retries - run.state.schema_retries
        details = {"stage": checked.stage, "path": checked.path, "error": checked.error}
        if left <= 0 or self.limit_fired or judged.broken_by is not None:
            reason: Literal["limit"] | None = "limit" if self.limit_fired and left > 0 else None
            run.emit(OutputAttempt(attempt, "exhausted", reason=reason, broken_by=judged.broken_by, **details))  # type: ignore[arg-type]
            return
        text = output.corrective(judged.draft.text, checked)
        run.emit(OutputAttempt(attempt, "retried", **details))  # type: ignore[arg-type]
        run.emit(AnswerDrafted(judged.draft.text, "output_schema", KERNEL))
        hashed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        run.emit(OutputSchemaRetry(attempt, left - 1, checked.stage, hashed, checked.path, checked.error))
        judged.kind, judged.by, judged.phase = "retry", KERNEL, "schema"
        judged.late = (Piece(KERNEL, "output_schema.retry", "late", text),)


async def judge_answer(run: Run[Any], reply: Reply, *, limit_fired: bool) -> Judged:
    """Take a would-be answer through the phases.

    Args:
        run: the run.
        reply: the reply that would be the answer.
        limit_fired: whether the model may not be called again, the wrap-up apart.
    """
    run.phase = "answer"
    return await _Judge(run, reply, limit_fired=limit_fired).go()
