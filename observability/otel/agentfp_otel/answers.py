"""The span in which a would-be answer is judged, and the verdict on it."""

from __future__ import annotations

from agentfp.plugin import ExportedEvent
from agentfp_otel.model_calls import ModelCalls
from agentfp_otel.place import Place
from agentfp_otel.spans import OpenSpan

VERDICT = ("action", "supported", "unverifiable", "unsupported", "strong", "on_unsupported", "after_revision")


class Answers:
    """The judgements of one leg.

    Args:
        place: where their spans hang.
        models: know when the reply came that is judged.
    """

    def __init__(self, place: Place, models: ModelCalls) -> None:
        self._place = place
        self._kit = place.kit
        self._models = models
        self._check: OpenSpan | None = None

    def judged(self, event: ExportedEvent) -> None:
        """Somebody said something of a would-be answer."""
        self._open(event)
        self._place.note(event, self._check or self._place.of(event))

    def _open(self, event: ExportedEvent) -> None:
        reply_ns = self._models.reply_ns
        if self._check is None and reply_ns:
            self._check = self._place.open(event, "check", "agentfp.assess_answer", reply_ns, {})

    def evidence_checked(self, event: ExportedEvent) -> None:
        """It was judged by where its values come from: the verdict, and its counts."""
        data, root = event.data, self._place.root
        verdict = {f"agentfp.evidence.{key}": data[key] for key in VERDICT if key in data}
        root.attributes.update(verdict)
        self._open(event)
        if self._check is not None:
            self._check.attributes.update(verdict)
        self._place.note(event, root)
        if "action" not in data:
            return
        if self._kit.explain:
            judged = data.get("supported", 0) + data.get("unsupported", 0)
            result = {"gen_ai.evaluation.name": "agentfp.evidence", "gen_ai.evaluation.score.label": data["action"]}
            if judged:
                result["gen_ai.evaluation.score.value"] = data.get("supported", 0) / judged
            root.note("gen_ai.evaluation.result", event.ts_ns, result)
        if self._kit.meters is not None:
            self._kit.meters.check(data["action"])

    def assessed(self, event: ExportedEvent) -> None:
        """It was said how far it stands."""
        data, root = event.data, self._place.root
        if "standing" in data:
            root.attributes["agentfp.answer.standing"] = data["standing"]
            if self._kit.meters is not None:
                self._kit.meters.standing(data["standing"])
        if data.get("reasons"):
            root.attributes["agentfp.answer.reasons"] = tuple([str(reason) for reason in data["reasons"]])
        self._open(event)
        self._place.note(event, root)

    def verdict(self, event: ExportedEvent, tool: OpenSpan | None) -> None:
        """A hook answered something."""
        if event.data.get("moment") == "assess_answer":
            self.judged(event)
        else:
            self._place.note(event, tool or self._place.of(event))

    def routed(self, event: ExportedEvent) -> None:
        """It was decided what becomes of the reply."""
        self._place.note(event, self._place.of(event))
        self.end(event.ts_ns)

    def end(self, ts_ns: int) -> None:
        """It is judged."""
        if self._check is not None:
            self._check.end(ts_ns)
            self._check = None
