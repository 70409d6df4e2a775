"""``agentfp audit verify`` checks logs offline; ``explain`` tells what they say of each run, ``show`` has records, ``prove`` proves one."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentfp.commands import Code, CommandError, Json, data, leave, note, on_terminal, say, table

if TYPE_CHECKING:
    from agentfp import Record
    from agentfp_audit.explaining import RunAccount
    from agentfp_audit.signing import Checker
    from agentfp_audit.verifying import AuditVerdict

_AROUND = re.compile(r'\s*\{"(?:canonicalization|chain_head|final_hash|first_seq|format)"')
"""How a header and a seal begin: keys are in order."""

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Check audit logs offline, and tell what is in them.")
Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="The files of one chain, in their order; or their folder.", show_default=False)
]
Key = Annotated[
    Path | None, typer.Option("--key", help="Checks the signatures: a public key as PEM, or the shared secret.", show_default=False)
]
FinalHash = Annotated[
    str | None, typer.Option("--final-hash", help="Hash of the last record, as it was kept elsewhere.", show_default=False)
]
Sealed = Annotated[bool, typer.Option("--sealed", help="The log must end with a seal.")]


@app.command()
def verify(
    paths: Files,
    key: Key = None,
    final_hash: FinalHash = None,
    sealed: Sealed = False,
    as_json: Json = False,
) -> None:
    """Check that a log is whole and unchanged: each record, its place, its hash, headers, seals and signatures.

    Ends with 1 where something is wrong, and names the first record that does not fit.
    """
    verdict = _verified(in_order(paths), key, final_hash, sealed=sealed)
    if as_json:
        data(asdict(verdict))
    else:
        _say(verdict)
    leave(Code.OK if verdict.valid else Code.NEGATIVE)


@app.command()
def explain(
    paths: Files,
    recording: Annotated[
        list[Path] | None,
        typer.Option(
            "--recording", help="A recording of runs in it, or a folder for its newest: adds content. Several times.", show_default=False
        ),
    ] = None,
    key: Key = None,
    final_hash: FinalHash = None,
    sealed: Sealed = False,
    as_json: Json = False,
) -> None:
    """Say of each run what was decided, by whom and by which rule, what was checked and what not, and what it cost.

    The log is verified first: of one that is broken nothing is told. A recording must be of the same runs, event by event. Ends with 1
    where something does not fit.
    """
    from agentfp_audit.explaining import RecordingDiffersError, explain_audit
    from agentfp_audit.telling import lines_of

    files = in_order(paths)
    verdict = _verified(files, key, final_hash, sealed=sealed)
    accounts: list[RunAccount] = []
    differs: str | None = None
    if verdict.valid:
        try:
            records = [_recorded(path) for path in recording or ()]
            accounts = explain_audit(files, recording=records or None)
        except RecordingDiffersError as error:
            differs = str(error)
    if as_json:
        data({"verdict": asdict(verdict), "recording_differs": differs, "runs": [account.to_json() for account in accounts]})
    else:
        _say(verdict)
        if differs is not None:
            say(f"the recording is not of this log: {differs}", "red")
        for account in accounts:
            for line in ("", *lines_of(account)):
                say(line)
    leave(Code.OK if verdict.valid and differs is None else Code.NEGATIVE)


@app.command()
def prove(
    paths: Files,
    seq: Annotated[int, typer.Option("--seq", help="Number of the record, as show has it.", min=0)],
    out: Annotated[Path | None, typer.Option("--out", help="Where to write it; to the terminal otherwise.", show_default=False)] = None,
) -> None:
    """Write the proof that a record stands in a sealed log, for somebody who gets none of its other records. It is JSON."""
    from agentfp_audit.errors import ProofError
    from agentfp_audit.proving import prove_record

    try:
        proof = prove_record(in_order(paths), seq).to_json()
        if out is not None:
            out.write_text(json.dumps(proof, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except ProofError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error
    if out is None:
        data(proof, lines=True)


@app.command("verify-proof")
def check_proof(
    path: Annotated[Path, typer.Argument(metavar="PROOF", help="What prove wrote.", show_default=False)],
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Check that a record stands in a sealed log, of its proof alone. Ends with 1 where it does not."""
    from agentfp_audit.errors import ProofError
    from agentfp_audit.proving import SAYS, AuditProof, verify_proof

    try:
        proof = AuditProof.from_json(json.loads(path.read_bytes()))
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error
    except ProofError as error:
        raise CommandError(f"{str(path)!r}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{str(path)!r} is no proof of a record: it is no JSON") from error
    verdict = verify_proof(proof, key=_checker(key))
    if as_json:
        data(asdict(verdict) | {"record": proof.record if verdict.valid else None})
    elif verdict.valid:
        say(f"valid: record {verdict.seq} stands in the log that was sealed{', and the signature fits' if verdict.signed else ''}", "green")
        _show(proof.record, as_json=False)
        note(SAYS, "dim")
    else:
        say(f"broken: {verdict.reason}", "red")
    leave(Code.OK if verdict.valid else Code.NEGATIVE)


