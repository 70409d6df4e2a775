"""What the model reads of what a tool returned or raised: text for any value, the caps and ceilings, the fixed sentences."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from agentfp_core import jsontext
from agentfp_core.errors import ConfigError, ToolError
from agentfp_core.jsonable import jsonable, placeholder, without_surrogates
from agentfp_core.messages import DocumentPart, ImagePart, Part

if TYPE_CHECKING:
    from agentfp_core.tools import Tool

ReturnOutcome: TypeAlias = Literal["success", "partial", "absent"]

NO_VALUE = "(no value returned)"
FAILURE = "The tool failed with an internal error. Do not take it that it did what it was asked to do."
_OUTCOMES = ("success", "partial", "absent")
_PARTS = (ImagePart, DocumentPart)
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class ToolReturn:
    """A tool's result with more to it than what the model reads.

    Args:
        content: what the model reads.
        private: data for the application only; it never goes to the model.
        parts: images and documents for the model.
        outcome: ``partial`` where some of it is missing, ``absent`` where there is nothing of what was asked for.
    """

    content: Any
    private: Any = None
    parts: tuple[Part, ...] = ()
    outcome: ReturnOutcome | None = None

    def __post_init__(self) -> None:
        """Refuse what is no part and no outcome.

        Raises:
            ConfigError: names what was given.
        """
        parts = (self.parts,) if isinstance(self.parts, _PARTS) else tuple(self.parts)
        wrong = next((part for part in parts if not isinstance(part, _PARTS)), None)
        if wrong is not None:
            raise ConfigError(f"ToolReturn: parts are ImagePart and DocumentPart, got a {type(wrong).__name__}; put data into content")
        if self.outcome is not None and self.outcome not in _OUTCOMES:
            raise ConfigError(f"ToolReturn: outcome is one of {', '.join(_OUTCOMES)}, got {self.outcome!r}; leave it out for success")
        object.__setattr__(self, "parts", parts)


class Rendered(NamedTuple):
    """A result as it goes to the model and to the record.

    Args:
        text: what the model reads.
        parts: images and documents for the model.
        private_json: data for the application only, canonical JSON.
        outcome: what the tool says of its own success.
    """

    text: str
    parts: tuple[Part, ...] = ()
    private_json: str | None = None
    outcome: ReturnOutcome | None = None


def render(value: Any) -> Rendered:
    """Make of a tool's return value what the model reads.

    A text is read as it is, and so is a value whose JSON is a text (a date, a Decimal); everything else is compact
    JSON. Tuples, named ones too, are arrays; sets are sorted arrays; bytes are their text where they are UTF-8, else
    their size; NaN and infinities are texts. What cannot be written reads ``[unserializable: TYPE]``, in place of the
    whole or of the piece at fault; iterators are among it and are not drained.

    Args:
        value: anything.

    Returns:
        The text and what goes with it. Never raises.
    """
    if type(value) is str:
        return Rendered(value if value.isascii() else without_surrogates(value))
    try:
        return _rendered(value)
    except Exception:  # the tool has run: its outcome must not be lost for a value that cannot be written
        return Rendered(placeholder(value))


def _rendered(value: Any) -> Rendered:
    if type(value) is ToolReturn:
        inner = render(value.content)
        parts = inner.parts + value.parts
        text = _names_of(parts) if value.content is None and parts else inner.text
        private = None if value.private is None else _private_json(value.private)
        return Rendered(text, parts, private or inner.private_json, value.outcome or inner.outcome)
    if type(value) in _PARTS:
        return Rendered(_names_of((value,)), (value,))
    if type(value) in (list, tuple) and any(type(item) in _PARTS for item in value):
        return _mixed(value)
    return Rendered(_text_of(value))


def _mixed(items: Iterable[Any]) -> Rendered:
    """Images and documents between texts: the texts on lines of their own, the parts named at their place."""
    lines: list[str] = []
    parts: list[Part] = []
    for item in items:
        if type(item) in _PARTS:
            parts.append(item)
            lines.append(_names_of((item,)))
        else:
            lines.append(_text_of(item))
    return Rendered("\n".join(lines), tuple(parts))


def _names_of(parts: tuple[Part, ...]) -> str:
    kinds = ("image" if isinstance(part, ImagePart) else f"document {part.name or ''}".strip() for part in parts)
    return without_surrogates("\n".join(f"[{kind}: {part.media_type}]" for kind, part in zip(kinds, parts, strict=True)))


def _text_of(value: Any) -> str:
    if value is None:
        return NO_VALUE
    if isinstance(value, (dict, list, tuple, int, float)) and not isinstance(value, enum.Enum):
        try:
            return without_surrogates(_encode(value))
        except Exception:
            return _text_of_plain(value)
    return _text_of_plain(value)


def _text_of_plain(value: Any) -> str:
    try:
        plain = jsonable(value, _contents)
        return without_surrogates(plain if isinstance(plain, str) else _encode(plain))
    except Exception:
        return placeholder(value)


def _contents(value: Any) -> Any:
    return _contents(value.content) if type(value) is ToolReturn else value


def _private_json(value: Any) -> str:
    try:
        return without_surrogates(jsontext.canonical(jsonable(value, _contents)))
    except Exception:
        return jsontext.canonical(placeholder(value))


# --- sizes ----------------------------------------------------------------------------------------------------------------------


def cap(text: str, limit: int, tool_name: str) -> str:
    """Cut a result that is too long for the request.

    Args:
        text: what the model would read.
        limit: the most characters it may have.
        tool_name: for the words that take its place.

    Returns:
        The text where it fits; else a JSON object that says so, with as much of the text's beginning as fits the
        limit. A limit that is too small even for the explanation gets the explanation alone.
    """
    size = len(text)
    if size <= limit:
        return text
    reason = f"{tool_name} gave {size} characters and the limit is {limit}; ask for less and call it again"
    marker = f'{{"truncated": true, "reason": {json.dumps(reason, ensure_ascii=False)}'
    room = limit - len(marker) - len(', "head": ""}')
    head = _escaped(text, room) if room > 0 else ""
    return f'{marker}, "head": "{head}"}}' if head else marker + "}"


def _escaped(text: str, room: int) -> str:
    """The longest beginning of a text whose JSON, without the quotes, has at most so many characters."""
    escaped = json.dumps(text[:room], ensure_ascii=False)[1:-1][:room]
    last = escaped.rfind("\\", max(0, len(escaped) - 5))
    if last < 0:
        return escaped
    run = last + 1 - len(escaped[: last + 1].rstrip("\\"))
    if run % 2 == 0:
        return escaped
    needed = 6 if escaped[last + 1 : last + 2] == "u" else 2
    return escaped if last + needed <= len(escaped) else escaped[:last]


def ceiling_refusal(tool: Tool[..., Any], size: int) -> str:
    """What the model reads in place of a result that is above its tool's ceiling.

    Args:
        tool: a tool with a ceiling.
        size: characters of the result.

    Returns:
        Words that name the size, the ceiling and every argument that narrows the result.
    """
    ceiling = tool.result_ceiling
    limit = "its ceiling" if ceiling is None else f"its ceiling of {ceiling.max_chars}"
    names = () if ceiling is None else ceiling.narrow_by
    how = f"narrow the call by {', '.join(map(repr, names))}" if names else "ask for less"
    return f"{tool.name!r} gave {size} characters, above {limit}; no data was returned. Please {how} and call it again."


# --- failures -------------------------------------------------------------------------------------------------------------------


def failure_text(error: BaseException) -> str:
    """What the model reads of an exception that a tool raised.

    Args:
        error: the exception.

    Returns:
        The words of a :class:`ToolError` or :class:`RetryTool`; of any other exception one fixed sentence, which tells
        nothing of it.
    """
    if isinstance(error, ToolError) and isinstance(error.message, str) and error.message.strip():
        return without_surrogates(error.message)
    return FAILURE


def timeout_text(tool_name: str, seconds: float) -> str:
    """What the model reads of a call that took too long."""
    return f"tool {tool_name!r} did not finish in {seconds:g} s; it may still be running"


def unknown_tool_text(name: str, known: Iterable[str]) -> str:
    """What the model reads when it calls a tool that is not there.

    Args:
        name: what it called.
        known: the tools there are; up to 30 are named.
    """
    names = sorted(set(known))
    shown = name if len(name) <= 80 else name[:79] + "…"
    listed = f". The tools are: {', '.join(names)}" if 0 < len(names) <= 30 else ""
    return without_surrogates(f"Unknown tool: {shown}{listed}")
