"""What a plugin is run through when it is checked: tools, scripts and odd payloads."""

from __future__ import annotations

import contextvars
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pydantic

from agentfp_core.asks import ask_human
from agentfp_core.limits import Limits
from agentfp_core.messages import StopReason, ThinkingBlock, ToolCall, Usage
from agentfp_core.model import ModelRequest, ModelResponse
from agentfp_core.testing.scripted import ScriptItem
from agentfp_core.tools import Tool, tool

HUGE = "0123456789abcdef" * 65_536
"""One megabyte of text."""
WORDS = "naïve Ünïcödé — 漢字 العربية עברית 🧑‍🚀👩🏽‍🔬 e\u0301 \u200b\ufeff\u2028 \x00\x1b[31m {curly} %s \\n </draft>"
DEPTH = 60


class Level(pydantic.BaseModel):
    """The output type of one scene."""

    level: int


@tool
async def check_nothing() -> str:
    """Takes nothing and says so."""
    return "nothing was asked"


@tool
async def check_echo(text: str) -> str:
    """Gives a text back.

    Args:
        text: the text.
    """
    return f"echo of {text}"


@tool(mutating=True)
async def check_change(text: str) -> str:
    """Says that it changed something.

    Args:
        text: what to change.
    """
    return f"changed {text}"


@tool
async def check_huge() -> str:
    """Gives a megabyte of text."""
    return HUGE


@tool
async def check_words() -> str:
    """Gives text in many scripts."""
    return WORDS


@tool
async def check_deep(data: dict[str, Any]) -> dict[str, Any]:
    """Gives nested data.

    Args:
        data: nested data.
    """
    return nested(DEPTH if data else 0)


@tool
async def check_fail() -> str:
    """Fails."""
    raise ValueError(f"it failed: {WORDS}")


@tool
async def check_none() -> None:
    """Gives nothing."""


@tool(approval=True)
async def check_approve(text: str) -> str:
    """Does something that a person must approve.

    Args:
        text: what to do.
    """
    return f"did {text}"


@tool
async def check_ask(question: str) -> str:
    """Asks a person.

    Args:
        question: the question.
    """
    ask_human(question)


ANSWER = "the person's answer"


async def _approved(text: str) -> str:
    """Does something that a person must approve.

    Args:
        text: what to do.
    """
    return f"did {text}"


async def _answered(question: str) -> str:
    """Asks a person.

    Args:
        question: the question.
    """
    return ANSWER if question else ""


PLAIN: tuple[Tool[..., Any], ...] = (
    check_nothing,
    check_echo,
    check_change,
    check_huge,
    check_words,
    check_deep,
    check_fail,
    check_none,
)
ASKING: tuple[Tool[..., Any], ...] = (check_echo, check_approve, check_ask)
UNASKING: tuple[Tool[..., Any], ...] = (check_echo, tool(_approved, name="check_approve"), tool(_answered, name="check_ask"))
"""The same tools as the model sees them, which ask nobody."""


def nested(depth: int) -> dict[str, Any]:
    """JSON data of a depth."""
    value: dict[str, Any] = {"leaf": [None, True, 1.5, ""]}
    for _ in range(depth):
        value = {"in": value}
    return value


class Replies:
    """A script as a function of the request: requests that bring tools take its items in turn, and its last one goes on for ever.

    A plugin may ask the model once more, or ask it something of its own; that must not put the script out of step.
    """

    def __init__(self, script: Sequence[ScriptItem], at: int = 0) -> None:
        self.script = script
        self.at = at

    def __call__(self, request: ModelRequest) -> ScriptItem:
        """The reply to a request."""
        last = self.script[-1]
        if not request.tools:
            return last
        item = self.script[self.at] if self.at < len(self.script) else last
        self.at += 1
        return item

    def copy(self) -> Replies:
        """One that stands at the same place and goes its own way."""
        return Replies(self.script, self.at)


class RepliesByRun:
    """The same for several runs of one agent: each task follows a script of its own."""

    def __init__(self) -> None:
        self.current: contextvars.ContextVar[Replies] = contextvars.ContextVar("agentfp_check_replies")

    def __call__(self, request: ModelRequest) -> ScriptItem:
        """The reply to a request of the running task."""
        return self.current.get()(request)


@dataclass(frozen=True)
class Scene:
    """A run to put a plugin through.

    Args:
        name: what is odd about it, in words.
        script: the model's replies.
        prompt: what the person says.
        settings: of the agent.
    """

    name: str
    script: Sequence[ScriptItem]
    prompt: Any = "Do what you can."
    settings: dict[str, Any] = field(default_factory=dict)


def one(name: str, /, *, _id: str = "", **arguments: Any) -> ToolCall:
    """A call with a fixed id, so that two runs of a script have the same."""
    return ToolCall.make(name, arguments, id=_id or f"c_{name}")


def many(count: int) -> list[ToolCall]:
    """A batch of calls of several tools, some of which change something."""
    names = ("check_echo", "check_change", "check_fail", "check_none")
    arguments: list[dict[str, Any]] = [{"text": "x"}, {"text": "y"}, {}, {}]
    return [ToolCall.make(names[i % 4], arguments[i % 4], id=f"c_{i}") for i in range(count)]


ODD: tuple[Scene, ...] = (
    Scene("a plain answer without a call", ["Nothing needs to be done."]),
    Scene("a call without arguments", [one("check_nothing"), "Done."]),
    Scene("a call that changes something", [one("check_change", text="a lot"), "Done."]),
    Scene("arguments that are no JSON", [ToolCall("c_1", "check_echo", '{"text": "tor'), "Done."]),
    Scene("arguments that are a list", [ToolCall("c_1", "check_echo", "[1, 2]"), "Done."]),
    Scene("arguments that do not fit", [one("check_echo", wrong=1), "Done."]),
    Scene("a result of a megabyte", [one("check_huge"), "It is long."]),
    Scene("arguments and an answer of a megabyte", [one("check_echo", text=HUGE), HUGE]),
    Scene("text in many scripts", [one("check_echo", text=WORDS), one("check_words"), WORDS], WORDS),
    Scene("deeply nested data", [one("check_deep", data=nested(DEPTH)), "It is deep."]),
    Scene("a tool that fails", [one("check_fail"), "It failed."]),
    Scene("a tool that nobody has", [ToolCall("c_1", "no_such tool 漢", '{"a": null}'), "There is none."]),
    Scene("a result that is None", [one("check_none"), "There was nothing."]),
    Scene("a batch of forty calls", [many(40), "All done."]),
    Scene("the same call again and again", [one("check_nothing"), one("check_nothing"), one("check_nothing"), "Done."]),
    Scene("an empty answer", [""]),
    Scene("an answer of blanks after a call", [one("check_nothing"), " \n\t "]),
    Scene(
        "a reply with thinking that was cut off",
        [ModelResponse(text="It is", stop=StopReason.MAX_TOKENS, thinking=(ThinkingBlock("hm"),), usage=Usage(None, None))],
    ),
    Scene("a message in parts", ["Seen."], ["Look at this:", "and at this"]),
    Scene("an answer of a type", [one("check_nothing"), '{"level": 3}'], settings={"output_type": Level}),
    Scene("an answer that does not fit its type", ["no JSON at all", '{"level": "high"}'], settings={"output_type": Level}),
    Scene("more calls than the limit allows", [one("check_nothing"), one("check_nothing")], settings={"limits": Limits(iterations=1)}),
)
