"""The record: read at any position, folded, saved and read back; what is unknown is kept, what is broken is refused."""

from __future__ import annotations

import contextlib
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp import (
    Agent,
    Checkpoint,
    CheckpointError,
    History,
    Identity,
    Limits,
    Pause,
    Prices,
    Record,
    RecordError,
    RecordFormatError,
    RunResult,
    ToolContext,
    tool,
)
from agentfp.events import AppEvent, Event, MessageAdded, Number, Payload, Served, ToolEnded, UnknownPayload, event
from agentfp.plugin import Note, Plugin, RequestDraft, Run, ToolCall, hookimpl, memo_of
from tests.core.running import ScriptedModel, call, check_record

pytestmark = pytest.mark.anyio


@event("acme.orders.counted")
class Counted(Payload):
    """Orders were counted."""

    count: Number[int]
    ratio: Number[float]
    note: str


class Counter(Plugin):
    """Emits an event at each model call, and sums up what it emitted."""

    name = "counter"
    events = (Counted,)
    memo_events = ("acme.orders.*",)

    def initial(self) -> int:
        return 0

    def fold(self, state: int, event: Event) -> int:
        assert isinstance(event.payload, Counted)
        return state + event.payload.count

    @hookimpl(phase="compose")
    def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
        run.emit(Counted(draft.call, 1e22, 'é \u2028 \x7f \\ " / \x01'))
        draft.add_piece("count", f"So far {run.memo(self)}.")


@tool
async def look(ctx: ToolContext[Any], word: str = "x") -> str:
    """Look something up."""
    ctx.emit("acme.looked", {"z": 1e22, "a": f"é\x7f{word}", "n": None})
    return f"found {word}"


async def some_run(*script: Any, **settings: Any) -> RunResult[str]:
    model = ScriptedModel([*script] or [call("look", word="a"), [call("look", word="b"), call("nothing")], "Done."])
    agent: Agent[Any, str] = Agent(model, tools=[look], plugins=[Counter()], **settings)
    return await agent.run("What is there?", identity=Identity(tenant="t", principal="p"), session_id="s 1")


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
    assert record.events("agentfp.tool") == record.events("gentfp.*") == []
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


# --- files that are no records ---


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


async def saved(tmp_path: Path) -> Path:
    path = tmp_path / "record.jsonl"
    (await some_run()).record.save(path)
    return path


