"""The words around a value: what an answer calls it, and so what it may be derived by."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentfp_evidence.entries import words_of_key
from agentfp_evidence.index import Posting
from agentfp_evidence.lexicon import word_list
from agentfp_evidence.moments import CAPITAL_MONTHS, MONTHS, WEEKDAYS
from agentfp_evidence.words_pattern import any_of

_WORD = re.compile(r"[^\W\d_]+")
_CALENDAR = frozenset(name[:3] for name in (*MONTHS, *WEEKDAYS))
_MONTH = any_of(name.capitalize() for name in CAPITAL_MONTHS)
_SENTENCE = re.compile(rf"(?<=[^\s\d][.!?])\s(?=[A-ZÀ-Þ*_(\"„«])|(?<=\d[.!?])\s(?!{_MONTH})(?=[A-ZÀ-Þ*_(\"„«])|\n")
_NUMBER_BEFORE = re.compile(r"(?<![\w-])[$€£]?\d[\d.,]*(?![\w-])[^\n(=]?")
_CLAUSE_END = re.compile(r"[,.;:(\n]|\d")
_TABLE_REACH = 4_000
_RULE = re.compile(r"\|\s*:?-")
_BAR = re.compile(r"\|")
LABELS = {
    "sum": re.compile(
        r"\b(?:total\w*|sum|sums|summed|combined|altogether|together|overall|in all|subtotal|gesamt\w*|summe\w*|insgesamt"
        r"|suma|somma|soma|insieme|samen|totaal|totale|am?ounts? to|c[oa]me to|adds? to"
        r"|zusammen|totaux|somme|ensemble|costs?|comes to|coût\w*"
        r"|\w*kosten|refund\w*|charged?|spent|revenue|worth|brought in|adds? up|makes|making|umsatz|verbrauch\w*|used)\b",
        re.IGNORECASE,
    ),
    "difference": re.compile(
        r"\b(?:difference|differenz|différence|refund\w*|sav\w+|additional\w*|remain\w*|left|leav(?:es?|ing)|more|less|extra|owed?|due|changed?"
        r"|increase[ds]?|decrease[ds]?|rose|fell|grew"
        r"|drop\w*|gain\w*|net|rest\w*|verbleib\w*|bleib\w*|blieb\w*|übrig\w*|mehr|weniger|reste\w*|économi\w*|plus|moins|charged?|short\w*"
        r"|mehrkosten|free|frei\w*|libre\w*"
        r"|diferencia|differenza|diferença|verschil|ahorr\w*|risparmi\w*|economiz\w*|bespa\w*|qued\w*|sobr\w+|falt\w+|riman\w*|más|menos|più|meer"
        r"|ahead|behind|cheaper|higher|lower|longer|shorter|margin|gap|profit|gewinn|bénéfice|growth|wachstum|croissance|up"
        r"|by|minus|back|zurück|leads?|gefallen|gesunken|gestiegen|sank|stieg|fallen|risen|baiss\w*|hauss\w*|augment\w*|diminu\w*)\b",
        re.IGNORECASE,
    ),
    "mean": re.compile(
        r"\b(?:average\w*|mean|avg|durchschnitt\w*|im schnitt|mittel\w*|moyenne\w*|typical\w*|median\w*"
        r"|médiane|promedio|gemiddeld\w*|in media|de media|em média)\b",
        re.IGNORECASE,
    ),
}
"""Words by which an answer calls a number a total, a difference or a mean."""
NUMBER_WORDS = {
    word: value
    for value, words in {
        2: "two zwei deux both beide beiden", 3: "three drei trois", 4: "four vier quatre", 5: "five fünf cinq", 6: "six sechs",
        7: "seven sieben sept",
        8: "eight acht huit", 9: "nine neun neuf", 10: "ten zehn dix", 11: "eleven elf onze", 12: "twelve zwölf douze dozen",
    }.items()
    for word in words.split()
}  # fmt: skip


def sentence_around(text: str, start: int, end: int, reach: int = 240) -> tuple[int, int]:
    """Where the sentence or line around a place begins and ends.

    Args:
        text: the answer.
        start: where the place begins.
        end: where it ends.
        reach: characters to look at most in each direction.
    """
    first, last = max(0, start - reach), min(len(text), end + reach)
    for before in _SENTENCE.finditer(text, first, start):
        first = before.end()
    behind = _SENTENCE.search(text, end, last)
    return first, last if behind is None else behind.start()


_ADVICE = re.compile(
    r"\b(?:(?:I|we)(?:'d| would)? (?:recommend|suggest|advise)|recommended to|please (?:arrive|allow|plan)|usually|typically|generally|tip:"
    r"|in der Regel|normalerweise|ich empfehle|wir empfehlen|bitte planen Sie|en général|généralement|je (?:vous )?recommande"
    r"|je (?:vous )?conseille)(?!\w)",
    re.IGNORECASE,
)


def gives_advice(text: str, start: int, end: int) -> bool:
    """Whether the words before a value in its sentence say that it is advice or a general rule, and no finding.

    Args:
        text: the answer.
        start: where the value begins.
        end: where it ends.
    """
    first, _ = sentence_around(text, start, end)
    return _ADVICE.search(text[first:start]) is not None


_THRESHOLD = re.compile(
    r"[*_]*(?:\s[^\W\d_]+)?\s(?:or (?:more|less|fewer|higher|lower|above|below|better|over|under|later|earlier)"
    r"|and (?:above|over|up|older|higher)|oder (?:mehr|weniger|besser|h\u00f6her)|et plus|ou plus|ou moins)\b",
    re.IGNORECASE,
)


def is_threshold(text: str, start: int, end: int) -> bool:
    """Whether a number is the bound of a group that the answer forms: "three scored 40 or more".

    Args:
        text: the answer.
        start: where the number begins.
        end: where it ends.
    """
    return end - start <= 4 and _THRESHOLD.match(text, end) is not None


def names_field(sentence: str, keys: Iterable[str]) -> bool:
    """Whether a sentence names a field by a telling word of its key; a weekday or a month also by its first letters.

    Args:
        sentence: a sentence of the answer.
        keys: words of the field's key.
    """
    said = [w.lower() for w in _WORD.findall(sentence) if len(w) > 2]
    return any(
        (len(key) > 3 and same_noun(word, key)) or (len(key) == 3 and (word == key or (key in _CALENDAR and word.startswith(key))))
        for key in keys
        for word in said
    )


_END = re.compile(
    r"\b(?:ends?|ending|until|till|to|arriv\w*|land\w*|back|finish\w*|over|done|ready|leave|leaving|so|by|then|lasts?"
    r"|endet|bis|ankomm\w*|ankunft|fertig|also|jusqu\w*|arriv\w*|fin\w*)\b",
    re.IGNORECASE,
)


def names_an_end(before: str) -> bool:
    """Whether the words before a time call it the end or the start of something that lasts.

    Args:
        before: the words before it.
    """
    return _END.search(before) is not None


def sentence_starts(text: str) -> list[int]:
    """Where the sentences and lines of a text begin."""
    return [0, *(m.end() for m in _SENTENCE.finditer(text))]


def column_header(text: str, at: int) -> str:
    """The heading of the column of a markdown table that a place stands in; empty outside of tables.

    Args:
        text: the answer.
        at: a place in it.
    """
    line = text.rfind("\n", max(0, at - _TABLE_REACH), at) + 1
    if at - line > _TABLE_REACH or not text.startswith("|", line):
        return ""
    rule = text.rfind("\n|-", max(0, line - _TABLE_REACH), line)
    rule = max(rule, text.rfind("\n| -", max(0, line - _TABLE_REACH), line), text.rfind("\n|:", max(0, line - _TABLE_REACH), line))
    if rule < 0 or "\n\n" in text[rule:line]:
        return ""
    cells = text[text.rfind("\n", 0, rule) + 1 : rule].split("|")
    column = text.count("|", line, at)
    return cells[column] if column < len(cells) else ""


def row_head(text: str, at: int) -> str:
    """The first cell of the row of a markdown table that a place stands in; empty in that cell itself.

    Args:
        text: the answer.
        at: a place in a row.
    """
    line = text.rfind("\n", 0, at) + 1
    cells = text[line:at].split("|")
    return cells[1] if len(cells) > 2 else ""


def cells_above(text: str, at: int) -> list[tuple[int, int]]:
    """Where the cells of a markdown table stand that are above a place, in its column, the first one first.

    Args:
        text: the answer.
        at: a place in a row.
    """
    line = text.rfind("\n", 0, at) + 1
    column = text.count("|", line, at)
    found: list[tuple[int, int]] = []
    while line > 1:
        end = line - 1
        line = text.rfind("\n", 0, end) + 1
        if not text.startswith("|", line) or _RULE.match(text, line):
            break
        bars = [m.start() for m in _BAR.finditer(text, line, end)]
        if column < len(bars):
            found.append((bars[column - 1], bars[column]))
    return found[::-1]


def label_around(text: str, start: int, end: int) -> str:
    """The words by which an answer calls a value: back to the number before it, and on to the end of the clause.

    Args:
        text: the answer.
        start: where the value begins.
        end: where it ends.
    """
    first, last = sentence_around(text, start, end, 120)
    header = column_header(text, start)
    if header:
        return f"{header} {row_head(text, start)}"
    before = text[first:start]
    digits = [m.end() for m in _NUMBER_BEFORE.finditer(before)]
    if digits and before[digits[-1] :].strip(" (") == "" and "(" in before[digits[-1] - 1 :]:
        digits.pop()  # what stands in brackets behind a number is called what the number is called
    if digits:
        before = before[digits[-1] :]
    behind = _CLAUSE_END.split(text[end : min(last, end + 30)])[0]
    return f"{before} {behind}"


def is_labelled(text: str, start: int, end: int, label: str) -> bool:
    """Whether an answer calls a value a sum, a difference or a mean.

    Args:
        text: the answer.
        start: where the value begins.
        end: where it ends.
        label: a key of :data:`LABELS`.
    """
    return LABELS[label].search(label_around(text, start, end)) is not None


def nouns_around(text: str, start: int, end: int) -> list[str]:
    """The words that say what a number counts: those behind it, and the label before it.

    Args:
        text: the answer.
        start: where the number begins.
        end: where it ends.
    """
    behind = re.match(r"[*_]*[ -](?:(?:of|von|de|des) (?:the |den |les )?(?:\d+ )?)?((?:[^\W\d_]+[ -]?){1,4})", text[end : end + 60])
    words = _WORD.findall(behind[1]) if behind else []
    before = text[max(0, start - 60) : start].rstrip(" *_")
    if before.endswith((":", "=")):
        label = re.split(r"[\n.;:,|(]", before[:-1])[-1]
        words += _WORD.findall(label)[-5:]
    return [w.lower() for w in words if len(w) > 2]


_MONEY_WORDS = word_list("money_words")


def speaks_of_money(words: Iterable[str]) -> bool:
    """Whether words name an amount of money.

    Args:
        words: words of a key, lower case.
    """
    return any(word in _MONEY_WORDS for word in words)


def speaks_of(label: str, keys: Iterable[str]) -> bool:
    """Whether words of an answer name a field: they share a word, or both speak of prices.

    Args:
        label: the words around a value.
        keys: words of the field's key and of those above it.
    """
    said = [w.lower() for w in _WORD.findall(label) if len(w) > 2]
    if any(same_noun(a, b) for a in said for b in keys if len(b) > 2):
        return True
    return any(k in _MONEY_WORDS for k in keys) and any(w in _MONEY_WORDS for w in said)


def same_noun(a: str, b: str) -> bool:
    """Whether two words are forms of one noun: equal but for an ending."""
    if a == b:
        return True
    shared = min(len(a), len(b))
    return shared >= 3 and abs(len(a) - len(b)) <= 2 and a[: max(3, shared - 1)] == b[: max(3, shared - 1)] and a[0] == b[0]


def words_naming(posting: Posting) -> tuple[str, ...]:
    """The words by which a result names a number: its key, or what stands before it on its line."""
    node = posting.node
    while node is not None:
        node, key = node
        if isinstance(key, str):
            return words_of_key(key)
    text = posting.source.text
    line = text.rfind("\n", max(0, posting.start - 80), posting.start) + 1
    return words_of_key(text[max(line, posting.start - 60) : posting.start])
