"""What tests of pauses share: plugins made of functions, agents that replay a batch, and pauses sent through JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentfp import Agent, Pause, RunResult, tool
from agentfp.plugin import Name, Payload, Plugin, event, hookimpl
from tests.core.running import ScriptedModel

__all__ = ["Counter", "Seen", "again", "before", "made", "only", "plugin", "question"]


@event("agentfp.test.seen")
class Seen(Payload):
    """A hook was called."""

    by: Name[str]


class Counter:
    """Tools that count what they did: ``note(text)``, and ``change(text)`` that says it changes something."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def tools(self, **options: Any) -> list[Any]:
        """The two tools; options go to both."""

        async def note(text: str) -> str:
            self.done.append(text)
            return f"noted {text}"

        async def change(text: str) -> str:
            self.done.append(text)
            return f"changed {text}"

        return [tool(**options)(note), tool(**{"mutating": True, **options})(change)]


def plugin(name: str, *, base: type[Plugin] = Plugin, **members: Any) -> Plugin:
    """A plugin made of members of its class."""
    made: Callable[[], Plugin] = type(f"{name.title()}Plugin", (base,), {"name": name, **members})
    return made()


def before(phase: str, *, per: Any = "call") -> Callable[[Any], Any]:
    """Marks a function as a hook of ``before_tool``."""
    return hookimpl(moment="before_tool", phase=phase, per=per)


def made(*script: Any, **settings: Any) -> Agent[Any, Any]:
    """An agent on a script."""
    build: Any = Agent
    agent: Agent[Any, Any] = build(ScriptedModel(list(script)), **settings)
    return agent


def again(result: RunResult[Any]) -> Pause:
    """The pause of a result, as another process would read it."""
    assert result.pause is not None
    return Pause.from_json(result.pause.to_json())


def only(result: RunResult[Any]) -> str:
    """Id of the one open question."""
    assert result.pause is not None
    (one,) = result.pause.questions
    return one.id


def question(result: RunResult[Any], key: str, *, plugin: str | None = None, call_id: str | None = None) -> str:
    """Id of the question with an asker's own key."""
    assert result.pause is not None
    (found,) = [
        q.id
        for q in result.pause.questions
        if q.key == key and (plugin is None or q.plugin == plugin) and (call_id is None or q.call_id == call_id)
    ]
    return found
