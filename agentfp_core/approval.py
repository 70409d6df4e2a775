"""What a person is shown with an approval: what the call will do, and what the model has read that bears on it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentfp_core.batch import CallView
    from agentfp_core.messages import Message
    from agentfp_core.run import Run

ARGUMENT_CHARS = 60
FRAME_CHARS = 160
MAX_FRAMES = 8
MAX_DRIVERS = 3
_WORD = re.compile(r"[a-z0-9]{2,}")
_STOP = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "that",
        "this",
        "from",
        "are",
        "was",
        "were",
        "not",
        "but",
        "you",
        "your",
        "has",
        "have",
        "had",
        "its",
        "into",
        "out",
        "about",
    ]
)


def evidence_pack(run: Run[Any], call: CallView) -> dict[str, Any]:
    """The context of an approval, made of the record without any model.

    Args:
        run: the run.
        call: the call that waits.

    Returns:
        ``will_do`` (the tool's description and its arguments, each at most 60 characters), ``read`` (what the model
        was told and read last), ``drivers`` (which of it shares most words with the call), ``trail`` (what ran so far).
    """
    tool = call.tool
    redacted = set() if tool is None else set(tool.redact)
    rendered = {name: "[hidden]" if name in redacted else _short(_text(value), ARGUMENT_CHARS) for name, value in call.arguments.items()}
    frames = _frames(run.state.messages)
    wanted = _words(f"{call.name.replace('_', ' ')} {' '.join(v for k, v in rendered.items() if k not in redacted)}")
    ranked = sorted(frames, key=lambda frame: -_likeness(wanted, _words(frame["text"])))
    return {
        "will_do": {"tool": call.name, "description": _short(tool.description if tool else "", FRAME_CHARS), "arguments": rendered},
        "read": frames,
        "drivers": [frame for frame in ranked if _likeness(wanted, _words(frame["text"])) > 0][:MAX_DRIVERS],
        "trail": {"iteration": run.iteration, "tool_calls": _trail(run)},
    }


def _frames(messages: list[Message]) -> list[dict[str, str]]:
    frames: list[dict[str, str]] = []
    for message in reversed(messages):
        if message.role == "tool":
            frames.append({"kind": "result", "tool": message.tool_name or "", "text": _short(message.content, FRAME_CHARS)})
        elif message.role == "user" and message.author == "person":
            frames.append({"kind": "task", "text": _short(message.content, FRAME_CHARS)})
            break
        if len(frames) == MAX_FRAMES:
            break
    return frames[::-1]


def _trail(run: Run[Any]) -> list[dict[str, Any]]:
    from agentfp_core.events.tool import ToolEnded

    names = {call.id: call.name for message in run.state.messages[-50:] for call in message.tool_calls}
    ended = [event for event in run.record.tail.events if isinstance(event.payload, ToolEnded) and event.payload.ran]
    return [
        {"name": names.get(event.call_id or "", ""), "ok": event.payload.outcome in ("success", "partial", "absent")}  # type: ignore[attr-defined]
        for event in ended[-20:]
    ]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _short(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _STOP


def _likeness(left: frozenset[str], right: frozenset[str]) -> float:
    union = left | right
    return len(left & right) / len(union) if union else 0.0
