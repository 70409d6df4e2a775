"""``agentfp cost``: what recorded runs cost, at the prices of then or at others."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from agentfp.commands import Code, CommandError, Json, data, leave, note, on_terminal, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentfp_cost.prices import PriceFile
    from agentfp_cost.report import CostLine, CostReport, Grouping

app = typer.Typer(add_completion=False)
_SUFFIXES = (".jsonl", ".jsonl.xz", ".jsonl.gz")
_STDIN = Path("/dev/stdin")


class Group(StrEnum):
    """What a row is for."""

    MODEL = "model"
    PROVIDER = "provider"
    PURPOSE = "purpose"
    TURN = "turn"
    FILE = "file"


@app.command()
def cost(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Recordings, or folders of them; - is what is piped in.", show_default=False)
    ],
    by: Annotated[Group, typer.Option("--by", help="What a row is for.")] = Group.MODEL,
    prices: Annotated[
        Path | None, typer.Option("--prices", help="A file of prices, in place of those of then.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what recorded runs cost, nested runs and calls of plugins included.

    Calls without a known price are counted apart and are in no sum. With --prices all calls are priced anew, each at what holds on its
    day. A call that stands in several recordings is counted once.
    """
    from agentfp_cost.amounts import counted
    from agentfp_cost.report import joined

    table_of_prices = None if prices is None else _prices(prices)
    reports: dict[str, CostReport] = {}
    torn: list[str] = []
    unread = 0
    for path in dict.fromkeys(_files(paths)):
        report = _report(path, table_of_prices, torn)
        unread += report is None
        if report is not None:
            reports[str(path)] = report
    if not reports:
        raise CommandError("no recording was read")
    whole = joined(reports.values())
    if as_json:
        files = {path: report.to_json() for path, report in reports.items()}
        data({**whole.to_json(), "files": files, "unread": unread, "torn": torn})
    else:
        totals = [replace(report.total, name=path) for path, report in reports.items()]
        lines = totals if by is Group.FILE else whole.by(cast("Grouping", by.value))
        _print(by.value, [*lines, *([whole.total] if on_terminal() and len(lines) > 1 else [])])
    shared = sum(len(report.calls) for report in reports.values()) - len(whole.calls)
    if shared:
        note(f"{counted(shared)} in more than one of the files; counted once")
    if not whole.calls:
        note("no call of a model stands in what was read", "yellow")
    if whole.unpriced_calls and whole.total_usd is not None:
        note(f"not in any sum: {counted(whole.unpriced_calls)} without a known price", "yellow")
    elif whole.total.calls and whole.total_usd is None:
        note("no price is known; --prices FILE says what tokens cost", "yellow")
    if table_of_prices is not None:
        note(f"prices of {table_of_prices.source}{f', {table_of_prices.date}' if table_of_prices.date else ''}")
    leave(Code.NEGATIVE if unread else Code.OK)


def _print(what: str, lines: Sequence[CostLine]) -> None:
    from agentfp_cost.amounts import dollars

    rows = []
    for line in lines:
        usd = "" if line.usd is None else dollars(line.usd)
        rows.append((line.name, str(line.calls), _known(line.usage.input), _known(line.usage.output), usd, str(line.unpriced)))
    table((what, "calls", "input", "output", "usd", "unpriced"), rows)


def _prices(path: Path) -> PriceFile:
    from agentfp_cost.errors import PriceFileError
    from agentfp_cost.prices import PriceFile

    try:
        return PriceFile.load(path)
    except PriceFileError as error:
        raise CommandError(str(error)) from error


def _files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(found for found in path.rglob("*") if found.name.endswith(_SUFFIXES) and found.is_file())
        elif path.exists():
            yield path
        elif str(path) == "-" and _STDIN.exists():
            yield _STDIN
        else:
            raise CommandError(f"there is no file {str(path)!r}")


def _report(path: Path, prices: PriceFile | None, torn: list[str]) -> CostReport | None:
    from agentfp import AgentfpError, Record
    from agentfp_cost.report import report_of

    try:
        record = Record.load(path)
        report = report_of(record, prices=prices)
    except OSError as error:
        note(f"{path}: {error.strerror or error}", "yellow")
        return None
    except (AgentfpError, ValueError) as error:
        note(f"{path}: {error}", "yellow")
        return None
    if record.torn_line is not None:
        torn.append(str(path))
        note(f"{path}: the last line ({record.torn_line}) is torn and left out", "yellow")
    return report


def _known(count: int | None) -> str:
    return "" if count is None else str(count)
