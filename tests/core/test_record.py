"""The record: read at any position, folded, saved and read back to the byte; what is unknown is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp import (
    Agent,
    Checkpoint,
    ConfigError,
    Record,
    tool,
)
from agentfp.events import AppEvent, Event, MessageAdded, PluginFailed, Served, ToolEnded, UnknownPayload
from agentfp.plugin import Deny, Note, Plugin, PluginError, RequestDraft, Run, ToolCall, hookimpl, memo_of
from agentfp.testing import ScriptedModel, call
from tests.core.counted import Counted, Counter, look, some_run
from tests.core.running import check_record

pytestmark = pytest.mark.anyio


# --- reading ---


async def test_a_record_is_its_events_in_order() -> None:
    record = check_record(await some_run())
    assert len(record) == len(list(record)) == record.next_seq
    assert [one.seq for one in record] == list(range(len(record)))
    assert list(reversed(record)) == list(record)[::-1]
    for seq in (0, 3, len(record) - 1):
        assert record[seq].seq == seq
    for seq in (-1, len(record), 10**30):
        with pytest.raises(IndexError, match="no event with seq"):
            record[seq]


async def test_at_shows_the_record_as_it_was_then() -> None:
    record = (await some_run()).record
    for seq in range(len(record)):
        then = record.at(seq)
        assert list(then) == list(record)[: seq + 1]
        assert then.fold(0, lambda total, _: total + 1) == seq + 1
        messages = [one for one in then if isinstance(one.payload, MessageAdded)]
        assert len(then.history) == len(messages)
        assert list(then.history) == list(record.history)[: len(messages)]
    with pytest.raises(IndexError):
        record.at(len(record))


async def test_at_of_a_copy_without_diagnostics_knows_only_what_it_holds() -> None:
    record = (await some_run()).record
    copy = Checkpoint.from_json(Checkpoint(record).to_json()).record
    assert len(copy) < len(record)
    for one in record:
        if one.payload.event_kind == "diagnostic":
            with pytest.raises(IndexError):
                copy.at(one.seq)
        else:
            assert copy[one.seq].name == one.name
            assert [then.seq for then in copy.at(one.seq)] == [then.seq for then in copy if then.seq <= one.seq]


async def test_events_are_found_by_pattern_leg_and_call() -> None:
    record = (await some_run()).record
    assert record.events() == list(record)
    assert record.events("agentfp.tool.*") == [one for one in record if one.name.startswith("agentfp.tool.")]
    assert [one.name for one in record.events("agentfp.agent.turn_start")] == ["agentfp.agent.turn_start"]
    assert record.events("agentfp.tool.progress") == record.events("gentfp.*") == record.events("agentfp.office.*") == []
    for wrong in ("agentfp.tool", "agentfp.tool.end"):
        with pytest.raises(ConfigError, match=r"there is no event .*did you mean 'agentfp\.tool\.ended'"):
            record.events(wrong)
    assert sorted(one.outcome for one in record.of(ToolEnded)) == ["failure", "success", "success"]
    call_id = record.events("agentfp.tool.ended")[0].call_id
    assert {one.call_id for one in record.events(call_id=call_id)} == {call_id}
    assert record.events(run_id=record.run_id) == list(record)
    assert record.events(run_id="another") == []


async def test_fold_sees_each_event_once() -> None:
    record = (await some_run()).record
    names: list[str] = record.fold([], lambda seen, one: [*seen, one.name])
    assert names == [one.name for one in record]


# --- saving and loading ---


def same(one: Record, other: Record) -> bool:
    return list(one.to_lines()) == list(other.to_lines())


async def test_a_saved_record_is_read_back_to_the_byte(tmp_path: Path) -> None:
    result = await some_run()
    result.record.save(tmp_path / "record.jsonl")
    loaded = Record.load(tmp_path / "record.jsonl", types=[Counted])
    assert list(loaded) == list(result.record)
    assert loaded.headers == result.record.headers
    assert loaded.history == result.history
    assert loaded.torn_line is None
    loaded.save(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "record.jsonl").read_bytes()


async def test_events_of_unknown_types_are_kept_to_the_byte_and_understood_by_whoever_knows_them(tmp_path: Path) -> None:
    result = await some_run()
    result.record.save(tmp_path / "record.jsonl")
    loaded = Record.load(tmp_path / "record.jsonl")
    unknown = [one for one in loaded if isinstance(one.payload, UnknownPayload)]
    assert [one.name for one in unknown] == ["acme.orders.counted"] * 3
    assert [one.name for one in loaded if isinstance(one.payload, AppEvent)] == ["acme.looked"] * 2
    assert same(loaded, result.record)
    assert loaded.of(Counted) == result.record.of(Counted)
    assert memo_of(Counter, loaded) == memo_of(Counter, result) == memo_of(Counter, tmp_path / "record.jsonl") == 1 + 2 + 3


words = st.text(st.characters(codec="utf-8"))


@given(
    name=st.sampled_from(["acme.new.thing", "agentfp.future.thing"]),
    body=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
        max_leaves=8,
    ),
    escaped=st.booleans(),
)
def test_whatever_an_unknown_event_holds_is_kept_to_the_byte(name: str, body: Any, escaped: bool) -> None:
    header = '{"agentfp":1,"segment":{"root_id":"c","run_id":"r","first_seq":0,"started_ns":1}}'
    data = json.dumps(body, ensure_ascii=escaped)
    line = f'{{"seq":0,"name":"{name}","ts":1,"off":0,"turn":1,"iter":1,"src":"app","data":{data}}}'
    record = Record.from_lines([header, line])
    assert list(record.to_lines())[1] == line
    again = Record.from_lines(json.loads(one) for one in record.to_lines())
    assert [type(one.payload) for one in again] == [UnknownPayload]
    assert json.loads(list(again.to_lines())[1])["data"] == body


async def test_a_plugins_events_live_through_checkpoints_that_were_read_without_it() -> None:
    record = (await some_run()).record
    once = Checkpoint.from_json(Checkpoint(record).to_json())
    twice = Checkpoint.from_json(once.to_json())
    assert twice.record.of(Counted) == record.of(Counted)
    assert memo_of(Counter, twice) == 6
    assert once.to_json() == twice.to_json()


async def test_a_record_of_legs_and_turns_is_read_back_whole(tmp_path: Path) -> None:
    @tool(approval=True)
    async def act() -> str:
        """Do it."""
        return "did it"

    agent = Agent(ScriptedModel([call("act"), "Done.", call("look"), "Seen."]), tools=[act, look], plugins=[Counter()])
    first = await agent.run("Do it")
    assert first.pause is not None
    second = await agent.resume(first.pause, {first.pause.questions[0].id: {"approved": True}})
    third = await agent.run("And now?", history=second.history)
    third.record.save(tmp_path / "record.jsonl")
    loaded = Record.load(tmp_path / "record.jsonl", types=[Counted])
    assert len(loaded.headers) == 3
    assert list(loaded) == list(third.record)
    assert [loaded.receipt(k) for k in range(1, 5)] == [one.receipt for one in third.record.of(Served)]
    assert list(first.record) == list(third.record)[: len(first.record)], "an earlier record grew"
    assert list(second.record) == list(third.record)[: len(second.record)]


async def test_a_later_branch_of_a_conversation_leaves_the_earlier_one_alone() -> None:
    agent = Agent(ScriptedModel(["one", "two", "three"]))
    first = await agent.run("1")
    left = await agent.run("2", history=first.history)
    right = await agent.run("3", history=first.history)
    assert [m.content for m in left.record.history] == ["1", "one", "2", "two"]
    assert [m.content for m in right.record.history] == ["1", "one", "3", "three"]
    for result in (left, right):
        assert check_record(result).history == result.history


async def test_of_two_branches_in_one_file_the_later_one_counts(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel(["one", "two", "three"]))
    path = tmp_path / "journal.jsonl"
    first = await agent.run("1", journal=path)
    await agent.run("2", history=first.history, journal=path)
    right = await agent.run("3", history=first.history, journal=path)
    assert list(Record.load(path)) == list(right.record)
    assert [m.content for m in Record.load(path).history] == ["1", "one", "3", "three"]


# --- text that no encoding can hold ---


async def test_a_lone_surrogate_neither_breaks_a_run_nor_its_record(tmp_path: Path) -> None:
    broken = "a\ud83db"  # half of an emoji, as a reply that is cut into pieces may hold

    class Speaker(Plugin):
        name = "speaker"

        @hookimpl(phase="compose")
        def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
            draft.add_piece("piece", broken)
            draft.add_late_line("late", broken)

        @hookimpl(phase="note")
        def after_result(self) -> Note:
            return Note(broken)

    script = [ToolCall(f"id {broken}", "look", json.dumps({"word": "x"})), [call("look", word=broken), call(broken)], broken]
    model = ScriptedModel(script)
    agent = Agent(model, tools=[look], plugins=[Speaker()])
    result = await agent.run(broken, journal=tmp_path / "journal.jsonl")
    check_record(result)
    loaded = Record.load(tmp_path / "journal.jsonl")
    assert loaded.torn_line is None
    assert list(loaded.to_lines()) == list(result.record.to_lines())
    assert loaded.history == result.history
    for number, request in enumerate(model.requests, 1):
        assert loaded.served_at(number) == request
        assert "\ud83d" not in request.system + "".join(m.text for m in request.messages)


# --- memos ---


class Fragile(Plugin):
    """Its fold breaks at the second event that it reads; a hook of it guards calls by the memo."""

    name = "fragile"
    memo_events = ("agentfp.context.served",)

    def initial(self) -> int:
        return 0

    def fold(self, state: int, event: Event) -> int:
        if state:
            raise RuntimeError("the fold is broken")
        return state + 1

    @hookimpl(phase="authorize")
    def before_tool(self, run: Run[Any]) -> Deny | None:
        return None if run.memo(self) else Deny("nothing was served")


async def test_a_fold_that_raises_fails_its_own_plugin_and_nobody_else(tmp_path: Path) -> None:
    model = ScriptedModel([call("look", word="a"), call("look", word="b"), "Done."])
    agent: Agent[Any, str] = Agent(model, tools=[look], plugins=[Fragile(), Counter()])
    result = await agent.run("Go", journal=tmp_path / "journal.jsonl")
    assert result.status == "answered"
    assert [one.outcome for one in result.record.of(ToolEnded)] == ["success", "denied"], "a guard that knows nothing refuses"
    assert result.plugin_failures == {"fragile": 2}
    assert [(one.moment, one.policy) for one in result.record.of(PluginFailed)] == [("before_tool", "call-refused"), ("fold", "counted")]
    check_record(result)
    loaded = Record.load(tmp_path / "journal.jsonl")
    assert list(loaded.to_lines()) == list(result.record.to_lines())
    assert memo_of(Counter, loaded) == 6
    for source in (result, loaded):
        with pytest.raises(PluginError, match="its fold raised a RuntimeError") as failed:
            memo_of(Fragile, source)
        assert "the fold is broken" not in str(failed.value)
