"""Asks the questions of a pause in the terminal: approve or reject with a reason, edit arguments, give values."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agentfp_core.cli.answers import answer_of
from agentfp_core.cli.output import clean, one_line, say, styled
from agentfp_core.verdicts import approve, reject

if TYPE_CHECKING:
    from agentfp_core.pause import Pause, Question


class LeftOpenError(Exception):
    """The person wants to answer later."""


@contextlib.contextmanager
def ctrl_c() -> Iterator[None]:
    """Ctrl-C ends the reading of a line, which an event loop's own handler would only note."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def read_line(prompt: str, prefill: str = "") -> str:
    """Read a line from the terminal.

    Args:
        prompt: what stands before it.
        prefill: text that can be edited, where the terminal can do so.

    Raises:
        EOFError: there is no more.
    """
    readline: Any = None
    with contextlib.suppress(ImportError):
        import readline
    with ctrl_c():
        if readline is not None and prefill:
            readline.set_startup_hook(lambda: readline.insert_text(prefill))
        try:
            return input(prompt)
        finally:
            if readline is not None:
                readline.set_startup_hook(None)


def ask(pause: Pause, *, by: str | None = None) -> dict[str, Any] | None:
    """Ask all open questions.

    Args:
        pause: the pause.
        by: who answers.

    Returns:
        The answers by question; None when they are left open.
    """
    answers: dict[str, Any] = {}
    try:
        for number, question in enumerate(pause.questions, 1):
            of = f" {number} of {len(pause.questions)}" if len(pause.questions) > 1 else ""
            _show(question, of)
            answer = _ask_one(pause, question, by)
            if answer is not None:
                answers[question.id] = answer
    except (EOFError, LeftOpenError):
        say()
        return None
    return answers


def _show(question: Question, of: str) -> None:
    asker = {"kernel": "", "tool": f" by {question.tool}"}.get(question.plugin, f" by {question.plugin}")
    what = {"decision": "Approval", "value": "Question", "acknowledge": "Notice"}[question.kind]
    say()
    say(f"{what}{of}{asker}", "yellow")
    if question.tool is not None and question.arguments is not None:
        say(f"  {question.tool}({'' if question.arguments else ')'}", "bold")
        for line in _pretty(question.arguments) if question.arguments else ():
            say(f"  {line}")
        if question.arguments:
            say("  )", "bold")
    say(f"  {question.prompt}")
    if question.plugin == "kernel" and isinstance(question.context, dict):
        does = (question.context.get("will_do") or {}).get("description") or ""
        say(f"  {does.splitlines()[0] if does else ''}", "dim")
    elif question.context is not None:
        say(f"  {one_line(json.dumps(question.context, ensure_ascii=False), 600)}", "dim")


def _pretty(arguments: Mapping[str, Any]) -> list[str]:
    return [f"  {name} = {json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()]


def _ask_one(pause: Pause, question: Question, by: str | None) -> Any:
    if question.kind == "acknowledge":
        read_line("  Enter when you have read it: ")
        return True
    if question.kind == "decision":
        return _decide(question, by)
    while True:
        text = read_line(f"  {_hint(question)}> ")
        if not text and not question.required:
            return None
        answer = answer_of(question, text, by=by)
        wrong = _wrong(pause, question, answer)
        if wrong is None:
            return answer
        say(f"  {wrong}", "red")


def _hint(question: Question) -> str:
    schema = question.schema or {}
    if "enum" in schema:
        hint = "one of " + ", ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    else:
        kind = schema.get("type", "")
        hint = "" if kind in ("", "string") else f"{kind} " if isinstance(kind, str) else ""
    return clean(hint if question.required else f"{hint} (Enter for none) ")


def _wrong(pause: Pause, question: Question, answer: Any) -> str | None:
    from agentfp_core.errors import RefusedError
    from agentfp_core.pause import read_answers

    try:
        read_answers(pause, {question.id: answer})
    except RefusedError as error:
        return str(error)
    return None


def _decide(question: Question, by: str | None) -> Any:
    keys = styled("[a]pprove  [r]eject  [e]dit the arguments  [q]uit and answer later", "dim", sys.stdout)
    say()
    print(f"  {keys}")
    while True:
        key = read_line("  > ").strip().lower()
        if key in ("a", "approve", "y", "yes"):
            return approve(by=by, pinned=question.pinned)
        if key in ("r", "reject", "n", "no"):
            return reject(read_line("  why (the model reads it; Enter for no reason): ").strip() or None, by=by, pinned=question.pinned)
        if key in ("q", "quit"):
            raise LeftOpenError
        if key in ("e", "edit"):
            edited = _edit(question.arguments or {})
            if edited is not None:
                return approve(by=by, args=edited, pinned=question.pinned)


def _edit(arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments as the person wants them; None when they change their mind."""
    text = json.dumps(arguments, ensure_ascii=False)
    while True:
        say("  The arguments as JSON; an empty line goes back.", "dim")
        text = read_line("  > ", prefill=text).strip()
        if not text:
            return None
        try:
            edited = json.loads(text)
        except ValueError as error:
            say(f"  that is no JSON: {error}", "red")
            continue
        if isinstance(edited, dict):
            return edited
        say('  that is no JSON object; write {"name": value}', "red")
