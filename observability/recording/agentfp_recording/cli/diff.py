"""``agentfp diff A B``: the first step in which two recordings differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from agentfp.commands import Code, Json, data, leave, note, one_line, say
from agentfp_recording.cli.opening import opened
from agentfp_recording.diff import Change, Difference
from agentfp_recording.diff import diff as compare

app = typer.Typer(add_completion=False)
CAUSES = {
    "configuration": "they ran with other parts",
    "message": "a person said something else",
    "request": "the model was served something else",
    "reply": "the model was served the same and replied something else",
    "tool": "the model asked for the same and a tool call came out otherwise",
    "person": "a person was asked or answered something else",
    "end": "they ended otherwise",
    "missing": "one of them ends here",
    "other": "they part here",
}


@app.command()
def diff(
    a: Annotated[
        Path, typer.Argument(metavar="A", help="A recording, a saved record or a journal; a folder for its newest.", show_default=False)
    ],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another one.", show_default=False)],
    full: Annotated[bool, typer.Option("--full", help="Show texts whole.")] = False,
    as_json: Json = False,
) -> None:
    """Compare two runs: the first step that differs, what was served there, and what changed.

    Times and ids do not count. Exit code 0: the same, 1: they differ, 2: one of them is no recording.
    """
    found = compare(opened(a), opened(b))
    if as_json:
        data(found.to_dict())
    else:
        _show(found, a, b, full=full)
    if not found.same:
        leave(Code.NEGATIVE)


def _show(found: Difference, a: Path, b: Path, *, full: bool) -> None:
    if found.same:
        say(f"the same in all {found.steps} steps")
        return
    number = found.steps + 1
    what = f"model call {found.call}" if found.call is not None else (found.kind or "step").replace("_", " ")
    say(f"step {number}, {what}: {CAUSES[found.cause or 'other']}", "bold")
    say(f"  the {found.steps} before it are the same" if found.steps else "  it is the first one", "dim")
    for missing, path in ((found.a, a), (found.b, b)):
        if missing is None:
            say(f"  {path} has no step {number}", "yellow")
    say(f"- {a}", "red")
    say(f"+ {b}", "green")
    if found.a is not None and found.b is not None:
        for change in found.changes:
            _change(change, full=full)
    else:
        say(f"  {one_line(json.dumps(found.a or found.b, ensure_ascii=False), 10_000 if full else 300)}")
    if found.served:
        say("served", "cyan")
        for line in found.served:
            say(f"  {line if full else one_line(line, 200)}", "red" if line.startswith("-") else "green" if line.startswith("+") else None)
    elif found.request is not None:
        say("served, the same to both" if found.a is not None and found.b is not None else "served", "cyan")
        messages = list(found.request.messages)
        if not full and len(messages) > 3:
            say(f"  ({len(messages) - 3} messages before)", "dim")
            messages = messages[-3:]
        for message in messages:
            calls = ", ".join(f"{call.name}({call.arguments_json})" for call in message.tool_calls)
            text = f"{message.text or ''} {f'calls {calls}' if calls else ''}".strip()
            say(f"  {message.role}: {text if full else one_line(text, 200)}")
    if found.note is not None:
        note(f"what was served cannot be shown: {found.note}", "yellow")


def _change(change: Change, *, full: bool) -> None:
    say(f"  {change.where}", "cyan")
    for sign, value, style in (("-", change.a, "red"), ("+", change.b, "green")):
        if value is not None:
            say(f"    {sign} {_text(value, full=full)}", style)


def _text(value: Any, *, full: bool) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if full else one_line(text, 200)
