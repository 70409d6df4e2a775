"""Plugins that reach past their verdicts: what hooks read cannot be set, malformed answers fail closed, watchers stay isolated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from agentfp import AnswerRefusedError, ModelError, PluginError, Record, RunCheckpointError, UsageError, tool
from agentfp.events import Content, Event, Name, Payload, PluginFailed, RunEnded, event
from agentfp.plugin import AskField, AskPerson, Deny, Halt, Note, Refuse, Replace, Revise, Withhold, hookimpl
from tests.core.asking import before, made, plugin
from tests.core.running import call, check_record, outcomes, tool_texts

pytestmark = pytest.mark.anyio

ANY: Any = None
PHASES = {
    "serve_context": ("window", "route", "activate", "deliver", "compose", "overlay", "annotate", "seal"),
    "before_tool": ("peel", "screen", "fill", "authorize", "rewrite", "consent", "resolve", "credential"),
    "after_result": ("check", "rewrite", "place", "note", "judge"),
    "assess_answer": ("rewrite", "procedure", "evidence", "claims", "stand", "append"),
    "admit_input": (None,),
    "finish_run": (None,),
    "export_event": (None,),
}
EVERY = [(moment, phase) for moment, phases in PHASES.items() for phase in phases]


@event("agentfp.hostile.said")
class Said(Payload):
    """A plugin's event."""

    name: Name[str]
    data: Content[object] = None


@tool
async def echo(x: str = "d") -> str:
    """Say it back."""
    return x


def hook(moment: str, phase: str | None, body: Callable[[], Any]) -> Any:
    """A hook that calls a function."""

    async def run(self: Any) -> Any:
        return body()

    return hookimpl(moment=moment, phase=phase)(run)


# --- views ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["id", "name", "tool", "outcome", "arguments_json", "approved", "proposed"])
async def test_a_call_cannot_be_changed_by_a_hook(field: str) -> None:
    ran: list[str] = []

    @tool(approval=True)
    def shut(x: str = "d") -> str:
        """Shut it."""
        ran.append(x)
        return "shut"

    def meddle(self: Any, call: Any) -> None:
        setattr(call, field, True)

    agent = made(call("shut"), "done", tools=[shut], plugins=[plugin("meddling", hook=before("authorize")(meddle))])
    result = await agent.run("x")
    assert not ran
    assert result.text == "done"
    assert list(outcomes(result.record).values()) == ["denied"]
    assert "verdict" in (result.record.of(PluginFailed)[0].error or "")
    check_record(result)


@pytest.mark.parametrize(
    "meddle",
    [
        lambda batch: setattr(batch, "calls", ()),
        lambda batch: setattr(batch, "halt", None),
        lambda batch: batch.results.clear(),
        lambda batch: batch.answers.update(p={}),
        lambda batch: delattr(batch, "calls"),
    ],
)
async def test_a_batch_cannot_be_changed_by_a_hook(meddle: Callable[[Any], None]) -> None:
    def gate(self: Any, batch: Any) -> None:
        meddle(batch)

    agent = made([call("echo"), call("echo", x="e")], "done", tools=[echo], plugins=[plugin("p", hook=before("fill", per="batch")(gate))])
    result = await agent.run("x")
    assert list(outcomes(result.record).values()) == ["denied"] * 2
    check_record(result)


@pytest.mark.parametrize("field", ["content", "notes", "parts", "real", "withheld", "outcome", "call_id"])
async def test_a_result_cannot_be_changed_past_its_verdicts(field: str) -> None:
    def meddle(self: Any, result: Any) -> None:
        setattr(result, field, "forged")

    note = hookimpl(moment="after_result", phase="note")(meddle)
    result = await made(call("echo"), "done", tools=[echo], plugins=[plugin("p", hook=note)]).run("x")
    assert tool_texts(result.history) == ["d"]
    assert result.plugin_failures == {"p": 1}
    check_record(result)


@pytest.mark.parametrize("field", ["text", "output", "may_revise", "stop", "stopped_early"])
async def test_a_draft_cannot_be_changed_past_its_verdicts(field: str) -> None:
    def meddle(self: Any, draft: Any) -> Any:
        setattr(draft, field, "forged")
        return Revise(["once more"], "k", max=1_000)

    stand = hookimpl(moment="assess_answer", phase="stand")(meddle)
    result = await made("said", plugins=[plugin("p", hook=stand)]).run("x")
    assert result.text == "said"
    assert result.plugin_failures == {"p": 1}


