"""Domain ``context``: what each model call was served, as a delta from which the request can be rebuilt."""

from __future__ import annotations

from typing import Literal

from agentfp_core.events.base import Content, Hash, Name, Number, Payload, event, part

Slot = Literal["system", "late"]


@event("agentfp.context.blob")
class Blob(Payload):
    """A text that requests are made of (a piece, a schema, a ticket, a late line), once a conversation."""

    digest: Hash[str]
    body: Content[str]


@part
class PieceRef:
    """A piece of a request, by digest. One that is ``quoted`` repeats what the model or a tool said, and vouches for nothing."""

    plugin: Name[str]
    key: Name[str]
    slot: Name[Slot]
    digest: Hash[str]
    quoted: Number[bool] = False


@part
class EditRef:
    """An edit of the served messages or tools; it stands until the same plugin undoes it.

    ``op`` and what it needs: ``ticket`` (target message, digest), ``hide`` (target message), ``restore`` (target
    message), ``decorate`` (target property, digest of the fragment, only), ``undecorate`` (target property),
    ``hold_out`` and ``let_in`` (target tool), ``add_tool`` (target tool, digest of its schema), ``drop_tool``,
    ``explain`` (target tool, digest of what is said of its arguments), ``unexplain``.
    """

    op: Name[
        Literal[
            "ticket", "hide", "restore", "decorate", "undecorate", "hold_out", "let_in", "add_tool", "drop_tool", "explain", "unexplain"
        ]
    ]
    plugin: Name[str]
    target: Name[str]
    digest: Hash[str | None] = None
    only: Name[tuple[str, ...] | None] = None


@part
class ToolRef:
    """A tool on the wire: its name and the digest of its schema before decoration."""

    name: Name[str]
    digest: Hash[str]


@part
class CacheRef:
    """Where the provider's cache of a request may end: so many characters of the system text, tools, or messages."""

    field: Name[Literal["system", "tools", "messages"]]
    upto: Number[int]
    ttl: Name[Literal["short", "long"]]


@event("agentfp.context.served")
class Served(Payload):
    """A request went to the model. Fields that are None are as in the call before.

    ``receipt`` is the hash of all that was served: pieces, the chain over the messages, tools, parameters, model.
    """

    call: Number[int]
    messages: Number[int]
    receipt: Hash[str]
    provider: Name[str | None] = None
    model: Name[str | None] = None
    pieces: tuple[PieceRef, ...] | None = None
    edits: tuple[EditRef, ...] | None = None
    tools: tuple[ToolRef, ...] | None = None
    params: Content[str | None] = None
    cache: tuple[CacheRef, ...] | None = None
    system_chars: Number[int] = 0
    message_chars: Number[int] = 0


@event("agentfp.context.tools_stated", kind="diagnostic")
class ToolsStated(Payload):
    """A model adapter reads the tools back from the body that it sends, and reports them; the request is that of the last ``served``."""

    names: Name[tuple[str, ...]]


@event("agentfp.context.budget_pressure")
class BudgetPressure(Payload):
    """A slot of the request is larger than its budget; nothing was cut."""

    slot: Name[Literal["system", "messages", "tools"]]
    cap: Number[int]
    projected: Number[int]
    overflow_by: Number[int]
    unit: Name[Literal["chars"]] = "chars"
    plan_action: Name[Literal["none"]] = "none"

    def __str__(self) -> str:
        return f"the {self.slot} are {self.projected} {self.unit}, {self.overflow_by} over their budget of {self.cap}"
