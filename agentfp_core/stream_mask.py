"""Known secret values in a text that comes in pieces: each piece is read once, however long the values are."""

from __future__ import annotations

from agentfp_core.redaction import SecretMask

_END = 256
"""Characters kept at hand to see where a quoted value ends: ample for the depth of quoting whose beginnings are kept back."""


class StreamMask:
    """Masks known values in a text that comes in pieces; keeps back what may be the beginning of one. A reply filter.

    Args:
        mask: the values.
    """

    def __init__(self, mask: SecretMask) -> None:
        self._mask = mask
        self._kept: list[str] = []
        self._kept_chars = 0
        self._end = ""
        """The last characters that are kept back."""
        self._beginnings: list[_Beginning] = []

    def feed(self, text: str) -> str:
        """Take a piece; give what can be shown by now."""
        forms = self._mask.forms()
        if len(forms) != len(self._beginnings):  # values came to be known since
            self._beginnings = [_Beginning(form) for form in forms]
            return self._begun_anew(self._mask.mask_text(self._taken() + text))
        ended = False
        for beginning in self._beginnings:
            ended |= beginning.feed(text)
        if ended or self._mask.quoted_may_end(self._end, text, self._kept_chars + len(text)):
            whole = "".join([*self._kept, text])
            known = self._mask.mask_text(whole)
            if ended or known != whole:
                self._taken()
                return self._begun_anew(known)
        return self._passed(text)

    def finish(self) -> str:
        """The text is complete: give the rest."""
        rest = self._taken()
        for beginning in self._beginnings:
            beginning.length = 0
        return rest

    def _taken(self) -> str:
        kept = "".join(self._kept)
        self._kept, self._kept_chars, self._end = [], 0, ""
        return kept

    def _begun_anew(self, known: str) -> str:
        """Go on after a masked text, with nothing kept back before it."""
        for beginning in self._beginnings:
            beginning.length = 0
            beginning.feed(known)
        return self._passed(known)

    def _passed(self, text: str) -> str:
        """Keep back the longest beginning of a value that the text so far ends with; give what stands before it."""
        keep = max([beginning.length for beginning in self._beginnings], default=0)
        shown = ""
        if keep == self._kept_chars + len(text):
            self._kept.append(text)
            self._end = (self._end + text)[-_END:]
        else:
            whole = "".join([*self._kept, text])
            shown, kept = whole[: len(whole) - keep], whole[len(whole) - keep :]
            self._kept = [kept]
            self._end = kept[-_END:]
        self._kept_chars = keep
        return shown


class _Beginning:
    """How much of the beginning of a value a text ends with, as the text comes in (Knuth-Morris-Pratt).

    Args:
        form: the value, in the form that is looked for.
    """

    __slots__ = ("_borders", "_form", "length")

    def __init__(self, form: str) -> None:
        self._form = form
        self._borders = [0]
        self.length = 0
        """Characters of the value that the text ends with; never all of them."""

    def feed(self, text: str) -> bool:
        """Read on.

        Returns:
            Whether the whole value came to stand in the text; then the length says nothing until it is set.
        """
        form = self._form
        if self.length:
            if len(text) < len(form) - self.length and form.startswith(text, self.length):
                self.length += len(text)
                return False
        elif form[0] not in text:
            return False
        if len(text) >= len(form):
            text = form[: self.length] + text
            if form in text:
                return True
            self.length, text = 0, text[len(text) - len(form) + 1 :]
        return self._by_character(text)

    def _by_character(self, text: str) -> bool:
        form, length, at = self._form, self.length, 0
        while at < len(text):
            if not length:
                at = text.find(form[0], at)
                if at < 0:
                    break
            while length and form[length] != text[at]:
                length = self._border(length)
            if form[length] == text[at]:
                length += 1
                if length == len(form):
                    return True
            at += 1
        self.length = length
        return False

    def _border(self, length: int) -> int:
        """Characters of the longest proper beginning of the value's first characters that these end with as well."""
        form, borders = self._form, self._borders
        while len(borders) < length:
            border, char = borders[-1], form[len(borders)]
            while border and form[border] != char:
                border = borders[border - 1]
            borders.append(border + (form[border] == char))
        return borders[length - 1]