def _recorded(path: Path) -> Record:
    from agentfp import AgentfpError
    from agentfp.commands import recording_in
    from agentfp.plugin import record_of

    try:
        return record_of(recording_in(path))
    except (AgentfpError, OSError) as error:
        raise CommandError(f"--recording {str(path)!r} cannot be used: {error}") from error


def _checker(key: Path | None) -> Checker | None:
    from agentfp_audit.signing import checker_of

    try:
        return None if key is None else checker_of(key.read_bytes())
    except (OSError, ValueError, ImportError) as error:
        raise CommandError(f"--key {str(key)!r} cannot be used: {error}") from error


def _verified(files: list[Path], key: Path | None, final_hash: str | None, *, sealed: bool) -> AuditVerdict:
    from agentfp_audit.verifying import verify_audit

    checker = _checker(key)
    try:
        return verify_audit(files, key=checker, final_hash=final_hash, sealed=sealed)
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error


def _say(verdict: AuditVerdict) -> None:
    from agentfp_audit.verifying import SAYS

    if not verdict.valid:
        say(f"broken: {verdict.reason}", "red")
        say(f"  at {verdict.where}; {verdict.checked} records before it fit")
        return
    signed = f", {verdict.signed} signatures" if verdict.signed else ""
    say(f"valid: {verdict.checked} records, {verdict.runs} runs{signed}, final hash {verdict.final_hash}", "green")
    if not verdict.sealed:
        note("it does not end with a seal: its writer runs, or was killed, or its end was cut off", "yellow")
    if verdict.lost:
        note(f"{verdict.lost} events are not in it, as it says itself", "yellow")
    note(SAYS, "dim")


@app.command()
def show(
    paths: Files,
    kind: Annotated[list[str] | None, typer.Option("--type", help="Only records of this type; several times.", show_default=False)] = None,
    run: Annotated[str | None, typer.Option("--run", help="Only records of this run.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Show the records of a log. It is not checked: see verify.

    Ends with 2 where there is no record in it at all.
    """
    found = others = 0
    for path in in_order(paths):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                for line in file:
                    record = _record(line)
                    found += record is not None
                    others += record is None and bool(line.strip()) and not _AROUND.match(line)
                    if record is not None and (not kind or record["event_type"] in kind) and run in (None, record["meta"].get("run_id")):
                        _show(record, as_json=as_json)
        except BrokenPipeError:
            raise  # who read the output went away
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}") from error
    if others:
        note(f"{others} line{'' if others == 1 else 's'} of it {'is' if others == 1 else 'are'} no part of an audit log", "yellow")
    if not found:
        raise CommandError(f"there is no record of an audit log in {', '.join(map(str, paths))}")


def _record(line: str) -> dict[str, Any] | None:
    """The record in a line; None where there is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(record, dict) and {"seq", "event_type", "payload"} <= record.keys() and isinstance(record.get("meta"), dict)
    return record if whole else None


def _show(record: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        data(record, lines=True)
        return
    meta = record["meta"]
    told = json.dumps(record["payload"], ensure_ascii=False)
    cells = (str(record["seq"]), str(meta.get("run_id", "")), str(meta.get("turn", "")), str(record["event_type"]))
    if not on_terminal():
        table((), [(*cells, told)])
        return
    say("  ".join(cell for cell in (cells[0], cells[3], cells[1], f"turn {cells[2]}" if cells[2] else "") if cell), "cyan")
    say(f"    {told}")


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
