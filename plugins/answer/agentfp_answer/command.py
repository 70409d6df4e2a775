"""``agentfp check-semantics``: whether samples of tools' results are described as results of their class have to be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from agentfp.commands import Code, CommandError, Json, data, leave, note, say
from agentfp_answer.envelopes import envelopes_of
from agentfp_answer.semantics import faults_of
from agentfp_answer.wire import MARKERS, SEMANTICS, as_text

CLASSES = ("triage", "inventory")


class Problem(NamedTuple):
    """What is wrong of a sample, or of a tool.

    Args:
        level: ``error`` or ``warning``.
        tool: the tool.
        sample: place of the sample, from 0; None for the tool itself.
        code: a word to look it up by.
        words: what is wrong.
    """

    level: Literal["error", "warning"]
    tool: str
    sample: int | None
    code: str
    words: str


def problems_of(tools: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong of the samples of tools.

    Args:
        tools: by tool, ``{"result_class": "triage" | "inventory", "samples": [results]}``; the class may be left out.
    """
    for name, said in tools.items():
        kind, samples = said.get("result_class"), said.get("samples") or []
        if kind is not None and not samples:
            yield Problem("warning", name, None, "no-samples", f"its class is {kind}, and there is no sample to look at")
        for index, sample in enumerate(samples):
            yield from _sample(name, kind, index, sample)


def _sample(tool: str, kind: str | None, index: int, sample: Any) -> Iterator[Problem]:
    found = envelopes_of(as_text(sample))
    marked = isinstance(sample, dict) and any(marker in sample for marker in MARKERS)
    described = isinstance(sample, dict) and sample.get(SEMANTICS) is True
    if described:
        for fault in faults_of(sample):
            yield Problem("error", tool, index, fault.code, fault.words)
    elif marked and not found:
        yield Problem("error", tool, index, "no-declaration", "it has a marker and is no declaration, so it is read as plain data")
    for envelope in found:
        for fault_words in envelope.faults:
            yield Problem("error", tool, index, "bad-item", fault_words)
    if kind is not None and not any(envelope.checked or envelope.has_gap for envelope in found):
        yield Problem("error", tool, index, "no-coverage", f"a result of class {kind} says what it covers")
    if kind == "inventory" and described and sample.get("facts") and sample.get("render") is None:
        yield Problem("warning", tool, index, "no-render", "an inventory with facts says how it is shown")


def check_semantics(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A JSON file: by tool, its result_class and samples of its results.")],
    *,
    json_: Json = False,
) -> None:
    """Check that samples of tools' results are described as they have to be. Ends with 1 where one is not."""
    tools = _read(path)
    found = list(problems_of(tools))
    if json_:
        data({"tools": len(tools), "problems": [problem._asdict() for problem in found]})
    for problem in found if not json_ else ():
        where = problem.tool if problem.sample is None else f"{problem.tool}, sample {problem.sample}"
        say(f"{problem.level}: {where}: {problem.words} ({problem.code})", "red" if problem.level == "error" else "yellow")
    errors = sum(problem.level == "error" for problem in found)
    note(f"{len(tools)} tools, {errors} errors, {len(found) - errors} warnings")
    leave(Code.NEGATIVE if errors else Code.OK)


def _read(path: Path) -> dict[str, Any]:
    try:
        tools = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path} is no JSON ({error})") from error
    if not isinstance(tools, dict):
        raise CommandError(f"{path} holds a {type(tools).__name__}; write a JSON object, with what is said of each tool under its name")
    for name, said in tools.items():
        if not isinstance(said, dict) or set(said) - {"result_class", "samples"} or not isinstance(said.get("samples", []), list):
            raise CommandError(f"{path}: tool {name!r} is an object with 'result_class' and a list of 'samples'")
        if said.get("result_class") not in (None, *CLASSES):
            raise CommandError(f"{path}: tool {name!r}: the result_class is one of {', '.join(CLASSES)}, or left out")
    return tools
