"""``agentfp run``: one question to an agent of a file or in code."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentfp_core.cli.exits import Code, CommandError, leave
from agentfp_core.cli.options import AgentName, ConfigFile, DepsPath, Json, ModelName, Overlay
from agentfp_core.cli.output import data, interactive, on_terminal

if TYPE_CHECKING:
    from agentfp_core.cli.driving import Drive
    from agentfp_core.pause import Pause
    from agentfp_core.result import RunResult

app = typer.Typer(add_completion=False)


@app.command()
def run(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[AGENT] QUESTION", help="The question, or - for stdin. Before it, an agent in code: app.agents:support."),
    ] = None,
    config: ConfigFile = None,
    agent: AgentName = None,
    env: Overlay = None,
    model: ModelName = None,
    deps: DepsPath = None,
    resume: Annotated[str | None, typer.Option(help="Go on with the pause in this file, or - for stdin.", metavar="FILE")] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(help="An answer: approve, reject, 'reject: WHY', or a value. Once for each question.", metavar="ID=VALUE"),
    ] = None,
    by: Annotated[str | None, typer.Option(help="Who answers; stands on the record.", metavar="NAME")] = None,
    save_pause: Annotated[Path | None, typer.Option(help="Where to keep a paused run.", metavar="FILE")] = None,
    record: Annotated[Path | None, typer.Option(help="Save the recording; agentfp steps FILE walks through it.", metavar="FILE")] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Mask everything that was said in the recording.")] = False,
    journal: Annotated[Path | None, typer.Option(help="Stream the run to a private journal.", metavar="FILE")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds for each leg of the run.")] = None,
    as_json: Json = False,
) -> None:
    """Ask an agent, and show what it does.

    On a terminal its text and tool calls show as they come, and approvals and questions are asked. In a pipe only the answer is printed; a
    paused run ends with exit code 4.
    """
    from agentfp_core.cli.driving import Drive
    from agentfp_core.cli.live import Live
    from agentfp_core.cli.outcome import check_writable
    from agentfp_core.cli.subject import find_agent

    target, question = _words(words or [], resuming=resume is not None)
    if answer and resume is None:
        raise CommandError("--answer goes with --resume FILE")
    if redact and record is None:
        raise CommandError("--redact goes with --record FILE")
    if timeout is not None and not timeout > 0:
        raise CommandError("--timeout takes seconds above 0")
    check_writable({"--record": record, "--save-pause": save_pause, "--journal": journal})
    overrides = {} if model is None else {"model": model}
    found = find_agent(target, config=config, agent=agent, env=env, overrides=overrides)
    pause = None if resume is None else _read_pause(resume)
    drive = Drive(
        found,
        deps=deps,
        record=record,
        redact=redact,
        by=by,
        ask=interactive() and not as_json,
        live=Live(on_terminal() and not as_json),
        call={"journal": journal, "timeout": timeout},
    )
    result = _go(drive, question, pause, answer or [], as_json=as_json)
    again = _again(target, {"--config": config, "--agent": agent, "--env": env, "--model": model, "--deps": deps})
    _end(drive, result, save_pause, again, as_json=as_json)


def _words(words: list[str], *, resuming: bool) -> tuple[str | None, str]:
    """The agent in code, if one is named, and the question."""
    from agentfp_core.cli.subject import is_import_path

    if len(words) > 2 or (resuming and len(words) > 1):
        raise CommandError(
            f"run takes {'an agent' if resuming else 'an agent and a question'}, got {len(words)} words; put the question in quotes"
        )
    if resuming:
        return (words[0] if words else None), ""
    if len(words) == 1 and not is_import_path(words[0]):
        return None, _question(words[0])
    if len(words) < 2:
        raise CommandError('there is no question; write agentfp run "...", or agentfp run app.agents:support "..."')
    if not is_import_path(words[0]):
        raise CommandError(f"{words[0]!r} names no agent in code; write module:attribute, or put the whole question in quotes")
    return words[0], _question(words[1])


def _question(text: str) -> str:
    text = sys.stdin.read() if text == "-" else text
    if not text.strip():
        raise CommandError('the question is empty; write agentfp run "..."')
    return text


def _read_pause(file: str) -> Pause:
    from agentfp_core.cli.outcome import load_pause

    return load_pause(sys.stdin.read() if file == "-" else Path(file).read_bytes().decode("utf-8", "replace"))


def _go(drive: Drive, question: str, pause: Pause | None, answers: list[str], *, as_json: bool) -> RunResult[Any]:
    import anyio

    from agentfp_core.cli.driving import RunFailedError

    try:
        return anyio.run(_legs, drive, question, pause, answers)
    except RunFailedError as error:
        if as_json and error.code is Code.FAILED:
            data({"status": "failed", "error": str(error), "type": error.kind})
        raise


async def _legs(drive: Drive, question: str, pause: Pause | None, answers: list[str]) -> RunResult[Any]:
    async with drive.open():
        if pause is None:
            first = drive.agent._start(question, **drive.options())
        else:
            first = drive.agent._resume(pause, _answers(drive, pause, answers), **drive.options())
        return await drive.finish(first, lambda given: drive.agent._resume(*given, **drive.options()))


def _answers(drive: Drive, pause: Pause, given: list[str]) -> dict[str, Any]:
    from agentfp_core.cli.answers import answers_of

    if given or not drive.ask:
        return answers_of(pause, given, by=drive.by)
    from agentfp_core.cli.asking import ask

    answers = ask(pause, by=drive.by)
    if answers is None:
        raise CommandError("nothing was answered; the pause is as it was", Code.PAUSED)
    return answers


def _again(target: str | None, options: dict[str, Any]) -> str:
    """The command that means the same agent."""
    given = [part for option, value in options.items() if value is not None for part in (option, str(value))]
    return shlex.join(["agentfp", "run", *([target] if target is not None else []), *given])


def _end(drive: Drive, result: RunResult[Any], save_pause: Path | None, again: str, *, as_json: bool) -> None:
    from agentfp_core.cli import outcome

    if result.pause is not None and save_pause is not None and not outcome.save_pause(result.pause, save_pause):
        save_pause = None
    if as_json:
        data(outcome.as_json(result))
    else:
        if result.status in ("answered", "stopped_early") and result.text:
            drive.live.finish(result.text)
        outcome.tell(result, kept=save_pause, again=again)
        drive.live.summary(result)
        drive.tell_saved()
    leave(drive.code(outcome.code_of(result)))
