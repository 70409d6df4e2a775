"""For people: each answer with its values in colours and a table of where each comes from; in a pipe the rows, with tabs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentfp.commands import clean, console, note, on_terminal, say, table
from agentfp.transcripts import JudgedValue, Judgement
from agentfp_transcripts.checking import Answer, Checked, Summary
from agentfp_transcripts.places import describe, segments
from agentfp_transcripts.problems import Problem

if TYPE_CHECKING:
    from rich.text import Text

STYLES = {"supported": "green", "unverifiable": "yellow", "unsupported": "bold red"}
_SHOWN = 2
"""Sources that a row names; the count of the others follows."""


class Table:
    """Prints each answer as soon as it is judged."""

    def add(self, checked: Checked) -> None:
        """Print the answers of a transcript."""
        for answer in checked.answers:
            if on_terminal():
                _show(checked, answer)
            else:
                known = _known(answer)
                values = [(name, value) for name, judgement in answer.judgements.items() for value in judgement.values]
                table((), [_row(checked, answer, name, value, known=id(value) in known) for name, value in values])
        for failure in checked.failures:
            note(failure, "red")
        if on_terminal():
            for text in checked.transcript.problems:
                note(f"{checked.transcript.id}: {text}", "yellow")

    def end(self, summary: Summary, problems: Sequence[Problem]) -> None:
        """The summary is printed for all outputs alike."""


def _row(checked: Checked, answer: Answer, judge: str, value: JudgedValue, *, known: bool) -> tuple[str, ...]:
    where = "; ".join(describe(source, checked.transcript) for source in value.sources)
    return (
        checked.transcript.id, str(answer.index), value.verdict, value.severity or "", value.kind, value.text, value.how, where,
        value.derivation, judge, value.near or "", "known" if known else "",
    )  # fmt: skip


def _known(answer: Answer) -> set[int]:
    """Which value objects a baseline holds; one object is told from another that is equal."""
    return {id(finding.value) for finding in answer.findings if finding.known}


def _show(checked: Checked, answer: Answer) -> None:
    from rich.padding import Padding
    from rich.rule import Rule
    from rich.text import Text

    printer = console()
    standing = answer.main.standing
    transcript = checked.transcript
    file = "" if transcript.source in transcript.id else f" in {clean(transcript.source)}"
    head = Text.assemble((clean(transcript.id), "bold"), f"{file}  answer {answer.index}  ", (clean(standing), _standing_style(answer)))
    printer.print()
    printer.print(Rule(head, align="left", style="dim"))
    for name, judgement in answer.judgements.items():
        if len(answer.judgements) > 1:
            say(f"  {name}: {judgement.standing}", "cyan")
        printer.print(Padding(marked(answer.text, judgement), (0, 2)), soft_wrap=False)
        if judgement.values:
            printer.print(Padding(_grid(checked, answer, judgement), (0, 2)), soft_wrap=False)
        for text in judgement.notes:
            say(f"  {text}", "yellow")


def _standing_style(answer: Answer) -> str:
    if answer.new:
        return STYLES["unsupported"]
    return STYLES["unverifiable"] if any(v.verdict == "unverifiable" for v in answer.main.values) else STYLES["supported"]


def marked(text: str, judgement: Judgement) -> Text:
    """An answer with its values in the colours of their verdicts."""
    from rich.text import Text

    made = Text()
    for piece, number in segments(text, judgement.values):
        style = "" if number is None else f"{STYLES[judgement.values[number].verdict]} underline"
        made.append(clean(piece), style=style)
    return made


def _grid(checked: Checked, answer: Answer, judgement: Judgement) -> Any:
    from rich.table import Table as Grid
    from rich.text import Text

    known = _known(answer)
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for header in ("verdict", "value", "kind", "how", "source"):
        grid.add_column(header, overflow="fold")
    for value in judgement.values:
        severity = f" ({value.severity})" if value.severity else ""
        verdict = Text(f"{value.verdict}{severity}{', known' if id(value) in known else ''}", STYLES[value.verdict])
        grid.add_row(verdict, Text(clean(value.text)), Text(clean(value.kind), "dim"), Text(clean(value.how)), _sources(checked, value))
    return grid


def _sources(checked: Checked, value: JudgedValue) -> Text:
    from rich.text import Text

    lines = [describe(source, checked.transcript) for source in value.sources[:_SHOWN]]
    if len(value.sources) > _SHOWN:
        lines.append(f"and {len(value.sources) - _SHOWN} more")
    made = Text(clean("\n".join(lines)), "cyan")
    for text in (value.derivation, f"nearly {value.near}" if value.near else ""):
        if text:
            made.append(("\n" if made else "") + clean(text), "dim")
    return made
