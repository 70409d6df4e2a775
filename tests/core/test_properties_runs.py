"""Laws of random runs: one outcome and one message a call, whatever tools, plugins, limits, people and cancellation do."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp import Checkpoint, Limits, Pause, Record, RunResult
from agentfp.events import CostTick, Event, LlmEnd, RunConfigured, Served
from agentfp.plugin import memo_of
from agentfp_core.state import RunState
from tests.core.random_plugins import Meddling, Watcher, meddlings
from tests.core.random_runs import KINDS, Scene, Step, calm_steps, limits, scene_of, scripts
from tests.core.run_laws import calls_of, check_order, check_settled, outcomes_of, shown

backends = st.sampled_from(["asyncio", "trio"])
plugins = st.lists(meddlings, max_size=3)
calm_plugins = st.lists(meddlings.filter(lambda m: m.what not in ("raise", "wrong", "halt")), max_size=2)


async def to_the_end(scene: Scene, *, rejecting: bool = False, **options: Any) -> tuple[Record, RunResult[str] | None]:
    """Run a scene, answering all that is asked; a run that fails leaves its record with the watcher."""
    try:
        result = await scene.run(**options)
        while result.pause is not None:
            result = await scene.resume(result.pause, rejecting=rejecting, **options)
    except Exception:
        return scene.watcher.record, None
    return result.record, result


def check_replays(record: Record, sent: list[Any]) -> None:
    """The record gives the same messages, memos, tokens, money and requests live, loaded, and from a checkpoint."""
    live = RunState.of(record)
    for copy in (Record.from_lines(record.to_lines()), Checkpoint.from_json(Checkpoint(record).to_json()).record):
        state = RunState.of(copy)
        assert state.messages == live.messages
        assert copy.history == record.history
        assert (state.usage, state.usd, state.early, state.turn, state.last_status) == (
            live.usage,
            live.usd,
            live.early,
            live.turn,
            live.last_status,
        )
        assert memo_of(Watcher, copy) == memo_of(Watcher, record)
        assert list(copy.to_lines(checkpoint=True)) == list(record.to_lines(checkpoint=True))
    for number, request in enumerate(sent, 1):
        assert copy.served_at(number) == record.served_at(number) == request
        assert copy.receipt(number) == record.receipt(number)


def check_sums(record: Record) -> None:
    """Tokens and money are the sums of what was billed since the turn's budget began."""
    billed: list[LlmEnd] = []
    ticks: list[Decimal] = []
    for one in record:
        if isinstance(one.payload, RunConfigured) and one.payload.leg == "recovery":
            billed, ticks = [], []
        elif isinstance(one.payload, LlmEnd):
            billed.append(one.payload)
        elif isinstance(one.payload, CostTick):
            ticks.append(Decimal(one.payload.usd))
            assert Decimal(one.payload.cumulative_usd) == sum(ticks)
    state = RunState.of(record)
    assert state.usage.total == sum((one.input_tokens or 0) + (one.output_tokens or 0) for one in billed)
    assert (state.usage.cache_read or 0) == sum(one.cache_read_tokens or 0 for one in billed)
    assert (state.usd or 0) == sum(ticks)
    assert len(ticks) == len(billed)


def check(record: Record, scene: Scene, result: RunResult[str] | None = None) -> None:
    check_settled(record)
    check_order(record)
    check_sums(record)
    assert all(count == 1 for count in scene.ran.values()), "a tool ran twice for one call"
    outcomes = outcomes_of(record)
    for call_id in scene.ran:
        assert outcomes[call_id].ran or outcomes[call_id].outcome == "declined"
    assert len(scene.model.requests) == len(record.of(Served))
    check_replays(record, scene.model.requests)
    if result is not None:
        state = RunState.of(record)
        assert (result.usage, result.cost_usd, list(result.history)) == (state.usage, state.usd, state.messages)
        assert scene.watcher.runs[-1].memo("watcher") == memo_of(Watcher, record)


