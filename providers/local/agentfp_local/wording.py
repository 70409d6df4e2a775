"""The words of a text: which carry meaning, which belong together, and a grammar that allows no others."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable


def _list(words: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", words))


# Words that name no subject. Verbs of looking things up are among them: every tool looks something up.
FUNCTION_WORDS = frozenset(
    _list("""
    a about after all also am an and any are as at be been before by can could did do does fetch find for from get give had has
    have here how i if in into is it its let like list look lookup many me much my near no not of off on one or our out over
    please search should show some tell than that the their them then there these they this those to up us want was we were what
    when where which who whose why will with would you your
    """)
)
# Words between two names that belong to one: Rio de Janeiro, Isle of Man.
_PARTICLES = frozenset(_list("al da de del den der di do dos du el la las le los of the van von y"))
# Words that join others in a sentence.
_GLUE = _list("""
    a an and are at be both but by due first for from has have in is it its last next no not of on one or that the then there this
    to two was were which with yes
""")
_WORD = re.compile(r"\w[\w'\u2019./+*°%-]*\w|\w|[+*/=]", re.UNICODE)
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]+)[\"”»]|(?<!\w)'([^']+)'(?!\w)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDING = re.compile(r"(?<=\w\w)(?:ings?|ies|es|ed|e|s|y)$")
_LETTERS = re.compile(r"[^\W_]+")
MAX_GRAMMAR_WORDS = 400
"""More words than these make decoding slow."""


def stem(word: str) -> str:
    """A word without its ending, so that ``airports`` is ``airport``."""
    return _ENDING.sub("", word.lower())


def terms(text: str) -> set[str]:
    """Stems of the words of a text that carry meaning. Names of programs are taken apart: ``get_weather``, ``getWeather``."""
    return {stem(word) for word in _LETTERS.findall(_CAMEL.sub(" ", text)) if word.lower() not in FUNCTION_WORDS}


def spans(text: str, without: Collection[str] = ()) -> list[str]:
    """What a text may name: quoted parts, else names and numbers, else runs of words that carry meaning; each as it stands in the text.

    Args:
        text: what somebody said.
        without: stems of words that are no part of a name here.
    """
    quoted = [a or b for a, b in _QUOTED.findall(text)]
    if quoted:
        return _once(quoted)
    found: list[str] = []
    tokens = list(_WORD.finditer(text))
    at = 0
    while at < len(tokens):
        if not _means(tokens[at][0], without):
            at += 1
            continue
        end = _end_of_run(text, tokens, at, without)
        found.append(text[tokens[at].start() : tokens[end].end()])
        at = end + 1
    found = _once(found)
    names = [span for span in found if span[0].isupper() or span[0].isdigit()]
    within = [name for name in names if not _begins_sentence(text, name)]
    return within or names or found


def _begins_sentence(text: str, name: str) -> bool:
    """Whether a single word has its capital from standing first in a sentence only."""
    return " " not in name and name[1:].islower() and re.search(rf"(?:^|[.!?]\s+){re.escape(name)}\b", text) is not None


def _end_of_run(text: str, tokens: list[re.Match[str]], start: int, without: Collection[str]) -> int:
    """The last token of the run of words that begins at a token."""
    end = start
    while end + 1 < len(tokens) and not text[tokens[end].end() : tokens[end + 1].start()].strip():
        following = tokens[end + 1][0]
        if _means(following, without) and tokens[start][0][0].islower() == following[0].islower():
            end += 1
        elif following in _PARTICLES and end + 2 < len(tokens) and tokens[end][0][0].isupper() and tokens[end + 2][0][0].isupper():
            end += 2
        else:
            break
    return end


def _means(word: str, without: Collection[str]) -> bool:
    return word.lower() not in FUNCTION_WORDS and stem(word) not in without and (word[0].isalnum() or word in "+*/=")


def numbers(text: str) -> list[str]:
    """The numbers of a text, as they stand in it."""
    return _once(re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])", text))


def coordinated(text: str, found: list[str]) -> bool:
    """Whether spans are members of one list: joined by ``and``, ``or`` or commas, prepositions aside."""
    for left, right in itertools.pairwise(found):
        start = text.find(left) + len(left)
        between = text[start : text.find(right, start)].lower()
        if not re.fullmatch(r"\W*(?:and|or|,)?\W*(?:(?:also|in|at|for|of|the)\W+)*", between):
            return False
    return len(found) > 1


def _once(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


def grammar(*texts: str) -> str | None:
    """A grammar (GBNF) of one sentence in the words of texts and a few that join them; None when there are too many.

    Args:
        texts: whose words may be used.
    """
    words = [word.strip(".,;:!?()'\"") for text in texts for word in re.split(r"[\s\"{}\[\]]+", text)]
    words = _once(word for word in (*words, *_GLUE) if word)
    if len(words) > MAX_GRAMMAR_WORDS:
        return None
    first = _once(word[:1].upper() + word[1:] for word in words)
    return (
        'root ::= first (sep word){0,40} "."\n'
        'sep ::= " " | ", "\n'
        f"first ::= {' | '.join(map(_literal, first))}\n"
        f"word ::= {' | '.join(map(_literal, words))}\n"
    )


def _literal(text: str) -> str:
    """A text as a grammar's literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else f"\\U{ord(char):08X}" for char in escaped) + '"'