# --- malformed answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "verdict",
    [
        Deny(5),  # type: ignore[arg-type]
        Deny("r", tell_model=5),  # type: ignore[arg-type]
        Halt(ANY),
        Halt("r", 5),  # type: ignore[arg-type]
        AskPerson([AskField(ANY, ANY)]),
        AskPerson([AskField("k", 5)]),  # type: ignore[arg-type]
        AskPerson([AskField("k", "p", pinned=5)]),  # type: ignore[arg-type]
        AskPerson([AskField("k", "p")], component=5),  # type: ignore[arg-type]
        AskPerson([AskField("k", "p")], expires_in=float("nan")),
        AskPerson(ANY),
    ],
    ids=lambda verdict: type(verdict).__name__,
)
@pytest.mark.parametrize("per", ["call", "batch"])
async def test_a_malformed_verdict_over_a_call_refuses_it(verdict: Any, per: str) -> None:
    def one(self: Any, call: Any) -> Any:
        return verdict

    def all_of(self: Any, batch: Any) -> Any:
        return verdict if isinstance(verdict, AskPerson) else {made.id: verdict for made in batch.calls}

    gate = before("authorize", per=per)(one if per == "call" else all_of)
    result = await made(call("echo"), "done", tools=[echo], plugins=[plugin("p", hook=gate)]).run("x")
    assert result.text == "done"
    assert list(outcomes(result.record).values()) == ["denied"]
    assert result.plugin_failures == {"p": 1}
    check_record(result)


@pytest.mark.parametrize("verdict", [Replace(5), Withhold(ANY), Withhold("r", 5), Note(ANY)], ids=lambda verdict: type(verdict).__name__)  # type: ignore[arg-type]
async def test_a_malformed_verdict_over_a_result_withholds_it(verdict: Any) -> None:
    check = hook("after_result", "check", lambda: verdict)
    result = await made(call("echo"), "done", tools=[echo], plugins=[plugin("p", hook=check)]).run("x")
    assert tool_texts(result.history) != ["d"]
    check_record(result)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Replace(ANY),
        lambda: Revise(ANY, "k"),
        lambda: Revise("abc", "k"),
        lambda: Revise([5], "k"),  # type: ignore[list-item]
        lambda: Revise(["x"], 5),  # type: ignore[arg-type]
        lambda: Revise(["x"], "k", max="a"),  # type: ignore[arg-type]
        lambda: Refuse(ANY),
        lambda: Refuse("x"),  # type: ignore[arg-type]
    ],
)
async def test_a_malformed_verdict_over_an_answer_refuses_it(make: Callable[[], Any]) -> None:
    result = await made("said", plugins=[plugin("p", hook=hook("assess_answer", "claims", make))]).run("x")
    assert result.refused_by == "p"
    with pytest.raises(AnswerRefusedError):
        result.raise_for_status()


@pytest.mark.parametrize(
    "edit",
    [
        lambda draft: draft.use_model(5),
        lambda draft: draft.use_model(None),
        lambda draft: draft.deliver("user", 5),
        lambda draft: draft.add_piece(None, "x"),
        lambda draft: draft.decorate_tools(None, {}),
        lambda draft: draft.hide_message(5),
    ],
)
async def test_a_malformed_edit_of_a_request_is_the_plugins_failure(edit: Callable[[Any], None]) -> None:
    def overlay(self: Any, draft: Any) -> None:
        edit(draft)

    edits = hookimpl(moment="serve_context", phase="overlay")(overlay)
    result = await made("said", tools=[echo], plugins=[plugin("p", hook=edits)]).run("x")
    assert result.plugin_failures == {"p": 1}
    check_record(result)


# --- cancellations and the like --------------------------------------------------------------------------------------------


def _raise(error: type[BaseException]) -> Any:
    raise error


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(("moment", "phase"), EVERY)
async def test_a_cancellation_inside_of_a_hook_that_nobody_asked_for_is_its_failure(
    moment: str, phase: str | None, anyio_backend: str
) -> None:
    hooks = hook(moment, phase, lambda: _raise(asyncio.CancelledError))
    heard: list[Event] = []
    agent = made([call("echo"), call("echo", x="e")], "done", tools=[echo], plugins=[plugin("p", hook=hooks)])
    failed: dict[str, int] = {}
    try:
        result = await agent.run("x", on_event=heard.append)
    except PluginError as error:  # without some phases a request must not go out
        failed = {str(error.plugin): 1} if moment == "serve_context" else {}
    else:
        failed = result.plugin_failures
        check_record(result)
    assert failed["p"] >= 1
    assert isinstance(heard[-1].payload, RunEnded)


