"""Plugins for property tests: each does one thing, at one moment and phase, to some of the calls; one only watches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

from hypothesis import strategies as st

from agentfp import (
    AskField,
    Record,
)
from agentfp.events import (
    Event,
)
from agentfp.plugin import Allow, AskPerson, Deny, Halt, Note, Plugin, Refuse, Replace, Revise, Withhold, hookimpl


@dataclasses.dataclass(frozen=True)
class Meddling:
    """What one plugin does: at a moment and phase, to every ``every``-th thing."""

    moment: str
    phase: str
    what: str
    every: int = 1
    per: Literal["call", "batch"] = "call"


GATE = [
    (phase, what)
    for phase in ("peel", "fill", "authorize", "rewrite", "resolve", "credential")
    for what in ("deny", "raise", "allow", "wrong")
]
ASKING = [("fill", "ask"), ("authorize", "ask"), ("resolve", "ask"), ("peel", "ask")]
meddlings = st.one_of(
    st.builds(
        lambda p, e, b: Meddling("before_tool", p[0], p[1], e, b),
        st.sampled_from(GATE),
        st.integers(1, 3),
        st.sampled_from(["call", "batch"]),
    ),
    st.builds(
        lambda p, e: Meddling("before_tool", p[0], p[1], e),
        st.sampled_from([*ASKING, ("screen", "deny"), ("screen", "raise")]),
        st.integers(1, 3),
    ),
    st.builds(
        lambda p, w, e, b: Meddling("after_result", p, w, e, b),
        st.sampled_from(["check", "rewrite", "place", "note", "judge"]),
        st.sampled_from(["raise", "note", "replace", "withhold", "wrong"]),
        st.integers(1, 3),
        st.sampled_from(["call", "batch"]),
    ),
    st.builds(
        lambda p, w: Meddling("assess_answer", p, w),
        st.sampled_from(["rewrite", "procedure", "evidence", "claims", "stand", "append"]),
        st.sampled_from(["raise", "revise", "replace", "refuse", "wrong"]),
    ),
    st.builds(
        lambda p, w, e: Meddling("serve_context", p, w, e),
        st.sampled_from(["deliver", "overlay", "annotate", "route"]),
        st.sampled_from(["raise", "piece", "late", "ticket"]),
        st.integers(1, 3),
    ),
    st.sampled_from(
        [
            Meddling("before_tool", "authorize", "halt", 3),
            Meddling("serve_context", "compose", "raise", 3),
            Meddling("finish_run", "", "raise"),
            Meddling("finish_run", "", "refuse"),
            Meddling("admit_input", "", "replace"),
        ]
    ),
)


class Watcher(Plugin):
    """Keeps the run, so that a test can look at the record of one that did not return, and has a memo over all events."""

    name = "watcher"
    memo_events = ("*",)

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Any] = []

    def initial(self) -> tuple[int, int]:
        return 0, 0

    def fold(self, state: tuple[int, int], event: Event) -> tuple[int, int]:
        if event.payload.event_kind != "stored":
            return state
        return state[0] + 1, hash((state[1], event.seq, event.name, event.call_id))

    @hookimpl(phase="window")
    def serve_context(self, run: Any) -> None:
        self.keep(run)

    @hookimpl
    def admit_input(self, run: Any) -> None:
        self.keep(run)

    @hookimpl
    def finish_run(self, run: Any) -> None:
        self.keep(run)

    def keep(self, run: Any) -> None:
        if not self.runs or self.runs[-1] is not run:
            self.runs.append(run)

    @property
    def record(self) -> Record:
        record: Record = self.runs[-1].record
        return record


def plugin_of(index: int, meddling: Meddling, *, given: bool = False) -> Plugin:
    """A plugin that does one thing. With ``given``, what it would ask is known up front."""
    name = f"meddler{index}"
    hook = {"before_tool": gate, "after_result": reader, "assess_answer": judge, "serve_context": composer}.get(meddling.moment)
    made = other(meddling) if hook is None else hook(meddling, name, given)
    marked = hookimpl(moment=meddling.moment, phase=meddling.phase or None, per=meddling.per)(made)
    cls: type[Plugin] = type(name.title(), (Plugin,), {"name": name, "hook": marked})
    return cls()


def chosen(meddling: Meddling, call: Any) -> bool:
    """Whether this call is one that the plugin meddles with: by what the model proposed, so the same in each leg."""
    return len(call.proposed.arguments_json + call.name) % meddling.every == 0


def gate(meddling: Meddling, name: str, given: bool) -> Callable[..., Any]:
    def decide(call: Any, batch: Any) -> Any:
        if not chosen(meddling, call):
            return None
        match meddling.what:
            case "deny":
                return Deny("not so", tell_model="Not allowed.", rule="rule")
            case "halt":
                return Halt("stop it")
            case "allow":
                return Allow(call.arguments or None)
            case "ask":
                return None if given or batch.answers.get(name) else AskPerson([AskField(f"about {call.id}", "Is it right?")])
            case "wrong":
                return "yes"
        raise RuntimeError("the gate is broken")

    def whole(self: Plugin, batch: Any) -> Any:
        return {call.id: decide(call, batch) for call in batch.live}

    def single(self: Plugin, call: Any, batch: Any) -> Any:
        return decide(call, batch)

    return whole if meddling.per == "batch" else single


def reader(meddling: Meddling, name: str, given: bool) -> Callable[..., Any]:
    def read(result: Any, call: Any) -> Any:
        if not chosen(meddling, call):
            return None
        verdicts = {"note": Note("mind this"), "replace": Replace("put in its place"), "withhold": Withhold("private"), "wrong": 5}
        if meddling.what == "raise":
            raise RuntimeError("the reader is broken")
        return verdicts[meddling.what]

    def whole(self: Plugin, batch: Any) -> Any:
        return {call.id: read(batch.results[call.id], call) for call in batch.calls}

    def single(self: Plugin, result: Any, call: Any) -> Any:
        return read(result, call)

    return whole if meddling.per == "batch" else single


def judge(meddling: Meddling, name: str, given: bool) -> Callable[..., Any]:
    async def assess(self: Plugin, draft: Any) -> Any:
        match meddling.what:
            case "revise":
                return Revise(["Say it better."], "better")
            case "replace":
                return Replace(draft.text + "!")
            case "refuse":
                return Refuse(ValueError("not good enough"))
            case "wrong":
                return {"text": "no verdict"}
        raise RuntimeError("the judge is broken")

    return assess


def composer(meddling: Meddling, name: str, given: bool) -> Callable[..., Any]:
    def compose(self: Plugin, draft: Any, run: Any) -> None:
        draft.add_piece("before", "a piece")
        if draft.call % meddling.every:
            return
        if meddling.what == "raise":
            raise RuntimeError("the composer is broken")
        if meddling.what == "piece":
            draft.add_piece("call", f"call {draft.call}")
        elif meddling.what == "late":
            draft.add_late_line("late", "one more thing")
        else:
            draft.ticket(run.history[0].id, "the question")

    return compose


def other(meddling: Meddling) -> Callable[..., Any]:
    def hook(self: Plugin) -> Any:
        if meddling.what == "raise":
            raise RuntimeError("it is broken")
        return Refuse(ValueError("in the end, no")) if meddling.what == "refuse" else Replace("Go, please")

    return hook
