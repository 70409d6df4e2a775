"""The plugin: what happens at each moment."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentfp.artifacts import ArtifactError, ArtifactMeta, ArtifactStore, Origin, Scope
from agentfp.plugin import (
    Allow,
    CallView,
    Deny,
    Event,
    Identity,
    MemoSource,
    Payload,
    Plugin,
    Registry,
    Replace,
    ResultView,
    Run,
    ToolContext,
    hookimpl,
    record_of,
)
from agentfp_artifacts.events import EVENTS, Minted, Placed, Presented, Refused
from agentfp_artifacts.placing import put_result, ticket
from agentfp_artifacts.scoped import ScopedArtifacts
from agentfp_artifacts.settings import ArtifactsSettings
from agentfp_artifacts.stores.refs import is_ref
from agentfp_artifacts.tools import OWN_TOOLS, present_tool, read_tool
from agentfp_artifacts.wants import resolve, wanted_by

RAN_WELL = frozenset({"success", "partial", "absent"})


@dataclass(slots=True)
class Kept:
    """What a record says of artifacts.

    Args:
        minted: those that were put, by ref.
        placed: the calls whose results are in the store, each with its ref.
        presented: those that were shown to the person, in order.
    """

    minted: dict[str, ArtifactMeta] = field(default_factory=dict)
    placed: dict[str, str] = field(default_factory=dict)
    presented: list[Presented] = field(default_factory=list)


class Artifacts(Plugin):
    """Results that are too large for a conversation are kept in a store, and the model gets a ticket."""

    name = "artifacts"
    version = "0.1.0"
    events = EVENTS
    memo_events = (Minted.event_name, Placed.event_name, Presented.event_name)

    class Settings(ArtifactsSettings):
        """Settings of the artifacts plugin."""

    def __init__(self, settings: Plugin.Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        self.store: ArtifactStore = self.settings.open_store()

    # --- what is known ---

    def initial(self) -> Kept:
        """Nothing yet."""
        return Kept()

    def fold(self, state: Kept, event: Event) -> Kept:
        """What is known after an event."""
        found = event.payload
        if isinstance(found, Minted):
            origin = Origin(found.origin_run_id, found.origin_call_id)
            state.minted[found.ref] = ArtifactMeta(
                ref=found.ref,
                kind=found.kind,
                media_type=found.media_type,
                bytes=found.bytes,
                created_at=found.created_at,
                label=found.label,
                digest=found.digest,
                expires_at=found.expires_at,
                origin=None if origin == Origin() else origin,
                parent_refs=found.parent_refs,
            )
        elif isinstance(found, Placed) and event.call_id is not None:
            state.placed[event.call_id] = found.ref
        elif isinstance(found, Presented):
            state.presented.append(found)
        return state

    @classmethod
    def kept(cls, source: MemoSource) -> Kept:
        """What a record says of artifacts: which were put, placed and presented. No store is asked.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
        """
        found: Kept = cls.memo_of(source)
        return found

    def of(self, source: MemoSource) -> ScopedArtifacts:
        """The artifacts of a conversation, for the application: what was presented can be got here.

        Args:
            source: a result, a record, a checkpoint, or the path of a saved record.
        """
        header = record_of(source).tail.header
        return ScopedArtifacts(self.store, scope_of(header.identity, header.session_id, header.root_id))

    # --- building ---

    @hookimpl
    def configure(self, agent: Registry) -> None:
        """Give the tools ``ctx.artifacts``, and the model its two tools."""
        agent.add_capability("artifacts", self._artifacts_of)
        agent.add_capability("wanted", self._wanted_of)
        agent.add_tool(read_tool(self.settings.read_bytes))
        agent.add_tool(present_tool())

    def _artifacts_of(self, context: ToolContext[Any], run: Run[Any]) -> ScopedArtifacts:
        return self._scoped(run, context.call_id, context.tool_name)

    def _wanted_of(self, context: ToolContext[Any], run: Run[Any]) -> Mapping[str, ArtifactMeta]:
        found: Mapping[str, ArtifactMeta] = run.scratch(self).get(context.call_id, {})
        return found

    def _scoped(self, run: Run[Any], call_id: str, tool: str) -> ScopedArtifacts:
        def tell(payload: Payload) -> None:
            if not run.closed:
                run.emit(payload, call_id=call_id, source=self.name)

        scope, origin = scope_of(run.identity, run.session_id, run.root_id), Origin(run.run_id, call_id)
        return ScopedArtifacts(self.store, scope, tell=tell, tool=tool, origin=origin, masking=run.text_mask)

    # --- calls ---

    @hookimpl(moment="before_tool", phase="resolve")
    def redeem(self, call: CallView, run: Run[Any]) -> Awaitable[Allow | Deny | None] | None:
        """Put artifacts in the place of their refs."""
        wanted = wanted_by(call.tool) if call.tool is not None and call.tool.declarations else {}
        return self._redeem(call, run, wanted) if wanted else None

    async def _redeem(self, call: CallView, run: Run[Any], wanted: Mapping[str, str]) -> Allow | Deny | None:
        metas: dict[str, ArtifactMeta] = {}
        verdict, wrong = await resolve(self._scoped(run, call.id, call.name), call, wanted, metas)
        for parameter, reason, words in wrong:
            given = call.arguments.get(parameter)
            ref = given if isinstance(given, str) and is_ref(given) else None
            run.emit(Refused("dispatch", reason, ref, f"{parameter}: {words}", call.name), call_id=call.id)
        if metas:
            run.scratch(self)[call.id] = metas
        return verdict

    # --- results ---

    @hookimpl(moment="after_result", phase="place")
    def place(self, result: ResultView, call: CallView, run: Run[Any]) -> Awaitable[Replace | None] | None:
        """Put a result that is too long into the store."""
        threshold = self.settings.max_inline_chars
        if threshold is None or len(result.content) <= threshold or result.withheld or not result.ran:
            return None
        if result.outcome not in RAN_WELL or call.name in OWN_TOOLS:
            return None
        return self._place(result, call, run, threshold)

    async def _place(self, result: ResultView, call: CallView, run: Run[Any], threshold: int) -> Replace | None:
        artifacts, text = self._scoped(run, call.id, call.name), result.content
        known: Kept = run.memo(self)
        meta: ArtifactMeta | None = None
        if call.id in known.placed:  # a leg broke off right here
            try:
                meta = await self.store.head(scope_of(run.identity, run.session_id, run.root_id), known.placed[call.id])
            except ArtifactError:
                meta = None
        if meta is None:
            meta = await put_result(artifacts, call, text)
            if meta is None:
                return None
            run.emit(Placed(meta.ref, len(text), threshold, call.name), call_id=call.id)
        return ticket(meta, call.name, text, threshold, self.settings.preview_chars)

    @hookimpl
    def close(self) -> None:
        """Close a store that was made here."""
        end = getattr(self.store, "close", None)
        if isinstance(self.settings.store, str) and callable(end):
            end()


def scope_of(identity: Identity | None, session_id: str | None, root_id: str) -> Scope:
    """Whose artifacts a run works with: those of the conversation that the caller named, of the session, or of this conversation.

    Args:
        identity: whom the run is for.
        session_id: the hosting session.
        root_id: the conversation on the record, of which nested runs and resumed legs are part.
    """
    named = None if identity is None else identity.conversation_id
    conversation = named or session_id or root_id
    if identity is None:
        return Scope(conversation)
    return Scope(conversation, identity.tenant, identity.principal)
