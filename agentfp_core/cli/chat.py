"""``agentfp chat``: a conversation with an agent, on a terminal or line by line in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentfp_core.cli.exits import Code, CommandError, leave
from agentfp_core.cli.options import AgentName, ConfigFile, DepsPath, Json, ModelName, Overlay
from agentfp_core.cli.output import data, interactive, note, on_terminal

if TYPE_CHECKING:
    from agentfp_core.cli.driving import Drive
    from agentfp_core.conversation import Conversation
    from agentfp_core.result import RunResult

app = typer.Typer(add_completion=False)
LEAVE = ("/exit", "/quit")


@app.command()
def chat(
    target: Annotated[str | None, typer.Argument(metavar="[AGENT]", help="An agent in code: app.agents:support.")] = None,
    config: ConfigFile = None,
    agent: AgentName = None,
    env: Overlay = None,
    model: ModelName = None,
    deps: DepsPath = None,
    by: Annotated[str | None, typer.Option(help="Who answers questions; stands on the record.", metavar="NAME")] = None,
    record: Annotated[Path | None, typer.Option(help="Save the recording at the end.", metavar="FILE")] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Mask everything that was said in the recording.")] = False,
    as_json: Json = False,
) -> None:
    """Talk with an agent. An empty line does nothing; /exit or Ctrl-D ends it.

    In a pipe each line is a message and each answer is printed; with --json each answer is one line of JSON.
    """
    from agentfp_core.cli.driving import Drive
    from agentfp_core.cli.live import Live
    from agentfp_core.cli.outcome import check_writable
    from agentfp_core.cli.subject import find_agent
    from agentfp_core.model import check_ready

    if redact and record is None:
        raise CommandError("--redact goes with --record FILE")
    check_writable({"--record": record})
    overrides = {} if model is None else {"model": model}
    found = find_agent(target, config=config, agent=agent, env=env, overrides=overrides)
    check_ready(found.model)  # before somebody writes to a model that cannot answer
    people = interactive() and not as_json
    drive = Drive(found, deps=deps, record=record, redact=redact, by=by, ask=people, live=Live(on_terminal() and not as_json))
    import anyio

    code = anyio.run(_talk, drive, _messages(people), as_json)
    drive.tell_saved()
    leave(drive.code(code))


def _messages(people: bool) -> Iterator[str]:
    """What the person says, one message after another."""
    from agentfp_core.cli.asking import ctrl_c, read_line

    while True:
        try:
            with ctrl_c():
                line = read_line("> ") if people else sys.stdin.readline()
        except EOFError:
            print()
            return
        if not people and not line:
            return
        if line.strip() in LEAVE:
            return
        if line.strip():
            yield line.strip()


async def _talk(drive: Drive, messages: Iterator[str], as_json: bool) -> Code:
    from agentfp_core.cli.driving import RunFailedError

    code = Code.OK
    async with drive.open():
        conversation = drive.agent.conversation()
        drive.recorded = lambda: conversation.record
        for message in messages:
            drive.live.begin()
            try:
                result = await _turn(drive, conversation, message)
            except RunFailedError as error:
                if not drive.ask:
                    raise
                note(str(error), "red")
                continue
            code = _show(drive, result, as_json=as_json)
            if result.pause is not None:
                if not drive.ask:
                    return code
                conversation.abandon()
                note("the question is dropped; its calls did not run", "yellow")
                code = Code.OK
    return code if not drive.ask else Code.OK


async def _turn(drive: Drive, conversation: Conversation[Any, Any], message: str) -> RunResult[Any]:
    first = conversation.send(message, **_turn_options(drive))
    return await drive.finish(first, lambda given: conversation.resume(given[1], **_turn_options(drive)))


def _turn_options(drive: Drive) -> dict[str, Any]:
    """A conversation takes note of each run itself."""
    options = drive.options()
    del options["opened"]
    return options


def _show(drive: Drive, result: RunResult[Any], *, as_json: bool) -> Code:
    from agentfp_core.cli import outcome

    if as_json:
        data(outcome.as_json(result), lines=True)
    else:
        if result.status in ("answered", "stopped_early") and result.text:
            drive.live.finish(result.text)
        outcome.tell(result)
        drive.live.summary(result)
    return outcome.code_of(result)