@given(script=scripts, meddled=plugins, within=limits, rejecting=st.booleans(), backend=backends)
def test_every_call_has_one_outcome_and_one_message(
    script: list[list[Step]], meddled: list[Meddling], within: Limits, rejecting: bool, backend: str
) -> None:
    scene = scene_of(script, meddled, within=within, dev=True)
    record, result = anyio.run(lambda: to_the_end(scene, rejecting=rejecting), backend=backend)
    check(record, scene, result)
    if result is None:
        assert any(one.what in ("raise", "wrong") for one in meddled), "without a broken plugin no run fails"


@given(script=scripts, meddled=plugins, at=st.integers(1, 80), backend=backends)
def test_a_run_that_is_cancelled_anywhere_leaves_a_whole_record_and_can_go_on(
    script: list[list[Step]], meddled: list[Meddling], at: int, backend: str
) -> None:
    scene = scene_of(script, meddled)
    heard: list[Event] = []

    async def go() -> tuple[Record, bool]:
        with anyio.CancelScope() as scope:

            def hear(event: Event) -> None:
                heard.append(event)
                if len(heard) == at:
                    scope.cancel()

            record, _ = await to_the_end(scene, on_event=hear)
            return record, False
        return scene.watcher.record, True

    record, cancelled = anyio.run(go, backend=backend)
    state = RunState.of(record)
    if state.pause is None:
        check(record, scene)
    if not cancelled or not state.open_turn or state.pause is not None:
        return
    before = outcomes_of(record)
    again = scene_of(script, meddled, model=scene.model, ran=scene.ran)

    async def recover() -> Record:
        try:
            result = await again.recover(Checkpoint.from_json(Checkpoint(record).to_json()))
            while result.pause is not None:
                result = await again.resume(result.pause)
        except Exception:
            return again.watcher.record
        return result.record

    recovered = anyio.run(recover, backend=backend)
    check(recovered, again)
    assert {key: outcomes_of(recovered)[key] for key in before} == before


@given(script=scripts, meddled=plugins, at=st.integers(0, 200), backend=backends)
def test_a_killed_run_goes_on_from_its_journal_and_runs_nothing_twice(
    script: list[list[Step]], meddled: list[Meddling], at: int, backend: str
) -> None:
    scene = scene_of(script, meddled)
    whole, _ = anyio.run(lambda: to_the_end(scene), backend=backend)
    lines = list(whole.to_lines())
    left = Record.from_lines(lines[: 2 + at % max(len(lines) - 1, 1)])
    state = RunState.of(left)
    if state.pause is not None or not state.open_turn:
        return
    known = outcomes_of(left)
    ran: Counter[str] = Counter()
    again = scene_of(script, meddled, ran=ran)

    async def recover() -> Record:
        try:
            result = await again.recover(left)
            while result.pause is not None:
                result = await again.resume(result.pause)
        except Exception:
            return again.watcher.record
        return result.record

    recovered = anyio.run(recover, backend=backend)
    check_settled(recovered)
    check_order(recovered)
    outcomes = outcomes_of(recovered)
    assert {key: outcomes[key] for key in known} == known
    assert not set(ran) & set(known), "a call that had ended ran again"
    dispatched = set(state.batch.dispatched) if state.batch is not None else set()
    assert not set(ran) & dispatched, "a call ran again of which nobody knows whether it had run"
    for call_id in dispatched - set(known):
        again_or_not = outcomes[call_id]
        assert again_or_not.outcome in ("unknown", "denied", "halted", "cancelled") or "again" in again_or_not.content


# --- pauses ---


async def paused_and_stored(script: list[list[Step]], meddled: list[Meddling], *, rejecting: bool) -> tuple[Scene, Record, int]:
    """Each pause goes through JSON to an agent made anew."""
    scene = scene_of(script, meddled)
    pauses = 0
    try:
        result = await scene.run()
        while result.pause is not None:
            pauses += 1
            stored = Pause.from_json(result.pause.to_json())
            assert [q.id for q in stored.questions] == [q.id for q in result.pause.questions]
            assert stored.questions == result.pause.questions
            scene = scene_of(script, meddled, model=scene.model, ran=scene.ran)
            result = await scene.resume(stored, rejecting=rejecting)
    except Exception:
        return scene, scene.watcher.record, pauses
    return scene, result.record, pauses


