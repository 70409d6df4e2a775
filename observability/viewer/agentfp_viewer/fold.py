"""Folds events into what the page shows first: rows in time, totals, and the outline from which requests and answers are put together.

It works on the JSON of the events, so that events of any plugin and of newer versions are shown. A row is small: content is read from the
file when somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from agentfp_viewer.words import QUIET, excerpt, label_of

Row: TypeAlias = dict[str, Any]
"""JSON data. ``k`` its kind, ``seq`` and ``end`` its first and last event, ``t`` the turn, ``at`` and ``d`` begin and duration in ms,
``s`` its standing (ok, warn, bad, open or absent), ``label`` and ``sub`` what it says, ``p`` the row it belongs to, ``rev`` when it
changed."""

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "thinking_tokens")
CALLS = "calls "
GOOD = ("success", "partial", "absent")
_ENDS = {"answered": "ok", "paused": "warn", "stopped_early": "warn", "refused": "bad", "failed": "bad", "cancelled": "bad"}
_ACTIONS = {"grounded": "ok", "flagged": "warn", "revision-asked": "warn", "refused": "bad"}


class Fold:
    """What is known after some events."""

    def __init__(self) -> None:
        self.rev = 0
        self.rows: list[Row] = []
        self.messages: list[list[Any]] = []
        self.withdrawn: dict[str, int] = {}
        self.blobs: list[tuple[str, int]] = []
        self.served: list[dict[str, Any]] = []
        self.calls: dict[str, dict[str, Any]] = {}
        self.answers: list[dict[str, Any]] = []
        self.tokens: list[int | None] = [None] * len(TOKENS)
        self.usd: Decimal | None = None
        self.unpriced = 0
        self.status: str | None = None
        self.pending: list[str] = []
        self.question = ""
        self.agent = ""
        self.models: list[str] = []
        self.plugins: dict[str, str] = {}
        self.problems: list[str] = []
        self.now = 0.0
        self.timed = False
        self._base = 0.0
        self._model: Row | None = None
        self._texts: dict[str, tuple[int, str]] = {}
        self._judged: dict[str, Any] | None = None

    def open_leg(self, header: Mapping[str, Any]) -> None:
        """A leg begins: its clock starts where that of the leg before it stopped."""
        self._base = self.now
        self.agent = str(header.get("agent_id") or self.agent)
        self.status = None

    def take(self, event: Mapping[str, Any]) -> None:
        """Fold an event in."""
        self.rev += 1
        offset = event.get("off")
        if isinstance(offset, (int, float)):
            self.timed = self.timed or offset > 0
            self.now = max(self.now, self._base + offset / 1e6)
        name, data = str(event.get("name", "")), event.get("data")
        step = _STEPS.get(name)
        if step is not None:
            step(self, event, data if isinstance(data, Mapping) else {})
        elif name not in QUIET:
            label, standing = label_of(name, data)
            row = self._row("event", event, label, s=standing, by=event.get("src"))
            if row.get("call") in self.calls:
                row["p"] = self.calls[row["call"]]["row"]

    # --- rows ---

    def _row(self, kind: str, event: Mapping[str, Any], label: str, **values: Any) -> Row:
        row: Row = {"i": len(self.rows), "k": kind, "seq": event["seq"], "end": event["seq"], "t": event.get("turn", 0)}
        row |= {"at": round(self._at(event), 3), "label": label, "rev": self.rev}
        if event.get("call"):
            row["call"] = event["call"]
        row |= {key: value for key, value in values.items() if value is not None}
        above = self._model
        if (
            kind not in ("leg", "person", "end", "model", "answer")
            and above is not None
            and "p" not in row
            and ("n" in above or kind == "tool")
        ):
            row["p"] = above["i"]
        self.rows.append(row)
        return row

    def _at(self, event: Mapping[str, Any]) -> float:
        offset = event.get("off")
        return self._base + offset / 1e6 if isinstance(offset, (int, float)) else self.now

    def _change(self, row: Row, event: Mapping[str, Any] | None = None, **values: Any) -> None:
        row |= {key: value for key, value in values.items() if value is not None}
        row["rev"] = self.rev
        if event is not None:
            row["end"] = max(row["end"], event["seq"])

    def _close(self, row: Row, event: Mapping[str, Any], standing: str, **values: Any) -> None:
        self._change(row, event, s=standing, d=round(max(self._at(event) - row["at"], 0), 3), **values)

    # --- legs and ends ---

    def _on_run_configured(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        model = f"{data.get('provider', '?')}:{data.get('model', '?')}"
        if model not in self.models:
            self.models.append(model)
        for plugin in data.get("plugins") or ():
            if isinstance(plugin, Mapping):
                self.plugins[str(plugin.get("name"))] = str(plugin.get("version", ""))
        self.agent = self.agent or str(data.get("agent_id") or "")
        self.problems.extend(str(text) for text in data.get("plugin_problems") or ())
        words = {"run": "Run begins", "resume": "Run goes on", "recovery": "Run is recovered"}
        self._model = None
        self._row("leg", event, words.get(str(data.get("leg")), "Run"), sub=model)

    def _on_turn_end(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        seq, text = self._texts.get(str(data.get("message_id")), (None, ""))
        status = str(data.get("status"))
        if seq is not None:
            told = data.get("stopped_early") or (None if status == "answered" else status)
            self._row("answer", event, text or "(an empty answer)", s=_ENDS.get(status), msg=seq, sub=told)
        self._model = None

    def _on_run_ended(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.status = str(data.get("status"))
        self._model = None
        if self.status != "paused":
            self.pending = []
        failed = data.get("plugin_failures") or 0
        sub = f"{failed} failures of plugins" if failed else None
        self._row("end", event, f"Run {self.status.replace('_', ' ')}", s=_ENDS.get(self.status), sub=sub, d=data.get("duration_ms"))

    # --- messages and requests ---

    def _on_message(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        role, text = data.get("role"), excerpt(data.get("content"))
        message_id, call_id = str(data.get("message_id")), data.get("tool_call_id")
        self.messages.append([event["seq"], message_id, role, data.get("author"), call_id, data.get("content_of")])
        if role == "user":
            if data.get("author") == "person":
                self.question = self.question or text
                self._model = None
                self._row("person", event, text, msg=event["seq"])
            else:
                self._row("note", event, text, by=data.get("author"))
        elif role == "assistant":
            self._texts[message_id] = (event["seq"], text)
            self._settle(event)
            if self._model is not None and "msg" not in self._model:
                self._change(self._model, event, msg=event["seq"], sub=text or None)
            elif data.get("tool_calls"):  # of a history or a transcript that tells of no model calls
                self._model = self._row("model", event, "Model", msg=event["seq"], sub=text or None)
            else:
                self._model = None
                self._row("answer", event, text or "(no text)", msg=event["seq"])
        elif role == "tool" and call_id in self.calls:
            call = self.calls[call_id]
            call |= {"msg": event["seq"]} | ({"changed": True} if data.get("content") is not None else {})
            self._change(self.rows[call["row"]], event, note=len(data.get("notes") or ()) or None)
        elif role == "tool" and call_id:
            self.calls[call_id] = {"row": len(self.rows), "tool": data.get("tool_name"), "msg": event["seq"]}
            standing = "bad" if data.get("failed") else "ok"
            self._row("tool", event, str(data.get("tool_name") or "tool"), s=standing, call=call_id)

    def _on_blob(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.blobs.append((str(data.get("digest")), event["seq"]))

    def _on_served(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        kept = ("call", "messages", "receipt", "provider", "model", "pieces", "edits", "tools", "params", "cache", "system_chars")
        served = {"seq": event["seq"], **{key: data[key] for key in kept if data.get(key) is not None}, "known": len(self.messages)}
        self.served.append(served)
        if data.get("model") is not None:
            name = f"{data.get('provider')}:{data['model']}"
            if name not in self.models:
                self.models.append(name)
        if self._model is not None and self._model.get("s") == "open":
            self._close(self._model, event, "bad")
        self._model = self._row("model", event, f"Model call {data.get('call')}", s="open", n=data.get("call"))

    def _on_llm_end(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._add_tokens(data)
        if self._model is not None and self._model.get("s") == "open":
            stop = str(data.get("stop_reason"))
            standing = "warn" if stop in ("length", "max_tokens", "content_filter") else "ok"
            self._close(self._model, event, standing, tok=_tokens(data), stop=stop)

    def _on_call_failed(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._add_tokens(data)
        if self._model is not None:
            self._close(self._model, event, "bad", tok=_tokens(data), sub=str(data.get("error_class")))

    def _on_helper(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._add_tokens(data)
        label = "Nested run" if data.get("purpose") == "nested" else f"{data.get('plugin')} asks a model: {data.get('purpose')}"
        took = data.get("duration_ms") or 0
        row = self._row("helper", event, label, s="ok", tok=_tokens(data), d=took, sub=f"{data.get('provider')}:{data.get('model')}")
        row["at"] = round(max(row["at"] - took, 0), 3)

    def _add_tokens(self, data: Mapping[str, Any]) -> None:
        found = _tokens(data)
        self.tokens = [a if b is None else b if a is None else a + b for a, b in zip(self.tokens, found, strict=True)]

    def _on_cost(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        try:
            spent = Decimal(str(data.get("usd")))
        except InvalidOperation:
            return
        self.usd = (self.usd or Decimal(0)) + spent
        row = self._model if data.get("purpose") is None else (self.rows[-1] if self.rows else None)
        if row is not None:
            self._change(row, event, usd=str(Decimal(row.get("usd", "0")) + spent))

    def _on_unpriced(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.unpriced += 1

    # --- calls ---

    def _on_started(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        call_id = event.get("call")
        if call_id is None:
            return
        name = data.get("tool") or data.get("undeclared") or "?"
        if self._model is not None and (not self._model.get("sub") or self._model["sub"].startswith(CALLS)):
            before = self._model.get("sub", "").removeprefix(CALLS)
            self._change(self._model, sub=excerpt(f"{CALLS}{before}{', ' if before else ''}{name}", 80))
        self.calls[call_id] = {"row": len(self.rows), "tool": name, "started": event["seq"]}
        self._row("tool", event, str(name), s="open", sub=None if data.get("tool") else "no such tool")

    def _on_dispatched(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        for call_id in data.get("calls") or ():
            if call_id in self.calls:
                row = self.rows[self.calls[call_id]["row"]]
                self._change(row, at=round(self._at(event), 3))

    def _on_ended(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        call = self.calls.get(str(event.get("call")))
        if call is None:
            return
        outcome = str(data.get("outcome"))
        call |= {"ended": event["seq"], "outcome": outcome} | ({"child": data["child_run"]} if data.get("child_run") else {})
        standing = "ok" if outcome in GOOD else "warn" if outcome in ("declined", "denied", "invalid", "abandoned") else "bad"
        self._close(self.rows[call["row"]], event, standing, sub=None if outcome == "success" else outcome)

    def _on_verdict(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        call = self.calls.get(str(event.get("call")))
        if call is not None:
            row = self.rows[call["row"]]
            self._change(row, event, v=[*row.get("v", ()), f"{data.get('plugin')}: {data.get('verdict')}"])
            return
        label = f"{data.get('plugin')} answers {data.get('verdict')}"
        self._row("check", event, label, s="warn", by=data.get("plugin"), sub=excerpt(data.get("reason")) or None)

    # --- answers ---

    def _on_checked(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        counts = {name: data.get(name) or 0 for name in ("supported", "unverifiable", "unsupported", "strong")}
        said = ", ".join(f"{count} {name}" for name, count in counts.items() if count and name != "strong") or "no values"
        standing = _ACTIONS.get(str(data.get("action")), "ok")
        row = self._row("check", event, f"Values: {said}", s=standing, by="evidence", sub=str(data.get("action")))
        self._judged = {"seq": event["seq"], "row": row["i"], "turn": event.get("turn", 0), "action": data.get("action"), **counts}
        self.answers.append(self._judged)

    def _on_not_assessed(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        plugin = str(data.get("plugin"))
        self._row("check", event, f"{plugin} could not judge the answer", s="warn", by=plugin, failed=plugin)

    def _settle(self, event: Mapping[str, Any], kind: str = "said") -> None:
        """The text that was judged last has its home in this event."""
        if self._judged is not None:
            self._judged |= {"text": event["seq"], "home": kind}
            self._judged = None

    def _on_drafted(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._settle(event, "draft")
        self._row("check", event, f"{data.get('by')} sends the answer back", s="warn", by=data.get("by"), sub=excerpt(data.get("text")))

    def _on_refused(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        if data.get("text") is not None:
            self._settle(event, "refused")
        if data.get("withdraws") is not None:
            self.withdrawn[str(data["withdraws"])] = event["seq"]
        self._row("check", event, f"{data.get('by')} refuses", s="bad", by=data.get("by"), sub=excerpt(data.get("reason")))

    # --- people, limits, failures ---

    def _on_pause(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        questions = [q for q in data.get("questions") or () if isinstance(q, Mapping)]
        self.pending = [excerpt(q.get("prompt")) for q in questions]
        self._row("pause", event, "Waits for a person", s="warn", sub="; ".join(self.pending) or None)

    def _on_resumed(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.pending = []
        waited = data.get("paused_duration_ms")
        self._row("person", event, "A person answers", sub=None if waited is None else f"after {waited / 1000:.1f} s")

    def _on_decided(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        word = "approved" if data.get("approved") else "rejected"
        who = f" by {excerpt(data['by'])}" if data.get("by") else ""
        self._row("person", event, f"{data.get('tool')} {word}{who}", s="ok" if data.get("approved") else "warn")

    def _on_failure(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        label, _ = label_of(str(event["name"]), data)
        self._row("failure", event, label, s="bad", by=data.get("plugin"), sub=excerpt(data.get("error")) or None)
        if event["name"] == "agentfp.error.fatal" and self._model is not None and self._model.get("s") == "open":
            self._close(self._model, event, "bad")


def _tokens(data: Mapping[str, Any]) -> list[int | None]:
    return [value if isinstance(value := data.get(name), int) else None for name in TOKENS]


_STEPS: Mapping[str, Callable[[Fold, Mapping[str, Any], Mapping[str, Any]], None]] = {
    "agentfp.agent.run_configured": Fold._on_run_configured,
    "agentfp.agent.turn_end": Fold._on_turn_end,
    "agentfp.run.ended": Fold._on_run_ended,
    "agentfp.message.added": Fold._on_message,
    "agentfp.context.blob": Fold._on_blob,
    "agentfp.context.served": Fold._on_served,
    "agentfp.stream.llm_end": Fold._on_llm_end,
    "agentfp.model.call_failed": Fold._on_call_failed,
    "agentfp.model.helper_replied": Fold._on_helper,
    "agentfp.cost.tick": Fold._on_cost,
    "agentfp.cost.unpriced": Fold._on_unpriced,
    "agentfp.tool.started": Fold._on_started,
    "agentfp.tool.dispatched": Fold._on_dispatched,
    "agentfp.tool.ended": Fold._on_ended,
    "agentfp.hook.verdict": Fold._on_verdict,
    "agentfp.evidence.checked": Fold._on_checked,
    "agentfp.answer.not_assessed": Fold._on_not_assessed,
    "agentfp.answer.drafted": Fold._on_drafted,
    "agentfp.answer.refused": Fold._on_refused,
    "agentfp.pause.request": Fold._on_pause,
    "agentfp.pause.resume": Fold._on_resumed,
    "agentfp.approval.decided": Fold._on_decided,
    "agentfp.plugin.failed": Fold._on_failure,
    "agentfp.error.fatal": Fold._on_failure,
    "agentfp.run.cancelled": Fold._on_failure,
}
WANTED = frozenset(_STEPS)
"""Names of the events whose content is looked at; of the others the head will do."""
