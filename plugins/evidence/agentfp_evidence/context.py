"""The words around a value: what an answer calls it, and so what it may be derived by."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"(?<=[^\W\d_][.!?])\s|(?<=[)\]*_][.!?])\s|(?<=\d\.)\s(?=[A-ZÄÖÜ])|\n")
LABELS = {
    "sum": re.compile(
        r"\b(?:total\w*|sum|sums|summed|combined|altogether|overall|in all|subtotal|gesamt\w*|summe\w*|insgesamt|zusammen|totaux|somme|ensemble|cost|costs|comes to|amounts?"
        r"|price|payment|refund\w*|charged?|spent|revenue|umsatz|coût|montant|betrag|kosten|balance|used|verbrauch\w*)\b",
        re.IGNORECASE,
    ),
    "difference": re.compile(
        r"\b(?:difference|differenz|différence|refund\w*|sav\w+|additional\w*|remain\w*|left|more|less|extra|owed?|due|change[ds]?|increase[ds]?|decrease[ds]?|rose|fell|grew"
        r"|drop\w*|gain\w*|net|free|available|rest\w*|verbleib\w*|übrig\w*|mehr|weniger|frei\w*|reste\w*|économi\w*|plus|moins|libre\w*|charged?|balance|short|pay|mehrkosten"
        r"|ahead|behind|cheaper|higher|lower|longer|shorter|margin|gap|profit|gewinn|bénéfice)\b",
        re.IGNORECASE,
    ),
    "mean": re.compile(r"\b(?:average\w*|mean|avg|durchschnitt\w*|mittel\w*|moyenne\w*|typical\w*|median\w*|médiane)\b", re.IGNORECASE),
    "extreme": re.compile(
        r"\b(?:min\w*|max\w*|lowest|highest|cheapest|largest|smallest|peak\w*|most|least|niedrigste\w*|höchste\w*|günstigste\w*)\b", re.IGNORECASE
    ),
    "duration": re.compile(
        r"\b(?:duration|takes?|took|lasts?|lasted|long|after|later|apart|between|within|total|travel|flight|ago|since|layover|connection|dauer\w*|dauert\w*|lang"
        r"|durée|dure|downtime|elapsed|window|until|before|earlier|delay\w*|late|verspät\w*|retard)\b",
        re.IGNORECASE,
    ),
}
NUMBER_WORDS = {
    word: value
    for value, words in {
        2: "two zwei deux both beide beiden", 3: "three drei trois", 4: "four vier quatre", 5: "five fünf cinq", 6: "six sechs", 7: "seven sieben sept",
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
    first = max(0, start - reach)
    for match in _SENTENCE.finditer(text, first, start):
        first = match.end()
    match = _SENTENCE.search(text, end, min(len(text), end + reach))
    return first, match.start() if match else min(len(text), end + reach)


def is_labelled(text: str, start: int, end: int, label: str) -> bool:
    """Whether the sentence around a value calls it a sum, a difference, a mean or the like.

    Args:
        text: the answer.
        start: where the value begins.
        end: where it ends.
        label: a key of :data:`LABELS`.
    """
    first, last = sentence_around(text, start, end, 120)
    return LABELS[label].search(text, first, last) is not None


def nouns_around(text: str, start: int, end: int) -> list[str]:
    """The words that say what a number counts: those behind it, and the label before it.

    Args:
        text: the answer.
        start: where the number begins.
        end: where it ends.
    """
    behind = re.match(r"[*_]*[ -](?:of the |of )?((?:[^\W\d_]+[ -]?){1,4})", text[end : end + 60])
    words = _WORD.findall(behind[1]) if behind else []
    label = re.search(r"((?:[^\W\d_]+[ _/-]?){1,5})[*_]*\s?[:=(]?[*_]*\s?[:=]?\s?[*_]*$", text[max(0, start - 60) : start])
    if label is not None and re.search(r"[:=][*_\s]*$", text[max(0, start - 8) : start]):
        words += _WORD.findall(label[1])
    return [w.lower() for w in words if len(w) > 2]


def same_noun(a: str, b: str) -> bool:
    """Whether two words are forms of one noun: equal but for an ending."""
    if a == b:
        return True
    shared = min(len(a), len(b))
    return shared >= 3 and abs(len(a) - len(b)) <= 2 and a[: max(3, shared - 1)] == b[: max(3, shared - 1)] and a[0] == b[0]
