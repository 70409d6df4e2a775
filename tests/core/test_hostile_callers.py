"""Callers that hand over what others wrote by hand: histories, answers, stored pauses, sources of a resume. All fail in words."""

from __future__ import annotations

import copy
import gc
import json
import weakref
from typing import Any

import pytest

from agentfp import (
    AgentfpError,
    Approval,
    CheckpointError,
    History,
    Identity,
    InputRequestError,
    Message,
    NoConversationError,
    Pause,
    Record,
    RecordError,
    ToolCall,
    UsageError,
    approve,
    reject,
    tool,
)
from agentfp.events import MessageRepaired
from tests.core.asking import again, made
from tests.core.running import call, check_record, tool_texts

pytestmark = pytest.mark.anyio

ANY: Any = None


@tool
async def echo(x: str = "d") -> str:
    """Say it back."""
    return x


@tool
def threaded() -> str:
    """Run in a thread."""
    return "ran"


@tool(approval=True)
def shut(x: str = "d") -> str:
    """Shut it."""
    return f"shut {x}"


# --- histories -----------------------------------------------------------------------------------------------------------


def said(**fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": "hello", **fields}


def proposed(*calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls)}


HISTORIES: dict[str, Any] = {
    "calls as a number": [{**proposed(), "tool_calls": 5}],
    "calls as text": [{**proposed(), "tool_calls": "SECRET"}],
    "a call as text": [proposed("SECRET")],
    "a function as text": [proposed({"id": "1", "function": "SECRET"})],
    "a call without a name": [proposed({"id": "1", "name": None})],
    "arguments as a list": [proposed({"id": "1", "name": "echo", "arguments": ["SECRET"]})],
    "meta as an object": [proposed({"id": "1", "name": "echo", "provider_meta": {"a": "SECRET"}})],
    "turn as text": [said(turn="SECRET")],
    "turn below 0": [said(turn=-5)],
    "endless turn": [said(turn=10**30)],
    "infinite turn": [said(turn=1e999)],
    "own text": [said(own=5)],
    "thinking": [{**proposed(), "thinking": [{"text": 5}]}],
    "a tool's name": [proposed({"id": "1", "name": "echo"}), {"role": "tool", "tool_call_id": "1", "content": "r", "tool_name": 5}],
    "a part": [said(parts=[{"kind": "image", "media_type": 5}])],
    "a message made by hand": [Message(5, "user", "SECRET")],  # type: ignore[arg-type]
    "a role made by hand": [Message("m", "SECRET", "x")],  # type: ignore[arg-type]
    "a call made by hand": [Message("m", "assistant", "", tool_calls=(ToolCall("1", ANY),))],
    "root": {"version": 1, "root_id": 5, "messages": []},
    "root that no encoding holds": {"version": 1, "root_id": "\ud800", "messages": []},
    "text that no encoding holds": '[{"role": "user", "content": "\ud800"}]',
}


