"""``agentfp check``: judges the answers in transcripts of any agent, with no model."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentfp.commands import Code, CommandError, Json, leave, note, out

if TYPE_CHECKING:
    from agentfp_transcripts.checking import Check, Checked, Summary
    from agentfp_transcripts.formats import Output
    from agentfp_transcripts.problems import Problem
    from agentfp_transcripts.registry import Readers

app = typer.Typer(add_completion=False)
SHOWN = 5
"""Problems of one file that are told one by one: a log of another kind has one in each line."""


class Form(StrEnum):
    """A form of output."""

    TABLE = "table"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"


class FailOn(StrEnum):
    """Which unsupported values end the command with exit code 1."""

    STRONG = "strong"
    ANY = "any"


@app.command()
def check(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Transcripts: files, .gz, folders, globs, - for stdin.", show_default=False)
    ],
    last: Annotated[bool, typer.Option("--last", help="Judge the last answer of each transcript only.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Judge answers too that no tool result stands before.")] = False,
    flagged: Annotated[bool, typer.Option("--flagged", help="Print only answers with an unsupported value.")] = False,
    system: Annotated[
        Path | None,
        typer.Option("--system", help="A system prompt that the export lacks; what it states is no invention.", show_default=False),
    ] = None,
    fail_on: Annotated[
        FailOn | None, typer.Option("--fail-on", help="End with 1 where such a value is unsupported.", show_default=False)
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="Findings that are known: tell the new ones only.", show_default=False)
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option("--write-baseline", help="Write all findings of this check as a baseline.", show_default=False)
    ] = None,
    form: Annotated[Form, typer.Option("--format", "-f", help="Form of the output.")] = Form.TABLE,
    html: Annotated[Path | None, typer.Option("--html", help="Also write a page to look at.", show_default=False)] = None,
    judge: Annotated[str | None, typer.Option("--judge", help="The main judge; evidence when left out.", show_default=False)] = None,
    plugin: Annotated[
        list[str] | None, typer.Option("--plugin", help="A further judge; may be given several times.", show_default=False)
    ] = None,
    explain: Annotated[str | None, typer.Option("--explain", metavar="VALUE", help="Tell all about one value.", show_default=False)] = None,
    format_in: Annotated[
        str | None,
        typer.Option("--format-in", help="The format of the transcripts; told by their looks when left out.", show_default=False),
    ] = None,
    map_file: Annotated[
        Path | None, typer.Option("--map", help="A file of JSON paths, for a format that no reader knows.", show_default=False)
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="JUDGE.NAME=VALUE", help="A setting of a judge.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Judge the answers in the transcripts of any agent. No model is asked.

    Every answer of the assistant that follows a tool's result is taken apart into values, and each is looked for in what the tools
    returned and the person said: supported, unverifiable or unsupported, and where it comes from.

    Read are OpenAI chat and Responses, Anthropic, LangChain and LangGraph, pydantic-ai, the Vercel AI SDK, traces (OpenInference,
    OpenTelemetry), ATIF and agentfp's own recordings: one transcript, an array, JSON lines, exports.
    """
    from agentfp_transcripts.checking import Summary
    from agentfp_transcripts.explaining import Explain

    if as_json:
        form = Form.JSON
    readers = _readers(format_in, map_file)
    judging = _check(judge, plugin or (), settings or (), last=last, every=every, system=system, baseline=baseline)
    outputs = printed, *written = _outputs(form, explain, html, write_baseline)
    summary = Summary()
    problems: list[Problem] = []
    for checked in _progress(_judged(paths, readers, judging, problems), summary):
        summary.add(checked)
        printed.add(checked.flagged() if flagged else checked)
        for output in written:
            output.add(checked)
    summary.unread = sum(not problem.skipped for problem in problems)
    for output in outputs:
        output.end(summary, problems)
    out().flush()
    _tell(summary, html)
    missed = any(isinstance(output, Explain) and not output.found for output in outputs)
    leave(Code.NEGATIVE if missed and summary.transcripts else _code(summary, fail_on))


def _outputs(form: Form, explain: str | None, html: Path | None, write_baseline: Path | None) -> list[Output]:
    """What is written of the check."""
    from agentfp_transcripts.explaining import Explain
    from agentfp_transcripts.formats import output_of
    from agentfp_transcripts.formats.known import KnownFindings
    from agentfp_transcripts.page import Page

    if explain is not None and not explain.strip():
        raise CommandError("--explain takes a value, or a part of one")
    for option, path in (("--html", html), ("--write-baseline", write_baseline)):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise CommandError(f"{option} {path}: {'is a folder' if path.is_dir() else f'there is no folder {str(path.parent)!r}'}")
    outputs: list[Output] = [output_of(form, _write) if explain is None else Explain(explain, as_json=form is Form.JSON)]
    if html is not None:
        outputs.append(Page(html))
    if write_baseline is not None:
        outputs.append(KnownFindings(write_baseline))
    return outputs


