"""The spans of model calls: the run's own, and those that plugins make for their own work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentfp.plugin import ExportedEvent
from agentfp_otel import names
from agentfp_otel.contents import Contents, cut
from agentfp_otel.place import Place
from agentfp_otel.spans import OpenSpan


class ModelCalls:
    """The model calls of one leg.

    Args:
        place: where their spans hang.
        provider: of the model, under its well-known name.
        model: the model; a request may name another.
        conversation: the attribute that names it.
        content: the texts of the run, where they are wanted.
    """

    def __init__(self, place: Place, provider: str, model: str, conversation: Mapping[str, Any], content: Contents | None) -> None:
        self._place = place
        self._kit = place.kit
        self._provider = provider
        self._model = model
        self._conversation = conversation
        self._content = content
        self._offered = 0
        self._shortened: set[str] = set()
        self._replied: tuple[OpenSpan, int, Mapping[str, Any], Mapping[str, Any]] | None = None
        self.open: OpenSpan | None = None
        self.count = 0
        self.reply_ns = 0

    def served(self, event: ExportedEvent) -> None:
        """A request went to the model. Fields that the event leaves out are as in the request before."""
        if self._replied is not None:
            self.settle()
        self.count += 1
        data = event.data
        if data.get("provider") is not None:
            self._provider = names.provider(data["provider"])
        self._model = data.get("model") or self._model
        if data.get("tools") is not None:
            self._offered = len(data["tools"])
        for edit in data.get("edits") or ():
            if edit["op"] in ("ticket", "hide"):
                self._shortened.add(edit["target"])
            elif edit["op"] == "restore":
                self._shortened.discard(edit["target"])
        attributes = {**self._labels(), **self._conversation}
        if self._kit.explain:
            attributes["agentfp.request.messages"] = data.get("messages", 0)
            attributes["agentfp.request.tools_count"] = self._offered
            attributes["agentfp.receipt.hash"] = data.get("receipt", "")
        if self._shortened:
            attributes[names.COMPACTED] = True
        if self._content is not None:
            self._content.request(event.payload, attributes)
        self.open = self._place.open(event, "chat", self._kit.names.chat(self._model), event.ts_ns, attributes, client=True)

    def replied(self, event: ExportedEvent) -> None:
        """A reply is complete. Its span ends when it is known what the reply cost."""
        chat, self.open = self.open, None
        if chat is None:
            return
        data = event.data
        stop = data.get("stop_reason", "")
        finish = (names.FINISH.get(stop, stop),)
        chat.attributes[names.FINISH_REASONS] = self._place.root.attributes[names.FINISH_REASONS] = finish
        if data.get("response_id") is not None:
            chat.attributes[names.RESPONSE_ID] = data["response_id"]
        self._count_tokens(chat, data)
        self._replied = (chat, event.ts_ns, data, {} if self._kit.meters is None else self._labels())
        self.reply_ns = event.ts_ns

    def helper_replied(self, event: ExportedEvent) -> None:
        """A plugin called a model for its own work. Of a nested run, there are spans already."""
        self.settle()
        data = event.data
        if data.get("purpose") == "nested":
            return
        model = data.get("model", "unknown")
        operation = "embeddings" if data.get("purpose") == "embed" else "chat"
        labels = {
            names.OPERATION: operation,
            names.PROVIDER: names.provider(data.get("provider", "unknown")),
            names.REQUEST_MODEL: model,
        }
        attributes = {**labels, "agentfp.call.purpose": data.get("purpose", ""), "agentfp.call.plugin": data.get("plugin", "")}
        start_ns = event.ts_ns - data.get("duration_ms", 0) * 1_000_000
        span = self._place.open(event, "chat", self._kit.names.chat(model, operation), start_ns, attributes, client=True)
        self._count_tokens(span, data)
        self._replied = (span, event.ts_ns, data, labels)

    def priced(self, event: ExportedEvent) -> None:
        """A reply was priced."""
        data = event.data
        usd = float(data.get("usd", "0"))
        if self._replied is not None and data.get("purpose") != "nested":
            self._replied[0].attributes["agentfp.cost.usd"] = usd
            if self._kit.meters is not None:
                self._kit.meters.usd(self._replied[3], usd)
        self._place.root.attributes["agentfp.cost.usd"] = float(data.get("cumulative_usd", "0"))

    def attempt_failed(self, event: ExportedEvent) -> None:
        """The request is sent again; one span covers all attempts."""
        if self.open is not None:
            self.open.attributes["agentfp.attempts"] = event.data.get("attempt", 0) + 1
        self._place.note(event, self.open or self._place.of(event))

    def call_failed(self, event: ExportedEvent) -> None:
        """A call failed for which tokens were counted."""
        if self._kit.meters is not None:
            self._kit.meters.tokens(self._labels(), event.data)
        self._place.note(event, self.open or self._place.of(event))

    def wrote(self, message: str) -> None:
        """The model's message joined the history."""
        if self._replied is not None:
            self._replied[0].attributes[names.OUTPUT_MESSAGES] = cut(f"[{message}]")

    def settle(self) -> None:
        """End the span of the newest reply."""
        if self._replied is None:
            return
        (span, end_ns, data, labels), self._replied = self._replied, None
        span.end(end_ns)
        if self._kit.meters is not None:
            self._kit.meters.chat(labels, max(end_ns - span.start_ns, 0) / 1e9, data)

    def break_off(self, ts_ns: int, error: str | None, *, cancelled: bool) -> None:
        """The leg ends, in the middle of a call perhaps."""
        self.settle()
        chat, self.open = self.open, None
        if chat is None:
            return
        if cancelled:
            chat.attributes["agentfp.cancelled"] = True
        error = None if cancelled else error or "_OTHER"
        chat.end(ts_ns, error)
        if self._kit.meters is not None:
            labels = self._labels() if error is None else {**self._labels(), names.ERROR_TYPE: error}
            self._kit.meters.chat(labels, max(ts_ns - chat.start_ns, 0) / 1e9, {})

    def _labels(self) -> dict[str, Any]:
        return {names.OPERATION: "chat", names.PROVIDER: self._provider, names.REQUEST_MODEL: self._model}

    def _count_tokens(self, span: OpenSpan, data: Mapping[str, Any]) -> None:
        for field, keys in self._kit.usage.items():
            if data.get(field) is not None:
                for key in keys:
                    span.attributes[key] = data[field]
