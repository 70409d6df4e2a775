"""Whatever plugins edit and undo, a model gets the history under the edits that stand, and the record gives it back."""

from __future__ import annotations

import dataclasses
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st

from agentfp import Checkpoint, Message, Record, RunResult
from agentfp.events import Served
from agentfp.model import ModelRequest
from tests.core.editors import TOOLS, Action, Keeping, agent_of, editor, script_of
from tests.core.running import check_record

message = st.integers(0, 9)
word = st.sampled_from(["T", "U", "ünï", ""])
property_name = st.sampled_from(["why", "how"])
tool_name = st.sampled_from(TOOLS)
action = st.one_of(
    st.tuples(st.just("ticket"), message, word),
    st.tuples(st.just("hide"), message),
    st.tuples(st.just("restore"), message),
    st.tuples(
        st.just("decorate"), property_name, st.sampled_from(["string", "integer"]), st.sampled_from([None, ("look",), ("count", "write")])
    ),
    st.tuples(st.just("undecorate"), property_name),
    st.tuples(st.just("explain"), tool_name, st.sampled_from(["word", "of", "text"]), word, st.sampled_from([(), ("word", "of")])),
    st.tuples(st.just("unexplain"), tool_name),
    st.tuples(st.just("hold_out"), tool_name),
    st.tuples(st.just("let_in"), tool_name),
    st.tuples(st.sampled_from(["add_tool", "drop_tool"])),
    st.tuples(st.sampled_from(["piece", "late"]), st.sampled_from(["k", "l"]), word),
    st.tuples(st.just("deliver"), st.sampled_from(["user", "assistant"]), word),
    st.tuples(st.just("use_model")),
)
schedules = st.dictionaries(st.integers(1, 7), st.lists(action, min_size=1, max_size=4), max_size=5)


@dataclasses.dataclass
class Expected:
    """What should stand, kept in the plainest way."""

    tickets: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    hidden: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    decorations: dict[tuple[str, str], tuple[str, Any]] = dataclasses.field(default_factory=dict)
    explained: dict[tuple[str, str], tuple[str, str, Any]] = dataclasses.field(default_factory=dict)
    held_out: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    added: dict[str, None] = dataclasses.field(default_factory=dict)

    def take(self, plugin: str, op: str, args: list[Any], known: list[Message]) -> None:
        if op in ("ticket", "hide", "restore"):
            target = known[args[0] % len(known)].id
            mine = self.tickets.setdefault(target, {})
            if op == "ticket" and mine.get(plugin) != args[1]:
                mine.pop(plugin, None)
                mine[plugin] = args[1]
            elif op == "hide":
                self.hidden.add((target, plugin))
            elif op == "restore":
                mine.pop(plugin, None)
                self.hidden.discard((target, plugin))
        elif op == "decorate":
            self.decorations[plugin, args[0]] = (args[1], args[2])
        elif op == "undecorate":
            self.decorations.pop((plugin, args[0]), None)
        elif op == "explain":
            self.explained[plugin, args[0]] = (args[1], args[2], args[3])
        elif op == "unexplain":
            self.explained.pop((plugin, args[0]), None)
        elif op == "hold_out":
            self.held_out.add((args[0], plugin))
        elif op == "let_in":
            self.held_out.discard((args[0], plugin))
        elif op == "add_tool":
            self.added[f"spare_{plugin}"] = None
        elif op == "drop_tool":
            self.added.pop(f"spare_{plugin}", None)

    def messages(self, known: list[Message]) -> list[Message]:
        shown = []
        for one in known:
            if not any(target == one.id for target, _ in self.hidden):
                mine = self.tickets.get(one.id)
                text = list(mine.values())[-1] if mine else None
                shown.append(one if text is None else dataclasses.replace(one, content=text, own=None, notes=(), parts=()))
        return shown

    def tools(self) -> dict[str, dict[str, str]]:
        wire = {}
        base = {"look": {"word": "string"}, "count": {"of": "integer"}, "write": {"text": "string"}}
        for name in [*TOOLS, *self.added]:
            if not any(held == name for held, _ in self.held_out):
                found = dict(base.get(name, {}))
                found |= {prop: kind for (_, prop), (kind, only) in self.decorations.items() if only is None or name in only}
                wire[name] = found
        return wire

    def descriptions(self) -> dict[str, dict[str, str]]:
        wire: dict[str, dict[str, str]] = {}
        own = {"look": "word", "count": "of", "write": "text"}
        for (_, name), (argument, text, _) in sorted(self.explained.items()):
            if own[name] == argument and text and not any(held == name for held, _ in self.held_out):
                before = wire.setdefault(name, {}).get(argument)
                wire[name][argument] = text if before is None else f"{before} {text}"
        return wire


