"""Tables in plain text: CSV, aligned columns, psql and Markdown tables, ``key=value`` lines, labelled amounts, XML and HTML.

Tools of the command line print for people, and people read columns; so rows are read out of text here as far as the text itself
tells where its columns are. A table that is none does no harm by itself: it only offers sums that nobody states.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from agentfp_evidence.fold import fold
from agentfp_evidence.numbers import number_at
from agentfp_evidence.units import Unit, unit_of

MAX_LINES = 6_000
"""Lines of one text that are read as tables."""
MAX_COLUMNS = 40
_LONGEST_LINE = 600
_SIZE = re.compile(r"(\d+(?:[.,]\d+)?)(k|[KMGTP]i?)")
_VALUED = re.compile(r"^\d|:\s|\d[.,]\d|\d{4}-\d\d")
"""What no heading has."""
_NAMED_VALUE = re.compile(r"\s*\w[\w ]{0,40}:\s")
_TIGHT = re.compile(r",(?=\S)|(?<=\S),(?=\s*$)")
_RULE = re.compile(r"[\s|+:=_-]*[-=_]{2,}[\s|+:=_-]*")
_FOOTER = re.compile(r"\(\d+ rows?(?:, .*)?\)|total \d+")
_PAIR = re.compile(r"([A-Za-z_][\w.-]*)=(\"[^\"]*\"|'[^']*'|[^\s,;]+)")
_LABELLED = re.compile(r"\s*(?:[-*\u2022]\s+)?(?P<label>[^\W\d_][^:=|\n]{0,50}?)\s*(?::\s+|\s=\s|\s{2,}|\t)\s*(?P<value>\S.*)")
_ITEM = re.compile(
    r"\s*(?:[-*\u2022]\s+)?(?P<label>[^\n|]{0,60}?[^\W\d_][^\n|]{0,60}?):?\s+(?P<value>[-+]?[$€£]?[-+]?\d[\d.,']*(?:\s?(?:%|[A-Za-z€£$²³°/]{1,6}))?)"
)
_AMOUNT_FIRST = re.compile(
    r"\s*(?:[-*\u2022]\s+)?(?P<value>\d[\d.,]*(?:\s?(?:%|kg|g|mg|l|ml|dl|cl|cm|mm|m|tsp|tbsp|cups?|h|min))?)\s+(?P<label>[^\W\d_][^\n|\d]{1,50})"
)
_WITH_NOTE = re.compile(r"\s*(?:[-*\u2022]\s+)?(?P<label>[^\n|:]{1,50}):\s+(?P<value>\d[\d.,]*(?:\s?(?:%|[A-Za-z]{1,6}))?)[,;(]\s.*")
_BODY = r"(?:\d{1,3}(?:[.,' ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
_CELL = re.compile(
    rf"\s*[-+]?(?:[$€£¥]|[A-Z]{{3}}\s)?\s?[-+]?{_BODY}(?:e[-+]?\d+)?\s?(?:%|[^\W\d_²³/]{{1,8}}[²³]?(?:/[^\W\d_]{{1,3}})?|[€£$])?\s*"
)
_TAG = re.compile(r"<([A-Za-z][\w.:-]*)((?:\s+[\w.:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))+)\s*/?>")
_ATTRIBUTE = re.compile(r"([\w.:-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_LEAF_TAG = re.compile(r"<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>([^<>]+)</\1>")
_TABLE_ROW = re.compile(r"<tr\b[^>]*>(.*?)</tr>", re.IGNORECASE | re.DOTALL)
_TABLE_CELL = re.compile(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", re.IGNORECASE | re.DOTALL)
_ANY_TAG = re.compile(r"<[^>]*>")


class TextTable(NamedTuple):
    """Rows that a text shows.

    Args:
        rows: text or number by the heading of its column.
        is_record: the lines are the fields of one thing each, and not the rows of a list.
    """

    rows: list[dict[str, Any]]
    is_record: bool = False


def tables_in(text: str) -> list[TextTable]:
    """The tables of a text, in order.

    Args:
        text: a result's text, or the part of it that is no JSON.
    """
    found: list[TextTable] = []
    if "</" in text or "/>" in text:
        found.extend(_of_tags(text))
    for block in _blocks(text):
        found.extend(_of_block(block))
    return [TextTable(_with_units(t.rows), t.is_record) for t in found if t.rows]


def apart(text: str) -> str:
    """A text as long, in which the commas between the cells of CSV lines are none: ``31,2.0`` is two numbers there.

    Args:
        text: a result's text.
    """
    if not _TIGHT.search(text):
        return text
    lines = text.split("\n")
    counts = [len(_TIGHT.findall(line)) if len(line) <= _LONGEST_LINE else 0 for line in lines]
    at = 0
    for count, run in itertools.groupby(counts):
        length = len(list(run))
        if count and length >= 2 and _is_heading(lines[at].rstrip().split(",")):
            lines[at : at + length] = [_TIGHT.sub("\t", line) for line in lines[at : at + length]]
        at += length
    return "\n".join(lines)


def _blocks(text: str) -> Iterator[list[str]]:
    """Runs of lines with no blank line between."""
    block: list[str] = []
    for line in itertools.islice(text.split("\n"), MAX_LINES):
        line = line.rstrip().expandtabs(1) if "\t" not in line else line.rstrip()
        if not line.strip() or len(line) > _LONGEST_LINE:
            if block:
                yield block
            block = []
        elif not _FOOTER.fullmatch(line.strip()):
            block.append(line)
    if block:
        yield block


def _of_block(block: list[str]) -> Iterator[TextTable]:
    pairs = [_PAIR.findall(line) for line in block]
    full = [dict(found) for found in pairs if len(found) >= 2]
    if full and len(full) * 2 >= len(block):
        yield TextTable([{k: v.strip("\"'") for k, v in row.items()} for row in full])
        return
    lines = [line for line in block if not _RULE.fullmatch(line)]
    for delimiter in ("|", "\t", ";", ","):
        if sum(delimiter in line for line in lines) >= 2:
            rows = _delimited(lines, delimiter)
            if rows:
                yield TextTable(rows)
                return
    plain = [line for line in lines if not _NAMED_VALUE.match(line)]
    if 2 <= len(plain) < len(lines) and (rows := _aligned(plain)):
        yield TextTable(rows)  # what stands below a table by its name is no row of it
        return
    if len(lines) >= 2:
        for first in range(min(3, len(lines) - 1)):
            rows = _aligned(lines[first:])
            if rows:
                yield TextTable(rows)
                return
        rows = _without_heading(lines)
        if rows:
            yield TextTable(rows)
    yield from _labelled(lines)


def _delimited(lines: list[str], delimiter: str) -> list[dict[str, Any]]:
    """Rows of the longest run of lines with as many fields each, under a line of headings."""
    fields = [_split(line, delimiter) for line in lines]
    for at in range(min(3, len(fields) - 1)):
        head = fields[at]
        if len(head) < 2 or not _is_heading(head):
            continue
        rows = []
        for row in fields[at + 1 :]:
            if len(row) != len(head):
                break
            rows.append(row)
        if rows and (len(rows) >= 2 or delimiter != ","):
            return [dict(zip(head, row, strict=True)) for row in rows]
    return []


def _split(line: str, delimiter: str) -> list[str]:
    if delimiter == "|":
        line = line.strip().removeprefix("|").removesuffix("|")
    try:
        cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        cells = line.split(delimiter)
    return [cell.strip() for cell in cells][:MAX_COLUMNS]


def _is_heading(cells: Sequence[str]) -> bool:
    """Whether cells name columns: short, distinct, and no numbers."""
    named = [cell for cell in cells if cell]
    return (
        len(named) >= 2
        and len(set(named)) == len(named)
        and all(len(cell) <= 40 and not _is_number(cell) and not _VALUED.search(cell) for cell in named)
        and any(re.match(r"[^\W\d_]", cell) for cell in named)
    )


def _aligned(lines: list[str]) -> list[dict[str, Any]]:
    """Rows under a line of headings, where columns are apart by spaces that run through all lines."""
    if not re.search(r"\S\s{2,}\S", lines[0]) and len(lines) < 3:
        return []
    columns = _columns(lines)
    if len(columns) < 2:
        return []
    cells = [[line[a:b].strip() for a, b in columns] for line in lines]
    head = cells[0]
    for i in range(len(head) - 1, 0, -1):  # what has no heading belongs to the column before it
        if not head[i]:
            for row in cells:
                row[i - 1] = f"{row[i - 1]} {row.pop(i)}".strip()
    head = [name or "row" for name in cells[0]]
    if len(head) < 2 or not _is_heading(head) or not any(any(_is_number(row[i]) for row in cells[1:]) for i in range(len(head))):
        return _spaced(lines)
    return [dict(zip(head, row, strict=True)) for row in cells[1:]]


def _columns(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Where no line has a space only: the columns, each from its first character to that of the next."""
    width = max(len(line) for line in lines)
    used = [False] * width
    for line in lines:
        for match in re.finditer(r"\S+", line):
            used[match.start() : match.end()] = [True] * len(match[0])
    starts = [i for i in range(width) if used[i] and (i == 0 or not used[i - 1])]
    return list(itertools.pairwise([*starts, width]))


