"""The evidence as the standard profile looks it up: values by key, words, numbers in order, and rows."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import NamedTuple

from agentfp_evidence.columns import Rows, is_number, lists_in, rows_of
from agentfp_evidence.entries import Scanned, entries_of, is_hash, number_key, words_of_key
from agentfp_evidence.fold import fold, fold_word, spellings_of
from agentfp_evidence.index import MAX_CARRIERS, MAX_FORMS, Posting
from agentfp_evidence.reading import Leaf, Node
from agentfp_evidence.sources import Source
from agentfp_evidence.text_tables import apart
from agentfp_evidence.units import Unit, unit_of_key

_PLAIN_KEY = re.compile(r"[a-z_]+|[a-z][a-z0-9_]*_[a-z0-9_]*")
_KEY_CODE = re.compile(r"(?<![a-z0-9])(?:[a-z]+\d+|\d+[a-z]+)(?![a-z0-9])")
_KEY_DATA = re.compile(r"\d{4}")
"""A key of so many digits names an entity, as ``card_77310`` does."""
_KEY_NUMBER = re.compile(r"_(\d{1,3})[a-z]?(?=_|$)")
"""What a rule is named by: ``fee_under_25``."""
_NAMING_KEY = re.compile(
    r"(?:^|_)(?:id|name|host|node|alias|serial|volume|pool|cluster|user|ticket|server|service|device|sku|code|ref|key|branch"
    r"|repo|bucket|queue|peer)s?$",
    re.IGNORECASE,
)
_BIRTH_KEY = re.compile(r"dob|birth|born|geburt|naiss", re.IGNORECASE)
_SEPARATORS = re.compile(r"[-_.:/]")
_ASSIGNED = re.compile(r"([A-Za-z]\w*_[A-Za-z]+)[=:]\Z")
"""A name before its value: ``batt_mv=2914``."""
_SHORT = 80


class ListLength(NamedTuple):
    """How long a list of a result is.

    Args:
        key: the key that it stands under.
        length: so many items.
        node: its place.
        source: the result.
        heads: of a table of text, the headings of its columns.
    """

    key: str
    length: int
    node: Node
    source: Source
    heads: str = ""


def _unit_above(node: Node) -> Unit | None:
    """The unit that the key above a number's own names: ``{"p95_ms": {"peak": 4870}}``."""
    above = node[0] if node is not None else None
    return unit_of_key(above[1]) if above is not None and isinstance(above[1], str) else None


