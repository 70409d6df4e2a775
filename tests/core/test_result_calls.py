"""What a result says of its calls, what an agent says of its plugins, dropping a stored pause, and talking without an event loop."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import Pause, PauseConsumedError, RunningLoopError, approve, tool
from agentfp.plugin import AskField, AskPerson, CallView, Event, Plugin, hookimpl
from tests.core.running import answering, call, last_request, tool_texts


@tool(approval=True)
def shut(port: int) -> str:
    """Shut a port."""
    return f"shut {port}"


def fails() -> str:
    """Fail."""
    raise OSError("disk")


def test_a_result_tells_every_call_with_its_outcome_and_result() -> None:
    paused = answering([call("fails"), call("shut", port=1)], tools=[shut, fails]).run_sync("go")
    assert [(c.tool, c.outcome, c.content) for c in paused.calls] == [("fails", None, None), ("shut", None, None)]
    assert paused.pause is not None
    result = answering("done", tools=[shut, fails]).resume_sync(paused.pause, {paused.pause.questions[0].id: approve(args={"port": 2})})
    assert [(c.tool, c.arguments, c.outcome, c.ran) for c in result.calls] == [
        ("fails", {}, "failure", True),
        ("shut", {"port": 2}, "success", True),
    ]
    assert result.calls[1].content == "shut 2"


def test_a_stored_pause_is_dropped_once_and_the_history_goes_on() -> None:
    agent = answering(call("shut", port=1), "fine", tools=[shut])
    paused = agent.run_sync("go")
    assert paused.pause is not None
    pause = Pause.from_json(paused.pause.to_json())
    dropped = agent.abandon(pause)
    assert [c.outcome for c in dropped.calls] == ["abandoned"]
    with pytest.raises(PauseConsumedError):
        agent.abandon(pause)
    assert agent.run_sync("never mind", history=dropped.history).text == "fine"
    assert [message.role for message in last_request(agent).messages] == ["user", "assistant", "tool", "user"]


class AsksOnce(Plugin):
    """Asks an optional question about each call, once."""

    name = "asks_once"

    @hookimpl(phase="fill")
    def before_tool(self, call: CallView) -> AskPerson | None:
        return None if call.asked(self) else AskPerson([AskField("note", "A note?", required=False)])


def test_a_hook_can_tell_an_open_optional_question_from_one_it_has_not_asked() -> None:
    @tool
    def act() -> str:
        """Act."""
        return "acted"

    agent = answering(call("act"), "done", tools=[act], plugins=[AsksOnce()])
    paused = agent.run_sync("go")
    assert paused.pause is not None
    result = agent.resume_sync(paused.pause, {})
    assert (result.status, tool_texts(result.history)) == ("answered", ["acted"])


def test_a_conversation_without_an_event_loop() -> None:
    chat = answering(call("shut", port=1), "shut it", tools=[shut]).conversation()
    paused = chat.send_sync("go")
    assert paused.pause is not None
    assert chat.resume_sync({paused.pause.questions[0].id: approve()}).text == "shut it"


@pytest.mark.anyio
async def test_the_sync_methods_of_a_conversation_are_refused_in_an_event_loop() -> None:
    chat: Any = answering("x").conversation()
    for method in ("send_sync", "resume_sync"):
        with pytest.raises(RunningLoopError, match="await chat"):
            getattr(chat, method)("go")


def test_an_agent_tells_its_plugins_in_order() -> None:
    plugin = AsksOnce()
    assert answering("x", plugins=[plugin]).plugins == (plugin,)


class CountsFrom(Plugin):
    """Counts messages from a number."""

    name = "counts_from"
    memo_events = ("agentfp.message.added",)

    class Settings(Plugin.Settings):
        """Where it begins."""

        start: int = 0

    def initial(self) -> int:
        return int(self.settings.start)

    def fold(self, state: int, event: Event) -> int:
        return state + 1


def test_an_agent_with_other_settings_folds_the_history_anew() -> None:
    first = answering("one", "two", plugins=[CountsFrom()])
    second = first.replace(plugins=[CountsFrom(start=100)])
    result = second.run_sync("again", history=first.run_sync("go").history)
    assert result._head.memos["counts_from"].state == CountsFrom(start=100).initial() + 4
