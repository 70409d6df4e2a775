"""What holds for every policy, order of plugins and way through pauses: a denied call never runs, and a record counts as the run did."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp import Agent, Pause, Record, ToolContext, approve, reject, tool
from agentfp.plugin import Allow, AskField, AskPerson, CallView, Deny, Plugin, hookimpl, memo_of
from agentfp.testing import ScriptedModel, call
from agentfp_permissions import AtMost, Forbid, OnlyAfter, PermissionRequest, Permissions
from agentfp_permissions.sequence import Progress, SequenceRule

NAMES = ("a", "b", "mail_x", "mail_y")
names = st.sampled_from(NAMES)
patterns = st.sampled_from((*NAMES, "mail_*", "*"))
scopes = st.sampled_from(("run", "conversation"))
rules: st.SearchStrategy[SequenceRule] = st.one_of(
    st.builds(Forbid, st.lists(patterns, min_size=1, max_size=3).map(tuple), st.just("deny"), scope=scopes, adjacent=st.booleans()),
    st.builds(AtMost, patterns, st.integers(0, 3), scopes),
    st.builds(OnlyAfter, patterns, st.lists(patterns, min_size=1, max_size=2).map(tuple), scopes),
)


class Checker:
    """Denies some arguments, for good."""

    name = "numbers"

    def __init__(self, denied: frozenset[int]) -> None:
        self.denied = denied

    def check(self, request: PermissionRequest) -> Allow | Deny:
        assert request.arguments is not None
        return Deny("number") if request.arguments["n"] in self.denied else Allow()


class Eager(Plugin):
    """Allows everything in every phase, and asks a person about some calls."""

    name = "eager"

    class Settings(Plugin.Settings):
        asks: frozenset[int] = frozenset()

    @hookimpl(moment="before_tool", phase="fill")
    def fill(self, call: CallView) -> Allow | AskPerson:
        if call.arguments["n"] in self.settings.asks and not call.answers(self):
            return AskPerson([AskField("go", "Go?", "decision")])
        return Allow()

    @hookimpl(moment="before_tool", phase="authorize")
    def authorize(self, call: CallView) -> Allow:
        return Allow()

    @hookimpl(moment="before_tool", phase="credential")
    def credential(self, call: CallView) -> Allow:
        return Allow()


def stored(result: Any) -> Pause:
    """The pause of a result, as another process reads it."""
    return Pause.from_json(result.pause.to_json())


numbers = st.frozensets(st.integers(0, 9), max_size=5)
batches = st.lists(st.lists(st.tuples(names, st.integers(0, 9)), min_size=1, max_size=4), min_size=1, max_size=4)


@settings(max_examples=60)
@given(
    batches=batches,
    denied=numbers,
    asks=numbers,
    approvals=numbers,
    tool_asks=numbers,
    rules=st.lists(rules, max_size=3),
    first=st.booleans(),
    rejected=numbers,
    mutating=st.booleans(),
)
def test_a_denied_call_never_runs_and_counting_is_the_same_live_and_replayed(
    batches: list[list[tuple[str, int]]],
    denied: frozenset[int],
    asks: frozenset[int],
    approvals: frozenset[int],
    tool_asks: frozenset[int],
    rules: list[SequenceRule],
    first: bool,
    rejected: frozenset[int],
    mutating: bool,
) -> None:
    ran: list[tuple[str, int]] = []

    def made(name: str) -> Any:
        async def run(ctx: ToolContext[Any], n: int) -> str:
            ran.append((name, n))
            return str(await ctx.ask("Really?")) if n in tool_asks else "done"

        needs = lambda ctx, args: args["n"] in approvals  # noqa: E731
        return tool(run, name=name, description=name, approval=needs, mutating=mutating and name == "b")

    plugin = Permissions(checkers=(Checker(denied),), sequence=tuple(rules))
    plugins = [plugin, Eager(asks=asks)] if first else [Eager(asks=asks), plugin]
    script = [[call(name, n=n) for name, n in batch] for batch in batches]
    agent = Agent(ScriptedModel([*script, "ok"]), tools=[made(name) for name in NAMES], plugins=plugins)
    result = agent.run_sync("Go")
    for _ in range(40):
        if not result.paused:
            break
        assert_same(plugin, result)
        pause = stored(result)
        answers: dict[str, Any] = {}
        for question in pause.questions:
            no = bool(rejected) and question.prompt != "Go?" and len(answers) % 2 == 1
            answers[question.id] = (reject("no") if no else approve()) if question.kind == "decision" else "yes"
        result = agent.resume_sync(pause, answers)
    assert result.status == "answered"
    assert not [n for _, n in ran if n in denied]
    executed = Permissions.sequence(result)
    assert sorted(past.tool for past in executed) == sorted(name for name, _ in ran)
    assert all(past.state not in ("denied", "invalid", "in_flight", "proposed") for past in executed)
    assert len(Permissions.attempted(result)) == sum(map(len, batches))
    assert_same(plugin, result)
    for rule in rules:
        kept(rule, [past.tool for past in executed])


def assert_same(plugin: Permissions, result: Any) -> None:
    """The fold of the record, and of the record read back, is the same."""
    live = memo_of(plugin, result)
    assert memo_of(plugin, Record.from_lines(list(result.record.to_lines()), types=plugin.events)) == live
    counted = Progress(plugin.policy.sequence)
    for past in live.executed:
        counted.ran(past.tool)
    assert [c for c, r in zip(counted.counters, counted.rules, strict=True) if not isinstance(r, OnlyAfter)] == [
        c for c, r in zip(live.progress.counters, live.progress.rules, strict=True) if not isinstance(r, OnlyAfter)
    ]


def kept(rule: SequenceRule, ran: list[str]) -> None:
    """A rule against what ran, told by brute force."""

    def fits(pattern: str, name: str) -> bool:
        return pattern == name or (pattern.endswith("*") and name.startswith(pattern.rstrip("*")))

    if isinstance(rule, AtMost):
        assert sum(fits(rule.tool, name) for name in ran) <= rule.times
    elif isinstance(rule, OnlyAfter):
        for at, name in enumerate(ran):
            if fits(rule.tool, name):
                assert all(any(fits(condition, before) for before in ran[:at]) for condition in rule.after)


@settings(max_examples=200)
@given(st.lists(patterns, min_size=1, max_size=3), st.lists(names, max_size=7), st.lists(names, max_size=2), names, st.booleans())
def test_an_order_is_found_exactly_when_it_is_there(
    tools: list[str], ran: list[str], in_flight: list[str], name: str, adjacent: bool
) -> None:

    def fits(pattern: str, each: str) -> bool:
        return pattern == each or (pattern.endswith("*") and each.startswith(pattern.rstrip("*")))

    progress = Progress([Forbid(tuple(tools), adjacent=adjacent)])
    for each in ran:
        progress.ran(each)
    before, need = [*ran, *in_flight], len(tools) - 1
    ways = [tuple(before[len(before) - need :])] if adjacent else itertools.combinations(before, need)
    there = fits(tools[-1], name) and any(len(way) == need and all(map(fits, tools, way)) for way in ways)
    assert (progress.judge(name, in_flight) is not None) == there
    by_name = progress.judge(name, (), by_name=True)
    assert by_name is None or there  # what is refused by name would be refused later too


def test_a_record_of_a_file_gives_the_same_ledger(tmp_path: Path) -> None:
    plugin = Permissions(sequence=(AtMost("a", 1), OnlyAfter("b", ("a",)), Forbid(("a", "mail_*"), action="halt")))
    tools = [tool(lambda: "x", name=name, description=name) for name in NAMES]
    script = [call("b"), [call("a"), call("a")], call("b"), call("mail_x"), "ok"]
    result = Agent(ScriptedModel(script), tools=tools, plugins=[plugin]).run_sync("Go")
    result.record.save(tmp_path / "run.jsonl")
    loaded = memo_of(plugin, tmp_path / "run.jsonl")
    assert loaded == memo_of(plugin, result)
    assert [past.tool for past in loaded.executed] == ["a", "b"]
    assert len(loaded.halts) == 1