class _OfItsOwn(BaseException):
    """No Exception."""


@pytest.mark.parametrize("moment", ["finish_run", "admit_input"])
async def test_what_is_no_exception_goes_on_and_the_run_ends_on_its_record(moment: str) -> None:
    heard: list[Event] = []
    agent = made("said", plugins=[plugin("p", hook=hook(moment, None, lambda: _raise(_OfItsOwn)))])
    with pytest.raises(_OfItsOwn):
        await agent.run("x", on_event=heard.append)
    assert isinstance(heard[-1].payload, RunEnded)
    assert (await made("again").run("x")).text == "again"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_listener_that_raises_a_cancellation_is_counted(anyio_backend: str) -> None:
    result = await made("said").run("x", on_event=lambda event: _raise(asyncio.CancelledError))
    assert result.text == "said"
    assert result.listener_failures > 1
    check_record(result)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_from_instructions_fails_the_run_and_does_not_cancel_it(anyio_backend: str) -> None:
    heard: list[Event] = []
    with pytest.raises(UsageError, match="nobody cancelled the run"):
        await made("said", instructions=lambda run: _raise(asyncio.CancelledError)).run("x", on_event=heard.append)
    assert [event.payload.status for event in heard if isinstance(event.payload, RunEnded)] == ["failed"]


async def test_a_cancellation_that_was_asked_for_still_cancels() -> None:
    async def wait(self: Any) -> None:
        await anyio.sleep_forever()

    hooks = hookimpl(moment="before_tool", phase="authorize")(wait)
    heard: list[Event] = []
    with anyio.CancelScope() as scope:
        agent = made(call("echo"), "done", tools=[echo], plugins=[plugin("p", hook=hooks)])

        def cancel(event: Event) -> None:
            heard.append(event)
            if event.name == "agentfp.tool.started":
                scope.cancel()

        await agent.run("x", on_event=cancel)
    assert scope.cancelled_caught
    assert [event.payload.status for event in heard if isinstance(event.payload, RunEnded)] == ["cancelled"]


# --- the record -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [object(), b"\xff", {1, 2}, float("nan")])
async def test_an_event_that_cannot_be_written_does_not_make_the_record_unwritable(data: Any, tmp_path: Any) -> None:
    def say(self: Any, run: Any) -> None:
        run.emit(Said("a", data))

    agent = made(call("echo"), "done", tools=[echo], plugins=[plugin("p", hook=before("fill")(say), events=(Said,))])
    result = await agent.run("x", journal=tmp_path / "j")
    result.record.save(tmp_path / "r")
    for loaded in (Record.load(tmp_path / "j"), Record.load(tmp_path / "r")):
        assert len(loaded) == len(result.record)
        assert loaded.history == result.history


async def test_nothing_is_filed_on_the_record_of_a_run_that_is_over() -> None:
    runs: list[Any] = []
    result = await made("said", plugins=[plugin("p", hook=hookimpl(moment="admit_input")(lambda self, run: runs.append(run)))]).run("x")
    before = list(result.record)
    with pytest.raises(UsageError, match="over"):
        runs[0].emit_app("app.late", 1)
    assert list(result.record) == before


async def test_a_memo_that_cannot_be_begun_fails_its_own_plugin() -> None:
    def initial(self: Any) -> Any:
        raise RuntimeError("SECRET")

    result = await made("said", plugins=[plugin("p", initial=initial, memo_events=("agentfp.agent.*",))]).run("x")
    assert result.text == "said"
    assert result.plugin_failures == {"p": 1}


async def test_errors_of_hostile_plugins_do_not_repeat_what_they_were_given() -> None:
    overlay = hook("serve_context", "compose", lambda: "SECRET")
    with pytest.raises((PluginError, ModelError, RunCheckpointError)) as caught:
        await made("said", plugins=[plugin("p", hook=overlay)]).run("x")
    assert "SECRET" not in str(caught.value)
