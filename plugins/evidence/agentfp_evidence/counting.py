"""Counts: how many rows a result has, how many of them share a value, how many items the answer lists itself."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from agentfp_evidence.context import nouns_around, same_noun, sentence_around
from agentfp_evidence.entries import words_of_key
from agentfp_evidence.index import Posting
from agentfp_evidence.lexicon import word_list
from agentfp_evidence.numbers import Number
from agentfp_evidence.operands import Operand
from agentfp_evidence.sources import Source
from agentfp_evidence.table import Table
from agentfp_evidence.verdict import Verdict, supported, unverifiable

_ITEM = re.compile(r"(?m)^([ \t]*)(?:[-*+\u2022]|\d{1,3}[.)]|\|)\s+\S")
_HEADED_ITEM = re.compile(r"(?m)^#{2,6} .+$|^\*\*(?:\d{1,2}[.)] |[^*\n]+\*\*\s*$)")
_FILLER = word_list("filler_words")
MAX_ROWS_ASKED = 2_000
_FEW_LISTS = 3
"""Lengths of lists among which a whole is one by no accident."""
_OF_THE = re.compile(
    r"\b(?:of (?:the|your|these|those)|out of|all(?: of)?(?: the| your)?|von(?: den| Ihren)?|aller?|sur(?: les)?)\s[*_]*$", re.IGNORECASE
)


def find_count(table: Table, text: str, start: int, end: int, value: int, language: str = "en") -> Verdict | None:
    """What a number counts: rows of a result that the words around it name, or the items that the answer lists.

    Args:
        table: the evidence.
        text: the answer, folded.
        start: where the number begins.
        end: where it ends.
        value: the number.
        language: the language of the answer; keys of results are English, most of them.
    """
    if not 0 <= value <= 5_000:
        return None
    if value >= 2 and _listed(text, end, value):
        return supported("count", (), f"{value} items listed in the answer")
    nouns = [n for n in nouns_around(text, start, end) if n not in _FILLER]
    if not nouns:
        return None
    if value >= 2 and _OF_THE.search(text[max(0, start - 20) : start]) is not None:
        alike = [Posting(source, node) for _, length, node, source, _ in table.lists if length == value]
        if alike and len({length for _, length, *_ in table.lists if length >= 2}) <= _FEW_LISTS:
            return supported("count", alike, f"{value} items")
    for key, length, node, source, heads in table.lists:
        if length == value and (_names(nouns, key, source.tool if node is None else None) or _asked_for(nouns, key, heads, source)):
            return supported("count", [Posting(source, node)], f"{value} = number of {key or 'rows'}")
    found = _matching_rows(table, text, start, end, value, nouns) if value >= 1 else None
    if found is None and language != "en" and value >= 2:
        alike = [Posting(source, node) for _, length, node, source, _ in table.lists if length == value]
        return unverifiable("count", alike) if alike else None
    return found


def find_allowance(table: Table, text: str, number: Number, counts: Sequence[Operand]) -> Verdict | None:
    """So many each, times a count that the answer states: "two guests, so six towels" where a rule says "3 towels for each guest".

    It hangs on the right rule being chosen, so nothing is said for it or against it.

    Args:
        table: the evidence.
        text: the answer, folded.
        number: the number.
        counts: the small numbers that the answer states.
    """
    nouns = [n for n in nouns_around(text, number.start, number.end) if n not in _FILLER and len(n) > 3]
    if not nouns or number.unit is not None or number.value > 99 or not number.value.is_integer():
        return None
    for count in counts:
        each = number.value / count.value
        if each < 2 or not each.is_integer() or not 0 < number.start - count.end < 160:
            continue
        for posting in table.find(f"n:{int(each)}"):
            behind = posting.source.text[posting.end : posting.end + 80] if posting.node is None else ""
            clause = re.split(r"[.,;\n\d]", behind)[0].lower()
            each_of = re.search(r"\b(?:each|per|every|je|pro|chaque|par)\b(.*)", clause)
            counted = re.match(r"[*_]*[ -]([^\W\d_]{3,})(?:[ -]([^\W\d_]{3,}))?", text[count.end : count.end + 40])
            named = each_of and counted and any(same_noun(w, c.lower()) for w in each_of[1].split() for c in counted.groups() if c)
            if named and all(n[: max(4, len(n) - 1)] in clause for n in nouns[:3]):
                return unverifiable("product", [posting], f"{int(number.value)} = {count.value:g} x {int(each)}")
    return None


def list_lengths(table: Table) -> list[Operand]:
    """The named lists of the results whose length may multiply something, from 2 to 50."""
    lengths = dict.fromkeys((key, length) for key, length, _, _, _ in table.lists if key and 2 <= length <= 50)
    return [Operand(float(length), None, 0, 0, noun=key) for key, length in lengths]


def _names(nouns: list[str], key: str, tool: str | None) -> bool:
    called = words_of_key(key)
    if not called and tool:
        called = words_of_key(tool)
    return any(same_noun(noun, word) for noun in nouns for word in called if len(word) > 2)


def _asked_for(nouns: list[str], key: str, heads: str, source: Source) -> bool:
    """Whether a list without a name of its own is what the call asked for, or has a column of that name."""
    if key:
        return False
    words = [*words_of_key(heads), *(w for text in source.echoed for w in re.findall(r"[^\W\d_]+", text))]
    return any(same_noun(noun, word) for noun in nouns for word in words if len(word) > 2)


def _matching_rows(table: Table, text: str, start: int, end: int, value: int, nouns: list[str]) -> Verdict | None:
    """Rows that share a field's value which the sentence names: "1 of 2 ports is down"."""
    first, last = sentence_around(text, start, end)
    said = {w.lower() for w in re.findall(r"[^\W_]+", text[first:last])}
    for rows in table.rows:
        if len(rows.rows) > MAX_ROWS_ASKED or value > len(rows.rows):
            continue
        if not (_names(nouns, rows.key, rows.source.tool) or _names(nouns, _parent_key(rows.node), None) or str(len(rows.rows)) in said):
            continue
        for (field, shared), count in rows.having.items():
            if count != value:
                continue
            words = {w.lower() for w in re.findall(r"[^\W_]+", shared)}
            if words and (words <= said or (shared == "True" and set(words_of_key(field)) & said)):
                origin = f"{value} of {len(rows.rows)} rows have {field} = {shared}"
                return supported("count", [Posting(rows.source, rows.node)], origin)
    return None