@pytest.mark.parametrize("what", HISTORIES)
async def test_a_malformed_history_is_refused_with_the_place_and_no_value(what: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        await made("done").run("x", history=HISTORIES[what])
    assert "SECRET" not in str(caught.value)


async def test_ids_of_a_history_that_are_no_texts_or_no_unicode_are_made_some() -> None:
    history = [
        said(id="\ud800"),
        proposed({"id": 5, "name": "echo"}),
        {"role": "tool", "tool_call_id": 5, "content": "r"},
        {"role": "assistant", "content": "so"},
    ]
    result = await made("done").run("x", history=history)
    assert tool_texts(result.history) == ["r"]
    assert History.from_json(result.history.to_json()) == result.history
    check_record(result)


async def test_calls_of_a_history_that_share_an_id_get_ids_of_their_own() -> None:
    one = {"id": "1", "name": "echo"}
    history = [
        proposed(one, one),
        {"role": "tool", "tool_call_id": "1", "content": "first"},
        {"role": "tool", "tool_call_id": "1", "content": "second"},
        {"role": "tool", "tool_call_id": "1", "content": "too many"},
        {"role": "assistant", "content": "so"},
        proposed(one),
        {"role": "tool", "tool_call_id": "1", "content": "third"},
        proposed(one),
    ]
    result = await made(call("echo"), "done", tools=[echo]).run("x", history=history)
    assert tool_texts(result.history) == ["first", "second", "third", "The result of this call is not known.", "d"]
    ids = [made.id for message in result.history for made in message.tool_calls]
    assert len(set(ids)) == len(ids) == 5
    assert sorted(repaired.reason for repaired in result.record.of(MessageRepaired)) == ["duplicate-result", "orphan-call"]
    check_record(await made("more").run("y", history=result.history))


async def test_a_message_with_thousands_of_open_calls_is_closed_in_one_go() -> None:
    calls = [{"id": f"c{number}", "name": "echo"} for number in range(5_000)]
    result = await made("done").run("x", history=[proposed(*calls)])
    assert len(tool_texts(result.history)) == 5_000


# --- answers --------------------------------------------------------------------------------------------------------------------


async def paused(*calls: Any) -> tuple[Any, Any]:
    agent = made(list(calls) or [call("shut", x="SECRET"), call("echo")], *["done"] * 3, tools=[echo, shut, threaded])
    result = await agent.run("x")
    assert result.paused
    return agent, result


@pytest.mark.parametrize(
    "answer",
    [
        Approval("yes"),  # type: ignore[arg-type]
        Approval(True, by=5),  # type: ignore[arg-type]
        reject(5),  # type: ignore[arg-type]
        approve(args=5),  # type: ignore[arg-type]
        approve(args={"x": object}),
        {"approved": True, "by": {"a": "SECRET"}},
        {"approved": True, "args": "SECRET"},
    ],
    ids=str,
)
async def test_a_malformed_decision_is_refused_and_the_pause_stays(answer: Any) -> None:
    agent, result = await paused()
    with pytest.raises(InputRequestError) as caught:
        await agent.resume(result.pause, answer)
    assert "SECRET" not in str(caught.value)
    check_record(await agent.resume(result.pause, approve()))


async def test_a_note_that_no_encoding_holds_is_kept_as_far_as_it_can_be() -> None:
    agent, result = await paused(call("shut"))
    result = await agent.resume(again(result), reject("no \ud800", by="a\udfff"))
    assert tool_texts(result.history) == ["declined by human: no \ufffd"]
    check_record(result)


async def test_a_stored_pause_that_was_changed_by_hand_fails_in_words() -> None:
    _, result = await paused()
    stored = json.loads(result.pause.to_json())
    rows = stored["record"]
    changes: list[Any] = []
    others: list[Any] = ["zz", None, 5, [], {}, -1, 10**30, True]
    for index, row in enumerate(rows):
        changes += [rows[:index] + rows[index + 1 :], rows[:index], [*rows[:index], row, *rows[index:]], [*rows[:index], 5, *rows[index:]]]
        for key, value in row.get("data", {}).items():
            for other in others:
                if other != value:
                    changed = copy.deepcopy(row)
                    changed["data"][key] = other
                    changes.append([*rows[:index], changed, *rows[index + 1 :]])
    for changed in changes:
        try:
            pause = Pause.from_json(json.dumps({**stored, "record": changed}))
            resumed = await made(*["done"] * 3, tools=[echo, shut]).resume(pause, {question.id: approve() for question in pause.questions})
        except AgentfpError as error:
            assert "SECRET" not in str(error)  # noqa: PT017
        else:
            assert not resumed.paused


async def test_a_pause_whose_batch_was_cut_out_is_no_pause() -> None:
    _, result = await paused()
    stored = json.loads(result.pause.to_json())
    rows = [row for row in stored["record"] if not row.get("data", {}).get("tool_calls")]
    with pytest.raises(CheckpointError, match="was changed"):
        Pause.from_json(json.dumps({**stored, "record": rows}))


# --- sources, options, streams -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [b"x", 5, None, "", "/not/there", "/", {}, ["x"], "{not json"])
async def test_what_cannot_be_taken_up_is_a_record_error(source: Any) -> None:
    with pytest.raises(RecordError) as caught:
        await made("done").resume_on_error(source)
    assert type(caught.value) is not RecordError or caught.value.args


async def test_an_empty_record_has_nothing_to_take_up() -> None:
    with pytest.raises(NoConversationError):
        await made("done").resume_on_error(Record())


@pytest.mark.parametrize("option", [{"journal": 5}, {"journal": ""}, {"timeout": "soon"}])
async def test_a_malformed_option_is_refused_before_anything_runs(option: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(option))):
        await made("done").run("x", **option)


async def test_an_identity_that_no_encoding_holds_does_not_spoil_the_record(tmp_path: Any) -> None:
    result = await made("done").run("x", identity=Identity(principal="a\ud800"), journal=tmp_path / "j")
    result.record.save(tmp_path / "r")
    for path in ("j", "r"):
        loaded = Record.load(tmp_path / path).headers[0].identity
        assert loaded is not None
        assert loaded.principal == "a\ufffd"


async def test_a_stream_is_entered_once_and_before_it_is_read() -> None:
    stream = made("a b", "c d").stream("x")
    with pytest.raises(UsageError, match="enter the stream first"):
        await anext(aiter(stream))
    with pytest.raises(UsageError, match="enter the stream first"):
        await anext(stream.text())
    async with stream as run:
        assert "".join([text async for text in run.text()]) == "a b"
    with pytest.raises(UsageError, match="entered once"):
        async with stream:
            pass


def test_a_sync_stream_is_entered_before_it_is_read() -> None:
    stream = made("a b").stream_sync("x")
    for read in (lambda: list(stream), lambda: list(stream.text()), lambda: stream.result):
        with pytest.raises(UsageError, match="enter the stream first"):
            read()


async def test_an_agent_made_for_one_run_is_gone_after_it() -> None:
    agent = made(call("threaded"), "done", tools=[threaded])
    await agent.run("x")
    left = weakref.ref(agent)
    del agent
    gc.collect()
    assert left() is None
