"""``Agent``: an immutable value that says who answers, with which tools, under which limits; and the ways to run it."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import anyio

from agentfp_core.blueprint import Blueprint, Deps, Out
from agentfp_core.callables import refuse_loop
from agentfp_core.errors import ConfigError, PluginError, nearest
from agentfp_core.missing import MISSING

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from agentfp_core.checkpoint import Checkpoint
    from agentfp_core.conversation import Conversation
    from agentfp_core.events.base import Event
    from agentfp_core.pause import Pause
    from agentfp_core.plugins import Plugin
    from agentfp_core.recovering import RecoverySource
    from agentfp_core.result import RunResult
    from agentfp_core.run import Run
    from agentfp_core.starting import CallArguments, CallOptions, HistoryInput
    from agentfp_core.streaming import RunStream, SyncRunStream
    from agentfp_core.tools import Tool, ToolOptions

_overrides: ContextVar[Mapping[int, tuple[Agent[Any, Any], Agent[Any, Any]]]] = ContextVar(
    "agentfp_overrides", default=MappingProxyType({})
)
"""What a test put in the place of agents: by the agent's id the agent, kept alive with it, and its stand-in."""


Blueprint.__init__.__qualname__ = "Agent.__init__"  # as Python calls it who tells of a wrong argument


class Agent(Blueprint[Deps, Out]):
    """Who answers. Immutable and re-entrant: any number of runs may go on at once.

    Args:
        model: a model, or ``"provider:name"`` of an installed provider.
        name: the agent's name on records; a conversation of a named agent is not continued by one of another name.
        deps_type: type of what ``deps=`` of a run takes; for type checkers.
        output_type: what an answer must be; ``str`` for plain text.
        output_retries: how often the model is asked again when its answer does not fit.
        output_strategy: how the model is told the schema: ``auto``, ``native``, ``instruct`` or ``tool``.
        output_fallback: called when no answer fits; gives a value of the type.
        output_canned: the value when that fails too.
        tools: tools, any callables, or tool sources, which bring tools while a run goes on.
        instructions: text, a function of the run that gives text, or a list of these.
        plugins: plugins, in order.
        limits: how far a run may go.
        model_settings: wishes for every model call.
        prices: prices by model name, where the provider states none.
        listeners: a function that is called with every event, or a mapping of pattern to function; patterns are a name,
            ``agentfp.tool.*`` or ``*``, and a function with two parameters is handed the run's header too.
        redact: what to mask in everything served.
        stream: ``hold`` lets no text out before it is accepted, ``live`` lets drafts out; ``hold`` when an answer may be replaced.
        tool_concurrency: calls of a batch that run side by side.
        tool_threads: worker threads for sync tools.
        argument_validation: ``enforce``, ``warn`` or ``off``.
        repeated_call_note: whether the model is told that it repeats a call.
        delivery: how patient a run is with its sinks.
        context_budget: characters of ``system``, ``messages`` and ``tools`` above which an event is filed; empty for none.
        exclusive: refuse a second run of this agent while one is live.
        index: which conversations are live and which pauses are used up; shared by all agents of the process, unless one has
            ids of its own. Give one over a store of yours for several processes.
        clock: where time comes from.
        ids: where ids come from.
        dev: check every event as it is filed, and log the traceback of a tool's own error to the logger ``agentfp.tool``.
        plugin_problems: what runs record of plugins that should be on and are not; ``from_config`` fills it in.
        secrets: values that are masked in everything served; ``from_config`` fills it in.

    Raises:
        AgentfpError: something does not go together; all problems at once.
    """

    @classmethod
    def from_config(cls, path: str | PathLike[str], agent: str | None = None, env: str | None = None, **overrides: Any) -> Agent[Any, Any]:
        """An agent of a config file.

        Args:
            path: of an ``agentfp.toml``, or of a ``pyproject.toml`` with a table ``[tool.agentfp]``.
            agent: which of its agents; the table ``[agent]``, or the only one, when None.
            env: which overlay; what ``AGENTFP_ENV`` names when None.
            **overrides: arguments of the constructor that take the place of the file's.

        Raises:
            ConfigError: with every problem, each with file, line and column.
        """
        from agentfp_core.config import load_config
        from agentfp_core.config.assemble import build

        made: Agent[Any, Any] = build(cls, load_config(path, env=env), agent, overrides)
        return made

    def replace(self, **changes: Any) -> Agent[Deps, Out]:
        """Another agent that differs from this one.

        Args:
            **changes: arguments of the constructor.

        Raises:
            ConfigError: there is no such argument.
        """
        unknown = [key for key in changes if key not in self._given]
        if unknown:
            raise ConfigError([f"an agent has no {key!r}; {nearest(key, self._given)}" for key in unknown])
        made: Any = Agent
        return cast("Agent[Deps, Out]", made(**{**self._given, "index": self.index, **changes}))

    def _in_force(self) -> Agent[Deps, Out]:
        """This agent, or what a test put in its place."""
        found = _overrides.get().get(id(self))
        return self if found is None else cast("Agent[Deps, Out]", found[1])

    # --- running ---

    async def run(self, message: Any, *, history: HistoryInput | None = None, **call: Unpack[CallArguments[Deps]]) -> RunResult[Out]:
        """Run one turn.

        Args:
            message: what the person says: a text, or a list of texts, images and documents.
            history: what was said before: a result's ``history``, its JSON, or a list of ``{"role", "content"}``.
            **call: ``deps``, ``identity``, ``session_id``, ``options``, ``limits``, ``model_settings``, ``on_event``,
                ``journal``, ``timeout``, ``stream``, ``redact``; see :class:`agentfp_core.starting.CallOptions`.

        Returns:
            The result, whatever its status.

        Raises:
            InvalidRunInputError: the message is none, or empty.
            RefusedError: the conversation cannot take a message now.
            RunCheckpointError: the run failed after a finished iteration; before that, its cause itself.
            RunTimeoutError: its time was up.
        """
        return await self._start(message, history=history, **call)

    async def _start(
        self,
        message: Any,
        *,
        history: HistoryInput | None = None,
        push: Callable[[Event], None] | None = None,
        opened: Callable[[Run[Any]], None] | None = None,
        **call: Any,
    ) -> RunResult[Out]:
        from agentfp_core import starting  # the machinery of a run is loaded by the first one

        return await starting.start(self._in_force(), message, _options(call, push, opened), history)

    def run_sync(self, message: Any, *, history: HistoryInput | None = None, **call: Unpack[CallArguments[Deps]]) -> RunResult[Out]:
        """:meth:`run` for code without an event loop.

        Args:
            message: what the person says: a text, or a list of texts, images and documents.
            history: what was said before: a result's ``history``, its JSON, or a list of ``{"role", "content"}``.
            **call: as for :meth:`run`: ``deps``, ``limits``, ``timeout``, ``on_event``, ``journal`` and others.

        Raises:
            RunningLoopError: there is one.
        """
        refuse_loop("run_sync", "await agent.run(...)")
        return anyio.run(lambda: self.run(message, history=history, **call))

    def stream(self, message: Any, *, history: HistoryInput | None = None, **call: Unpack[CallArguments[Deps]]) -> RunStream[Out]:
        """Run one turn and watch it: ``async with agent.stream(...) as run: async for text in run.text()``.

        Args:
            message: what the person says: a text, or a list of texts, images and documents.
            history: what was said before: a result's ``history``, its JSON, or a list of ``{"role", "content"}``.
            **call: as for :meth:`run`: ``deps``, ``limits``, ``timeout``, ``on_event``, ``journal`` and others.
        """
        from agentfp_core.streaming import RunStream

        return RunStream(lambda push: self._start(message, history=history, push=push, **call))

    def stream_sync(self, message: Any, *, history: HistoryInput | None = None, **call: Unpack[CallArguments[Deps]]) -> SyncRunStream[Out]:
        """:meth:`stream` for code without an event loop: ``with agent.stream_sync(...) as run: for text in run.text()``.

        Args:
            message: what the person says: a text, or a list of texts, images and documents.
            history: what was said before: a result's ``history``, its JSON, or a list of ``{"role", "content"}``.
            **call: as for :meth:`run`: ``deps``, ``limits``, ``timeout``, ``on_event``, ``journal`` and others.
        """
        refuse_loop("stream_sync", "async with agent.stream(...)")
        from agentfp_core.streaming import SyncRunStream

        return SyncRunStream(self.stream(message, history=history, **call))

    async def resume(self, pause: Pause, answers: Any = MISSING, **call: Unpack[CallArguments[Deps]]) -> RunResult[Out]:
        """Go on with a paused run, on this agent or another like it, in this process or another.

        Args:
            pause: what the run returned.
            answers: by question id; one answer alone when there is one question. With some of them only, nothing runs and
                the result is an updated pause.
            **call: as for :meth:`run`.

        Raises:
            RefusedError: of the kind that says what is wrong; the pause is as it was.
        """
        return await self._resume(pause, answers, **call)

    async def _resume(
        self,
        pause: Pause,
        answers: Any,
        *,
        push: Callable[[Event], None] | None = None,
        opened: Callable[[Run[Any]], None] | None = None,
        **call: Any,
    ) -> RunResult[Out]:
        from agentfp_core import resuming

        return await resuming.resume(self._in_force(), pause, answers, _options(call, push, opened))

    def stream_resume(self, pause: Pause, answers: Any = MISSING, **call: Unpack[CallArguments[Deps]]) -> RunStream[Out]:
        """:meth:`resume`, and watch it as with :meth:`stream`.

        Args:
            pause: what the run returned.
            answers: by question id; one answer alone when there is one question.
            **call: as for :meth:`run`.
        """
        from agentfp_core.streaming import RunStream

        return RunStream(lambda push: self._resume(pause, answers, push=push, **call))

    def resume_sync(self, pause: Pause, answers: Any = MISSING, **call: Unpack[CallArguments[Deps]]) -> RunResult[Out]:
        """:meth:`resume` for code without an event loop.

        Args:
            pause: what the run returned.
            answers: by question id; one answer alone when there is one question.
            **call: as for :meth:`run`.
        """
        refuse_loop("resume_sync", "await agent.resume(...)")
        return anyio.run(lambda: self.resume(pause, answers, **call))

    async def resume_on_error(self, source: RecoverySource, **call: Unpack[CallArguments[Deps]]) -> RunResult[Out]:
        """Take up a run that failed, was cancelled or was killed, with a new budget. No call that ended runs again.

        Args:
            source: the error, its checkpoint, or the path of the journal.
            **call: as for :meth:`run`.

        Raises:
            NoConversationError: nothing was left undone.
            RecordError: the source cannot be read.
        """
        from agentfp_core import recovering

        return await recovering.recover(self._in_force(), source, _options(call))

    def resume_on_error_sync(self, source: RecoverySource, **call: Unpack[CallArguments[Deps]]) -> RunResult[Out]:
        """:meth:`resume_on_error` for code without an event loop.

        Args:
            source: the error, its checkpoint, or the path of the journal.
            **call: as for :meth:`run`.
        """
        refuse_loop("resume_on_error_sync", "await agent.resume_on_error(...)")
        return anyio.run(lambda: self.resume_on_error(source, **call))

    def conversation(
        self,
        *,
        history: HistoryInput | None = None,
        checkpoint: Checkpoint | str | bytes | None = None,
        **call: Unpack[CallArguments[Deps]],
    ) -> Conversation[Deps, Out]:
        """A live conversation.

        Args:
            history: what was said before.
            checkpoint: where an earlier conversation stood; in place of a history.
            **call: defaults for its turns, as for :meth:`run`.
        """
        _options(call)
        from agentfp_core.conversation import Conversation

        return Conversation(self, history=history, checkpoint=checkpoint, defaults=dict(call))

    def as_tool(self, name: str, description: str, /, **options: Unpack[ToolOptions]) -> Tool[..., Any]:
        """This agent as a tool of another one. Its answer is a model's text, and never a source by itself.

        Args:
            name: the tool's name.
            description: what the other model is told of it.
            **options: options of the tool.
        """
        from agentfp_core.nested import agent_tool

        return agent_tool(self, name, description, **options)

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """The plugins that are on, in order."""
        return self.plugin_set.plugins

    # --- letting go ---

    def abandon(self, pause: Pause) -> RunResult[Out]:
        """Drop the questions of a stored pause: its calls are settled without running, and the history can go on.

        Args:
            pause: what a run returned, or ``Pause.from_json(text)``.

        Returns:
            A result with the status ``stopped_early``, for its history and record.

        Raises:
            PauseConsumedError: the pause was resumed or dropped before.
        """
        from agentfp_core import resuming
        from agentfp_core.starting import CallOptions

        return resuming.abandon(self._in_force(), pause, CallOptions())

    async def close_tool_sessions(self, session_id: str, *, tenant: str | None = None, principal: str | None = None) -> int:
        """Close what tools keep open for a session, those of nested agents too.

        Args:
            session_id: the session, as ``session_id=`` of a run named it.
            tenant: the tenant of those runs' identity.
            principal: the principal of it.

        Returns:
            How many cleanups ran.
        """
        from agentfp_core.nested import nested_agents

        closed = await self.sessions.end_session(session_id, emit=_unrecorded, tenant=tenant, principal=principal)
        for nested in nested_agents(self):
            closed += await nested.close_tool_sessions(session_id, tenant=tenant, principal=principal)
        return closed

    async def shutdown(self) -> None:
        """Close all tool sessions and let plugins let go. The agent stays usable.

        Raises:
            PluginError: a plugin failed to let go; all others did.
        """
        await self.sessions.shutdown(emit=_unrecorded)
        failed: dict[str, Exception] = {}
        for impl in self.plugin_set.table["close"]:
            try:
                answer = impl.call()
                if hasattr(answer, "__await__"):
                    with anyio.fail_after(5, shield=True):
                        await answer
            except Exception as error:
                failed[impl.plugin] = error
        if failed:
            names = ", ".join(map(repr, failed))
            first = next(iter(failed))
            raise PluginError(f"on shutdown, close failed of plugin {names}", plugin=first, moment="close") from failed[first]

    def __repr__(self) -> str:
        model = self._model if isinstance(self._model, str) else self._model.name
        return f"Agent({model!r}, tools={list(self.tools)}, plugins={list(self.plugin_set.by_name)})"

    def _repr_html_(self) -> str:
        tools = "".join(
            f"<li><code>{html.escape(t.name)}</code> {html.escape(t.description.split(chr(10))[0])}</li>" for t in self.tools.values()
        )
        return f"<p><b>{html.escape(repr(self))}</b></p><ul>{tools}</ul>"


def _unrecorded(payload: Any, *, call_id: str | None) -> None:
    """Sessions that are closed outside of a run have no record to stand on."""


def _options(
    call: Mapping[str, Any], push: Callable[[Event], None] | None = None, opened: Callable[[Run[Any]], None] | None = None
) -> CallOptions:
    from agentfp_core.starting import CallOptions

    known = set(CallOptions.__dataclass_fields__) - {"push", "opened"}
    for name in call:
        if name not in known:
            from agentfp_core.errors import UnknownOptionError

            raise UnknownOptionError(f"a run has no option {name!r}; {nearest(name, known)}")
    return CallOptions(**call, push=push, opened=opened)
