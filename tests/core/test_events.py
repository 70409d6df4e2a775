"""The catalog of events: complete, unique, documented; and what counts as an event at all."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from typing import Any

import pytest

from agentfp import Agent, PluginDefinitionError, RecordFormatError, ToolContext, UnknownEventError, tool
from agentfp import events as public
from agentfp.events import (
    CATALOG,
    AppEvent,
    EditRef,
    Event,
    Hash,
    Mark,
    Name,
    Number,
    Payload,
    PieceRef,
    Served,
    ToolDispatched,
    ToolStarted,
    TurnStart,
    UnknownPayload,
    event,
    part,
)
from agentfp.plugin import Plugin, RequestDraft, Run, hookimpl
from agentfp.testing import ScriptedModel, call
from agentfp_core import events
from agentfp_core.events.base import check_payload, marks_of
from tests.core.running import check_record

pytestmark = pytest.mark.anyio


@event("acme.orders.checked")
class OrdersChecked(Payload):
    """Orders were checked."""

    count: Number[int]
    note: str = ""


def emitting(payload: Any, **emit: Any) -> Plugin:
    class Emitter(Plugin):
        name = "emitter"
        events = (OrdersChecked,)

        @hookimpl(phase="seal")
        def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
            run.emit(payload, **emit)

    return Emitter()


# --- the catalog ---


def test_every_payload_class_of_every_module_is_in_the_catalog_under_its_own_name() -> None:
    modules = [importlib.import_module(f"agentfp_core.events.{found.name}") for found in pkgutil.iter_modules(events.__path__)]
    declared = [
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Payload) and value.__module__ == module.__name__ and value.event_name
    ]
    named = [value for value in declared if value not in (AppEvent, UnknownPayload)]
    assert len(named) == len({value.event_name for value in named}), "two classes share a name"
    assert {value.event_name: value for value in named} == dict(CATALOG)
    assert len(CATALOG) >= 55


@pytest.mark.parametrize("cls", CATALOG.values(), ids=lambda cls: cls.event_name)
def test_a_payload_class_is_named_documented_and_marked(cls: type[Payload]) -> None:
    words = cls.event_name.split(".")
    assert len(words) == 3
    assert words[0] == "agentfp"
    assert all(word and word == word.lower() and word.replace("_", "").isalnum() for word in words)
    assert cls.event_kind in ("stored", "diagnostic", "transient")
    assert cls.__doc__ is not None
    assert not cls.__doc__.startswith(f"{cls.__name__}("), "it has no docstring of its own"
    for name, mark in marks_of(cls).items():
        assert isinstance(mark, Mark) or inspect.isclass(mark), name


def test_every_payload_class_is_public() -> None:
    import agentfp.events as public

    for cls in CATALOG.values():
        assert getattr(public, cls.__name__) is cls
        assert cls.__name__ in public.__all__


def test_an_unmarked_field_is_content() -> None:
    assert marks_of(OrdersChecked) == {"count": Mark.NUMBER, "note": Mark.CONTENT}


def test_marks_reach_through_unions_and_tuples_to_parts() -> None:
    assert marks_of(Served)["pieces"] is PieceRef
    assert marks_of(Served)["edits"] is EditRef
    assert marks_of(ToolDispatched)["calls"] is Mark.NAME


@pytest.mark.parametrize("name", ["orders", "acme.orders", "acme.orders.checked.twice", "acme..checked", "acme.orders.che cked", ""])
def test_a_name_has_three_words(name: str) -> None:
    with pytest.raises(PluginDefinitionError, match="three dotted words"):
        event(name)


def test_a_payload_derives_from_payload() -> None:
    with pytest.raises(PluginDefinitionError, match="must derive from Payload"):

        @event("acme.orders.lost")
        class Lost:  # type: ignore[type-var]
            """Orders were lost."""


# --- checking payloads ---


@part
class Inner:
    """A part."""

    digest: Hash[str]


@event("acme.orders.nested")
class Nested(Payload):
    """With parts."""

    inner: tuple[Inner, ...]
    names: Name[tuple[str, ...]] = ()
    maybe: Number[float | None] = None


FINE = [
    TurnStart("m_1"),
    ToolStarted(tool=None, undeclared="x y"),
    Nested((Inner("ab"),), ("a", "b"), 1.5),
    Nested(()),
    AppEvent('{"a":[1]}'),
]
WRONG: list[tuple[Payload, str]] = [
    (TurnStart(["m_1"]), "holds a list"),  # type: ignore[arg-type]
    (TurnStart({"id": "m_1"}), "holds a dict"),  # type: ignore[arg-type]
    (TurnStart(b"m_1"), "holds a bytes"),  # type: ignore[arg-type]
    (TurnStart(object()), "holds a object"),  # type: ignore[arg-type]
    (TurnStart(5), "does not fit its type at: message_id"),  # type: ignore[arg-type]
    (TurnStart(None), "does not fit its type at: message_id"),  # type: ignore[arg-type]
    (Nested([Inner("ab")]), "holds a list"),  # type: ignore[arg-type]
    (Nested((Inner(["ab"]),)), r"inner\.digest holds a list"),  # type: ignore[arg-type]
    (Nested((), ("a", ["b"])), "holds a list"),  # type: ignore[arg-type]
    (Nested((), (), "1.5"), "does not fit its type at: maybe"),  # type: ignore[arg-type]
    (Nested((), (), float("nan")), "no JSON"),
    (AppEvent("{"), "no JSON"),
    (AppEvent({"a": 1}), "holds a dict"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("payload", FINE, ids=repr)
def test_a_payload_that_fits_passes(payload: Payload) -> None:
    check_payload(payload)


@pytest.mark.parametrize(("payload", "words"), WRONG, ids=lambda value: repr(value)[:40])
def test_a_payload_that_does_not_fit_is_refused_without_its_value(payload: Payload, words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a wrong value makes a serializer say is not the refusal
        with pytest.raises(RecordFormatError, match=words) as refused:
            check_payload(payload)
    assert "m_1" not in str(refused.value)


# --- emitting ---


@pytest.mark.parametrize(
    "payload", [{"a": 1}, "agentfp.agent.turn_start", None, object(), OrdersChecked, Payload()], ids=lambda p: type(p).__name__
)
async def test_what_is_no_event_is_refused_where_it_is_emitted(payload: Any) -> None:
    caught: list[BaseException] = []

    class Emitter(Plugin):
        name = "emitter"

        @hookimpl(phase="seal")
        def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
            before = len(run.record)
            try:
                run.emit(payload)
            except UnknownEventError as error:
                caught.append(error)
            assert len(run.record) == before

    result = await Agent(ScriptedModel(["done"]), plugins=[Emitter()]).run("hi")
    assert result.status == "answered"
    assert len(caught) == 1
    check_record(result)


async def test_dev_mode_refuses_a_bad_payload_before_it_is_on_the_record() -> None:
    bad = OrdersChecked(count="three")  # type: ignore[arg-type]
    agent = Agent(ScriptedModel(["done"]), plugins=[emitting(bad)], dev=True)
    seen: list[Event] = []
    with pytest.raises(Exception, match="phase 'seal'") as failed:
        await agent.run("hi", on_event=seen.append)
    assert isinstance(failed.value.__cause__, RecordFormatError)
    assert not any(isinstance(one.payload, OrdersChecked) for one in seen)


async def test_dev_mode_takes_all_that_the_kernel_files_itself() -> None:
    @tool
    async def look(ctx: ToolContext[Any], word: str) -> str:
        """Look."""
        ctx.emit("acme.looked", {"word": word, "at": [1, 2.5, None]})
        ctx.progress({"half": True})
        return word * 2

    seen: list[Event] = []
    agent = Agent(
        ScriptedModel([[call("look", word="a"), call("nothing")], "done"]), tools=[look], plugins=[emitting(OrdersChecked(3))], dev=True
    )
    result = await agent.run("hi", on_event=seen.append)
    assert result.status == "answered"
    assert result.record.of(OrdersChecked) == [OrdersChecked(3), OrdersChecked(3)]
    assert any(one.name == "agentfp.tool.progress" for one in seen)
    check_record(result)


@pytest.mark.parametrize("name", ["agentfp.tool.ended", "agentfp.made.up", "acme.orders.checked", "", 5])
async def test_the_application_takes_no_name_of_others(name: Any) -> None:
    caught: list[str] = []

    @tool(inline=True)
    def look(ctx: ToolContext[Any]) -> str:
        """Look."""
        try:
            ctx.emit(name, {})
        except UnknownEventError as error:
            caught.append(str(error))
        return "x"

    agent = Agent(ScriptedModel([call("look"), "done"]), tools=[look], plugins=[emitting(OrdersChecked(1))])
    result = await agent.run("hi")
    assert len(caught) == 1
    assert not [one for one in result.record if isinstance(one.payload, AppEvent)]


async def test_events_carry_who_emitted_them() -> None:
    @tool
    async def look(ctx: ToolContext[Any]) -> str:
        """Look."""
        ctx.emit("acme.looked", [1])
        return "x"

    agent = Agent(ScriptedModel([call("look"), "done"]), tools=[look], plugins=[emitting(OrdersChecked(1))])
    record = (await agent.run("hi")).record
    sources = {one.name: one.source for one in record}
    assert sources["acme.orders.checked"] == "emitter"
    assert sources["acme.looked"] == "tool"
    assert sources["agentfp.tool.ended"] == sources["agentfp.context.served"] == "kernel"
    looked = next(one for one in record if one.name == "acme.looked")
    assert looked.call_id == next(one.call_id for one in record if one.name == "agentfp.tool.ended")


def test_the_public_module_names_every_event_of_the_catalog() -> None:
    assert {kind.__name__ for kind in CATALOG.values()} <= set(public.__all__)
