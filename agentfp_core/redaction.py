"""Redaction: the funnel between the live record and everything that is served of it.

The live record itself is masked of nothing but the secrets that plugins hand to tools, and of these before it is written.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agentfp_core import jsontext
from agentfp_core.errors import ConfigError
from agentfp_core.events.base import Event, Mark, Payload, RawPayload, marks_of, per_class
from agentfp_core.events.message import MessageAdded, ProposedCall
from agentfp_core.secret_forms import Quoted, forms_of, quoted_at_any_depth

if TYPE_CHECKING:
    from agentfp_core.segments import SegmentHeader

PLACEHOLDER = "[REDACTED]"
"""What stands in place of masked text. It is never a value."""
SECRETS = "secrets"
"""Names the mask of known secret values in the header of a masked copy."""


@dataclasses.dataclass(frozen=True)
class RedactionPolicy:
    """What to mask in everything that is served: exports, listeners, saved recordings. Never what the model reads.

    Args:
        keys: names; the value under such a key is masked at any depth of any JSON data, and after a quoted key in any text.
        patterns: regular expressions by name; what matches is masked in all that a person, a model or a tool wrote.
        content: mask everything that a person, a model or a tool wrote.

    Raises:
        ConfigError: nothing would be masked, a key is no name, or a pattern is no regular expression; lists all problems.
    """

    keys: Iterable[str] = ()
    patterns: Mapping[str, str | re.Pattern[str]] | Iterable[str | re.Pattern[str]] = ()
    content: bool = False
    _keys: frozenset[str] = dataclasses.field(init=False, repr=False)
    _patterns: dict[str, re.Pattern[str]] = dataclasses.field(init=False, repr=False)
    _quoted: re.Pattern[str] | None = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        keys = (self.keys,) if isinstance(self.keys, str) else tuple(self.keys)
        problems = [f"RedactionPolicy.keys takes names, got {k!r}" for k in keys if not isinstance(k, str) or not k.strip()]
        compiled: dict[str, re.Pattern[str]] = {}
        given = (self.patterns,) if isinstance(self.patterns, (str, re.Pattern)) else self.patterns
        named = given.items() if isinstance(given, Mapping) else enumerate(given)
        for name, pattern in named:
            try:
                regex = re.compile(pattern)
                regex.sub("", "")
            except (re.error, TypeError, OverflowError, RecursionError) as error:
                problems.append(f"RedactionPolicy.patterns[{name!r}] is no regular expression: {error}")
                continue
            if regex.match("") is not None:
                problems.append(f"RedactionPolicy.patterns[{name!r}] matches the empty text, so it would mask everywhere and nothing")
                continue
            compiled[name if isinstance(name, str) and name else hashlib.sha256(regex.pattern.encode()).hexdigest()[:12]] = regex
        if not keys and not compiled and not self.content and not problems:
            problems.append("a RedactionPolicy without keys, patterns or content masks nothing; leave it out or say what to mask")
        if problems:
            raise ConfigError(problems)
        object.__setattr__(self, "_keys", frozenset(keys))
        object.__setattr__(self, "_patterns", compiled)
        object.__setattr__(self, "_quoted", _quoted_keys(keys) if keys else None)

    @property
    def names(self) -> tuple[str, ...]:
        """The policy in words that may be recorded: no pattern stands in them."""
        parts = [f"key:{key}" for key in sorted(self._keys)] + [f"pattern:{name}" for name in sorted(self._patterns)]
        return (*parts, *(("content",) if self.content else ()))

    def joined(self, other: RedactionPolicy | None) -> RedactionPolicy:
        """A policy that masks what either masks."""
        if other is None:
            return self
        patterns: dict[str, str | re.Pattern[str]] = dict(self._patterns)
        for name, pattern in other._patterns.items():
            patterns[name if patterns.get(name, pattern) == pattern else f"{name}'"] = pattern
        return RedactionPolicy(self._keys | other._keys, patterns, self.content or other.content)

    def apply(self, event: Event) -> Event:
        """The event as it may be served."""
        call_id = None if event.call_id is None else _name(event.call_id)
        return event._replace(name=_name(event.name), call_id=call_id, payload=_masked(event.payload, self.mask_text))

    def mask_text(self, text: str) -> str:
        """A text as it may be served; where it is JSON, what it holds is looked at, texts that are JSON themselves included."""
        if self.content:
            return PLACEHOLDER
        masked = self._mask_json(text)
        if masked is None:
            masked = text if self._quoted is None else self._quoted.sub(rf"\g<head>{PLACEHOLDER}", text)
        for pattern in self._patterns.values():
            masked = pattern.sub(PLACEHOLDER, masked)
        return masked

    def _mask_json(self, text: str) -> str | None:
        """A text that is JSON, masked; None for any other."""
        if text.lstrip()[:1] not in ("{", "[", '"'):
            return None
        try:
            data = jsontext.parse(text)
        except ValueError:
            return None
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
        if isinstance(value, str):
            masked = self.mask_text(value)
            return value if masked == value else masked
        return value


def _quoted_keys(keys: Iterable[str]) -> re.Pattern[str]:
    """Finds a quoted key and its value in text that is no JSON: cut off, in the middle of prose, or written by Python."""
    names = "|".join(re.escape(key) for key in sorted(keys, key=len, reverse=True))
    value = r"""(?:(?P<v>\\*["']).*?(?:(?<!\\)(?P=v)|\Z)|[\[{].*|[^\s,}\]]+)"""
    return re.compile(rf"""(?P<head>(?P<q>\\*["'])(?:{names})(?P=q)\s*[:=]\s*){value}""", re.DOTALL)


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
    """A payload or part with its content masked, and with it what is no name, no number and no digest in the place of one."""
    if isinstance(payload, RawPayload):
        return type(payload)(_json_or_nothing(mask(payload.data)))
    changes: dict[str, Any] = {}
    for name, mark in _plan(type(payload)):
        value = getattr(payload, name)
        if value is None:
            continue
        new: Any
        if mark is Mark.NUMBER:
            new = _each(value, _number)
        elif mark is Mark.NAME or mark is Mark.HASH:
            new = _each(value, _name)
        elif mark is Mark.CONTENT:
            new = _each(value, mask)
        else:
            new = tuple([_masked(item, mask) for item in value]) if isinstance(value, tuple) else _masked(value, mask)
        if new is not value:
            changes[name] = new
    return dataclasses.replace(payload, **changes) if changes else payload


def _name(text: str) -> str:
    """A name or a digest; a text with a blank in it is neither."""
    return PLACEHOLDER if any(c.isspace() for c in text) else text


def _number(text: str) -> str:
    """A number written as text, such as an amount."""
    return text if re.fullmatch(r"[-+0-9.eE_]+", text) else PLACEHOLDER


def _json_or_nothing(text: str) -> str:
    """A masked JSON text; the placeholder alone when masking it left no JSON."""
    try:
        jsontext.parse(text)
    except ValueError:
        return json.dumps(PLACEHOLDER)
    return text


def _each(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, tuple):
        made = tuple([_each(item, mask) for item in value])
        return made if made != value else value
    return value


@dataclasses.dataclass(frozen=True, slots=True)
class _Known:
    """Secrets, and what they are looked for by."""

    secrets: frozenset[str]
    forms: list[str]
    quoted: list[Quoted]


class SecretMask:
    """Masks known secret values, and their usual encodings, wherever they stand in a text.

    Args:
        secrets: the values; read at each use, so that later ones count.
    """

    def __init__(self, secrets: set[str]) -> None:
        self._secrets = secrets
        self._known = _Known(frozenset(), [], [])

    def mask_text(self, text: str) -> str:
        """The text without the values."""
        known = self._look_up()
        forms = known.forms
        if not forms or len(text) < len(forms[-1]):
            return text
        for quoted in known.quoted:
            if quoted.plain in text:
                text = quoted.whole.sub(PLACEHOLDER, text)
        found = [form for form in forms if form in text]  # far quicker than a pattern of hundreds of forms, and hardly ever true
        return text if not found else re.sub("|".join([re.escape(form) for form in found]), PLACEHOLDER, text)

    def quoted_may_end(self, before: str, text: str, chars: int) -> bool:
        """Whether a value that was quoted may end in a new piece of a text.

        Args:
            before: the end of what stands before it.
            text: the piece.
            chars: characters of all that stands before it and of the piece.
        """
        return any(chars >= quoted.chars and quoted.ends_in(before, text) for quoted in self._look_up().quoted)

    def forms(self) -> list[str]:
        """The values in all the forms that are looked for, the longest first."""
        return self._look_up().forms

    def _look_up(self) -> _Known:
        """What is looked for; in one piece, for two threads may ask while a value comes."""
        known = self._known
        if len(self._secrets) != len(known.secrets):
            secrets = frozenset(self._secrets)
            new = sorted(secrets - known.secrets, key=len, reverse=True)
            forms = sorted({*known.forms, *[form for secret in new for form in forms_of(secret)]}, key=len, reverse=True)
            quoted = [found for secret in new if (found := quoted_at_any_depth(secret)) is not None]
            known = self._known = _Known(secrets, forms, [*known.quoted, *quoted])
        return known

    def content(self, payload: Payload) -> Payload:
        """The payload without the values in what people, models and tools wrote; names stay, for what is to run is found by them."""
        masked: Payload = _masked_by_value(payload, self.mask_text, names=False)
        return masked

    def apply(self, event: Event) -> Event:
        """The event without the values, in whatever field they stand."""
        if not self._secrets:
            return event
        payload: Payload = _masked_by_value(event.payload, self.mask_text, names=True)
        call_id = None if event.call_id is None else self.mask_text(event.call_id)
        return event._replace(name=self.mask_text(event.name), payload=payload, call_id=call_id)


_TOOL_NAME: dict[type[Any], str] = {ProposedCall: "name", MessageAdded: "tool_name"}
"""Fields that are content, for a model may have made the name up, and by which a tool is found."""
_NO_CONTENT = (Mark.NAME, Mark.HASH, Mark.NUMBER)


def _masked_by_value(payload: Any, mask: Callable[[str], str], *, names: bool) -> Any:
    if isinstance(payload, RawPayload):
        masked = mask(payload.data)
        return payload if masked == payload.data else type(payload)(_json_or_nothing(masked))
    changes = {}
    kind = type(payload)
    for name, mark in _plan(kind):
        value = getattr(payload, name)
        if value is None or (not names and (mark in _NO_CONTENT or _TOOL_NAME.get(kind) == name)):
            continue
        new: Any
        if isinstance(mark, Mark):
            new = _each(value, mask)
        elif isinstance(value, tuple):
            new = tuple([_masked_by_value(item, mask, names=names) for item in value])
        else:
            new = _masked_by_value(value, mask, names=names)
        if new is not value:
            changes[name] = new
    return dataclasses.replace(payload, **changes) if changes else payload


class Funnel:
    """What an event goes through before anybody outside the run sees it: known secret values, then the policy. Threads may share it.

    Args:
        policy: the policy of the run, if it has one.
        secrets: known values; read at each use, so that later ones count.
    """

    def __init__(self, policy: RedactionPolicy | None, secrets: set[str]) -> None:
        self._policy = policy
        self._secrets = secrets
        self._by_value = SecretMask(secrets)
        self._found = False
        self._headers: dict[tuple[str, bool, bool], SegmentHeader] = {}

    def __call__(self, event: Event) -> Event:
        """The event as it may be served."""
        event = self.by_value(event)
        return event if self._policy is None else self._policy.apply(event)

    def by_value(self, event: Event) -> Event:
        """The event without known values."""
        if not self._secrets:
            return event
        masked = self._by_value.apply(event)
        if not self._found and masked != event:
            self._found = True
        return masked

    @property
    def names(self) -> tuple[str, ...]:
        """What was applied so far: the policy, and the mask of secrets once it has masked something."""
        return (*((SECRETS,) if self._found else ()), *(() if self._policy is None else self._policy.names))

    def header(self, header: SegmentHeader, *, lean: bool = False) -> SegmentHeader:
        """The header of a leg, with the names of what was applied so far.

        Args:
            header: of the live record.
            lean: of a view without content.
        """
        key = (header.run_id, lean, self._found)
        made = self._headers.get(key)
        if made is None:
            names = tuple(dict.fromkeys((*self.names, *(NO_CONTENT.names if lean else ()))))
            made = dataclasses.replace(header, redaction=(*header.redaction, *names)) if names else header
            self._headers[key] = made
        return made


NO_CONTENT = conversation_redaction()
"""What is left of an event without content."""


def funnel(policy: RedactionPolicy | None, secrets: set[str]) -> Funnel:
    """The funnel of a run."""
    return Funnel(policy, secrets)


def lean_data(payload: Payload) -> dict[str, Any]:
    """The payload without content: names, numbers and digests only."""
    return {} if isinstance(payload, RawPayload) else _data(payload, full=False)


def full_data(payload: Payload) -> dict[str, Any]:
    """The payload whole."""
    if isinstance(payload, RawPayload):
        try:
            return {"data": jsontext.parse(payload.data)}
        except ValueError:
            return {"data": payload.data}
    return _data(payload, full=True)


def _data(payload: Any, *, full: bool) -> dict[str, Any]:
    plain, parts = _full_fields(type(payload)) if full else _lean_fields(type(payload))
    data: dict[str, Any] = {}
    for name in plain:
        value = getattr(payload, name)
        if value is not None:
            data[name] = list(value) if type(value) is tuple else value
    for name in parts:
        value = getattr(payload, name)
        if value is not None:
            data[name] = [_data(item, full=full) for item in value] if isinstance(value, tuple) else _data(value, full=full)
    return data


@per_class
def _full_fields(cls: type[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields that hold values, and those that hold parts."""
    plan = _plan(cls)
    return tuple([n for n, mark in plan if isinstance(mark, Mark)]), tuple([n for n, mark in plan if not isinstance(mark, Mark)])


@per_class
def _lean_fields(cls: type[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The same without content."""
    plain, parts = _full_fields(cls)
    marks = marks_of(cls)
    return tuple([name for name in plain if marks[name] is not Mark.CONTENT]), parts
