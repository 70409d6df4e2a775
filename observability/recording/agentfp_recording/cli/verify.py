"""``agentfp verify FILE``: whether a recording is what was written, and its requests are what was served."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from agentfp.commands import Code, Json, data, leave, say
from agentfp_recording.cli.opening import opened
from agentfp_recording.reading import RecordingFile, Verification

app = typer.Typer(add_completion=False)


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recording; a folder for its newest.", show_default=False)],
    requests: Annotated[bool, typer.Option(help="Also rebuild each request; takes the memory of the conversation's messages.")] = True,
    as_json: Json = False,
) -> None:
    """Check the checksums of a recording, and that each request it tells of hashes to the receipt that was filed when it was sent.

    Checksums show that a file was not changed by accident or by somebody who does not know of them; they do not say who wrote it.
    Exit code 0: all of it is sealed and unchanged, 1: not, 2: it is no recording.
    """
    recording = opened(file)
    found = recording.verify(requests=requests)
    if as_json:
        data({"intact": found.intact, **dataclasses.asdict(found), "facts": recording.facts()})
    else:
        _show(found, recording, requests=requests)
    if not found.intact:
        leave(Code.NEGATIVE)


def _show(found: Verification, recording: RecordingFile, *, requests: bool) -> None:
    for part in found.parts:
        said = "unchanged" if part.intact else "CHANGED: its checksum does not match"
        say(f"{part.run_id} ({part.status}), bytes {part.begin} to {part.end}: {said}", None if part.intact else "red")
    if not found.parts and not recording.producers:
        say("nothing in it is sealed: saved records and journals have no checksums, recordings of the plugin 'recording' have", "yellow")
    elif not found.parts:
        say("nothing in it is sealed: its run was killed or goes on", "yellow")
    elif found.unsealed_bytes:
        say(f"{found.unsealed_bytes} bytes are not sealed: a run was killed or goes on, or something was added", "yellow")
    if found.changed_calls is None:
        say(f"the requests {_unproved(recording) if requests else 'were not looked at'}", "dim")
    for path, call in found.changed_calls or ():
        say(f"model call {call}{f' of {path}' if path else ''} does not hash to its receipt", "red")
    if found.changed_calls == ():
        say("every request hashes to its receipt")
    if found.intact:
        say("intact", "green")


def _unproved(recording: RecordingFile) -> str:
    if not recording.from_the_start:
        return "cannot be proved: the first legs of the conversation are not in this file"
    return "cannot be proved: parts were masked or are missing"