def _spaced(lines: Sequence[str]) -> list[dict[str, Any]]:
    """Rows whose cells are two spaces apart, as many as there are headings."""
    cells = [re.split(r"\s{2,}", line.strip()) for line in lines]
    head = cells[0]
    rows = [row for row in cells[1:] if len(row) == len(head)]
    if len(head) < 2 or not _is_heading(head) or not rows or not any(_is_number(c) for row in rows for c in row):
        return []
    return [dict(zip(head, row, strict=True)) for row in rows]


def _without_heading(lines: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of words of the same number in each line, some of which are numbers throughout: ``ls -l``."""
    words = [line.split() for line in lines]
    count = len(words[0])
    if count < 2 or any(len(row) != count for row in words):
        return []
    numeric = [i for i in range(count) if all(_is_number(row[i]) for row in words)]
    texts = [i for i in range(count) if i not in numeric]
    if not numeric or not texts:
        return []
    return [{f"column {i + 1}": row[i] for i in range(count)} for row in words]


def _labelled(lines: Sequence[str]) -> Iterator[TextTable]:
    """Lines of a label and a value: the fields of records, and amounts that may add up."""
    records: list[dict[str, Any]] = [{}]
    amounts: list[dict[str, Any]] = []
    for line in lines:
        match = _LABELLED.fullmatch(line)
        if match is not None:
            label, value = match["label"].strip(), match["value"].strip()
            if label in records[-1]:
                records.append({})
            records[-1][label] = value
        item = _WITH_NOTE.fullmatch(line) or _ITEM.fullmatch(line) or _AMOUNT_FIRST.fullmatch(line)
        if item is not None:
            amounts.append({"item": item["label"].strip(), "amount": item["value"]})
    records = [record for record in records if len(record) >= 2]
    if records:
        yield TextTable(records, is_record=len(records) == 1)
    if len(amounts) >= 2 and 2 * len(amounts) >= len(lines):
        yield TextTable(amounts)


def _of_tags(text: str) -> Iterator[TextTable]:
    """Rows of XML and HTML: elements by their attributes, leaves by their names, and tables."""
    by_tag: dict[str, list[dict[str, Any]]] = {}
    for match in itertools.islice(_TAG.finditer(text), MAX_LINES):
        attributes = {m[1]: m[2] or m[3] or "" for m in _ATTRIBUTE.finditer(match[2])}
        by_tag.setdefault(match[1], []).append(attributes)
    for rows in by_tag.values():
        yield TextTable(rows, is_record=len(rows) == 1)
    records: list[dict[str, Any]] = [{}]
    for match in itertools.islice(_LEAF_TAG.finditer(text), MAX_LINES):
        if match[1].lower() in ("td", "th", "p", "li", "span", "b", "i", "a", "h1", "h2", "h3", "title"):
            continue
        if match[1] in records[-1]:
            records.append({})
        records[-1][match[1]] = match[2].strip()
    if records[0]:
        yield TextTable(records, is_record=len(records) == 1)
    cells = [[_ANY_TAG.sub(" ", c).strip() for c in _TABLE_CELL.findall(row)] for row in _TABLE_ROW.findall(text)]
    if len(cells) >= 2 and _is_heading(cells[0]):
        yield TextTable([dict(zip(cells[0], row, strict=False)) for row in cells[1:] if len(row) == len(cells[0])])


def _is_number(cell: str) -> bool:
    return _CELL.fullmatch(cell) is not None


def _with_units(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows with numbers for what are numbers; a unit that a column wears becomes the end of its name, as in JSON keys."""
    worn: dict[str, set[Unit | None]] = {}
    parsed: list[dict[str, Any]] = []
    for row in rows:
        cells: dict[str, Any] = {}
        for name, cell in row.items():
            cells[name] = value = _parsed(cell)
            if isinstance(value, tuple):
                worn.setdefault(name, set()).add(value[1])
        parsed.append(cells)
    names = {name: units - {None} for name, units in worn.items()}
    return [dict(_entry(name, value, names.get(name, set())) for name, value in row.items()) for row in parsed]


def _entry(name: str, value: Any, units: set[Unit | None]) -> tuple[str, Any]:
    """A cell under its column's name with the unit that the column wears; sizes of several units are all in bytes."""
    if not isinstance(value, tuple):
        return name, value
    number, unit = value
    if len(units) > 1 and unit is not None and all(u is not None and u.dimension == "bytes" for u in units):
        return f"{name} [B]", number * float(unit.factor)
    worn = unit if len(units) > 1 else next(iter(units), None)
    return (name if worn is None else f"{name} [{worn.name}]"), number


def _parsed(cell: Any) -> Any:
    """A number and its unit, or the text."""
    if not isinstance(cell, str) or not _is_number(cell):
        return cell
    text = fold(cell)
    size = _SIZE.fullmatch(text.strip())
    if size is not None:
        return float(size[1].replace(",", ".")), unit_of(f"{size[2][0].upper()}{size[2][1:]}B")
    digit = re.search(r"\d", text)
    number = number_at(text, digit.start()) if digit is not None else None
    if number is None or (
        number.end < len(text.rstrip()) and number.unit is None and number.word == "" and re.search(r"\d", text[number.end :])
    ):
        return cell
    sign = -1.0 if text.lstrip().startswith("-") and number.value > 0 else 1.0
    return (sign * number.value, number.unit)