async def test_a_torn_last_line_is_left_out_and_said(tmp_path: Path) -> None:
    path = await saved(tmp_path)
    whole, rows = Record.load(path), lines_of(path)
    last = len(rows[-1])
    for cut in (1, last // 2, last - 2):
        path.write_bytes(b"".join(rows[:-1]) + rows[-1][:cut])
        torn = Record.load(path)
        assert torn.torn_line == len(rows)
        assert list(torn) == list(whole)[:-1]
    path.write_bytes(b"".join(rows)[:-1])
    assert list(Record.load(path)) == list(whole), "only the end of the last line is missing"


@pytest.mark.parametrize("at", [1, 2, 5])
@pytest.mark.parametrize(
    "damage", [b'{"seq":', b"\x00\x01\xff\n", b"[]\n", b'"text"\n', b"{}\n", b"17\n", b'{"seq":5,"name":5,"data":{}}\n']
)
async def test_a_damaged_line_is_refused_with_its_number(tmp_path: Path, at: int, damage: bytes) -> None:
    path = await saved(tmp_path)
    rows = lines_of(path)
    rows[at - 1] = damage
    path.write_bytes(b"".join(rows))
    with pytest.raises(RecordFormatError, match=rf"line {at}\b"):
        Record.load(path)


async def test_a_line_that_was_moved_is_refused(tmp_path: Path) -> None:
    path = await saved(tmp_path)
    rows = lines_of(path)
    path.write_bytes(b"".join([*rows[:3], rows[4], rows[3], *rows[5:]]))
    with pytest.raises(RecordFormatError, match="line 5: event 2 comes after event 3"):
        Record.load(path)


@pytest.mark.parametrize("version", [0, 2, "1", None, 10**400, [1]])
def test_another_version_is_refused(version: Any) -> None:
    line = json.dumps({"agentfp": version, "segment": {"root_id": "c", "run_id": "r", "first_seq": 0, "started_ns": 1}})
    with pytest.raises(RecordFormatError, match="line 1: records of version"):
        Record.from_lines([line])
    for kind, read in (("checkpoint", Checkpoint.from_json), ("pause", Pause.from_json)):
        with pytest.raises(CheckpointError, match="version"):
            read(json.dumps({"version": version, "kind": kind, "record": []}))


async def test_a_payload_that_does_not_fit_is_refused_with_line_and_field_and_without_its_value(tmp_path: Path) -> None:
    path = await saved(tmp_path)
    rows = lines_of(path)
    index = next(i for i, row in enumerate(rows) if b"agentfp.tool.ended" in row)
    data = json.loads(rows[index])
    data["data"]["outcome"] = "canary-77"
    rows[index] = json.dumps(data).encode() + b"\n"
    path.write_bytes(b"".join(rows))
    with pytest.raises(
        RecordFormatError, match=rf"line {index + 1}: event 'agentfp.tool.ended' does not fit its type at: outcome"
    ) as refused:
        Record.load(path)
    assert "canary-77" not in str(refused.value)


async def test_fields_of_a_newer_version_are_passed_over(tmp_path: Path) -> None:
    path = await saved(tmp_path)
    rows = [json.loads(row) for row in lines_of(path)]
    for row in rows:
        row["new"] = 1
        row.get("segment", row.get("data", {}))["brand_new"] = [1]
    assert Record.from_lines(rows).history == Record.load(path).history


HEADER = {"root_id": "c", "run_id": "r", "first_seq": 0, "started_ns": 1}
EVENT = {
    "seq": 0,
    "name": "agentfp.agent.turn_start",
    "ts": 1,
    "off": 0,
    "turn": 1,
    "iter": 0,
    "src": "kernel",
    "data": {"message_id": "m"},
}
odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**5000),
    st.floats(),
    st.text(max_size=5),
    st.just("x" * 100_000),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def dumps(value: Any) -> bytes:
    return json.dumps(value if value != 10**5000 else 0).encode()


@given(
    where=st.sampled_from(["header", "event", "identity"]),
    key=st.sampled_from([*HEADER, *EVENT, "path", "redaction", "identity", "call", "app"]),
    value=odd,
)
def test_no_field_of_a_wrong_type_gets_by(where: str, key: str, value: Any) -> None:
    header: dict[str, Any] = {**HEADER, **({key: value} if where == "header" else {})}
    if where == "identity":
        header["identity"] = {"tenant": value}
    row: dict[str, Any] = {**EVENT, **({key: value} if where == "event" else {})}
    try:
        record = Record.from_lines([{"agentfp": 1, "segment": header}, row])
    except RecordFormatError:
        return
    lines = list(record.to_lines())
    assert list(Record.from_lines(lines).to_lines()) == lines
    try:
        assert len(record.history) == 0
    except RecordFormatError:
        return


@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.text(max_size=50).map(str.encode),
        st.sampled_from(
            [
                b"[" * 100_000,
                b'{"a":' * 50_000,
                b"1" * 100_000,
                b"\n" * 1000,
                b"\xef\xbb\xbf{}",
                b"null",
                b'{"segment":{}}',
                b'{"switch":[]}',
            ]
        ),
        st.lists(
            st.sampled_from(
                [dumps({"agentfp": 1, "segment": HEADER}), dumps(EVENT), dumps({"switch": "r"}), dumps({"switch": {}}), b"\xff"]
            )
        ).map(b"\n".join),
    )
)
def test_hostile_bytes_are_a_record_or_a_record_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.jsonl"
    path.write_bytes(data)
    with contextlib.suppress(RecordError):
        assert len(Record.load(path).history) == 0
    for read in (Pause.from_json, Checkpoint.from_json, History.from_json):
        with contextlib.suppress(CheckpointError):
            read(data)


def change(data: Any, path: list[Any], value: Any) -> Any:
    """A copy of JSON data with one place of it changed; a path leads as far as it goes."""
    if not path or not isinstance(data, (dict, list)) or not data:
        return value
    if isinstance(data, dict):
        key = sorted(data)[path[0] % len(data)]
        return {**data, key: change(data[key], path[1:], value)}
    index = path[0] % len(data)
    return [*data[:index], change(data[index], path[1:], value), *data[index + 1 :]]


