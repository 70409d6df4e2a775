"""``agentfp audit verify``: checks logs offline; ``agentfp audit show`` tells what is in one."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from agentfp.commands import Code, CommandError, Json, data, leave, note, say, table

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Check audit logs offline, or show what is in them.")
Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="The files of one chain, in their order; or their folder.", show_default=False)
]


@app.command()
def verify(
    paths: Files,
    key: Annotated[
        Path | None, typer.Option("--key", help="Checks the signatures: a public key as PEM, or the shared secret.", show_default=False)
    ] = None,
    final_hash: Annotated[
        str | None, typer.Option("--final-hash", help="Hash of the last record, as it was kept elsewhere.", show_default=False)
    ] = None,
    sealed: Annotated[bool, typer.Option("--sealed", help="The log must end with a seal.")] = False,
    as_json: Json = False,
) -> None:
    """Check that a log is whole and unchanged: each record, its place, its hash, headers, seals and signatures.

    Ends with 1 where something is wrong, and names the first record that does not fit.
    """
    from agentfp_audit.signing import checker_of
    from agentfp_audit.verifying import SAYS, verify_audit

    try:
        checker = None if key is None else checker_of(key.read_bytes())
    except (OSError, ValueError, ImportError) as error:
        raise CommandError(f"--key {str(key)!r} cannot be used: {error}") from error
    try:
        verdict = verify_audit(in_order(paths), key=checker, final_hash=final_hash, sealed=sealed)
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error
    if as_json:
        data(asdict(verdict))
    elif verdict.valid:
        say(f"valid: {verdict.checked} records, {verdict.runs} runs, final hash {verdict.final_hash}", "green")
    else:
        say(f"broken: {verdict.reason}", "red")
        say(f"  at {verdict.where}; {verdict.checked} records before it fit")
    if verdict.valid:
        if not verdict.sealed:
            note("it does not end with a seal: its writer runs, or was killed, or its end was cut off", "yellow")
        if verdict.lost:
            note(f"{verdict.lost} events are not in it, as it says itself", "yellow")
        note(SAYS, "dim")
    leave(Code.OK if verdict.valid else Code.NEGATIVE)


@app.command()
def show(
    paths: Files,
    kind: Annotated[list[str] | None, typer.Option("--type", help="Only records of this type; several times.", show_default=False)] = None,
    run: Annotated[str | None, typer.Option("--run", help="Only records of this run.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Show the records of a log. It is not checked: see verify."""
    for path in in_order(paths):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                for line in file:
                    _show(line, kind, run, as_json=as_json)
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from error


def _show(line: str, kinds: list[str] | None, run: str | None, *, as_json: bool) -> None:
    try:
        record = json.loads(line)
        wanted = (
            "event_type" in record and (not kinds or record["event_type"] in kinds) and (run is None or record["meta"]["run_id"] == run)
        )
    except (ValueError, TypeError, KeyError):
        return
    if not wanted:
        return
    if as_json:
        data(record, lines=True)
    else:
        meta = record["meta"]
        told = json.dumps(record["payload"], ensure_ascii=False)
        table((), [(str(record["seq"]), str(meta.get("run_id", "")), str(meta.get("turn", "")), record["event_type"], told)])


def in_order(paths: list[Path]) -> list[Path]:
    """Files in the order of their chain: of a folder those that were set aside first, then those that go on."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            logs = [log for log in path.glob("*.jsonl") if log.is_file()]
            found += sorted(logs, key=lambda log: (log.name.split(".")[0], len(log.suffixes) == 1, log.name))
            if not logs:
                raise CommandError(f"there is no .jsonl file in {str(path)!r}")
        else:
            found.append(path)
    return found
