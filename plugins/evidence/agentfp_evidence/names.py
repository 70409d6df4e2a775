"""Names of people, places, companies and products: capitalised words of an answer that nothing in the conversation holds.

A name is only called unsupported where it is reasonably safe that it is a name. What that takes differs by language: English
capitalises headings and labels, German every noun, French neither.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from agentfp_evidence.fold import fold_word
from agentfp_evidence.index import MAX_CARRIERS, Posting
from agentfp_evidence.lexicon import COMPANY_FORMS, FUNCTION_WORDS, PARTICLES, TITLES, is_common, is_given_name, word_list
from agentfp_evidence.moments import CAPITAL_MONTHS, WEEKDAYS
from agentfp_evidence.scan import Word
from agentfp_evidence.table import Table
from agentfp_evidence.units import unit_of
from agentfp_evidence.verdict import Verdict, supported, unsupported, unverifiable

_GAP = re.compile(r" ?|\. |-| & |\.")
_SENTENCE_END = re.compile(
    r"(?:[.!?:;\u2026]['\")\]*_]*\s+|\n\s*|\|\s*|^)[\s>*_#|+\-\"'(\[\u201e\u201c\u00ab\u2022]*(?:\d{1,3}[.)]\s*[*_]*)?$"
)
_GLOSS_BEHIND = re.compile(r"[*_]*\s?\(\s*([\w/-]+)\s*\)")
_GLOSS_BEFORE = re.compile(r"([\w-]+)\s?\($")
_EXAMPLE = re.compile(
    r"(?:\be\.\s?g\.|\bsuch as\b|\bfor example\b|\bfor instance\b|\bz\.\s?B\.|\bzum Beispiel\b|\bbeispielsweise\b|\bwie etwa\b"
    r"|\bp(?:ar)?\.?\s?ex(?:emple|\.)|\btel(?:le)?s? que\b)"
    r"[^.?!\n]*$"
)
_NEAR = 60
_CALLED = re.compile(r"(?:[a-z\u00df-\u00ff],|\b(?:Hi|Hello|Hey|Dear|Thanks,|Thank you,|Hallo|Bonjour|Welcome,?))\s[*_]*$")
_LONGEST_PLACE = 14
COUNTRIES = word_list("countries")
_REGIONS = dict(pair.split("=") for pair in word_list("regions"))
"""States and provinces that addresses name by a code."""
_CAMEL = re.compile(r"(?!Ma?c[A-Z]|[DO]['\u2019]|[DL][aeiu][A-Z])[^\W\d_]*[a-z][A-Z]")
"""A word with a capital inside, which names a product or a term of a trade."""
_FORMS_OF_ADDRESS = frozenset({"mr", "mrs", "ms", "herr", "herrn", "frau", "monsieur", "madame", "mme", "mlle"})
_POLITE = frozenset(
    [
        "dear",
        "hello",
        "hi",
        "thanks",
        "thank",
        "regards",
        "best",
        "sincerely",
        "hey",
        "welcome",
        "ciao",
        "hola",
        "salut",
        "hallo",
        "liebe",
        "lieber",
        "guten",
        "bonjour",
        "cher",
        "chère",
        "merci",
        "cordialement",
    ]
)


@dataclass(frozen=True, slots=True)
class NameSpan:
    """Adjacent capitalised words.

    Args:
        words: the words.
        opens: it opens a sentence, a line or a label, where any word may be capitalised.
    """

    words: tuple[Word, ...]
    opens: bool

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """Where it ends, a possessive ending left out."""
        last = self.words[-1]
        return last.end - 2 if last.text.lower().endswith(("'s", "\u2019s")) else last.end


def name_spans(text: str, words: list[Word]) -> Iterator[NameSpan]:
    """Runs of capitalised words.

    Args:
        text: the answer, folded.
        words: its words in order.
    """
    run: list[Word] = []
    pending: list[Word] = []
    for word in words:
        joined = bool(run) and _GAP.fullmatch(text[(pending or run)[-1].end : word.start]) is not None
        if word.text == "I" and text[word.end : word.end + 1] != ".":
            if run:
                yield _span(text, run)
            run, pending = [], []
            continue
        if joined and word.text[0].isupper() and not _ends_before(text, (pending or run)[-1], word):
            run.extend(pending)
            run.append(word)
            pending = []
        elif joined and word.text.lower() in PARTICLES and len(pending) < 2:
            pending.append(word)
        else:
            if run:
                yield _span(text, run)
            pending = []
            run = [word] if word.text[0].isupper() else []
    if run:
        yield _span(text, run)


def _ends_before(text: str, last: Word, word: Word) -> bool:
    """Whether the point between two words ends a sentence, and not an initial or a title."""
    return text[last.end : word.start].startswith(".") and len(last.text) > 1 and last.text.lower() not in TITLES


def _span(text: str, run: list[Word]) -> NameSpan:
    before = text[max(0, run[0].start - 40) : run[0].start]
    return NameSpan(tuple(run), _SENTENCE_END.search(before) is not None)


def judge_name(table: Table, text: str, span: NameSpan, language: str) -> tuple[int, int, Verdict] | None:
    """What is said of capitalised words; None where they are no name that one could speak of.

    Args:
        table: the evidence.
        text: the answer, folded.
        span: the words.
        language: as :func:`language_of` gives it; where it is not known, nothing is taken for a name.
    """
    words = [w for w in span.words if w.text.lower() not in PARTICLES]
    titled = False
    if any(fold_word(w.text) in _POLITE for w in words[:1]):  # "Guten Tag Frau Meyer": the name begins at the title
        titles = [i for i, w in enumerate(words) if fold_word(w.text) in TITLES]
        words = words[titles[0] :] if titles else words
    while words and fold_word(words[0].text) in (_POLITE | TITLES):
        titled = fold_word(words[0].text) in TITLES
        words = words[1:]
    behind = max((i + 1 for i, w in enumerate(words) if fold_word(w.text) in _FORMS_OF_ADDRESS), default=0)
    if 0 < behind < len(words):  # "Tag" of "Guten Tag Herr Brandt" is no name
        words, titled = words[behind:], True
    if not words:
        return None
    start, end = words[0].start, span.end
    held = [table.has_word(w.text) for w in words]
    both_names = len(words) == 2 and _is_given(words[0]) and all(fold_word(w.text) in table.names for w in words)
    if all(held) and both_names and not _stand_together(*held):
        return start, end, unsupported("weak", "recombined")
    if all(held):
        if len(words) > 1 or _is_name_word(words[0], language, span.opens):
            telling = [postings for w, postings in zip(words, held, strict=True) if fold_word(w.text) not in FUNCTION_WORDS]
            return start, end, supported("exact", [p for postings in telling or held for p in postings[:2]])  # "the" stands everywhere
        return None
    unknown = [w for w, postings in zip(words, held, strict=True) if not postings]
    strangers = [w for w in unknown if _is_name_word(w, language, span.opens and w is span.words[0] and len(words) == 1)]
    if len(words) > 1 and not strangers:
        strangers = [w for w in unknown if _is_given(w)]
        if strangers and not _person_like(words, strangers, table):
            strangers = []
    if not strangers and len(words) == 1 and unknown and _is_given(words[0]) and _is_addressed(text, words[0]):
        strangers = unknown
    if not strangers and len(words) == 2 and words[1] in unknown and _is_known_person(words[0], table):
        strangers = [words[1]]  # behind the given name of somebody here even a common word is a name
    if titled and len(words) <= 2 and not strangers and words[-1] in unknown and len(words[-1].text) > 2:
        strangers = [words[-1]]  # behind a title even a common word is a name
    if not strangers:
        return None
    if language != "en" and _is_labelled_name(words, held, strangers):
        return None
    if language == "de" and not _safe_in_german(span, words, strangers):
        return None
    if all(fold_word(w.text) in COUNTRIES for w in strangers):
        return start, end, unverifiable("common-knowledge")
    if _EXAMPLE.search(text[max(0, start - 90) : start]):
        return start, end, unverifiable("example")
    region = _REGIONS.get("-".join(fold_word(w.text) for w in words))
    if region is not None and table.has_word(region):
        return start, end, unverifiable("gloss", table.has_word(region)[:2])
    code = _code_of(table, fold_word(words[0].text), _is_given(words[0])) if len(words) == 1 else []
    if code:
        return start, end, unverifiable("gloss", code[:2])
    glossed = _gloss(table, text, start, end)
    if glossed:
        return start, end, unverifiable("gloss", glossed)
    # words of the run before the name proper belong to the sentence
    while len(words) > 1 and words[0] not in strangers and _is_plain(words[0]):
        words = words[1:]
    last = words[-1]
    finish = last.end - 2 if last.text.lower().endswith(("'s", "\u2019s")) else last.end
    return words[0].start, finish, unsupported("weak", "unknown-name")


def _stand_together(first: list[Posting], last: list[Posting]) -> bool:
    """Whether two words stand in one text or one object somewhere; True where not every place is known."""
    if max(len(first), len(last)) >= MAX_CARRIERS or any(p.part for p in (*first, *last)):
        return True
    for a in first:
        for b in last:
            if a.source is not b.source:
                continue
            if a.node is None or b.node is None:
                if a.node is b.node and abs(a.start - b.start) < _NEAR:
                    return True
            elif a.node is b.node or a.node[0] is b.node[0]:
                return True
    return False


def _is_labelled_name(words: list[Word], held: list[list[Posting]], strangers: list[Word]) -> bool:
    """A noun before a name that is held, as in "Kunde Vexatron": the noun is no part of the name."""
    if words[0] not in strangers or _is_given(words[0]) or len(words) < 2:
        return False
    rest = [w for w in words[1:] if fold_word(w.text) not in COMPANY_FORMS]
    return bool(rest) and all(held[words.index(w)] for w in rest)


def _is_given(word: Word) -> bool:
    folded = fold_word(word.text)
    if len(folded) < 3 or word.text.isupper() or folded in CAPITAL_MONTHS or folded in WEEKDAYS or folded in FUNCTION_WORDS:
        return False
    return is_given_name(folded)


def _is_addressed(text: str, word: Word) -> bool:
    """Whether a word is how the answer calls the person it speaks to: "I'm sorry, Peter, but"."""
    return _CALLED.search(text[max(0, word.start - 12) : word.start]) is not None and text[word.end : word.end + 1] in ("!", ",", ".", "?")


def _is_known_person(word: Word, table: Table) -> bool:
    folded = fold_word(word.text)
    return folded in table.names and _is_given(word) and not is_common(folded)


def _is_plain(word: Word) -> bool:
    folded = fold_word(word.text)
    return is_common(folded) and not is_given_name(folded)


def _person_like(words: list[Word], strangers: list[Word], table: Table) -> bool:
    """A given name that is a common word too counts only beside a word that is none."""
    others = [fold_word(w.text) for w in words if w not in strangers]
    return any(not is_common(w) or is_given_name(w) or w in table.names for w in others) or len(strangers) > 1


def _is_name_word(word: Word, language: str, opens: bool) -> bool:
    """Whether a capitalised word is hardly anything but a name."""
    if not language:
        return False
    text = word.text
    folded = fold_word(text)
    if (
        len(folded) < 3
        or text.isupper()
        or folded in CAPITAL_MONTHS
        or folded in WEEKDAYS
        or folded in COMPANY_FORMS
        or folded in FUNCTION_WORDS
        or unit_of(folded)
    ):
        return False
    if _CAMEL.match(text):
        return False
    if language == "en":
        pieces = re.split("['-]", folded)
        if all(len(p) < 3 or is_common(p) for p in pieces):
            return False
        return not opens or len(folded) > 3
    if language != "de":
        return not opens or _is_given(word)
    return True


_GERMAN_NOUN = re.compile(
    r"(?:ung|ungen|heit|keit|schaft|tion|tionen|ität|nummer|datum|zeit|preis|preise|kosten|betrag|art|weise|zahl|tag|tage"
    r"|stunden|name|adresse|karte|konto|code|status|klasse"
    r"|gebühr|gebühren|plan|liste|bericht|wert|werte|menge|stelle|seite|information|informationen|daten|dauer|größe|steuer"
    r"|summe|option|optionen|service|dienst|"
    r"fehler|meldung|lager|ware|waren|sendung|lieferung|paket|pakete|bestellung|rechnung|rechnungen|kunde|kunden|kundin|patient"
    r"|patientin|patienten)$",
    re.IGNORECASE,
)


def _safe_in_german(span: NameSpan, words: list[Word], strangers: list[Word]) -> bool:
    """In German a capitalised word is a noun; a name is safe behind a title, with a given name, or before a company's form."""
    if any(fold_word(w.text) in TITLES for w in span.words) or any(fold_word(w.text) in COMPANY_FORMS for w in span.words):
        return True
    if any(_is_given(w) and not is_common(fold_word(w.text)) for w in strangers):
        return True
    return len(words) >= 2 and not span.opens and len(strangers) == len(words) and not any(_GERMAN_NOUN.search(w.text) for w in words)


def _code_of(table: Table, name: str, is_person: bool) -> list[Posting]:
    """Where a code of three letters stands that shortens a name, as PHL does Philadelphia."""
    if not 5 <= len(name) <= _LONGEST_PLACE:
        return []
    codes = [name[:3]] if is_person else dict.fromkeys(name[0] + a + b for a, b in itertools.combinations(name[1:], 2))
    return next((held for code in codes if (held := table.find(f"s:{code}"))), [])


def _gloss(table: Table, text: str, start: int, end: int) -> list[Posting]:
    """Where the code stands that a name spells out, as in "Springfield (SPI)"; what a code stands for is common knowledge."""
    behind = _GLOSS_BEHIND.match(text, end)
    if behind is None:
        before = _GLOSS_BEFORE.search(text[max(0, start - 16) : start])
        code = before[1] if before is not None and text[end : end + 1] == ")" else None
    else:
        code = behind[1]
    if code is None or not (code.isalpha() and code.isupper()):
        return []
    return table.has_word(code) or table.find(f"i:{code.lower()}")
