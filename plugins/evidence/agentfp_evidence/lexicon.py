"""General word lists: what is a common word, a given name, a title. Read from data files when first needed."""

from __future__ import annotations

import gzip
from functools import cache
from importlib import resources

TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir madam herr herrn frau fräulein doktor monsieur madame mme mlle m maître dipl ing".split()
)
COMPANY_FORMS = frozenset("inc ltd llc llp plc corp gmbh ag se kg ohg sa sas sarl spa bv nv ab oy co".split())
PARTICLES = frozenset("de da di del della der den van von zu zum zur la le du des dos das bin ibn al el ter ten af av of".split())
FUNCTION_WORDS = frozenset(
    "i you he she it we they me him her us them my your his its our their this that these those what which who whom when where why how the a an and or but if "
    "so because as until while of at by for with about between into through during before after above below to from up down in out on off over under again then "
    "once here there all any both each few more most other some such no nor not only own same than too very can will just should now please however unfortunately "
    "also additionally currently yes okay sure great thanks hello note since although though could would may might must shall let once still yet "
    "ich du er sie es wir ihr ihnen ihre ihren ihrem ihres mein dein sein unser euer dies diese dieser dieses das der die den dem des ein eine einen einem eines und oder "
    "aber wenn weil als bis von bei mit nach aus zu zum zur auf für gegen ohne um über unter vor hinter neben zwischen nicht kein keine nur auch noch schon sehr "
    "hier dort dann jetzt heute morgen gestern leider bitte danke gerne gern ja nein hallo falls sobald damit dabei daher deshalb außerdem zudem derzeit momentan "
    "insgesamt folgende folgenden folgendes alle alles beide einige mehrere welche welcher was wer wann wo warum wie ob da dass laut gemäß bezüglich sowie guten "
    "je tu il elle nous vous ils elles le la les un une des du au aux ce cet cette ces mon ton son notre votre leur nos vos leurs mais ou et donc or ni car si que qui "
    "quoi dont où quand comment pourquoi avec sans pour par dans sur sous entre vers chez depuis pendant avant après très plus moins aussi encore déjà ici là voici voilà "
    "oui non merci bonjour malheureusement cependant actuellement veuillez souhaitez tous toutes tout toute aucun aucune chaque plusieurs quelques total".split()
)
_STOP = {
    "en": "the and of to in is are you your for with this that on it be have has was will from or not can please would we if here at as by an",
    "de": "der die das und ist sind sie ihr ihre ihnen für mit auf nicht ein eine einen wurde wird haben hat von zu im den dem des bei auch oder wie",
    "fr": "le la les et est sont vous votre vos pour avec sur ne pas un une des du de dans au aux que qui par ce cette a été ont nous ou",
}
STOP_WORDS = {language: frozenset(words.split()) for language, words in _STOP.items()}
_ENDINGS = (
    ("ies", ("y",)), ("ied", ("y",)), ("ing", ("", "e")), ("ed", ("", "e")), ("es", ("", "e")), ("s", ("",)), ("ly", ("", "le")),
    ("er", ("", "e")), ("ers", ("", "e")), ("able", ("", "e")), ("ible", ("", "e")), ("ness", ("",)), ("ment", ("",)),
    ("ments", ("",)), ("less", ("",)), ("ful", ("",)), ("wise", ("",)), ("ization", ("ize", "")), ("isation", ("ize", "")), ("ity", ("", "e")),
    ("ably", ("able",)), ("ise", ("ize",)), ("ised", ("ize",)), ("ising", ("ize",)), ("our", ("or",)), ("ours", ("or",)), ("ally", ("al", "")),
)  # fmt: skip
_BEGINNINGS = ("un", "re", "non", "pre", "over", "under", "sub", "multi", "mis", "dis", "co", "inter", "auto", "micro", "anti", "out", "up", "down")
_MODERN = frozenset(
    "app apps blog email emails online offline login logout signup website webpage web wifi smartphone laptop username metadata dataset datasets "
    "backend frontend checkout timestamp timestamps timeout url urls api apis pdf csv json html config configs repo repos admin plugin plugins "
    "nonstop roundtrip layover ok okay hi hello faq id ids info pickup carryon upcoming chatbot checkin prepaid workflow workflows inbox "
    "subtotal timeframe timeline cannot todo healthcare fintech crypto selfie podcast reschedule rebook rebooking invoicing onboarding "
    "markdown emoji codebase hotfix changelog namespace runtime middleware dropdown screenshot spreadsheet cybersecurity telehealth "
    "english german french spanish italian chinese japanese american british european african asian indian canadian mexican dutch swiss "
    "america europe africa asia internet".split()
)


@cache
def _words(name: str) -> frozenset[str]:
    packed = resources.files("agentfp_evidence").joinpath("data", name).read_bytes()
    return frozenset(gzip.decompress(packed).decode().split())


def is_given_name(word: str) -> bool:
    """Whether a folded word is a given name that is common somewhere."""
    return word in _words("given_names.txt.gz")


@cache
def is_common(word: str) -> bool:
    """Whether a folded word is an English word other than a name, or a usual form of one."""
    if word in _MODERN:
        return True
    words = _words("words_en.txt.gz")
    return word in words or any(base in words or base in _MODERN for base in _bases(word, 2))


def _bases(word: str, depth: int) -> set[str]:
    found: set[str] = set()
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            found.update(stem + end for end in instead)
            if len(stem) > 3 and stem[-1] == stem[-2]:
                found.add(stem[:-1])
    for beginning in _BEGINNINGS:
        if word.startswith(beginning) and len(word) - len(beginning) >= 4:
            found.add(word[len(beginning) :])
    if depth > 1:
        for base in tuple(found):
            found |= _bases(base, depth - 1)
    return found


def language_of(words: list[str]) -> str:
    """The language of some folded words: ``en``, ``de`` or ``fr``; English where nothing tells.

    Args:
        words: folded words of a text, in order.
    """
    best, most = "en", 0
    for language, stop in STOP_WORDS.items():
        hits = sum(word in stop for word in words)
        if hits > most:
            best, most = language, hits
    return best
