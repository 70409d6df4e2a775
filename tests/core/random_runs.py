"""Random runs for property tests: scripts of batches, tools of every kind, plugins that meddle, and the law every record keeps."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import re
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import anyio
from hypothesis import strategies as st

from agentfp import (
    Agent,
    AskField,
    Limits,
    Pause,
    Prices,
    Record,
    RetryTool,
    RunResult,
    ToolContext,
    ToolError,
    ToolReturn,
    approve,
    reject,
    tool,
)
from agentfp.events import (
    CostTick,
    Event,
    IterationEnd,
    IterationStart,
    LlmEnd,
    MessageAdded,
    RouteDecided,
    RunConfigured,
    RunEnded,
    Served,
    ToolDispatched,
    ToolEnded,
    ToolStarted,
)
from agentfp.model import Message, ModelRequest, ModelResponse, ToolCall, Usage
from agentfp.plugin import Allow, AskPerson, Deny, Halt, Note, Plugin, Refuse, Replace, Revise, Withhold, hookimpl
from tests.core.running import ScriptedModel

# --- scripts ---


class Colour(enum.Enum):
    RED = "red"


ODD: list[Any] = [
    None, 0, -1.5, float("nan"), float("inf"), True, "", "ü\u2028", b"\xff\x00", b"text", {1: {2, 3}}, [1, [2]], (), Colour.RED,
    datetime.date(2030, 1, 1), Decimal("1.10"), object(), ToolReturn("half", outcome="partial"), ToolReturn(None, private={"a": 1}),
    ToolReturn("none of it", outcome="absent"), range(3), "x" * 500, {"a": "b"}, 10**400,
]  # fmt: skip

KINDS = ("plain", "threaded", "inline", "mutating", "idempotent", "failing", "retrying", "refusing", "odd", "asking", "form", "approved")
BROKEN = ("unknown", "bad_json", "bad_type", "missing")


@dataclasses.dataclass(frozen=True)
class Step:
    """One call of a script."""

    kind: str
    number: int
    id: str = ""

    def call(self) -> ToolCall:
        if self.kind == "unknown":
            return ToolCall(self.id, f"no_such_{self.number}", "{}")
        if self.kind == "bad_json":
            return ToolCall(self.id, "plain", '{"number":')
        if self.kind == "bad_type":
            return ToolCall(self.id, "plain", '{"number":"five"}')
        if self.kind == "missing":
            return ToolCall(self.id, "plain", "{}")
        return ToolCall(self.id, self.kind, f'{{"number":{self.number}}}')


steps = st.builds(Step, st.sampled_from(KINDS + BROKEN), st.integers(0, 30), st.sampled_from(["", "", "dup", "dup2"]))
scripts = st.lists(st.lists(steps, min_size=1, max_size=5), max_size=4)
calm_steps = st.builds(Step, st.sampled_from([k for k in KINDS if k not in ("asking", "form", "approved")]), st.integers(0, 30))


def model_of(script: list[list[Step]], answer: str = "Done.") -> ScriptedModel:
    """A model that knows from the history how far it is, so that any leg in any process can go on with it."""

    def reply(request: ModelRequest) -> ModelResponse:
        said = sum(1 for m in request.messages if m.tool_calls)
        usage = Usage(10 + said, 5, cache_read=said or None)
        if not request.tools or said >= len(script):
            return ModelResponse(text=answer, usage=usage)
        return ModelResponse(text=f"step {said}", tool_calls=tuple(step.call() for step in script[said]), usage=usage)

    return ScriptedModel(reply)


# --- tools ---


Context = ToolContext[Counter[str]]


@functools.cache
def tools_of(*, given: bool = False) -> list[Any]:
    """Tools that count in ``deps`` how often each call ran. With ``given``, what would be asked is known up front."""

    @tool
    async def plain(ctx: Context, number: int) -> str:
        """Plain."""
        ctx.deps[ctx.call_id] += 1
        for _ in range(number % 3):
            await anyio.lowlevel.checkpoint()
        return f"plain {number}"

    @tool
    def threaded(ctx: Context, number: int) -> str:
        """In a thread."""
        ctx.deps[ctx.call_id] += 1
        return f"threaded {number}"

    @tool(inline=True)
    def inline(ctx: Context, number: int) -> str:
        """On the loop."""
        ctx.deps[ctx.call_id] += 1
        ctx.emit("acme.inline", {"number": number})
        return f"inline {number}"

    @tool(mutating=True)
    async def mutating(ctx: Context, number: int) -> str:
        """Changes something."""
        ctx.deps[ctx.call_id] += 1
        await anyio.lowlevel.checkpoint()
        return f"changed {number}"

    @tool(idempotent=True)
    async def idempotent(ctx: Context, number: int) -> str:
        """May run again."""
        await anyio.lowlevel.checkpoint()
        return f"again {number}"

    @tool
    async def failing(ctx: Context, number: int) -> str:
        """Fails."""
        ctx.deps[ctx.call_id] += 1
        await anyio.lowlevel.checkpoint()
        raise (RuntimeError, ZeroDivisionError, KeyError)[number % 3](f"failed {number}")

    @tool
    def retrying(ctx: Context, number: int) -> str:
        """Wants other arguments."""
        ctx.deps[ctx.call_id] += 1
        raise RetryTool(f"not {number}")

    @tool
    async def refusing(ctx: Context, number: int) -> str:
        """Speaks to the model."""
        ctx.deps[ctx.call_id] += 1
        raise ToolError(f"cannot {number}", detail="for the record")

    @tool
    async def odd(ctx: Context, number: int) -> Any:
        """Returns whatever."""
        ctx.deps[ctx.call_id] += 1
        return ODD[number % len(ODD)]

    @tool
    async def asking(ctx: Context, number: int) -> str:
        """Asks."""
        ctx.deps[ctx.call_id] += 1
        if given:
            return f"value of {number}"
        return ctx.ask_human(f"What of {number}?")

    @tool
    async def form(ctx: Context, number: int) -> Any:
        """Asks for several values."""
        ctx.deps[ctx.call_id] += 1
        if given:
            return {"status": "input_received", "values": {"a": f"value of {number}", "b": f"value of {number}"}}
        return ctx.request_input([AskField("a", f"What of {number}?"), AskField("b", f"And of {number}?")])

    @tool(approval=not given)
    async def approved(ctx: Context, number: int) -> str:
        """Needs a yes."""
        ctx.deps[ctx.call_id] += 1
        return f"approved {number}"

    return [plain, threaded, inline, mutating, idempotent, failing, retrying, refusing, odd, asking, form, approved]


def answers_of(pause: Pause, *, rejecting: bool = False) -> dict[str, Any]:
    """What a person says: always the same to the same question."""
    said: dict[str, Any] = {}
    for question in pause.questions:
        number = (question.arguments or {}).get("number", 0)
        if question.kind == "decision":
            said[question.id] = reject("no", by="ann") if rejecting and number % 2 else approve(by="ann")
        else:
            said[question.id] = f"value of {number}"
    return said


# --- plugins that meddle ---


@dataclasses.dataclass(frozen=True)
class Meddling:
    """What one plugin does: at a moment and phase, to every ``every``-th thing."""

    moment: str
    phase: str
    what: str
    every: int = 1
    per: str = "call"


GATE = [
    (phase, what)
    for phase in ("peel", "fill", "authorize", "rewrite", "resolve", "credential")
    for what in ("deny", "raise", "allow", "wrong")
]
ASKING = [("fill", "ask"), ("authorize", "ask"), ("resolve", "ask"), ("peel", "ask")]
meddlings = st.one_of(
    st.builds(
        lambda p, e, b: Meddling("before_tool", *p, e, b), st.sampled_from(GATE), st.integers(1, 3), st.sampled_from(["call", "batch"])
    ),
    st.builds(
        lambda p, e: Meddling("before_tool", *p, e), st.sampled_from([*ASKING, ("screen", "deny"), ("screen", "raise")]), st.integers(1, 3)
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
    marked = hookimpl(moment=meddling.moment, phase=meddling.phase or None, per=meddling.per)(made)  # type: ignore[arg-type]
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


# --- agents ---


limits = st.builds(
    Limits,
    iterations=st.integers(1, 6),
    wrap_up=st.booleans(),
    usd=st.none() | st.sampled_from([0.02, 0.05]),
    on_usd=st.sampled_from(["halt", "warn"]),
    tokens=st.none() | st.sampled_from([20, 60]),
    tool_result_chars=st.none() | st.sampled_from([5, 50]),
    tool_results_total_chars=st.none() | st.sampled_from([10, 80]),
)
PRICES = {"script": Prices(input=Decimal("0.001"), output=Decimal("0.0005"), cache_read=Decimal("0.0001"))}


@dataclasses.dataclass
class Scene:
    """An agent ready to run, and what its tools and its watcher noted."""

    agent: Agent[Any, str]
    model: ScriptedModel
    watcher: Watcher
    ran: Counter[str]

    async def run(self, **options: Any) -> RunResult[str]:
        return await self.agent.run("Go", deps=self.ran, **options)

    async def resume(self, pause: Pause, *, rejecting: bool = False, **options: Any) -> RunResult[str]:
        return await self.agent.resume(pause, answers_of(pause, rejecting=rejecting), deps=self.ran, **options)

    async def recover(self, source: Any) -> RunResult[str]:
        return await self.agent.resume_on_error(source, deps=self.ran)


def scene_of(
    script: list[list[Step]],
    meddled: list[Meddling] = [],  # noqa: B006
    *,
    within: Limits | None = None,
    given: bool = False,
    model: ScriptedModel | None = None,
    ran: Counter[str] | None = None,
    **settings: Any,
) -> Scene:
    """An agent over a script. A second one with the same model stands for the same agent in another process."""
    ran = Counter() if ran is None else ran
    model = model or model_of(script)
    watcher = Watcher()
    plugins = [watcher, *(plugin_of(index, one, given=given) for index, one in enumerate(meddled))]
    agent: Agent[Any, str] = Agent(
        model,
        tools=tools_of(given=given),
        plugins=plugins,
        limits=within or Limits(iterations=8),
        prices=PRICES,
        instructions=["Be brief.", lambda run: f"Turn {run.turn}."],
        **settings,
    )
    return Scene(agent, model, watcher, ran)


# --- the law ---


def calls_of(record: Record) -> dict[str, ToolCall | Any]:
    """Every proposed call of a record, by id."""
    found = [c for one in record if isinstance(one.payload, MessageAdded) for c in one.payload.tool_calls or ()]
    assert len({c.id for c in found}) == len(found), "two calls share an id"
    return {c.id: c for c in found}


def outcomes_of(record: Record) -> dict[str, ToolEnded]:
    """The outcome of each call; two for one call are a fault."""
    ended = [(one.call_id or "", one.payload) for one in record if isinstance(one.payload, ToolEnded)]
    assert len(dict(ended)) == len(ended), "a call has two outcomes"
    return dict(ended)


def check_settled(record: Record) -> None:
    """Every call has one outcome and one message; every leg and iteration that began is ended."""
    calls, outcomes = calls_of(record), outcomes_of(record)
    assert set(calls) == set(outcomes)
    started = [one.call_id for one in record if isinstance(one.payload, ToolStarted)]
    assert sorted(map(str, started)) == sorted(calls)
    landed = [one.payload.tool_call_id for one in record if isinstance(one.payload, MessageAdded) and one.payload.role == "tool"]
    assert landed == list(calls), "tool messages stand in call order, one a call"
    kinds = Counter(type(one.payload) for one in record)
    assert kinds[IterationStart] == kinds[IterationEnd]
    assert isinstance(list(record)[-1].payload, RunEnded)


def check_order(record: Record) -> None:
    """What comes before what, leg by leg."""
    seqs = [one.seq for one in record]
    assert seqs == sorted(set(seqs))
    for header in record.headers:
        leg = [one.payload for one in record.of_run(header.run_id)]
        if len(leg) > 1:
            assert isinstance(leg[0], RunConfigured)
            assert sum(isinstance(p, RunConfigured) for p in leg) == 1
            assert all(not isinstance(p, RunEnded) for p in leg[:-1])
    stage, starting = "between", False
    live: list[str] = []
    waiting: list[str] = []
    dispatched: set[str] = set()
    ended: set[str] = set()
    for one in record:
        payload = one.payload
        match payload:
            case IterationStart():
                assert stage == "between", stage
                stage = "compose"
            case Served():
                assert stage == "compose", stage
                stage = "call"
            case LlmEnd():
                assert stage == "call", stage
                stage = "billed"
            case CostTick():
                assert stage == "billed", stage
            case RouteDecided():
                assert stage == "billed", stage
                stage = "routed"
            case MessageAdded(tool_calls=tuple() as made) if made:
                assert stage == "routed", stage
                live, starting, dispatched, ended = [c.id for c in made], True, set(), set()
                waiting = live.copy()
                continue
            case ToolStarted():
                assert starting, "a call was taken up late"
                assert one.call_id == waiting.pop(0)
                continue
            case ToolDispatched():
                assert not set(payload.calls) & ended, "a call that had ended was dispatched"
                dispatched |= set(payload.calls)
            case ToolEnded():
                assert one.call_id in live
                ended.add(one.call_id or "")
                assert not payload.ran or one.call_id in dispatched, "a call ran that was not dispatched"
            case MessageAdded(role="tool"):
                assert set(live) <= ended, "a message landed before all calls of the batch had ended"
            case IterationEnd():
                stage = "between"
        if isinstance(payload, RunConfigured):
            starting = bool(waiting)  # killed in the middle of it; the next leg goes on
            continue
        assert not waiting, "something came between the calls of a batch being taken up"
        starting = False


ID = re.compile("call_[0-9a-f]{20,}")


def shown(messages: Mapping[int, Message] | Any) -> list[tuple[Any, ...]]:
    """Messages without what differs from run to run: ids and turns."""
    return [
        (m.role, ID.sub("call", m.content), m.notes, m.author, m.tool_name, m.parts, [(c.name, c.arguments_json) for c in m.tool_calls])
        for m in messages
    ]