def _parent_key(node: object) -> str:
    while isinstance(node, tuple):
        if isinstance(node[1], str):
            return node[1]
        node = node[0]
    return ""


def _listed(text: str, end: int, value: int) -> bool:
    """Whether the answer itself lists as many items right behind the number."""
    return any(count == value for count in _lists_behind(text, end))


def _introduces(text: str, end: int, rest: str) -> bool:
    """Whether the line that a number stands in introduces a list, and is no item of one itself."""
    if rest.rstrip(" *_").endswith(":"):
        return True
    line_start = text.rfind("\n", 0, end) + 1
    return _ITEM.match(text, line_start) is None and not re.match(r"[*_]*[^\n.]{0,40}:", text[line_start:end])


def _lists_behind(text: str, end: int) -> Iterator[int]:
    line_end = text.find("\n", end)
    line = text[end : line_end if line_end >= 0 else len(text)]
    colon = line.find(":")
    if colon >= 0 and len(line) - colon > 3:
        inline = re.sub(r"\([^)]*\)", "", line[colon + 1 :]).split(". ")[0]
        yield len([p for p in re.split(r",\s(?:and\s|und\s|et\s)?|\s(?:and|und|et|&)\s|;\s", inline) if p.strip()])
    bracket = re.match(r"[^\n(.]{0,40}\(([^)\n]+)\)", text[end:])
    if bracket is not None:
        yield len([p for p in re.split(r",\s(?:and\s|und\s|et\s)?|\s(?:and|und|et|&)\s|;\s", bracket[1]) if p.strip()])
    if line_end < 0 or not _introduces(text, end, line):
        return
    yield len(re.findall(r"(?m)^\|(?![\s:|-]+$)", text[line_end:])) - 1
    items = list(_ITEM.finditer(text, line_end))
    if items:
        shallow = min(len(m[1]) for m in items)
        top = [m for m in items if len(m[1]) == shallow]
        block = [top[0]] if top else []
        for a, b in itertools.pairwise(top):
            between = text[a.end() : b.start()]
            if re.search(r"\n\s*\n[^\s\-*+\u2022|\d#]", between):
                break
            block.append(b)
        yield len(block)
        yield len([m for m in top if re.match(r"\s*\d", m[0])])
    yield len(_HEADED_ITEM.findall(text, line_end))
