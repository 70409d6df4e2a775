"""Redaction: the funnel between the live record, which is never masked, and everything that is served of it."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from agentfp_core import jsontext
from agentfp_core.errors import ConfigError
from agentfp_core.events.app import AppEvent
from agentfp_core.events.base import Event, Mark, Payload, UnknownPayload, marks_of, per_class

PLACEHOLDER = "[REDACTED]"
"""What stands in place of masked text. It is never a value."""


@dataclasses.dataclass(frozen=True)
class RedactionPolicy:
    """What to mask in everything that is served: exports, listeners, saved recordings. Never what the model reads.

    Args:
        keys: names; the value under such a key is masked at any depth of any JSON data.
        patterns: regular expressions by name; what matches is masked in any text.
        content: mask everything that a person, a model or a tool wrote.

    Raises:
        ConfigError: nothing would be masked, a key is no name, or a pattern is no regular expression; lists all problems.
    """

    keys: Iterable[str] = ()
    patterns: Mapping[str, str | re.Pattern[str]] | Iterable[str | re.Pattern[str]] = ()
    content: bool = False
    _keys: frozenset[str] = dataclasses.field(init=False, repr=False)
    _patterns: dict[str, re.Pattern[str]] = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        keys = (self.keys,) if isinstance(self.keys, str) else tuple(self.keys)
        problems = [f"RedactionPolicy.keys takes names, got {k!r}" for k in keys if not isinstance(k, str) or not k.strip()]
        compiled: dict[str, re.Pattern[str]] = {}
        named = self.patterns.items() if isinstance(self.patterns, Mapping) else [(None, p) for p in self.patterns]
        for name, pattern in named:
            try:
                regex = re.compile(pattern)
            except (re.error, TypeError) as error:
                problems.append(f"RedactionPolicy.patterns[{name!r}] is no regular expression: {error}")
                continue
            compiled[name or hashlib.sha256(regex.pattern.encode()).hexdigest()[:12]] = regex
        if not keys and not compiled and not self.content and not problems:
            problems.append("a RedactionPolicy without keys, patterns or content masks nothing; leave it out or say what to mask")
        if problems:
            raise ConfigError(problems)
        object.__setattr__(self, "_keys", frozenset(keys))
        object.__setattr__(self, "_patterns", compiled)

    @property
    def names(self) -> tuple[str, ...]:
        """The policy in words that may be recorded: no pattern stands in them."""
        parts = [f"key:{key}" for key in sorted(self._keys)] + [f"pattern:{name}" for name in sorted(self._patterns)]
        return (*parts, *(("content",) if self.content else ()))

    def joined(self, other: RedactionPolicy | None) -> RedactionPolicy:
        """A policy that masks what either masks."""
        if other is None:
            return self
        patterns: dict[str, str | re.Pattern[str]] = dict(self._patterns | other._patterns)
        return RedactionPolicy(self._keys | other._keys, patterns, self.content or other.content)

    def apply(self, event: Event) -> Event:
        """The event as it may be served."""
        return event._replace(payload=_masked(event.payload, self.mask_text))

    def mask_text(self, text: str) -> str:
        """A text as it may be served."""
        if self.content:
            return PLACEHOLDER
        if self._keys and text[:1] in ("{", "["):
            text = self._mask_json(text)
        for pattern in self._patterns.values():
            text = pattern.sub(PLACEHOLDER, text)
        return text

    def _mask_json(self, text: str) -> str:
        try:
            data = jsontext.parse(text)
        except ValueError:
            return text
        masked = self._mask_value(data)
        return text if masked is data else json.dumps(masked, ensure_ascii=False, separators=(",", ":"))

    def _mask_value(self, value: Any) -> Any:
        """The value with named keys masked; the same object when nothing was."""
        if isinstance(value, dict):
            items = {k: PLACEHOLDER if k in self._keys else self._mask_value(v) for k, v in value.items()}
            return items if any(items[k] is not value[k] for k in value) else value
        if isinstance(value, list):
            made = [self._mask_value(item) for item in value]
            return made if any(a is not b for a, b in zip(made, value, strict=True)) else value
        if isinstance(value, str) and value[:1] in ("{", "["):
            masked = self._mask_json(value)
            return value if masked == value else masked
        return value


def conversation_redaction(*, keys: Iterable[str] = (), patterns: Mapping[str, str] | Iterable[str] = ()) -> RedactionPolicy:
    """The policy that masks everything a person, a model or a tool wrote, and leaves names, numbers and digests.

    Args:
        keys: further names to mask.
        patterns: further patterns.
    """
    return RedactionPolicy(keys, patterns, content=True)


@per_class
def _plan(cls: type[Any]) -> tuple[tuple[str, Mark | type[Any]], ...]:
    return tuple(marks_of(cls).items())


def _masked(payload: Any, mask: Callable[[str], str]) -> Any:
    """A payload or part with its content masked; names that are no names (they hold a blank) are masked too."""
    if isinstance(payload, (AppEvent, UnknownPayload)):
        masked = mask(payload.data)
        return type(payload)(masked if masked != PLACEHOLDER else json.dumps(PLACEHOLDER))
    changes: dict[str, Any] = {}
    for name, mark in _plan(type(payload)):
        value = getattr(payload, name)
        if value is None or mark is Mark.NUMBER or mark is Mark.HASH:
            continue
        if mark is Mark.NAME:
            new: Any = _each(value, lambda text: PLACEHOLDER if any(c.isspace() for c in text) else text)
        elif mark is Mark.CONTENT:
            new = _each(value, mask)
        else:
            new = tuple([_masked(item, mask) for item in value]) if isinstance(value, tuple) else _masked(value, mask)
        if new is not value:
            changes[name] = new
    return dataclasses.replace(payload, **changes) if changes else payload


def _each(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, tuple):
        made = tuple([_each(item, mask) for item in value])
        return made if made != value else value
    return value


class SecretMask:
    """Masks known secret values, and their usual encodings, wherever they stand in a text.

    Args:
        secrets: the values; read at each use, so that later ones count.
    """

    def __init__(self, secrets: set[str]) -> None:
        self._secrets = secrets
        self._known = 0
        self._pattern: re.Pattern[str] | None = None

    def mask_text(self, text: str) -> str:
        """The text without the values."""
        if len(self._secrets) != self._known:
            self._known = len(self._secrets)
            forms = {form for secret in self._secrets for form in _forms(secret)}
            self._pattern = re.compile("|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)))
        return text if self._pattern is None else self._pattern.sub(PLACEHOLDER, text)

    def apply(self, event: Event) -> Event:
        """The event without the values, in whatever field they stand."""
        if not self._secrets:
            return event
        payload: Payload = _masked_everywhere(event.payload, self.mask_text)
        call_id = None if event.call_id is None else self.mask_text(event.call_id)
        return event._replace(payload=payload, call_id=call_id)


def _masked_everywhere(payload: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(payload, (AppEvent, UnknownPayload)):
        return type(payload)(mask(payload.data))
    changes = {}
    for name, mark in _plan(type(payload)):
        value = getattr(payload, name)
        if isinstance(mark, Mark):
            new = _each(value, mask)
        elif value is None:
            continue
        else:
            new = tuple([_masked_everywhere(item, mask) for item in value]) if isinstance(value, tuple) else _masked_everywhere(value, mask)
        if new is not value:
            changes[name] = new
    return dataclasses.replace(payload, **changes) if changes else payload


def _forms(secret: str) -> set[str]:
    raw = secret.encode("utf-8", "surrogatepass")
    forms = {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret, safe="", errors="replace"),
        quote(secret, errors="replace"),
    }
    forms |= {base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("="), raw.hex()}
    return {form for form in forms if len(form) >= 4}


def funnel(policy: RedactionPolicy | None, secrets: set[str]) -> Callable[[Event], Event]:
    """One function that an event goes through before anybody outside the run sees it: known values, then the policy."""
    by_value = SecretMask(secrets)
    if policy is None:
        return by_value.apply
    return lambda event: policy.apply(by_value.apply(event))


def lean_data(payload: Payload) -> dict[str, Any]:
    """The payload without content: names, numbers and digests only."""
    return {} if isinstance(payload, (AppEvent, UnknownPayload)) else _data(payload, full=False)


def full_data(payload: Payload) -> dict[str, Any]:
    """The payload whole."""
    if isinstance(payload, (AppEvent, UnknownPayload)):
        try:
            return {"data": jsontext.parse(payload.data)}
        except ValueError:
            return {"data": payload.data}
    return _data(payload, full=True)


def _data(payload: Any, *, full: bool) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for name, mark in _plan(type(payload)):
        value = getattr(payload, name)
        if value is None or (mark is Mark.CONTENT and not full):
            continue
        if isinstance(mark, Mark):
            data[name] = list(value) if isinstance(value, tuple) else value
        else:
            data[name] = [_data(item, full=full) for item in value] if isinstance(value, tuple) else _data(value, full=full)
    return data
