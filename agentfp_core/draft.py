"""The request in the making, as ``serve_context`` hooks see and shape it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from agentfp_core import jsontext
from agentfp_core.errors import PluginError, UsageError
from agentfp_core.events.context import EditRef, Slot
from agentfp_core.jsonable import without_surrogates
from agentfp_core.messages import Message
from agentfp_core.model import ToolSpec
from agentfp_core.served import KERNEL, Piece, ServedState, digest, spec_json

if TYPE_CHECKING:
    from agentfp_core.model import Model
    from agentfp_core.run import Run


class RequestDraft:
    """The request in the making, as ``serve_context`` hooks see and shape it. The history itself is never edited.

    Edits of messages and tools stand until the same plugin undoes them. Pieces and late lines last for this call.
    """

    def __init__(self, run: Run[Any], state: ServedState, tools: Mapping[str, ToolSpec], model: Model) -> None:
        self._run = run
        self._state = state
        self._tools = tools
        self._sealed = False
        self._edits: list[tuple[EditRef, str | None]] = []
        self._pieces: list[Piece] = []
        self._deliveries: list[tuple[str, str, str]] = []
        self._marks: list[tuple[str, Literal["system", "tools", "messages"], int, Literal["short", "long"]]] = []
        self._model = model
        self._model_by = KERNEL

    @property
    def _plugin(self) -> str:
        """Who shapes the draft now."""
        return self._run.source

    # --- reading ---

    @property
    def call(self) -> int:
        """Number of this model call over the conversation, from 1."""
        return self._state.calls + 1

    @property
    def messages(self) -> Sequence[Message]:
        """The messages as they will be served, edits of this call that are not applied yet left out."""
        return self._state.view()

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that will be on the wire, edits of this call that are not applied yet left out."""
        names = dict.fromkeys([*self._tools, *self._state.added_tools])
        return tuple(name for name in names if name not in self._state.held_out)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces so far, in order."""
        return tuple(self._pieces)

    @property
    def model(self) -> Model:
        """The model that will be called."""
        return self._model

    # --- pieces: for this call ---

    def add_piece(self, key: str, text: str, *, quoted: bool = False) -> None:
        """Add a paragraph to the system text.

        Args:
            key: the plugin's name for it, unique among its pieces.
            text: the paragraph; an empty one is left out.
            quoted: it repeats what the model or a tool said, so it vouches for nothing; else the application says it.
        """
        self._add("system", key, text, quoted=quoted)

    def add_late_line(self, key: str, text: str) -> None:
        """Add a message after the history, of role user, for this request only.

        Args:
            key: the plugin's name for it.
            text: the message.
        """
        self._add("late", key, text)

    def _add(self, slot: Slot, key: str, text: str, *, quoted: bool = False) -> None:
        self._check_open()
        if not isinstance(key, str):
            raise UsageError(f"the key of a piece of plugin {self._plugin!r} must be text, got a {type(key).__name__}")
        if not isinstance(text, str):
            raise UsageError(f"the piece {key!r} of plugin {self._plugin!r} must be text, got a {type(text).__name__}")
        if text:
            self._pieces.append(Piece(self._plugin, key, slot, text, quoted))

    # --- edits: they stand ---

    def ticket(self, message_id: str, text: str) -> None:
        """Serve a short text in place of a message's content, from now on. The message keeps its place and its call id.

        Args:
            message_id: the message.
            text: what is served of it.
        """
        self._edit("ticket", message_id, body=text)

    def hide_message(self, message_id: str) -> None:
        """Serve requests without a message, from now on."""
        self._edit("hide", message_id)

    def restore_message(self, message_id: str) -> None:
        """Undo this plugin's ticket and hiding of a message."""
        self._edit("restore", message_id)

    def decorate_tools(self, property: str, fragment: Mapping[str, Any], only: Sequence[str] | None = None) -> None:
        """Add a property to the schemas of the tools, from now on. A tool that has a property of this name keeps its own.

        Args:
            property: its name.
            fragment: its schema; it must be the same object of data from call to call to keep prompt caches warm.
            only: names of the tools; all when left out.
        """
        self._edit("decorate", property, body=jsontext.canonical(dict(fragment)), only=None if only is None else tuple(sorted(only)))

    def undecorate_tools(self, property: str) -> None:
        """Undo this plugin's decoration."""
        self._edit("undecorate", property)

    def explain_arguments(self, tool: str, texts: Mapping[str, str], *, optional: Collection[str] = ()) -> None:
        """Add a sentence to the descriptions of some of a tool's arguments, from now on; the plugin's earlier ones of this tool go.

        Args:
            tool: its name.
            texts: the sentence for each argument.
            optional: those of them that the model may leave out although the tool needs them; the plugin puts them in.
        """
        said = {name: {"text": text, "optional": name in optional} for name, text in texts.items()}
        self._edit("explain", tool, body=jsontext.canonical(said))

    def unexplain_arguments(self, tool: str) -> None:
        """Take back what this plugin says of a tool's arguments."""
        self._edit("unexplain", tool)

    def hold_out_tool(self, name: str) -> None:
        """Serve requests without a tool, from now on. A call of it is refused."""
        self._edit("hold_out", name)

    def let_in_tool(self, name: str) -> None:
        """Undo this plugin's holding out."""
        self._edit("let_in", name)

    def add_tool(self, spec: ToolSpec) -> None:
        """Put a tool of this plugin on the wire, from now on; it must have been contributed in ``configure``.

        Raises:
            UsageError: it was not, so nothing could answer a call of it.
        """
        if spec.name not in self._run.tools:
            raise UsageError(f"plugin {self._plugin!r} adds tool {spec.name!r}, which it did not contribute in configure; do that first")
        self._edit("add_tool", spec.name, body=spec_json(spec))

    def drop_tool(self, name: str) -> None:
        """Take a tool that this plugin added off the wire."""
        self._edit("drop_tool", name)

    def _edit(self, op: Any, target: str, *, body: str | None = None, only: tuple[str, ...] | None = None) -> None:
        self._check_open()
        if not isinstance(target, str):
            raise UsageError(f"plugin {self._plugin!r} names what it edits by a text, got a {type(target).__name__}")
        value = None if body is None else digest(self._state.salt, "blob", without_surrogates(body))
        self._edits.append((EditRef(op, self._plugin, target, value, only), body))

    # --- messages that stay ---

    def deliver(self, role: str, text: str) -> None:
        """Add a message to the history itself: stored, served from now on, its author this plugin.

        Args:
            role: ``user`` or ``assistant``.
            text: its text.
        """
        self._check_open()
        if role not in ("user", "assistant"):
            raise UsageError(f"plugin {self._plugin!r} can deliver messages of role 'user' or 'assistant', not {role!r}")
        if not isinstance(text, str):
            raise UsageError(f"plugin {self._plugin!r} can deliver text, not a {type(text).__name__}")
        self._deliveries.append((self._plugin, role, text))

    def mark_cacheable(self, field: Literal["system", "tools", "messages"], *, ttl: Literal["short", "long"] = "short") -> None:
        """Say that what stands in a field by now comes again unchanged, so that the provider may cache the request up to there.

        A mark lasts for this call. It is left out for models that take none, and when ``prompt_cache`` is ``off``.

        Args:
            field: the system text (the pieces so far), the tools (all), or the messages (all, without late lines).
            ttl: whether it is worth keeping for minutes or for hours.
        """
        self._check_open()
        if field not in ("system", "tools", "messages"):
            raise UsageError(f"plugin {self._plugin!r} marks {field!r} as cacheable; it is 'system', 'tools' or 'messages'")
        pieces = [piece.text for piece in self._pieces if piece.slot == "system"]
        self._marks.append((self._plugin, field, len("\n\n".join(pieces)), ttl))

    def use_model(self, model: Model) -> None:
        """Serve this call with another model."""
        self._check_open()
        if isinstance(model, type) or not all(hasattr(model, name) for name in ("complete", "features", "name", "provider")):
            raise UsageError(f"plugin {self._plugin!r} can use a model, not a {type(model).__name__}")
        self._model, self._model_by = model, self._plugin

    # --- for the kernel ---

    def _check_open(self) -> None:
        if self._sealed:
            raise PluginError(
                f"plugin {self._plugin!r} edits the request in phase 'seal', which is read-only",
                plugin=self._plugin,
                moment="serve_context",
            )

    def _drop_plugin(self, plugin: str, model: Model) -> None:
        """Forget what a plugin did to this call."""
        self._edits = [pair for pair in self._edits if pair[0].plugin != plugin]
        self._pieces = [piece for piece in self._pieces if piece.plugin != plugin]
        self._marks = [mark for mark in self._marks if mark[0] != plugin]
        self._deliveries = [delivery for delivery in self._deliveries if delivery[0] != plugin]
        if self._model_by == plugin:
            self._model, self._model_by = model, KERNEL