def check_against(
    expected: Expected, plan: list[tuple[str, dict[int, list[Action]], int | None]], result: RunResult[str], sent: list[ModelRequest]
) -> None:
    """Play the schedules again in the plainest way and compare with each request that was sent."""
    everything = list(result.history)
    for number, event in enumerate(result.record.of(Served), 1):
        done = [(name, one) for name, schedule, fails in plan if fails != number for one in schedule.get(number, ())]
        delivered = sum(1 for _, one in done if one[0] == "deliver")
        known = everything[: event.messages - delivered]
        for name, (op, *args) in done:
            expected.take(name, op, args, known)
        request = sent[number - 1]
        late = [args[1] for _, (op, *args) in done if op == "late" and args[1]]
        pieces = [args[1] for _, (op, *args) in done if op == "piece" and args[1]]
        shown = expected.messages(everything[: event.messages])
        assert list(request.messages)[: len(shown)] == shown
        assert [m.text for m in list(request.messages)[len(shown) :]] == late
        assert request.system == "\n\n".join(pieces)
        wire = {t.name: {k: v.get("type") for k, v in t.parameters.get("properties", {}).items()} for t in request.tools}
        assert wire == expected.tools()
        described = {
            t.name: {k: v["description"] for k, v in t.parameters["properties"].items() if "description" in v} for t in request.tools
        }
        assert {name: texts for name, texts in described.items() if texts} == expected.descriptions()


@given(
    first=schedules,
    second=schedules,
    third=schedules,
    fails=st.none() | st.integers(1, 7),
    calls=st.integers(1, 7),
    backend=st.sampled_from(["asyncio", "trio"]),
)
def test_a_model_gets_the_history_under_the_edits_that_stand(
    first: dict[int, list[Action]],
    second: dict[int, list[Action]],
    third: dict[int, list[Action]],
    fails: int | None,
    calls: int,
    backend: str,
) -> None:
    model = Keeping(script_of(calls))
    plan = [("a", first, None), ("b", second, None), ("c", third, fails)]
    broken = {k: [*third.get(k, ()), *([("raise",)] if k == fails else [])] for k in range(1, 8)}
    plugins = [
        editor("a", dict(first), "window", brings="spare_a", model=model),
        editor("b", dict(second), "compose", brings="spare_b", model=model),
        editor("c", broken, "overlay", brings="spare_c", model=model),
    ]
    result = anyio.run(lambda: agent_of(model, *plugins).run("Go"), backend=backend)
    assert result.status == "answered"
    assert result.plugin_failures == ({"c": 1} if fails is not None and fails <= calls else {})
    check_against(Expected(), plan, result, model.requests)
    model.check_unchanged()
    check_record(result)
    loaded = Record.from_lines(result.record.to_lines())
    stored = Checkpoint.from_json(result.checkpoint().to_json()).record
    for number, request in enumerate(model.requests, 1):
        for record in (result.record, loaded, stored):
            assert record.served_at(number) == request
            assert record.receipt(number) == result.record.receipt(number)
