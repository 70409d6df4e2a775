"""``after_result``: what the model reads of each result; then the messages land, in call order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pydantic_core

from agentfp_core.batch import Batch, CallView, ResultView
from agentfp_core.calling import check_verdict, each, file_verdict
from agentfp_core.errors import PluginError
from agentfp_core.events.tool import RepeatedCall
from agentfp_core.messages import part_from_dict
from agentfp_core.outcomes import land, parts_json
from agentfp_core.results import cap
from agentfp_core.verdicts import Note, Replace, Withhold

if TYPE_CHECKING:
    from agentfp_core.plugins import Impl
    from agentfp_core.run import Run

WITHHELD = "This result is withheld. Go on without it."
SAME_RESULT = "This call was made before with the same arguments and gave the same result. Calling it once more will not give another."
SAME_ARGUMENTS = "This call was made before with the same arguments."


async def read_results(run: Run[Any], batch: Batch) -> None:
    """Take the results of a batch through the phases and land their messages.

    Args:
        run: the run.
        batch: the calls; each has its outcome.
    """
    opened = run.state.batch
    assert opened is not None
    for call in batch.calls:
        seq, ended = opened.ended[call.id]
        parts = () if ended.parts is None else tuple([part_from_dict(part) for part in pydantic_core.from_json(ended.parts)])
        batch._results[call.id] = ResultView(call.id, seq, ended, batch._values.get(call.id), parts)
    reader = _Reader(run, batch)
    for _, phase, impls in run.agent.reading_plan:
        if phase == "cap":
            reader.cap()
        elif phase == "note":
            reader.note_repeats(opened.ended)
        if impls:
            await reader.hooks(impls)
    for call in batch.calls:
        if call.id not in opened.landed:
            result = batch.results[call.id]
            content = None if result.content == result.real else result.content
            land(run, call.id, call.name, result.seq, content=content, notes=result.notes, parts=parts_json(result.parts))


class _Reader:
    def __init__(self, run: Run[Any], batch: Batch) -> None:
        self.run = run
        self.batch = batch

    async def hooks(self, impls: tuple[Impl, ...]) -> None:
        batch, run = self.batch, self.run
        units: list[tuple[Impl, CallView | None, tuple[Any, ...]]] = []
        for impl in impls:
            if impl.per == "batch":
                units.append((impl, None, (batch, run)))
            else:
                units += [(impl, call, (batch.results[call.id], call, batch, run)) for call in batch.calls]
        await each(run, units, self.take, self.failed)

    def take(self, impl: Impl, call: CallView | None, answer: Any) -> bool:
        if call is not None:
            self.apply(impl, self.batch.results[call.id], check_verdict(impl, answer))
            return True
        if not isinstance(answer, Mapping) or any(key not in self.batch.results for key in answer):
            what = "None or a mapping of call id to verdict"
            msg = f"plugin {impl.plugin!r} with per='batch' must answer {what}, got a {type(answer).__name__}"
            raise PluginError(msg, plugin=impl.plugin, moment=impl.moment)
        checked = {call_id: check_verdict(impl, verdict) for call_id, verdict in answer.items()}
        for call_id, verdict in checked.items():
            self.apply(impl, self.batch.results[call_id], verdict)
        return True

    def failed(self, impl: Impl, call: CallView | None, error: Exception) -> bool:
        self.run.plugin_failed(impl.plugin, impl.moment, impl.phase, impl.on_error, error)
        if impl.on_error == "result-withheld":
            for withheld in self.batch.calls if call is None else (call,):
                self.withhold(self.batch.results[withheld.id], WITHHELD)
        return True

    def apply(self, impl: Impl, result: ResultView, verdict: Any) -> None:
        if verdict is None:
            return
        file_verdict(self.run, impl, verdict, result.call_id)
        if isinstance(verdict, Note):
            result._note(verdict.text)
        elif isinstance(verdict, Withhold):
            self.withhold(result, verdict.tell_model or WITHHELD)
        elif isinstance(verdict, Replace) and not result.withheld:
            result._replace(verdict.content)

    def withhold(self, result: ResultView, text: str) -> None:
        result._withhold(text)

    # --- the kernel's own ---

    def cap(self) -> None:
        """Cut what is longer than the run's limits."""
        limits = self.run.limits
        if limits.tool_result_chars is None and limits.tool_results_total_chars is None:
            return
        left = limits.tool_results_total_chars
        for call in self.batch.calls:
            result = self.batch.results[call.id]
            most = min((n for n in (limits.tool_result_chars, left) if n is not None), default=None)
            if most is not None:
                result._replace(cap(result.content, max(most, 1), call.name))
            if left is not None:
                left = max(left - len(result.content), 0)

    def note_repeats(self, ended: Mapping[str, tuple[int, Any]]) -> None:
        """Tell the model, once, that it repeats itself."""
        if not self.run.agent.repeated_call_note:
            return
        seen: dict[str, int] = {}
        repeats = self.run.state.repeats
        for call in reversed(self.batch.calls):
            fingerprint = ended[call.id][1].fingerprint
            if fingerprint is None:
                continue
            count = repeats.get(fingerprint, 0) - seen.get(fingerprint, 0)
            seen[fingerprint] = seen.get(fingerprint, 0) + 1
            if count == 2:
                by_arguments = call.tool is not None and call.tool.repeated_when == "arguments"
                result = self.batch.results[call.id]
                result._note(SAME_ARGUMENTS if by_arguments else SAME_RESULT)
                mode = "arguments" if by_arguments else "result"
                self.run.emit(RepeatedCall(call.name, 2, fingerprint, mode), call_id=call.id)  # type: ignore[arg-type]
