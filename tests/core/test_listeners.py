"""Listeners: who hears which event, in which order, and that none of them can harm a run."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from agentfp import ConfigError, RedactionPolicy, ToolContext, UnknownEventError
from agentfp.events import AppEvent, Fatal, RunEnded
from agentfp.plugin import AnswerDraft, Plugin, Run, hookimpl
from tests.core.running import answering, call, check_record, names, tool_texts

pytestmark = pytest.mark.anyio


def look() -> str:
    """Look."""
    return "seen"


async def test_the_exact_name_hears_first_then_the_domain_then_all() -> None:
    heard: list[tuple[str, str]] = []

    def ear(name: str) -> Any:
        return lambda event: heard.append((name, event.name))

    listeners = [("*", ear("all")), ("agentfp.run.*", ear("run")), ("agentfp.run.ended", ear("ended")), ("agentfp.agent.*", ear("agent"))]
    await answering("x", listeners=listeners).run("go", on_event={"agentfp.run.ended": ear("ended too"), "agentfp.*": ear("ours")})
    assert [name for name, event in heard if event == "agentfp.run.ended"] == ["ended", "ended too", "run", "ours", "all"]
    assert {event.split(".")[1] for name, event in heard if name == "agent"} == {"agent"}
    assert heard[0] == ("agent", "agentfp.agent.run_configured")


async def test_a_function_alone_hears_everything_as_it_happens() -> None:
    seen: list[Any] = []
    result = await answering(call("look"), "x", tools=[look], listeners=seen.append).run("go")
    assert [event for event in seen if event.seq >= 0] == list(result.record)
    assert {event.name for event in seen if event.seq < 0} == {"agentfp.stream.token"}


async def test_a_listener_that_raises_harms_nothing_and_is_counted() -> None:
    seen: list[str] = []

    def broken(event: Any) -> None:
        raise RuntimeError("broken ear")

    plain = await answering(call("look"), "x", tools=[look]).run("go")
    agent = answering(
        call("look"), "x", tools=[look], listeners=[("agentfp.agent.*", broken), ("*", lambda event: seen.append(event.name))]
    )
    result = await agent.run("go")
    record = check_record(result)
    assert (result.status, result.text) == ("answered", "x")
    assert [name for name in names(record) if name != "error.fatal"] == names(plain.record)
    assert record.of(Fatal) == [Fatal("listener", "observer", "RuntimeError", "broken ear")]
    expected = sum(name.startswith("agent.") for name in names(record))
    assert result.listener_failures == expected
    assert record.of(RunEnded)[0].listener_failures == expected
    assert len(seen) > len(record) - 1


async def test_each_broken_listener_is_filed_once() -> None:
    def first(event: Any) -> None:
        raise RuntimeError("one")

    def second(event: Any) -> None:
        raise ValueError("two")

    result = await answering("x", listeners=[("*", first), ("*", second)]).run("go")
    record = check_record(result)
    assert [(fatal.error_class, fatal.error) for fatal in record.of(Fatal)] == [("RuntimeError", "one"), ("ValueError", "two")]
    assert result.listener_failures >= 2 * (len(record) - 2)


async def _hears(event: Any) -> None:
    return None


class _Hears:
    async def __call__(self, event: Any) -> None:
        return None

    async def hear(self, event: Any) -> None:
        return None


@pytest.mark.parametrize("listener", [_hears, _Hears(), _Hears().hear, partial(_hears)])
async def test_a_coroutine_function_is_refused(listener: Any) -> None:
    with pytest.raises(ConfigError, match=r"would never be awaited; use agent\.stream"):
        answering("x", listeners=listener)
    with pytest.raises(ConfigError, match="never be awaited"):
        await answering("x").run("go", on_event={"agentfp.tool.*": listener})


@pytest.mark.parametrize("listeners", [5, "print", {"agentfp.tool.*": 5}, [print], [("*",)], [(1, print)], {1: print}])
def test_what_is_no_listener_is_refused(listeners: Any) -> None:
    with pytest.raises((ConfigError, TypeError)):
        answering("x", listeners=listeners)


async def test_events_of_the_application_go_to_those_who_ask_for_them() -> None:
    @lambda f: f
    def rate(ctx: ToolContext[Any]) -> str:
        """Rate."""
        ctx.emit("app.thumbs.up", {"n": 1})
        return "rated"

    heard: dict[str, list[str]] = {"*": [], "agentfp.*": [], "app.thumbs.*": [], "app.thumbs.up": []}
    listeners = {pattern: (lambda event, kept=kept: kept.append(event.name)) for pattern, kept in heard.items()}
    result = await answering(call("rate"), "x", tools=[rate], listeners=listeners).run("go")
    assert heard["app.thumbs.*"] == heard["app.thumbs.up"] == ["app.thumbs.up"]
    assert "app.thumbs.up" in heard["*"]
    assert "app.thumbs.up" not in heard["agentfp.*"]
    (event,) = check_record(result).events("app.thumbs.up")
    assert (event.source, event.payload) == ("tool", AppEvent('{"n":1}'))
    assert event.call_id == result.history[1].tool_calls[0].id
    kept = names(result.record, domain="")
    assert kept.index("tool.dispatched") < kept.index("app.thumbs.up") < kept.index("tool.ended")


class Emits(Plugin):
    name = "emits"

    class Settings(Plugin.Settings):
        what: Any

    @hookimpl(phase="stand")
    def assess_answer(self, draft: AnswerDraft, run: Run[Any]) -> None:
        with pytest.raises(UnknownEventError) as caught:
            self.settings.what(run)
        run.emit_app("test.emits.refused", str(caught.value))


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (lambda run: run.emit_app("agentfp.tool.started", {}), "agentfp.tool.started"),
        (lambda run: run.emit_app("agentfp.mine.new", {}), "agentfp.mine.new"),
        (lambda run: run.emit({"a": 1}), "a dict"),
    ],
)
async def test_names_of_the_library_and_things_that_are_no_events_are_refused(what: Any, words: str) -> None:
    result = await answering("x", plugins=[Emits(what=what)]).run("go")
    (event,) = result.record.events("test.emits.*")
    assert words in event.payload.data  # type: ignore[attr-defined]
    assert event.source in ("app", "emits")


async def test_listeners_hear_runs_that_are_nested() -> None:
    heard: list[tuple[str, str]] = []
    inner = answering("inner", listeners={"agentfp.run.ended": lambda event: heard.append(("inner", event.name))})
    outer = answering(
        call("ask", request="x"),
        "done",
        tools=[inner.as_tool("ask", "Asks.")],
        listeners={"agentfp.run.ended": lambda event: heard.append(("outer", event.name))},
    )
    await outer.run("go")
    assert [who for who, _ in heard] == ["inner", "outer", "outer"]


async def test_listeners_read_behind_the_redaction_and_the_run_does_not() -> None:
    read: list[Any] = []

    def pay(card: str, ssn: str) -> str:
        """Pay."""
        read.append((card, ssn))
        return f"paid with {card}"

    seen: list[Any] = []
    agent = answering(
        call("pay", card="4111-1111", ssn="1-2"),
        "done",
        tools=[pay],
        listeners=seen.append,
        redact=RedactionPolicy(keys=["ssn"], patterns={"card": r"\d{4}-\d{4}"}),
    )
    result = await agent.run("go")
    assert read == [("4111-1111", "1-2")]
    assert tool_texts(result.history) == ["paid with 4111-1111"]
    told = "".join(repr(event.payload) for event in seen)
    assert "4111-1111" not in told
    assert '"ssn":"1-2"' not in told
    assert '"ssn":"[REDACTED]"' in told
    assert "4111-1111" in "".join(result.record.to_lines())
    assert result.history[1].tool_calls[0].arguments == {"card": "4111-1111", "ssn": "1-2"}