def _write(text: str) -> None:
    print(text, end="", file=out())


def _readers(name: str | None, map_file: Path | None) -> Readers:
    from agentfp.plugin import nearest
    from agentfp.transcripts import TranscriptError
    from agentfp_transcripts.registry import Readers

    if map_file is not None:
        from agentfp_transcripts.mapping import MapReader

        if name is not None:
            raise CommandError("--map and --format-in each say what the transcripts are; give one of them")
        try:
            return Readers(only=MapReader.load(map_file))
        except TranscriptError as error:
            raise CommandError(f"--map {error}") from error
    readers, broken = Readers.installed()
    for text in broken:
        note(text, "yellow")
    if name is None:
        return readers
    if name not in readers.readers:
        raise CommandError(f"no reader is called {name!r}; {nearest(name, readers.readers)}")
    return Readers(only=readers.readers[name])


def _check(
    judge: str | None,
    plugins: Sequence[str],
    settings: Sequence[str],
    *,
    last: bool,
    every: bool,
    system: Path | None,
    baseline: Path | None,
) -> Check:
    from agentfp.transcripts import TranscriptError
    from agentfp_transcripts.baseline import Baseline
    from agentfp_transcripts.checking import Check
    from agentfp_transcripts.judging import make_judges, parse_settings

    prompt = None if system is None else system.read_text(encoding="utf-8", errors="replace")
    try:
        known = None if baseline is None else Baseline.load(baseline)
    except TranscriptError as error:
        raise CommandError(str(error)) from error
    return Check(make_judges(plugins, parse_settings(settings), main=judge), last=last, every=every, prompt=prompt, baseline=known)


def _judged(paths: Sequence[str], readers: Readers, judging: Check, problems: list[Problem]) -> Iterator[Checked]:
    from agentfp_transcripts.problems import Problem
    from agentfp_transcripts.sources import read

    told: dict[str, int] = {}
    for one in read(paths, readers=readers):
        if isinstance(one, Problem):
            problems.append(one)
            told[one.file] = told.get(one.file, 0) + 1
            if told[one.file] <= SHOWN:
                note(str(one), "dim" if one.skipped else "yellow")
        else:
            yield judging.check(one)
    for file, count in told.items():
        if count > SHOWN:
            note(f"{file}: {count - SHOWN} more of these", "yellow")


def _progress(found: Iterator[Checked], summary: Summary) -> Iterator[Checked]:
    """On a terminal, while nothing else is printed there: how far it is."""
    if not sys.stderr.isatty() or out().isatty():
        yield from found
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from agentfp.commands import console

    columns = (SpinnerColumn(style="dim"), TextColumn("[dim]{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True, redirect_stdout=False) as progress:  # stdout is the results'
        task = progress.add_task("reading", total=None)
        for checked in found:
            yield checked
            progress.update(task, description=f"{summary.judged}, {summary.flagged} flagged")


def _tell(summary: Summary, html: Path | None) -> None:
    """The summary, to stderr."""
    from agentfp_transcripts.checking import counted

    values = ", ".join(f"{count} {verdict}" for verdict, count in summary.values.items())
    note(f"{summary.judged}, {counted(sum(summary.values.values()), 'value')}: {values}")
    if summary.strong or summary.weak:
        known = f", {summary.known} more are known" if summary.known else ""
        note(f"{counted(summary.flagged, 'answer')} with unsupported values: {summary.strong} strong, {summary.weak} weak{known}", "red")
    elif summary.known:
        note(f"nothing new; {counted(summary.known, 'finding')} of the baseline still there", "green")
    elif summary.answers:
        note("no unsupported value", "green")
    for count, what, text in (
        (summary.without_results, "answer", "before any tool result (--all checks them too)"),
        (summary.unanswered, "transcript", "without an answer to check"),
        (summary.in_part, "transcript", "in part (the problems of each stand in --json)"),
        (summary.unread, "place", "that could not be read, see above"),
        (summary.failures, "time", "that a judge failed, see above"),
    ):
        if count:
            note(f"not checked: {counted(count, what)} {text}", "yellow")
    if html is not None:
        note(f"page written to {html}")


def _code(summary: Summary, fail_on: FailOn | None) -> Code:
    """How the command ends. Where it guards, what could not be read or judged counts as a finding."""
    if not summary.transcripts:
        raise CommandError("no transcript was read", Code.USAGE)
    if summary.failures and not summary.answers:
        return Code.FAILED
    if fail_on is None:
        return Code.OK
    found = summary.strong + (summary.weak if fail_on is FailOn.ANY else 0)
    return Code.NEGATIVE if found or summary.unread or summary.failures else Code.OK
