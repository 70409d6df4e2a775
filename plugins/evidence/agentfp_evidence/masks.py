"""What in an answer is no value: list markers, numbering, names of standards and models, ratios, code."""

from __future__ import annotations

import re

_COMMON = re.compile(
    r"gpt-?\d[\w.-]*|o[1-9](?:-mini)?|claude-?\d[\w.-]*|llama-?\d[\w.-]*|gemini-?\d[\w.-]*|covid-?19|h1n1|sha-?(?:1|2|3|224|256"
    r"|384|512)|md5|aes-?(?:128|192|256)"
    r"|rsa-?\d{4}|utf-?(?:8|16|32)|ascii-?7|ipv[46]|http/?[123](?:\.\d)?|tls-?1\.\d|x86(?:[_-]64)?|x64|i386|arm64|amd64"
    r"|base(?:32|64)|rs-?(?:232|485)|usb-?(?:c|\d[\d.]*)"
    r"|mp[34]|h\.?26[45]|[23]fa|mfa2?|oauth-?2?(?:\.0)?|s3|ec2|k8s|i18n|l10n|a11y|b2[bcg]|c2c|p2p|r2d2|m365|o365|office365"
    r"|python-?[23](?:\.\d+)?|web[23](?:\.0)?|wi-?fi-?[4-7]e?"
    r"|[2-6]g|[248]k|\d{3,4}p|[23]d|co2|h2o|pm2\.5|pm10|vitamin-?[bdk]\d+|b12|a1c|hba1c|omega-?3|q[1-4]|h[12]|l[1-9]|p[0-9]"
    r"|t[1-4]|v\d|a[3-5]|ps[45]|m[1-4]|\d+x\d+|401k"
    r"|(?:[ckd]?m|ft|in)[23](?:/[a-z]{1,4})?|k?g/m[23]|ean-?13|iso-?\d{3,5}(?:-\d+)*|log4j|neo4j|d3|es6|es20\d\d|c\+\+\d\d|e2e|o2|n95|ffp[123]|s/4hana|w-?[249]|i-?9|1099|f-?16",
    re.IGNORECASE,
)
_STANDARD_BEFORE = re.compile(
    r"\b(?:ISO|IEC|RFC|DIN|EN|IEEE|ANSI|NIST|ASTM|PCI|CVE|PEP|GDPR|DSGVO|UTF|ASCII|Unicode|Windows|Office|Microsoft|iPhone|iOS"
    r"|Android|Python|Java|HTML|CSS|GPT|Boeing|Airbus"
    r"|Schengen|Vitamin|Omega|Formula|Covid)[ -]?(?:EN |ISO |IEC )?$",
    re.IGNORECASE,
)
_BASIS = re.compile(r"\b(?:per|pro|je|par|aux)\s$", re.IGNORECASE)
_LABEL_BEFORE = re.compile(
    r"(?:^|[^\w])(?:step|steps|section|figure|fig\.?|table|option|options|tier|priority|level|phase|part|chapter|appendix|question|article"
    r"|example|case|scenario|stage|rule|task|attempt|schritt|abschnitt|abbildung|tabelle|stufe|teil|kapitel|frage|beispiel"
    r"|étape|section|tableau"
    r"|niveau|partie|chapitre|annexe|exemple)\s?(?:#|no\.?|nr\.?|n°)?\s?$",
    re.IGNORECASE,
)
_NUMBERING = re.compile(r"\d{1,3}(?:\.\d{1,3})*[a-z]?|[a-z]\d{0,2}(?:\.\d{1,3})*|[ivx]+(?:[.-]\d{1,2})?", re.IGNORECASE)
_MARKER = re.compile(r"(?m)^[ \t>*_#|-]*(\d{1,3})(?:[.)]|\\\.|:)(?=[\s*_]|$)|^[ \t>*_-]*\((\d{1,2})\)(?=\s)")
_LABEL_AT_START = re.compile(
    r"(?m)^[ \t>*_#|-]*+(?:\d{1,2}[.)]\s+[*_]*+)?[^\W\d_][^\n:.!?|]{0,40}?[ #](\d{1,2})[*_]{0,2}(?::|[*_]{2}\s*$|\s*$|\s+[-\u2013(])"
)
_HEADING = re.compile(r"(?m)^#{1,6}\s+(\d{1,2}(?:\.\d{1,2})*)[.)]?\s")
_INLINE_MARKER = re.compile(r"(?<=[\s:;,])\(?(\d)\)(?=\s)")
_FOOTNOTE = re.compile(r"\[\^?(\d{1,3})\](?!\()")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


def is_common_name(token: str) -> bool:
    """Whether an identifier is the name of a standard, a model or the like, which everybody knows."""
    return _COMMON.fullmatch(token) is not None


def is_numbering(token: str) -> bool:
    """Whether a token may number a part of something, as ``2.1``, ``3b`` and ``IV-2`` do; ``QX-7788`` behind "case" is an identifier."""
    return _NUMBERING.fullmatch(token) is not None


def stands_behind_standard(text: str, at: int) -> bool:
    """Whether a number belongs to the name of a standard or a product line: ``ISO 8601``."""
    return _STANDARD_BEFORE.search(text[max(0, at - 30) : at]) is not None


def is_basis(text: str, at: int, end: int) -> bool:
    """Whether a number only says per how much something is stated: ``per 100 km``.

    Args:
        text: the answer.
        at: where the number begins.
        end: where it ends.
    """
    return _BASIS.search(text[max(0, at - 8) : at]) is not None and re.match(r"1(?:,?000?|0)?(?![\d.,])", text[at:end]) is not None


def stands_behind_label(text: str, at: int) -> bool:
    """Whether a number only counts parts of a document or a plan: ``step 2``."""
    return _LABEL_BEFORE.search(text[max(0, at - 30) : at]) is not None


def numbering(text: str) -> frozenset[int]:
    """Places of the digits that number lists, headings, footnotes and labels.

    Args:
        text: the answer, folded.
    """
    found: set[int] = set()
    for pattern in (_MARKER, _HEADING, _FOOTNOTE, _INLINE_MARKER):
        found.update(m.start(m.lastindex or 1) for m in pattern.finditer(text))
    labels = [(m.start(1), int(m[1])) for m in _LABEL_AT_START.finditer(text)]
    found.update(at for at, number in labels if number <= 20 and ((number > 1 and number - 1 in {n for _, n in labels}) or number == 1))
    return frozenset(found)


def code_blocks(text: str) -> list[tuple[int, int]]:
    """Places of fenced code."""
    return [m.span() for m in _FENCE.finditer(text)] if "```" in text else []
