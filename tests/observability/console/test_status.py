"""What a run is doing right now, in one line."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import textwrap
from typing import Any

import anyio
import pytest

from agentfp import Agent, ToolContext, approve, tool
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp_console import StatusLine, ThinkingState

pytestmark = pytest.mark.anyio


def after(*events: tuple[Any, ...], state: ThinkingState | None = None, **settings: Any) -> str | None:
    """The line after some events: (what, call id, data)."""
    state = state or ThinkingState(content=True, **settings)
    for what, *rest in events:
        call_id = rest[0] if rest else None
        data = rest[1] if len(rest) > 1 else {}
        state.handle(f"agentfp.{what}", call_id, data)
    return state.line()


THINKING = ("context.served",)


def token(text: str) -> tuple[Any, ...]:
    return ("stream.token", None, {"text": text})


def started(call_id: str, name: str | None = None) -> tuple[Any, ...]:
    return ("tool.started", call_id, {"tool": name or f"tool_{call_id}"})


def progress(call_id: str | None, data: Any) -> tuple[Any, ...]:
    return ("tool.progress", call_id, {"data": json.dumps(data)})


def ended(call_id: str) -> tuple[Any, ...]:
    return ("tool.ended", call_id, {"outcome": "success"})


def paused(prompt: str) -> tuple[Any, ...]:
    return ("pause.request", None, {"questions": [{"prompt": prompt}]})


def test_nothing_is_said_before_anything_happens() -> None:
    assert after() is None
    assert ThinkingState().status == "none"


def test_thinking() -> None:
    assert after(THINKING) == "Thinking…"


def test_text_as_it_comes() -> None:
    assert after(THINKING, token("Hel"), token("lo")) == "Hello"
    assert after(THINKING, token("Hel"), ("stream.llm_end",)) is None
    assert after(THINKING, token("a draft"), ("stream.draft_discarded",)) == "Thinking…"


def test_the_newest_of_several_calls() -> None:
    assert after(started("a"), started("b")) == "Using tool_b…"
    assert after(started("a"), started("b"), ended("b")) == "Using tool_a…"


def test_a_call_that_reports_is_told_first() -> None:
    both = (started("a"), started("b"), progress("a", {"message": "page 3"}))
    assert after(*both) == "page 3"
    assert after(*both, ended("b")) == "page 3"
    assert after(*both, progress("b", {"message": "later"})) == "later"


def test_nothing_but_the_message_of_a_report_is_shown() -> None:
    line = after(started("a"), progress("a", {"done": 3, "total": 9}))
    assert line == "tool_a has reported 1 time(s)…"
    assert after(started("a"), progress("a", {"message": "  "})) == "tool_a has reported 1 time(s)…"
    assert after(started("a"), progress("a", ["message"]), progress("a", "message")) == "tool_a has reported 2 time(s)…"
    assert after(started("a"), ("tool.progress", "a", {"data": "{no json"})) == "tool_a has reported 1 time(s)…"


def test_a_long_message_is_cut() -> None:
    assert after(started("a"), progress("a", {"message": "x" * 130})) == "x" * 120 + "… (+10 more)"


def test_reports_of_calls_that_are_over_change_nothing() -> None:
    assert after(started("a"), ended("a"), progress("a", {"message": "late"})) is None
    assert after(started("a"), started("b"), ended("a"), progress("a", {"message": "late"})) == "Using tool_b…"


def test_a_report_without_an_id_is_of_the_one_call_there_is() -> None:
    assert after(started("a"), progress(None, {"message": "page 1"})) == "page 1"
    assert after(started("a"), started("b"), progress(None, {"message": "page 1"})) == "Using tool_b…"


def test_a_question_comes_before_everything_else() -> None:
    assert after(started("a"), paused("Approve?")) == "Waiting for you: Approve?"
    assert after(started("a"), paused(" ")) == "Waiting for you: input required"
    assert after(started("a"), paused("Approve?"), ("pause.resume",)) == "Using tool_a…"
    assert after(paused("Approve?"), ("run.ended", None, {"status": "paused"})) == "Waiting for you: Approve?"


@pytest.mark.parametrize("over", [("agent.turn_end",), ("error.fatal", None, {"scope": "run"}), ("run.ended", None, {"status": "failed"})])
def test_the_end_of_a_run_clears_the_line(over: tuple[Any, ...]) -> None:
    assert after(THINKING, started("a"), paused("?"), over) is None


def test_a_listener_that_failed_is_no_end_of_a_run() -> None:
    assert after(THINKING, ("error.fatal", None, {"scope": "observer"})) == "Thinking…"


def test_templates_and_the_ladder_between_them() -> None:
    templates = {"tool.tool_a": "Looking…", "tool.tool_a.progress.generic": "{progress_count} of {app_name}", "idle": "Hm {nobody}"}
    state: dict[str, Any] = {"templates": templates, "app_name": "Desk"}
    assert after(THINKING, **state) == "Hm {nobody}"
    assert after(started("a"), **state) == "Looking…"
    assert after(started("b"), **state) == "Using tool_b…"
    assert after(started("a"), progress("a", {}), **state) == "1 of Desk"
    assert after(started("a"), progress("a", {"message": "{tool_name}"}), **state) == "{tool_name}"


def test_a_line_is_one_line_and_moves_no_cursor() -> None:
    assert after(THINKING, token("one\ntwo\x1b[2Jthree\r")) == "one two [2Jthree"


def test_without_content_the_line_says_less() -> None:
    lean = ThinkingState()
    assert after(THINKING, token("secret"), state=lean) == "Answering…"
    lean = ThinkingState()
    assert after(started("a"), progress("a", {"message": "secret"}), state=lean) == "tool_a has reported 1 time(s)…"
    lean = ThinkingState()
    assert after(paused("secret?"), state=lean) == "Waiting for you"


def test_long_texts_keep_their_end() -> None:
    state = ThinkingState(content=True)
    line = after(THINKING, *[token("word ") for _ in range(5_000)], token("end"), state=state)
    assert line is not None
    assert line.endswith("word end")
    assert len(line) <= 8_100


# --- the plugin ----------------------------------------------------------------------------------------------------------------------


@tool
async def search(ctx: ToolContext[Any], words: str) -> str:
    """Search."""
    ctx.progress({"message": f"looking for {words}"})
    await anyio.sleep(0.01)
    return "found"


@tool(approval=True)
def shut() -> str:
    """Shut."""
    return "shut"


def shown(*script: Any, **settings: Any) -> tuple[Agent[Any, Any], list[tuple[str | None, str, str]]]:
    lines: list[tuple[str | None, str, str]] = []
    status = StatusLine(on_line=lambda *line: lines.append(line), **settings)
    return Agent(ScriptedModel(list(script)), tools=[search, shut], plugins=[status]), lines


async def test_a_run_from_its_begin_to_its_end() -> None:
    agent, lines = shown(call("search", words="ports"), "Port 3.", content=True)
    result = await agent.run("go")
    assert [line for line, _, _ in lines] == [
        "Thinking…",
        None,
        "Using search…",
        "looking for ports",
        None,
        "Thinking…",
        "Port 3.",
        None,
    ]
    assert {run_id for _, _, run_id in lines} == {result.run_id}
    assert not result.plugin_failures


async def test_by_default_nothing_of_what_was_said_is_shown() -> None:
    agent, lines = shown(call("search", words="sentinel-1"), "sentinel-2", call("shut"))
    await agent.run("sentinel-3")
    assert "Answering…" in [line for line, _, _ in lines]
    assert "sentinel" not in str(lines)


async def test_a_paused_run_says_what_it_waits_for() -> None:
    agent, lines = shown(call("shut"), "Done.", content=True)
    paused_run = await agent.run("go")
    line, status, _ = lines[-1]
    assert status == "paused"
    assert line is not None
    assert line.startswith("Waiting for you: ")
    assert paused_run.pause is not None
    await agent.resume(paused_run.pause, approve(by="ann"))
    assert lines[-1][:2] == (None, "none")


async def test_runs_at_once_have_a_line_each() -> None:
    agent, lines = shown(content=True)
    runs: list[str] = []

    async def one(number: int) -> None:
        result = await agent.run("go", model=ScriptedModel([call("search", words=str(number)), f"answer {number}"]))
        runs.append(result.run_id)

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(one, number)
    for run_id in runs:
        words = [line for line, _, of in lines if of == run_id and line is not None and any(c.isdigit() for c in line)]
        assert len({word.split()[-1] for word in words}) == 1, words


async def test_streamed_text_is_not_shown_more_often_than_eyes_can_follow_and_always_to_its_end() -> None:
    text = "word " * 2_000
    agent, lines = shown(text, content=True)
    async with agent.stream("go", stream="live") as run:
        async for _ in run:
            pass
    streamed = [line for line, status, _ in lines if status == "streaming"]
    assert 1 <= len(streamed) < 500
    assert streamed[-1] is not None
    assert streamed[-1].endswith("word word")


async def test_a_function_that_raises_breaks_nothing() -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("no screen")

    agent = Agent(ScriptedModel(["hello"]), plugins=[StatusLine(on_line=broken)])
    result = await agent.run("go")
    assert result.text == "hello"
    assert result.plugin_failures["status_line"] > 0


def test_without_a_terminal_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    Agent(ScriptedModel(["hello"]), plugins=[StatusLine()]).run_sync("go")
    assert capfd.readouterr() == ("", "")


def test_the_plugin_keeps_the_rules_of_plugins() -> None:
    assert check_plugin(StatusLine, tools=[search], script=[call("search", words="x"), "done"]).problems == []


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="only where there are terminals")
def test_on_a_terminal_the_line_comes_and_goes() -> None:
    script = """
    from agentfp import Agent, tool
    from agentfp.testing import ScriptedModel, call
    from agentfp_console import StatusLine
    import anyio

    @tool(description="Search.")
    async def search() -> str:
        await anyio.sleep(0.3)
        return "found"

    Agent(ScriptedModel([call("search"), "done"]), tools=[search], plugins=[StatusLine()]).run_sync("go")
    """
    ours, theirs = os.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=theirs, env=environ)
    out, _ = process.communicate(timeout=60)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # nobody is left at the other end
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)
    assert process.returncode == 0
    assert out == b""
    assert "Using search…" in shown.decode()
