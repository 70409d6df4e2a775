"""What a model call is served: messages with the edits that stand on them, tools, pieces; and receipts.

The live request and ``served_at`` go through the same :class:`ServedState`, so a rebuilt request is the one that was sent.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from agentfp_core import jsontext
from agentfp_core.events.context import CacheRef, EditRef, PieceRef, Served, Slot, ToolRef
from agentfp_core.messages import Message, part_to_dict
from agentfp_core.model import CacheMark, ModelRequest, ModelSettings, ToolSpec

if TYPE_CHECKING:
    from agentfp_core.events.base import Payload

KERNEL = "kernel"


def digest(salt: str, kind: str, *texts: str) -> str:
    """SHA-256 over texts, as 64 hex digits; salted with the conversation, so that equal texts of two do not compare."""
    joined = "".join([f"{len(text)}:{text}" for text in (salt, kind, *texts)])
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()


def message_digest(salt: str, message: Message) -> str:
    """Digest of what a provider is sent of a message. Each text stands with its length, so that none runs into another."""
    text, call_id, tool = message.text, message.tool_call_id or "", message.tool_name or ""
    whole = f"{salt} message {message.role} {len(text)}:{text}{len(call_id)}:{call_id}{len(tool)}:{tool}"
    if message.tool_calls or message.thinking or message.parts or message.failed:
        whole += _rest_of(message)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


def _rest_of(message: Message) -> str:
    texts: list[str] = []
    for call in message.tool_calls:
        texts += ("call", call.id, call.name, call.arguments_json, call.provider_meta or "")
    for block in message.thinking:
        texts += ("thinking", block.text, block.signature or "", str(block.redacted), block.provider_meta or "")
    for part in message.parts:
        texts += ("part", jsontext.canonical(part_to_dict(part)))
    if message.failed:
        texts.append("failed")
    return "".join([f"{len(text)}:{text}" for text in texts])


class ServedMessages(Sequence[Message]):
    """The messages of one request: an immutable, bounded view of the served list, and the late lines after it."""

    __slots__ = ("_items", "_late", "_length")

    def __init__(self, items: list[Message], length: int, late: tuple[Message, ...]) -> None:
        self._items = items
        self._length = length
        self._late = late

    def __len__(self) -> int:
        return self._length + len(self._late)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._items[index] if index < self._length else self._late[index - self._length]

    def __iter__(self) -> Iterator[Message]:
        for index in range(self._length):
            yield self._items[index]
        yield from self._late

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ServedMessages({len(self)})"


class _Owner:
    """Owns a list, as :class:`ServedState` does."""

    def __init__(self) -> None:
        self._items: list[Message] = []

    def references(self) -> int:
        return _references(self._items)


def _references(items: list[Message]) -> int:
    count = getattr(sys, "getrefcount", None)
    return sys.maxsize if count is None else int(count(items))


_ALONE = _Owner().references()
"""References to a list that only its owner has. Asking the interpreter whether a request still sees a list is free, where
keeping track of every request would cost at each model call; where it cannot be asked, lists count as shared."""


class Piece(NamedTuple):
    """A text of one request: part of the system text, or a late line after the messages."""

    plugin: str
    key: str
    slot: Slot
    text: str
    quoted: bool = False


CORRECTIONS = ("revise.", "output_schema.retry")
"""How the keys of late lines begin that go with a draft that is sent back."""


def _short(message: Message, text: str) -> Message:
    """A message with a short text in place of all that it says; made by hand, for ``dataclasses.replace`` takes three times as long."""
    return Message(
        message.id,
        message.role,
        text,
        message.turn,
        message.author,
        message.tool_calls,
        message.tool_call_id,
        message.tool_name,
        thinking=message.thinking,
        failed=message.failed,
    )


class ServedState:
    """The fold behind every request: served messages, standing edits, blobs, and what the last request was made of."""

    def __init__(self, salt: str) -> None:
        self.salt = salt
        self.calls = 0
        self.blobs: dict[str, str] = {}
        self.pieces: tuple[PieceRef, ...] = ()
        self.tools: tuple[ToolRef, ...] = ()
        self.params = "{}"
        self.cache: tuple[CacheRef, ...] = ()
        self.model: tuple[str, str] = ("", "")
        self.message_chars = 0
        self._items: list[Message] = []
        self._place: dict[str, int] = {}
        self._originals: dict[str, tuple[int, Message]] = {}
        self._added = 0
        self._digests: list[str] = []
        self._chain: list[str] = []
        self.tickets: dict[str, dict[str, str]] = {}
        self.hidden: dict[str, set[str]] = {}
        self.decorations: dict[tuple[str, str], tuple[str, tuple[str, ...] | None]] = {}
        self.explained: dict[tuple[str, str], str] = {}
        self.held_out: dict[str, set[str]] = {}
        self.added_tools: dict[str, tuple[str, str]] = {}
        self.editors: set[str] = set()
        self._specs: tuple[ToolSpec, ...] | None = None
        self._names: tuple[tuple[ToolSpec, ...], frozenset[str]] | None = None
        self._applied: Served | None = None
        self._tools_line: str | None = None
        self._pieces_line: str | None = None
        self._params: tuple[str, tuple[ModelSettings, str | None, str | None]] | None = None

    def corrections(self) -> tuple[Piece, ...]:
        """What the last request said of a draft that was sent back."""
        refs = [ref for ref in self.pieces if ref.slot == "late" and ref.key.startswith(CORRECTIONS)]
        return tuple(Piece(ref.plugin, ref.key, "late", self.blobs[ref.digest]) for ref in refs if ref.digest in self.blobs)

    # --- folding ---

    def add_message(self, message: Message) -> None:
        """A message joined the history. System messages are served as part of the system text."""
        if message.role == "system":
            return
        self._place[message.id] = len(self._items)
        self._originals[message.id] = (self._added, message)
        self._added += 1
        self._items.append(message)
        self.message_chars += len(message.text)

    def withdraw(self, message_id: str) -> None:
        """A message was taken out of the history."""
        if message_id in self._originals:
            self.hidden[message_id] = {KERNEL}
            self._show(message_id)

    def apply(self, served: Served, *, edited: bool = False) -> None:
        """A request was served. The kernel applies it before it files it, for the receipt; the fold comes by a second time.

        Args:
            served: the event.
            edited: its edits stand already. Played twice, edits of several plugins may end in another order.
        """
        if served is self._applied:
            return
        self._applied = served
        self.calls = served.call
        if served.edits and not edited:
            self.apply_edits(served.edits)
        if served.pieces is not None:
            self.pieces = served.pieces
            self._pieces_line = None
        if served.tools is not None:
            self.tools = served.tools
            self._specs = self._tools_line = None
        if served.params is not None:
            self.params = served.params
        if served.cache is not None:
            self.cache = served.cache
        if served.model is not None:
            self.model = (served.provider or "", served.model)

    def apply_edits(self, edits: Sequence[EditRef]) -> None:
        """Make edits stand. Applying one that stands already changes nothing."""
        for edit in edits:
            self.editors.add(edit.plugin)
            if edit.op in ("ticket", "hide", "restore"):
                self._edit_message(edit)
            else:
                self._edit_tools(edit)
                self._specs = self._tools_line = None

    def _edit_message(self, edit: EditRef) -> None:
        target = edit.target
        if target not in self._originals:
            return
        if edit.op == "ticket" and edit.digest is not None:
            tickets = self.tickets.setdefault(target, {})
            tickets.pop(edit.plugin, None)  # the latest one shows
            tickets[edit.plugin] = edit.digest
        elif edit.op == "hide":
            self.hidden.setdefault(target, set()).add(edit.plugin)
        elif edit.op == "restore":
            self.tickets.get(target, {}).pop(edit.plugin, None)
            self.hidden.get(target, set()).discard(edit.plugin)
            if not self.tickets.get(target):
                self.tickets.pop(target, None)
            if not self.hidden.get(target):
                self.hidden.pop(target, None)
        self._show(target)

    def _show(self, target: str) -> None:
        """Bring one served message in line with the edits that stand on it."""
        number, original = self._originals[target]
        wanted: Message | None = original
        if target in self.hidden:
            wanted = None
        elif target in self.tickets:
            wanted = _short(original, self.blobs[next(reversed(self.tickets[target].values()))])
        place = self._place.get(target)
        shown = self._items[place] if place is not None else None
        if wanted == shown:
            return
        if _references(self._items) > _ALONE or sys.maxsize == _ALONE:
            self._items = self._items.copy()
        self.message_chars += (len(wanted.text) if wanted else 0) - (len(shown.text) if shown else 0)
        if place is not None and wanted is not None:
            self._items[place] = wanted
        elif place is not None:
            del self._items[place], self._place[target]
            self._renumber(place)
        elif wanted is not None:
            place = sum(1 for m in self._items if self._originals[m.id][0] < number)
            self._items.insert(place, wanted)
            self._renumber(place)
        assert place is not None
        del self._digests[place:], self._chain[place:]

    def _renumber(self, start: int) -> None:
        for index in range(start, len(self._items)):
            self._place[self._items[index].id] = index

    def _edit_tools(self, edit: EditRef) -> None:
        plugin, target = edit.plugin, edit.target
        if edit.op == "decorate" and edit.digest is not None:
            self.decorations[plugin, target] = (edit.digest, edit.only)
        elif edit.op == "undecorate":
            self.decorations.pop((plugin, target), None)
        elif edit.op == "explain" and edit.digest is not None:
            self.explained[plugin, target] = edit.digest
        elif edit.op == "unexplain":
            self.explained.pop((plugin, target), None)
        elif edit.op == "hold_out":
            self.held_out.setdefault(target, set()).add(plugin)
        elif edit.op == "let_in":
            self.held_out.get(target, set()).discard(plugin)
            if not self.held_out.get(target):
                self.held_out.pop(target, None)
        elif edit.op == "add_tool" and edit.digest is not None:
            self.added_tools[target] = (plugin, edit.digest)
        elif edit.op == "drop_tool" and self.added_tools.get(target, ("",))[0] == plugin:
            del self.added_tools[target]

    def edits_without(self, plugins: Container[str]) -> tuple[EditRef, ...]:
        """What undoes the edits that stand of plugins which are not among these: a request must not depend on who is off."""
        gone = {plugin for plugin in self.editors if plugin not in plugins}
        if not gone:
            return ()
        undo = [EditRef("restore", p, target) for target, by in self.tickets.items() for p in by if p in gone]
        undo += [EditRef("restore", p, target) for target, by in self.hidden.items() for p in by if p in gone]
        undo += [EditRef("undecorate", p, prop) for p, prop in self.decorations if p in gone]
        undo += [EditRef("unexplain", p, tool) for p, tool in self.explained if p in gone]
        undo += [EditRef("let_in", p, tool) for tool, by in self.held_out.items() for p in by if p in gone]
        undo += [EditRef("drop_tool", p, tool) for tool, (p, _) in self.added_tools.items() if p in gone]
        return tuple(undo)

    # --- assembling ---

    def view(self, late: tuple[Message, ...] = ()) -> ServedMessages:
        """The messages as served now."""
        return ServedMessages(self._items, len(self._items), late)

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools on the wire: those of the last request that are not held out, with the decorations that stand."""
        if self._specs is None:
            self._specs = tuple(self._decorated(ref) for ref in self.tools if ref.name not in self.held_out)
        return self._specs

    def wire_names(self) -> frozenset[str]:
        """Names of the tools on the wire."""
        if self._names is None or self._names[0] is not self.specs():
            self._names = (self.specs(), frozenset([spec.name for spec in self.specs()]))
        return self._names[1]

    def _decorated(self, ref: ToolRef) -> ToolSpec:
        spec = ToolSpec(**jsontext.parse(self.blobs[ref.digest]))
        fragments = {
            prop: jsontext.parse(self.blobs[value])
            for (_, prop), (value, only) in self.decorations.items()
            if only is None or ref.name in only
        }
        said = [jsontext.parse(self.blobs[value]) for (_, tool), value in sorted(self.explained.items()) if tool == ref.name]
        if not fragments and not said:
            return spec
        schema = spec.parameters
        for arguments in said:
            _explain(schema, arguments)
        own = schema.get("properties", {})
        schema["properties"] = {**own, **{prop: fragment for prop, fragment in fragments.items() if prop not in own}}
        return dataclasses.replace(spec, parameters_json=jsontext.canonical(schema))

    def chain_head(self) -> str:
        """Hash over all served messages; recomputed from the first one that changed."""
        for index in range(len(self._chain), len(self._items)):
            if index >= len(self._digests):
                self._digests.append(message_digest(self.salt, self._items[index]))
            before = self._chain[-1] if self._chain else ""
            self._chain.append(hashlib.sha256((before + self._digests[index]).encode()).hexdigest())
        return self._chain[-1] if self._chain else ""

    def receipt(self) -> str:
        """Hash of all that a request made of this state is: 64 hex digits."""
        if self._pieces_line is None:
            self._pieces_line = "\n".join([f"piece {p.plugin} {p.key} {p.slot} {p.digest}" for p in self.pieces])
        if self._tools_line is None:
            lines = [f"tool {ref.name} {ref.digest}" for ref in self.tools if ref.name not in self.held_out]
            lines += [f"fragment {p} {prop} {value} {only}" for (p, prop), (value, only) in sorted(self.decorations.items())]
            lines += [f"explained {p} {tool} {value}" for (p, tool), value in sorted(self.explained.items())]
            self._tools_line = "\n".join(lines)
        text = (
            f"{self._pieces_line}\nmessages {len(self._items)} {self.chain_head()}\n{self._tools_line}\n"
            f"params {self.params}\nmodel {self.model[0]} {self.model[1]}"
            + "".join([f"\ncache {mark.field} {mark.upto} {mark.ttl}" for mark in self.cache])
        )
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def request(self, report: Callable[[Payload], None] | None = None) -> ModelRequest:
        """The request that this state describes."""
        settings, tool_choice, output_schema = self._parsed_params()
        late: list[Message] = []
        for piece in self.pieces:
            if piece.slot == "late":
                author = "library" if piece.plugin == KERNEL else f"plugin:{piece.plugin}"
                late.append(Message(id=f"late_{self.calls}_{len(late)}", role="user", content=self.blobs[piece.digest], author=author))
        return ModelRequest(
            system="\n\n".join([self.blobs[p.digest] for p in self.pieces if p.slot == "system"]),
            messages=self.view(tuple(late)),
            tools=self.specs(),
            settings=settings,
            tool_choice=tool_choice,
            output_schema_json=output_schema,
            model=self.model[1],
            cache_marks=tuple([CacheMark(mark.field, mark.upto, mark.ttl) for mark in self.cache]),
            report=report or _nowhere,
        )

    def _parsed_params(self) -> tuple[ModelSettings, str | None, str | None]:
        if self._params is None or self._params[0] != self.params:
            data = jsontext.parse(self.params)
            self._params = (self.params, (ModelSettings.of(data.get("settings")), data.get("tool_choice"), data.get("output_schema")))
        return self._params[1]


def _explain(schema: dict[str, Any], arguments: Mapping[str, Any]) -> None:
    """Say of a tool's arguments what a plugin says of them; of those that the schema does not have, nothing."""
    own = schema.get("properties")
    for name, said in arguments.items():
        if isinstance(own, dict) and isinstance(own.get(name), dict):
            texts = [text for text in (own[name].get("description"), said["text"]) if isinstance(text, str) and text]
            if texts:
                own[name]["description"] = " ".join(texts)
            if said["optional"] and name in schema.get("required", ()):
                schema["required"] = [other for other in schema["required"] if other != name]


def _nowhere(_payload: Payload) -> None:
    return None


def spec_json(spec: ToolSpec) -> str:
    """A tool's wire form as canonical JSON text."""
    return jsontext.canonical({"name": spec.name, "description": spec.description, "parameters_json": spec.parameters_json})