class Table:
    """Values, words and numbers of a conversation, and where each stands."""

    def __init__(self) -> None:
        self.values: dict[str, list[Posting]] = {}
        self.words: dict[str, list[Posting]] = {}
        self.names: set[str] = set()
        """Words that stand capitalised in short texts of results: names, most of them."""
        self.hashes: list[str] = []
        self.phones: list[str] = []
        self._rows: list[Rows] = []
        self._lists: list[ListLength] = []
        self._unread: list[Source] = []
        self.sources: list[Source] = []
        self.truncated = False
        self.shapes: set[tuple[str, int]] = set()
        self.years: Counter[int] = Counter()
        self._numbers: list[tuple[float, Posting]] = []
        self._by_unit: dict[str, dict[Unit, list[tuple[float, Posting]]]] = {}
        self._sorted = 0
        self._scanned: dict[str, Scanned] = {}

    def add(self, source: Source) -> None:
        """Index a source."""
        self.sources.append(source)
        for leaf in source.reading.leaves:
            if isinstance(leaf.value, str):
                self._add_text(source, leaf)
            elif is_number(leaf.value):
                self._add_number(source, leaf)
            elif isinstance(leaf.value, (int, float)) and not isinstance(leaf.value, bool):
                self._put(f"i:{leaf.value}".lower(), Posting(source, leaf.node))
        if source.ground == "evidence":
            self._unread.append(source)

    @property
    def rows(self) -> list[Rows]:
        """The rows of all results."""
        self._read_rows()
        return self._rows

    @property
    def lists(self) -> list[ListLength]:
        """The lists of all results and their lengths."""
        self._read_rows()
        return self._lists

    def _read_rows(self) -> None:
        for source in self._unread:
            self._rows.extend(rows_of(source))
            for i, data in enumerate(source.reading.data):
                if isinstance(data, (dict, list)):
                    found = lists_in(data, None if i == 0 else (None, i))
                    self._lists.extend(ListLength(key, n, node, source) for key, n, node in found)
            for node, table in source.reading.tables:
                if not table.is_record:
                    heads = " ".join(table.rows[0])
                    self._lists.append(ListLength("", len(table.rows), node, source, heads))
        self._unread.clear()

    def _add_number(self, source: Source, leaf: Leaf) -> None:
        posting = Posting(source, leaf.node, unit=unit_of_key(leaf.key) or _unit_above(leaf.node))
        self._put(number_key(leaf.value), posting)

    def _add_text(self, source: Source, leaf: Leaf) -> None:
        text = leaf.value
        if leaf.is_key and _PLAIN_KEY.fullmatch(text) and not _KEY_DATA.search(text):
            for token in _KEY_CODE.findall(text):
                self._put(f"i:{token}", Posting(source, leaf.node, part=True))
            for digits in _KEY_NUMBER.findall(text):
                self._put(f"n:{int(digits)}", Posting(source, leaf.node, part=True))
            for word in words_of_key(text):
                if word not in self.words:
                    self.words[word] = [Posting(source, leaf.node, part=True)]
            return
        text = fold(text)
        if leaf.node is None and "\n" in text:
            text = apart(text)
        short = len(text) <= _SHORT
        scanned = self._scanned.get(text) if short else None
        if scanned is None:
            scanned = entries_of(text)
            if short:
                self._scanned[text] = scanned
        echo = bool(source.echoed) and text.lower() in source.echoed
        plain = leaf.node is None
        at = leaf.offset
        key_unit = unit_of_key(leaf.key) if leaf.key else None
        if plain:
            for entry in scanned.entries:
                unit = entry.unit
                if unit is None and entry.key[0] == "n" and text[entry.start - 1 : entry.start] in ("=", ":"):
                    assigned = _ASSIGNED.search(text, max(0, entry.start - 40), entry.start)
                    unit = unit_of_key(assigned[1]) if assigned is not None else None
                self._put(entry.key, Posting(source, None, entry.start + at, entry.end + at, unit, entry.part))
        else:
            for entry in scanned.entries:
                self._put(entry.key, Posting(source, leaf.node, 0, 0, entry.unit or key_unit, entry.part, echo), leaf.key)
            if short and _NAMING_KEY.search(leaf.key):
                self._learn(text)
            if short and not leaf.is_key:
                self._put("s:" + text.lower().strip(), Posting(source, leaf.node, echo=echo))
        if short and not plain and not leaf.is_key:
            self.names.update(fold_word(w.text) for w in scanned.words if w.text[0].isupper())
        for found in scanned.words:
            for spelling in spellings_of(found.text):
                held = self.words.get(spelling)
                if held is None:
                    held = self.words[spelling] = []
                if len(held) < MAX_CARRIERS:
                    held.append(Posting(source, leaf.node, found.start + at if plain else 0, found.end + at if plain else 0, echo=echo))
            if "'" in found.text or "\u2019" in found.text:
                for piece in re.split("['\u2019]", found.text):
                    self.words.setdefault(piece.lower(), [Posting(source, leaf.node)])

    def _learn(self, text: str) -> None:
        """Remember how entities are named here: the first segment and the number of segments."""
        segments = _SEPARATORS.split(text.lower())
        if 2 <= len(segments) <= 6 and " " not in text and segments[0].isalpha():
            self.shapes.add((segments[0], len(segments)))

    def is_shaped(self, token: str) -> bool:
        """Whether a token is shaped like the names of entities here."""
        segments = _SEPARATORS.split(token.lower())
        return (segments[0], len(segments)) in self.shapes

    def _put(self, key: str, posting: Posting, leaf_key: str = "") -> None:
        held = self.values.get(key)
        if held is None:
            if len(self.values) >= MAX_FORMS:
                self.truncated = True
                return
            self.values[key] = [posting]
            kind = key[:2]
            if kind == "i:" and is_hash(key[2:]):
                self.hashes.append(key[2:])
            elif kind in ("p:", "q:"):
                self.phones.append(key[2:])
            elif kind == "d:" and not _BIRTH_KEY.search(leaf_key):
                self.years[int(key[2:6])] += 1
        elif len(held) < MAX_CARRIERS:
            held.append(posting)
        elif posting.unit is not None or not posting.part:
            if all(p.unit != posting.unit for p in held):
                held.append(posting)
            return
        if key.startswith("n:") and not posting.part:
            value = float(key[2:])
            self._numbers.append((value, posting))
            if posting.unit is not None:
                self._by_unit.setdefault(posting.unit.dimension, {}).setdefault(posting.unit, []).append((value, posting))

    def find(self, key: str) -> list[Posting]:
        """Where a value stands."""
        return self.values.get(key, [])

    def between(self, low: float, high: float) -> list[tuple[float, Posting]]:
        """Numbers of a range, ends included."""
        if self._sorted != len(self._numbers):
            self._numbers.sort(key=lambda item: item[0])
            self._sorted = len(self._numbers)
        first = bisect_left(self._numbers, low, key=lambda item: item[0])
        return self._numbers[first : bisect_right(self._numbers, high, key=lambda item: item[0])]

    def count_around(self, value: float) -> int:
        """How many distinct numbers are of the size of a value, up to ten times as large or as small."""
        return len({x for x, _ in self.between(abs(value) / 10, abs(value) * 10)})

    def by_unit(self, dimension: str) -> dict[Unit, list[tuple[float, Posting]]]:
        """Numbers that wear a unit of a dimension, by unit."""
        return self._by_unit.get(dimension, {})

    def is_usual_year(self, year: int) -> bool:
        """Whether a year is one that the conversation is about, or next to one; years of birth are not."""
        enough = 0.2 * max(self.years.values(), default=0)
        return any(self.years[y] >= enough and self.years[y] > 0 for y in (year - 1, year, year + 1))

    def has_word(self, word: str) -> list[Posting]:
        """Where a word stands, by any of its spellings."""
        for spelling in spellings_of(word):
            held = self.words.get(spelling)
            if held:
                return held
        return []
