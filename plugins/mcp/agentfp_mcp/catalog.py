"""From what a server says of its tools to tools of an agent: names, descriptions and schemas that are not trusted, pins, options."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentfp.plugin import Tool, raw_tool
from agentfp_mcp import facts
from agentfp_mcp.pins import Pins, hash_of
from agentfp_mcp.schemas import SchemaError, vet

if TYPE_CHECKING:
    from agentfp_mcp.settings import Settings

MAX_DESCRIPTION = 4_000
_MAX_NAME = 64
_MAX_REMEMBERED = 500
_log = logging.getLogger("agentfp.mcp")

# Control characters, those that turn the direction of a text, and the invisible ones in which words can be hidden.
_HIDDEN: re.Pattern[str] = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)

Handler = Callable[[Any, dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """A server's tools as they may be offered.

    Args:
        tools: the tools.
        left_out: by the server's own name, why a tool is not among them.
    """

    tools: tuple[Tool[..., Any], ...]
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Vetted:
    description: str
    schema: dict[str, Any]
    facts: dict[str, Any]
    reads_only: bool


class Catalog:
    """What is known of one server's tools over all sessions with it: how they looked at first sight, and what was judged.

    Args:
        settings: the server's.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pins = Pins(settings.name, settings.pins)
        self._judged: dict[str, _Vetted | str] = {}
        self._warned: set[tuple[str, str]] = set()

    def listing(self, described: Sequence[Mapping[str, Any]], names: dict[str, str], handler: Callable[[str], Handler]) -> Listing:
        """Make tools of what a server describes.

        Args:
            described: the tools as the server describes them.
            names: by the server's own names those that its tools have in this session; new ones are added.
            handler: makes the function of a tool, of the server's own name of it.

        Raises:
            ConfigError: the file of pins cannot be read or written.
        """
        settings = self._settings
        left_out: dict[str, str] = {}
        wanted: dict[str, Mapping[str, Any]] = {}
        for tool in described:
            name = tool.get("name")
            if not isinstance(name, str) or not 0 < len(name) <= 1_000:
                left_out[str(name)[:80]] = "its name is empty or too long"
            elif name in wanted:
                left_out[name] = "the server has two tools of this name; the second is left out"
            elif settings.lets_in(name):
                wanted[name] = tool
        for name in list(wanted)[settings.max_tools :]:
            del wanted[name]
            left_out[name] = f"the server has more than {settings.max_tools} tools (max_tools)"
        hashes = {name: hash_of(tool) for name, tool in wanted.items()}
        changed = self._pins.changed(hashes) if settings.on_change != "accept" else set()
        _add_names(names, wanted, settings.prefix)
        tools = []
        for name, tool in wanted.items():
            if name in changed and settings.on_change == "refuse":
                left_out[name] = "it is not as it was when it was first seen (on_change)"
                continue
            vetted = self._judge(name, tool, hashes[name])
            if isinstance(vetted, str):
                left_out[name] = vetted
                continue
            tools.append(self._tool(names[name], name, vetted, handler(name), ask=name in changed))
        return Listing(tuple(tools), left_out)

    def _judge(self, name: str, tool: Mapping[str, Any], key: str) -> _Vetted | str:
        meta = tool.get("_meta")
        key += repr(meta)[:10_000] if meta else ""
        known = self._judged.get(key)
        if known is None:
            known = self._judged_now(name, tool)
            if len(self._judged) < 4 * _MAX_REMEMBERED:
                self._judged[key] = known
        return known

    def _judged_now(self, name: str, tool: Mapping[str, Any]) -> _Vetted | str:
        try:
            schema = vet(tool.get("inputSchema") or {})
        except SchemaError as error:
            return str(error)
        kept, dropped = facts.read(tool.get("_meta"))
        for fact in dropped:
            if (name, fact) not in self._warned and len(self._warned) < _MAX_REMEMBERED:
                self._warned.add((name, fact))
                _log.warning(
                    "mcp server %r: the fact %r of tool %r does not look as it must and is left out", self._settings.name, fact, name
                )
        hints = tool.get("annotations")
        reads_only = isinstance(hints, Mapping) and hints.get("readOnlyHint") is True
        said = cleaned(tool.get("description")) or f"Tool {cleaned(name)} of the server {self._settings.name}."
        return _Vetted(said, _clean_schema(schema), kept, reads_only)

    def _tool(self, wire: str, name: str, vetted: _Vetted, handler: Handler, *, ask: bool) -> Tool[..., Any]:
        settings = self._settings
        options: dict[str, Any] = {
            "approval": settings.approval,
            "mutating": not vetted.reads_only if settings.mutating is None else settings.mutating,
            **settings.options.get(name, {}),
        }
        if ask:
            options["approval"] = True
        metadata = {"mcp_server": settings.name, "mcp_tool": name, **vetted.facts, **options.pop("metadata", {})}
        return raw_tool(wire, vetted.description, vetted.schema, handler, source=settings.name, metadata=metadata, **options)


def cleaned(text: Any, limit: int = MAX_DESCRIPTION) -> str:
    """A server's words without what hides in them, and no longer than they may be.

    Args:
        text: what the server sent; anything but a text counts as none.
        limit: characters.
    """
    if not isinstance(text, str):
        return ""
    said: str = _HIDDEN.sub("", text[: 4 * limit]).strip()
    return said if len(said) <= limit else said[: limit - 1] + "…"


def _clean_schema(node: Any) -> Any:
    if isinstance(node, list):
        return [_clean_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: cleaned(value) if key in ("description", "title", "$comment") and isinstance(value, str) else _clean_schema(value)
        for key, value in node.items()
    }


def _add_names(names: dict[str, str], wanted: Mapping[str, Any], prefix: str) -> None:
    """Name new tools so that every provider takes the name; one that is named keeps its name."""
    taken = set(names.values())
    new = [name for name in wanted if name not in names]
    for name in sorted(new, key=lambda name: (_plain(name, prefix) != prefix + name, name)):  # those that stay as they are come first
        wire = _plain(name, prefix)
        if len(wire) > _MAX_NAME or wire in taken:
            mark = "_" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            wire = wire[: _MAX_NAME - len(mark)] + mark
        names[name] = wire
        taken.add(wire)


def _plain(name: str, prefix: str) -> str:
    return prefix + re.sub(r"[^A-Za-z0-9_-]", "_", name)