async def pause_text() -> str:
    @tool
    async def ask(ctx: ToolContext[Any], word: str) -> str:
        """Ask."""
        ctx.ask_human("Which one?", context={"a": 1})

    prices = {"script": Prices(input=Decimal("0.001"), output=Decimal(1))}
    told = [{"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"}]
    model = ScriptedModel([call("look"), [call("ask", word="w"), call("look")]])
    result = await Agent(model, tools=[ask, look], plugins=[Counter()], prices=prices).run("Go on", history=told)
    assert result.pause is not None
    return result.pause.to_json()


@pytest.fixture(scope="module")
def stored_pause() -> str:
    import anyio

    return anyio.run(pause_text)


@given(steps=st.lists(st.integers(0, 60), min_size=1, max_size=6), value=odd)
def test_a_pause_that_somebody_changed_is_a_pause_or_a_checkpoint_error(stored_pause: str, steps: list[int], value: Any) -> None:
    changed = json.dumps(change(json.loads(stored_pause), steps, value if value != 10**5000 else 7))
    try:
        pause = Pause.from_json(changed)
    except CheckpointError:
        return
    assert pause.id
    assert Pause.from_json(pause.to_json()).id == pause.id


@pytest.mark.parametrize("rows", [None, {}, "text", ["text"], [5], [[]], [None]])
def test_a_checkpoint_holds_a_list_of_objects(rows: Any) -> None:
    with pytest.raises(CheckpointError):
        Checkpoint.from_json(json.dumps({"version": 1, "kind": "checkpoint", "record": rows}))


async def test_a_stray_text_in_a_checkpoint_is_no_torn_line() -> None:
    text = Checkpoint((await some_run()).record).to_json()
    with pytest.raises(CheckpointError):
        Checkpoint.from_json(text[:-2] + ',"{"]}')


# --- size ---


def iterations(count: int, content: str) -> ScriptedModel:
    return ScriptedModel([*(call("look", word=content) for _ in range(count)), "Done."])


async def bytes_of(count: int, content: str = "") -> int:
    @tool(name="look")
    async def quiet(word: str) -> str:
        """Look something up."""
        return word[::-1]

    limits = Limits(iterations=count + 1, hard_cap=count + 1)
    result = await Agent(iterations(count, content), tools=[quiet], limits=limits, instructions="Be brief. " * 50).run("Go")
    assert result.status == "answered"
    return sum(len(line.encode()) + 1 for line in result.record.to_lines())


async def test_a_record_grows_by_what_happens_and_no_more() -> None:
    two, four = await bytes_of(200), await bytes_of(400)
    assert four / two < 2.1
    assert (four - two) / 200 <= 3000
    content = "n" * 2000  # stands once as the argument and once as the result
    assert (await bytes_of(200, content) - two) / 200 <= 2.05 * len(content)


async def test_a_conversation_grows_by_what_is_said(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel(["Yes."] * 60), instructions="Be brief. " * 500)
    chat = agent.conversation()
    sizes = []
    for _ in range(60):
        await chat.send("And?")
        sizes.append(sum(len(line) for line in chat.record.to_lines()))
    assert sizes[-1] - sizes[-2] < 1.1 * (sizes[2] - sizes[1])
    assert sizes[-1] - sizes[-2] < 4000


async def test_the_kinds_decide_what_a_checkpoint_holds() -> None:
    @event("acme.orders.seen", kind="diagnostic")
    class Seen(Payload):
        """For whoever looks for faults."""

    @event("acme.orders.moved", kind="transient")
    class Moved(Payload):
        """For whoever watches."""

    class Emitter(Plugin):
        name = "emitter"
        events = (Seen, Moved)

        @hookimpl(phase="seal")
        def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
            run.emit(Seen())
            run.emit(Moved())

    heard: list[Event] = []
    result = await Agent(ScriptedModel(["done"]), plugins=[Emitter()]).run("hi", on_event={"acme.orders.*": heard.append})
    assert [(one.name, one.seq >= 0) for one in heard] == [("acme.orders.seen", True), ("acme.orders.moved", False)]
    assert [one.name for one in result.record if one.name.startswith("acme.")] == ["acme.orders.seen"]
    assert not [one for one in Checkpoint.from_json(result.checkpoint().to_json()).record if one.name.startswith("acme.")]


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
