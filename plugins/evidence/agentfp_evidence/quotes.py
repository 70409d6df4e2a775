"""Quoted text: what an answer puts in quotation marks as somebody's or something's very words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from agentfp_evidence.fold import fold
from agentfp_evidence.index import Posting
from agentfp_evidence.sources import Source
from agentfp_evidence.verdict import Verdict, supported, unsupported

MAX_QUOTE = 400
_QUOTED = re.compile(
    r"(?P<double>(?<![\w\"])\"(?=\S)([^\"\n]{3,400}?)(?<=\S)\"(?!\w))|(?P<curly>\u201c([^\u201c\u201d\n]{3,400}?)\u201d)"
    r"|(?P<low>\u201e([^\u201e\u201c\u201d\n]{3,400}?)[\u201c\u201d])"
    r"|(?P<guillemet>\u00ab\s?([^\u00ab\u00bb\n]{3,400}?)\s?\u00bb)|(?P<tick>(?<!`)`([^`\n]{3,400}?)`(?!`))"
    r"|(?P<single>(?<![\w'])'(?=\S)([^'\n]{8,400}?)(?<=\S)'(?!\w))"
)
_REPORTS = re.compile(
    r"\b(?:errors?|exceptions?|messages?|says?|said|stat(?:es|ed|ing)|return(?:s|ed)|reads?|respon(?:se|ds|ded)|outputs?|logs?"
    r"|logged|warn(?:ing|s|ed)?|fail(?:s|ed|ure)?(?: with)?|reports?|reported"
    r"|writes?|wrote|according to|quote[sd]?|reason|fehler\w*|meldung\w*|meldet\w*|ausgabe|sagt\w*|schreibt|lautet|erreur"
    r"|message|indique|retourne|r\u00e9pond|\u00e9crit|dit)\b[^\n.!?]{0,50}$",
    re.IGNORECASE,
)
_MARKS = frozenset("\"'`\u201c\u201e\u00ab")
_FAILURE = re.compile(
    r"\b(?:\w*Error|\w*Exception)\b:? |\b(?:failed|fatal|error|denied|refused|not found|no such|cannot|can't|unable to|invalid|timed? ?out"
    r"|read-only|no space|out of memory|does not exist)\b.*\s",
    re.IGNORECASE,
)
"""Words of a program that did not succeed; who quotes them gives them as its words."""
_ASKS = re.compile(
    r"\b(?:say|reply|respond with|type|enter|select|choose|click|press|tap|answer|write|tell|search(?:ing)? for|ask|use|run"
    r"|call(?:ed)?|named?|titled|labell?ed|known as|so-called|term|word|phrase|option|button|field"
    r"|tab|menu|section|set to|confirm with|antworten|schreiben|eingeben|klicken|w\u00e4hlen|namens|genannt|sogenannte\w*"
    r"|r\u00e9pondez|tapez|cliquez|choisissez|appel\w+|nomm\w+)\b[^\n.!?]{0,20}$",
    re.IGNORECASE,
)
_CHOICE = re.compile(r",?\s(?:or|oder|ou)\s[\"\u201c\u201e\u00ab'][^\n.?!]*\?")
_CHOSEN = re.compile(r"[\"\u201d\u201c\u00bb'],?\s(?:or|oder|ou)\s$")
"""What the person may choose from is nobody's words."""
_SPACE = re.compile(r"\s+")
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|\u2026|\[\.\.\.\])\s*")
_PATH = re.compile(r"(?:[\w.-]+/)*[\w-]+\.[a-z][a-z0-9]{0,5}|(?:\.{0,2}/)?(?:[\w.-]+/)+[\w.-]+")


class Quote(NamedTuple):
    """A quoted text.

    Args:
        text: what stands between the marks.
        start: where it begins.
        end: where it ends.
        reported: the answer gives it as the words of a message, an error or a person.
        is_code: it stands in backticks.
    """

    text: str
    start: int
    end: int
    reported: bool
    is_code: bool


class QuoteFacet:
    """The plain text of every source, for texts that are quoted from it."""

    def __init__(self) -> None:
        self._pending: list[Source] = []
        self._texts: list[tuple[str, Source]] = []

    def add(self, source: Source) -> None:
        """Note a source; its text is made when first asked for."""
        self._pending.append(source)

    def has_like(self, path: str) -> bool:
        """Whether the sources hold files of the same kind in the same folder, so that one more could be among them.

        Args:
            path: a path, or the name of a file.
        """
        folder, _, name = path.lower().rpartition("/")
        ending = name.rpartition(".")[2] if "." in name else ""
        self.find("")
        return bool(ending) and any(re.search(rf"{re.escape(folder)}/?[\w-]+\.{re.escape(ending)}\b", text) for text, _ in self._texts)

    def find(self, quoted: str) -> list[Posting]:
        """The sources that hold a text word for word.

        Args:
            quoted: the text; what stands around an ellipsis is looked for piece by piece.
        """
        for source in self._pending:
            parts = [str(leaf.value) for leaf in source.reading.leaves if leaf.value is not None]
            self._texts.append((plain("\n".join(parts)), source))
        self._pending.clear()
        pieces = [p for p in (plain(piece).strip(" .,;:!?\"'") for piece in _ELLIPSIS.split(quoted)) if p]
        if not pieces:
            return []
        return [Posting(source, None) for text, source in self._texts if all(piece in text for piece in pieces)]


def plain(text: str) -> str:
    """A text without case, marks of emphasis and runs of space."""
    return _SPACE.sub(" ", fold(text).replace("*", "").replace("\u201c", '"').replace("\u201d", '"')).casefold()


def quotes_in(text: str) -> Iterator[Quote]:
    """The quoted texts of an answer that are worth asking about.

    Args:
        text: the answer, folded.
    """
    if not _MARKS.intersection(text):
        return
    for match in _QUOTED.finditer(text):
        kind = match.lastgroup or ""
        group = next(i for i in range(1, (match.re.groups or 0) + 1) if match[i] is not None) + 1
        inner, start, end = match[group], match.start(group), match.end(group)
        before = text[max(0, match.start() - 80) : match.start()]
        offered = _CHOICE.match(text, match.end()) is not None or _CHOSEN.search(before) is not None
        reported = (_REPORTS.search(before) is not None and not offered) or _FAILURE.search(inner) is not None
        words = inner.split()
        if kind == "tick" and len(words) == 1:
            if _PATH.fullmatch(inner) and not re.search(r"\d", inner):
                yield Quote(inner, start, end, False, True)
            continue
        if len(words) < 2 or (offered and not reported) or not any(c.isalpha() for c in inner) or (_ASKS.search(before) and not reported):
            continue
        if reported or (len(words) >= 4 and kind not in ("tick", "single") and not inner.istitle()):
            yield Quote(inner, start, end, reported, kind == "tick")


def judge_quote(facet: QuoteFacet, quote: Quote) -> Verdict:
    """Whether a quoted text stands somewhere word for word.

    Args:
        facet: the plain texts.
        quote: the quoted text.
    """
    held = facet.find(quote.text)
    if held:
        return supported("exact", held)
    return unsupported("strong" if quote.reported else "weak", "misquoted")
