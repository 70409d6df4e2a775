"""The ways in which a secret is written down: as it is, quoted, in base64, in hex, in an address."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote, quote_plus


def forms_of(secret: str) -> set[str]:
    """The ways in which a secret is usually written down."""
    raw = secret.encode("utf-8", "surrogatepass")
    quoted = {quote(secret, safe="", errors="replace"), quote(secret, errors="replace"), quote_plus(secret, errors="replace")}
    forms = {secret, raw.hex(), raw.hex().upper(), *quoted, *[_lower_escapes(text) for text in quoted]}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        forms |= {encode(raw).decode(), encode(raw).decode().rstrip("=")} | _inside_base64(raw, encode)
    forms |= {repr(secret)[1:-1], ascii(secret)[1:-1]}  # as Python shows a text in a list or in an error
    escaped = {secret}
    for _ in range(3):  # JSON in JSON in JSON
        escaped = {json.dumps(text, ensure_ascii=ascii_only)[1:-1] for text in escaped for ascii_only in (True, False)}
        forms |= escaped | {text.replace("/", "\\/") for text in escaped}
    return {form for form in forms if len(form) >= 4}


_END = 16
"""Characters of a secret that tell that it ends."""
_ESCAPED = re.compile(r"""["'\\/\n\t]|[^\x20-\x7e]""")
"""Characters that are written in another way in JSON or by Python."""


class Quoted(NamedTuple):
    """What finds a secret that was quoted, in such a text again, and so on."""

    plain: str
    """A part of it that quoting leaves alone."""
    whole: re.Pattern[str]
    end: re.Pattern[str]
    """Finds its last characters."""
    chars: int
    """Its length; quoted, it is no shorter."""

    def ends_in(self, before: str, text: str) -> bool:
        """Whether its last characters end in a text that stands after another one."""
        both = before + text
        found = self.end.search(both)
        while found is not None and found.end() <= len(before):
            found = self.end.search(both, found.start() + 1)
        return found is not None


def quoted_at_any_depth(secret: str) -> Quoted | None:
    """What finds a secret that was quoted in JSON or by Python, at any depth; None where quoting changes nothing."""
    plain = max(_ESCAPED.split(secret), key=len)
    if plain in ("", secret):
        return None
    chars = [_quoted(char) if _ESCAPED.match(char) else re.escape(char) for char in secret]
    return Quoted(plain, re.compile("".join(chars)), re.compile("".join(chars[-_END:])), len(secret))


def _quoted(char: str) -> str:
    if char == "\\":
        return r"\\+"
    codes = [re.escape(code) for code in json.dumps(char)[1:-1].split("\\") if code]
    return rf"\\*(?:{re.escape(char)}|" + r"\\+".join(codes) + ")"


def _lower_escapes(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), text)


def _inside_base64(raw: bytes, encode: Callable[[bytes], bytes]) -> set[str]:
    """What is left of a secret in the base64 of a longer text, such as ``user:secret``, wherever in it it begins."""
    made = set()
    for before in range(3):
        text = encode(b"\0" * before + raw).decode()
        whole = text[(before * 8 + 5) // 6 : (before + len(raw)) * 8 // 6]
        if len(whole) >= 8:
            made.add(whole)
    return made