ASKING = st.sampled_from(["asking", "form", "approved"])
asking_scripts = st.lists(
    st.lists(st.one_of(st.builds(Step, ASKING, st.integers(0, 30)), calm_steps), min_size=1, max_size=4), min_size=1, max_size=3
)


@given(script=asking_scripts, meddled=plugins, rejecting=st.booleans(), backend=backends)
def test_a_pause_resumed_from_json_ends_as_one_resumed_in_place(
    script: list[list[Step]], meddled: list[Meddling], rejecting: bool, backend: str
) -> None:
    in_place = scene_of(script, meddled)
    record, _ = anyio.run(lambda: to_the_end(in_place, rejecting=rejecting), backend=backend)
    scene, stored, _ = anyio.run(lambda: paused_and_stored(script, meddled, rejecting=rejecting), backend=backend)
    assert shown(stored.history) == shown(record.history)
    one, other = RunState.of(stored), RunState.of(record)
    assert (one.usage, one.usd, one.early, one.last_status) == (other.usage, other.usd, other.early, other.last_status)
    ended = [[outcomes_of(r)[call_id].outcome for call_id in calls_of(r)] for r in (stored, record)]
    assert ended[0] == ended[1]
    assert [r.system for r in scene.model.requests] == [r.system for r in in_place.model.requests]
    check(stored, scene)
    check(record, in_place)
    assert sorted(scene.ran.values()) == sorted(in_place.ran.values())


@given(
    script=asking_scripts,
    meddled=st.lists(meddlings.filter(lambda m: m.what not in ("raise", "wrong", "halt")), max_size=2),
    backend=backends,
)
def test_a_run_that_paused_ends_as_one_that_knew_the_answers(script: list[list[Step]], meddled: list[Meddling], backend: str) -> None:
    scene, stored, _ = anyio.run(lambda: paused_and_stored(script, meddled, rejecting=False), backend=backend)
    knowing = scene_of(script, meddled, given=True)
    record, result = anyio.run(lambda: to_the_end(knowing), backend=backend)
    assert result is not None
    without_notes = [(m[0], m[1], *m[3:]) for m in shown(stored.history)]
    assert without_notes == [(m[0], m[1], *m[3:]) for m in shown(record.history)]
    assert (RunState.of(stored).usage, RunState.of(stored).usd) == (RunState.of(record).usage, RunState.of(record).usd)
    assert len(scene.model.requests) == len(knowing.model.requests)


def test_a_pause_over_a_batch_with_an_unknown_tool_can_be_resumed() -> None:
    script = [[Step("unknown", 0), Step("plain", 1)]]
    scene, record, pauses = anyio.run(lambda: paused_and_stored(script, [Meddling("before_tool", "peel", "ask")], rejecting=False))
    assert pauses == 1
    assert sorted(one.outcome for one in outcomes_of(record).values()) == ["failure", "success"]
    check(record, scene)


@settings(max_examples=10)
@given(numbers=st.lists(st.integers(0, 30), min_size=1, max_size=6), backend=backends)
def test_calls_that_are_alike_are_told_apart(numbers: list[int], backend: str) -> None:
    scene = scene_of([[Step("plain", number % 2, "same") for number in numbers], [Step("plain", 0, "same")]])
    record, result = anyio.run(lambda: to_the_end(scene), backend=backend)
    assert result is not None
    assert sum(scene.ran.values()) == len(numbers) + 1
    check(record, scene, result)


def test_all_kinds_of_tools_are_in_the_scripts() -> None:
    scene = scene_of([[Step(kind, 4) for kind in KINDS]])
    assert set(scene.agent.tools) == set(KINDS)
