"""What became of a run, told: for people, as JSON, in a pause file, and as an exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentfp_core.cli.exits import Code, CommandError
from agentfp_core.cli.output import note, one_line

if TYPE_CHECKING:
    from agentfp_core.pause import Pause, Question
    from agentfp_core.record import Record
    from agentfp_core.redaction import RedactionPolicy
    from agentfp_core.result import RunResult


def code_of(result: RunResult[Any]) -> Code:
    """The exit code of a run that ended."""
    if result.paused:
        return Code.PAUSED
    if result.refused:
        return Code.FAILED
    return Code.NEGATIVE if result.status == "stopped_early" or result.contract_unmet is not None else Code.OK


def as_json(result: RunResult[Any]) -> dict[str, Any]:
    """A result as JSON data; ``pause`` in it is what ``--resume`` takes."""
    used = result.usage
    made: dict[str, Any] = {
        "status": result.status,
        "run_id": result.run_id,
        "conversation": result.root_id,
        "usage": {"input": used.input, "output": used.output, "total": used.total},
        "cost_usd": None if result.cost_usd is None else str(result.cost_usd),
    }
    if result.status in ("answered", "stopped_early"):
        made["text"] = result.text
        made |= _output(result)
    if result.stopped_early is not None:
        made["stopped_early"] = result.stopped_early.reason
    if result.contract_unmet is not None:
        made["contract_unmet"] = {"stage": result.contract_unmet.stage, "error": result.contract_unmet.error}
    if result.refused:
        made |= {"refused_by": result.refused_by, "error": str(result.error), "tell_person": result.tell_person}
    if result.pause is not None:
        made["questions"] = [question_json(question) for question in result.pause.questions]
        made["pause"] = json.loads(result.pause.to_json())
    if result.plugin_failures:
        made["plugin_failures"] = result.plugin_failures
    return made


def _output(result: RunResult[Any]) -> dict[str, Any]:
    import pydantic_core

    from agentfp_core.errors import AgentfpError

    try:
        value = result.output
    except AgentfpError:
        return {}
    return {} if isinstance(value, str) else {"output": pydantic_core.to_jsonable_python(value, fallback=str)}


def question_json(question: Question) -> dict[str, Any]:
    """A question for a program that shows it to a person."""
    return {
        "id": question.id,
        "kind": question.kind,
        "plugin": question.plugin,
        "tool": question.tool,
        "arguments": None if question.arguments is None else dict(question.arguments),
        "prompt": question.prompt,
        "schema": None if question.schema is None else dict(question.schema),
        "context": question.context,
        "required": question.required,
    }


def tell(result: RunResult[Any], *, kept: Path | None = None, again: str | None = None) -> None:
    """Say on stderr what is not an answer.

    Args:
        result: the result.
        kept: the file that the pause was written to.
        again: the command line that means the same agent; None where a pause cannot be gone on with.
    """
    if result.pause is not None:
        _tell_pause(result.pause, kept, again)
    elif result.refused:
        note(f"refused by {result.refused_by}: {result.error}", "red")
        if result.tell_person:
            note(result.tell_person)
    elif result.stopped_early is not None:
        note(f"stopped early: {result.stopped_early.reason}", "yellow")
    elif result.contract_unmet is not None:
        note(f"the answer does not fit the output type ({result.contract_unmet.stage}): {result.contract_unmet.error}", "yellow")
    for plugin, times in result.plugin_failures.items():
        note(f"plugin {plugin} failed {times} times; `agentfp steps` over a recording says where", "yellow")


def _tell_pause(pause: Pause, kept: Path | None, again: str | None) -> None:
    note("the run is paused:", "yellow")
    for question in pause.questions:
        about = f" {question.tool}({one_line(json.dumps(dict(question.arguments or {}), ensure_ascii=False))})" if question.tool else ""
        note(f"  {question.id}  {question.kind}{about}  {question.prompt}")
    if again is None:
        return
    answer = "".join([f" --answer {question.id}={'approve' if question.kind == 'decision' else 'VALUE'}" for question in pause.questions])
    if kept is None:
        note("it was not kept; with --save-pause FILE (or --json > FILE) a paused run can be gone on with:")
    note(f"  {again} --resume {kept or 'FILE'}{answer}")


# --- files ----------------------------------------------------------------------------------------------------------------


def check_writable(files: Mapping[str, Path | None]) -> None:
    """See before a run whether its files can be written after it.

    Args:
        files: by the option that names them.

    Raises:
        CommandError: one cannot.
    """
    for option, path in files.items():
        if path is None:
            continue
        if path.is_dir():
            raise CommandError(f"{option} {path}: it is a folder; name a file in it")
        if not path.parent.is_dir():
            raise CommandError(f"{option} {path}: there is no folder {path.parent}; make it first")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise CommandError(f"{option} {path}: it may not be written")


def save_pause(pause: Pause, path: Path) -> bool:
    """Write a pause where only its owner can read it: it holds the conversation, unmasked.

    Returns:
        Whether it was written; when not, that was said.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(pause.to_json() + "\n")
    except OSError as error:
        note(f"the pause cannot be written to {path}: {error.strerror}", "red")
        return False
    return True


def load_pause(text: str) -> Pause:
    """Read a pause: what ``--save-pause`` wrote, or what ``--json`` printed.

    Raises:
        CommandError: it is neither.
        CheckpointError: it is a pause that this version cannot read.
    """
    from agentfp_core.pause import Pause

    try:
        data = json.loads(text)
    except ValueError as error:
        raise CommandError("--resume takes a file with a pause: what --save-pause wrote, or what --json printed") from error
    inner = data.get("pause") if isinstance(data, dict) else None
    if isinstance(data, dict) and inner is None and "status" in data:
        raise CommandError(f"--resume: the run in this file is not paused but {data['status']}, so there is nothing to go on with")
    return Pause.from_json(json.dumps(inner, ensure_ascii=False) if isinstance(inner, dict) else text)


def save_record(record: Record, path: Path, *, policy: RedactionPolicy | None, redact: bool) -> None:
    """Write a recording.

    Args:
        record: the record.
        path: the file.
        policy: what the agent masks.
        redact: whether everything that was said is masked.
    """
    from agentfp_core.redaction import conversation_redaction

    record.sealed().save(path, policy=conversation_redaction().joined(policy) if redact else policy)
