"""``serve_context``: instructions and plugins' work become one request, filed as a delta with its receipt."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentfp_core import jsontext
from agentfp_core.calling import each
from agentfp_core.draft import RequestDraft
from agentfp_core.errors import PluginError
from agentfp_core.events.context import Blob, BudgetPressure, CacheRef, EditRef, PieceRef, Served, ToolRef
from agentfp_core.events.message import MessageAdded
from agentfp_core.jsonable import without_surrogates
from agentfp_core.protocol import check_message, check_request
from agentfp_core.served import Piece, digest, spec_json

if TYPE_CHECKING:
    from agentfp_core.model import Model, ModelRequest, ToolSpec
    from agentfp_core.plugins import Impl
    from agentfp_core.run import Run
    from agentfp_core.tools import Tool


@dataclass(frozen=True, slots=True)
class Extra:
    """What the loop adds to one request.

    Args:
        late: late lines, each with the plugin it is from and its key.
        tools: whether tools are on the wire.
    """

    late: tuple[Piece, ...] = ()
    tools: bool = True


class Composer:
    """Makes the requests of one run leg; holds what does not change between them."""

    def __init__(self, run: Run[Any]) -> None:
        self.run = run
        self.state = run.state.served
        self.specs: Mapping[str, ToolSpec]
        output = run.agent.output
        self._answer = output.tool if output is not None and output.way(run.model) == "tool" else None
        impls = run.agent.plugin_set.table["serve_context"]
        self._shaping = [impl for impl in impls if impl.phase != "seal"]
        self._sealing = [impl for impl in impls if impl.phase == "seal"]
        self._refs: dict[str, ToolRef] = {}
        self._base: tuple[ToolRef, ...] | None = None
        self._base_added: dict[str, tuple[str, str]] = {}
        self._pieces: dict[tuple[str, str, str], tuple[str, PieceRef]] = {}
        self._begun = False
        self._checked = 0
        self._checked_model: Model | None = None
        self._roles: frozenset[str] = frozenset()
        self._warned_slots: set[str] = set()
        self._tool_chars: tuple[Any, int] = (None, 0)
        self.use_tools(run.tools)

    def use_tools(self, tools: Mapping[str, Tool[..., Any]]) -> None:
        """Serve these tools from the next request on."""
        self.specs = {name: tool.spec for name, tool in tools.items() if not tool.deferred}
        self._refs = {}
        self._base = None

    async def compose(self, extra: Extra) -> tuple[ModelRequest, Model]:
        """Make, check and file the next request.

        Args:
            extra: what the loop adds to it.

        Returns:
            The request, and the model to send it to.

        Raises:
            PluginError: a plugin failed in a phase without which the request must not go out.
            ModelFeatureError: the model cannot serve it.
        """
        run = self.run
        draft = RequestDraft(run, self.state, self.specs, run.model)
        if not self._begun:
            self._begun = True
            draft._edits += [(edit, None) for edit in self.state.edits_without(run.agent.plugin_set.by_name)]
        if run.agent.instructions or run.agent.output is not None or run.state.system_texts:
            await self._instructions(draft)
        if self._shaping or self._sealing:
            await self._hooks(draft)
        draft._pieces += extra.late
        if draft._deliveries:
            self._deliver(draft)
        request = self._file(draft, extra)
        model = draft.model
        self._check(model, request)
        if run.agent.context_budget:
            self._budgets(request)
        return request, model

    # --- making ---

    async def _instructions(self, draft: RequestDraft) -> None:
        run = self.run
        for index, part in enumerate(run.agent.instructions):
            text = part if isinstance(part, str) else part(run)
            if inspect.isawaitable(text):
                text = await text
            if text:
                draft.add_piece(f"instructions.{index}", text)
        for index, text in enumerate(run.state.system_texts):
            draft.add_piece(f"history.{index}", text)
        output = run.agent.output
        if output is not None and (words := output.instruction(run.model)):
            draft.add_piece("output_schema", words)

    async def _hooks(self, draft: RequestDraft) -> None:
        run = self.run

        def take(impl: Impl, _: None, answer: Any) -> bool:
            msg = f"plugin {impl.plugin!r} answered 'serve_context' with a {type(answer).__name__}; it answers nothing and uses the draft"
            raise PluginError(msg, plugin=impl.plugin, moment="serve_context")

        def failed(impl: Impl, _: None, error: Exception) -> bool:
            run.plugin_failed(impl.plugin, "serve_context", impl.phase, impl.on_error, error)
            if impl.on_error == "run-failed":
                msg = f"plugin {impl.plugin!r} failed in phase {impl.phase!r} of serve_context; the request was not sent"
                raise PluginError(msg, plugin=impl.plugin, moment="serve_context") from error
            draft._drop_plugin(impl.plugin, run.model)
            return True

        arguments = (draft, run)
        await each(run, [(impl, None, arguments) for impl in self._shaping], take, failed)
        if self._sealing:
            draft._sealed = True
            await each(run, [(impl, None, arguments) for impl in self._sealing], take, failed)
            draft._sealed = False

    def _deliver(self, draft: RequestDraft) -> None:
        for plugin, role, text in draft._deliveries:
            self.run.emit(
                MessageAdded(message_id=self.run.ids.new("m"), role=role, author=f"plugin:{plugin}", content=text),  # type: ignore[arg-type]
                source=plugin,
            )

    # --- filing ---

    def _file(self, draft: RequestDraft, extra: Extra) -> ModelRequest:
        run, state = self.run, self.state
        edits = self._edits(draft) if draft._edits else ()
        pieces = tuple([self._piece(piece) for piece in draft._pieces]) if draft._pieces else ()
        tools = self._tools() if extra.tools else ()
        params = run.params_json(tools=bool(tools))
        model = (draft.model.provider, draft.model.name)
        cache = self._cache(draft, len(tools)) if draft._marks else ()
        served = Served(
            call=state.calls + 1,
            messages=len(run.state.messages),
            receipt="",
            provider=model[0] if model != state.model else None,
            model=model[1] if model != state.model else None,
            pieces=pieces if pieces != state.pieces else None,
            edits=edits or None,
            tools=tools if tools is not state.tools and tools != state.tools else None,
            params=params if params != state.params else None,
            cache=cache if cache != state.cache else None,
            system_chars=sum([len(piece.text) for piece in draft._pieces if piece.slot == "system"]),
            message_chars=state.message_chars,
        )
        state.apply(served, edited=True)
        served.receipt = state.receipt()
        run.emit(served)
        return state.request(run.report)

    def _cache(self, draft: RequestDraft, tools: int) -> tuple[CacheRef, ...]:
        """The cache marks of this call, for a model that takes them."""
        if draft.model.features.prompt_cache != "breakpoints" or self.run.settings.prompt_cache == "off":
            return ()
        marks: dict[tuple[str, int], CacheRef] = {}
        for _, field, characters, ttl in draft._marks:
            upto = {"system": characters, "tools": tools, "messages": len(self.state.view())}[field]
            if upto:
                marks[field, upto] = CacheRef(field, upto, ttl)
        return tuple(marks.values())

    def _blob(self, body: str, known: str | None = None) -> str:
        body = without_surrogates(body)  # the digest is over what can be written down
        value = known or digest(self.state.salt, "blob", body)
        if value not in self.state.blobs:
            self.run.emit(Blob(value, body))
        return value

    def _piece(self, piece: Piece) -> PieceRef:
        key = (piece.plugin, piece.key, piece.slot)
        known = self._pieces.get(key)
        if known is not None and known[0] == piece.text and known[1].quoted == piece.quoted:
            return known[1]
        made = PieceRef(piece.plugin, piece.key, piece.slot, self._blob(piece.text), piece.quoted)
        self._pieces[key] = (piece.text, made)
        return made

    def _edits(self, draft: RequestDraft) -> tuple[EditRef, ...]:
        """Make the edits of this call stand, one after the other, their texts stored; gives those that changed anything."""
        kept = []
        for edit, body in draft._edits:
            if not self._stands(edit):
                if body is not None:
                    self._blob(body, edit.digest)
                self.state.apply_edits((edit,))
                kept.append(edit)
        return tuple(kept)

    def _stands(self, edit: EditRef) -> bool:
        state, plugin, target = self.state, edit.plugin, edit.target
        match edit.op:
            case "ticket":
                return state.tickets.get(target, {}).get(plugin) == edit.digest
            case "hide":
                return plugin in state.hidden.get(target, ())
            case "restore":
                return plugin not in state.tickets.get(target, ()) and plugin not in state.hidden.get(target, ())
            case "decorate":
                return state.decorations.get((plugin, target)) == (edit.digest, edit.only)
            case "undecorate":
                return (plugin, target) not in state.decorations
            case "explain":
                return state.explained.get((plugin, target)) == edit.digest
            case "unexplain":
                return (plugin, target) not in state.explained
            case "hold_out":
                return plugin in state.held_out.get(target, ())
            case "let_in":
                return plugin not in state.held_out.get(target, ())
            case "add_tool":
                return state.added_tools.get(target) == (plugin, edit.digest)
            case "drop_tool":
                return state.added_tools.get(target, ("",))[0] != plugin
        return False

    def _tools(self) -> tuple[ToolRef, ...]:
        added = self.state.added_tools
        if self._base is None or added != self._base_added:
            for name, spec in self.specs.items():
                if name not in self._refs:
                    self._refs[name] = ToolRef(name, self._blob(spec_json(spec)))
            extra = [ToolRef(name, value) for name, (_, value) in added.items() if name not in self.specs]
            if self._answer is not None:
                extra.append(ToolRef(self._answer.name, self._blob(spec_json(self._answer))))
            self._base = (*[self._refs[name] for name in self.specs], *extra)
            self._base_added = dict(added)
        return self._base

    # --- checking ---

    def _check(self, model: Model, request: ModelRequest) -> None:
        """Refuse what the model cannot take; only messages that it was not asked about yet."""
        check_request(model, request)
        if model is not self._checked_model:
            self._checked, self._checked_model, self._roles = 0, model, frozenset(model.features.roles)
        messages, roles = request.messages, self._roles
        for index in range(min(self._checked, len(messages)), len(messages)):
            message = messages[index]
            if message.parts or message.role not in roles:
                check_message(model, message)
        self._checked = len(messages)

    def _budgets(self, request: ModelRequest) -> None:
        if self._tool_chars[0] is not request.tools:
            self._tool_chars = (request.tools, sum(len(t.parameters_json) + len(t.description) + len(t.name) for t in request.tools))
        sizes = {"system": len(request.system), "messages": self.state.message_chars, "tools": self._tool_chars[1]}
        for slot, cap in self.run.agent.context_budget.items():
            if sizes[slot] > cap and slot not in self._warned_slots:
                self._warned_slots.add(slot)
                self.run.emit(BudgetPressure(slot, cap, sizes[slot], sizes[slot] - cap))  # type: ignore[arg-type]


def params_json(settings_json: str, tool_choice: str | None, output_schema: str | None) -> str:
    """The parameters of a request as canonical JSON text."""
    data: dict[str, Any] = {"settings": jsontext.parse(settings_json)}
    if tool_choice is not None:
        data["tool_choice"] = tool_choice
    if output_schema is not None:
        data["output_schema"] = output_schema
    return jsontext.canonical(data)
