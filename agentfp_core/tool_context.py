"""What a tool is handed about its call: the caller's ``deps``, ids, progress, questions, cleanups, capabilities."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import anyio.from_thread

from agentfp_core import asks, jsontext
from agentfp_core.billing import HelperUse, bill_helper
from agentfp_core.errors import CapabilityMissingError, nearest
from agentfp_core.events.tool import ToolProgress
from agentfp_core.sessions import SCOPES, tool_session_key
from agentfp_core.sisters import to_install

if TYPE_CHECKING:
    from agentfp_core.batch import CallView
    from agentfp_core.messages import Usage
    from agentfp_core.prices import Prices
    from agentfp_core.run import Run
    from agentfp_core.segments import Identity
    from agentfp_core.sessions import Scope
    from agentfp_core.verdicts import AskField

Deps = TypeVar("Deps")


class ToolContext(Generic[Deps]):
    """The context of one call. A tool that annotates a parameter with it is handed one; the model never sees it.

    Attributes:
        deps: what the caller of the run passed.
        call_id: id of the call.
        tool_name: name of the tool.
    """

    __slots__ = ("_call", "_made", "_occurrence", "_run", "_thread", "call_id", "deps", "tool_name")

    def __init__(self, run: Run[Deps], call: CallView) -> None:
        self._run = run
        self._call = call
        self._occurrence = 0 if run.state.batch is None else run.state.batch.occurrences.get(call.id, 0)
        self._thread = threading.get_ident()
        self._made: dict[str, Any] = {}
        self.deps = run.deps
        self.call_id = call.id
        self.tool_name = call.name

    # --- facts ---

    @property
    def run_id(self) -> str:
        """Id of the run leg."""
        return self._run.run_id

    @property
    def root_id(self) -> str:
        """Id of the conversation."""
        return self._run.root_id

    @property
    def turn(self) -> int:
        """Number of the person's turn."""
        return self._run.turn

    @property
    def iteration(self) -> int:
        """Number of the model call within the turn."""
        return self._run.iteration

    @property
    def session_id(self) -> str | None:
        """The hosting session, when the caller named it."""
        return self._run.session_id

    @property
    def identity(self) -> Identity | None:
        """Whom the run is for, when the caller named them."""
        return self._run.identity

    @property
    def teardown_scopes(self) -> tuple[Scope, ...]:
        """The scopes that :meth:`on_teardown` takes in this call: ``session`` is one where the caller named a session."""
        return SCOPES if self.session_id is not None else tuple(scope for scope in SCOPES if scope != "session")

    def isolation_key(self, scope: Scope = "session") -> str | None:
        """A key under which a tool may keep what nobody else may reach; the fields of whom it is for stand escaped in it.

        Args:
            scope: how long it is kept.

        Returns:
            The key; None where it is not known whose it would be: for ``session`` without ``session_id=`` or without an
            identity that names a tenant or a principal, and for ``shutdown``.
        """
        identity = self.identity
        return tool_session_key(
            scope,
            tenant=None if identity is None else identity.tenant,
            principal=None if identity is None else identity.principal,
            session_id=self.session_id,
            run_id=self._run.session_key,
            call_id=self.call_id,
        )

    @property
    def approved(self) -> bool:
        """Whether a person approved this call."""
        return self._call.approved

    @property
    def idempotency_key(self) -> str:
        """A key that is the same when this call is made again after a failure, and another for a further call.

        64 hex digits over the conversation, the tool, its arguments (as proposed, and as changed) and how many such calls
        succeeded before.
        """
        call = self._call
        text = jsontext.canonical([self._run.root_id, self.tool_name, call.proposed.arguments_json, call.arguments_json, self._occurrence])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    # --- doing ---

    def progress(self, data: Any) -> None:
        """Report how far the tool is. Never fails the tool, never reaches the model; free when nobody listens.

        Args:
            data: text or JSON data.
        """
        if self._run.wants(ToolProgress.event_name):
            self._on_loop(lambda: self._run.emit(ToolProgress(self.tool_name, _progress_text(data)), call_id=self.call_id, source="tool"))

    def emit(self, name: str, data: Any) -> None:
        """File an event of the application, about this call.

        Args:
            name: a name outside ``agentfp.``.
            data: JSON data.
        """
        self._on_loop(lambda: self._run.emit_app(name, data, call_id=self.call_id, source="tool"))

    def bill(self, usage: Usage, *, provider: str, model: str, purpose: str, prices: Prices | None = None, duration_ms: int = 0) -> None:
        """File and price what a model used that this call made use of, such as one of embeddings.

        It counts against the limits of the run and stands in what it cost, under its own provider, model and purpose. Nothing is filed
        any more when the run is over.

        Args:
            usage: the tokens that its provider reported; of embeddings the ``input``.
            provider: who bills it.
            model: its name.
            purpose: one word for the record; ``embed`` of a call that turns texts into vectors, which has prices of its own.
            prices: what it is known to cost, where neither the agent nor a plugin says so.
            duration_ms: milliseconds that it took.

        Raises:
            UsageError: an argument cannot be billed.
        """
        use = HelperUse.checked(self.tool_name, purpose, provider, model, usage, prices, duration_ms)
        self._on_loop(lambda: bill_helper(self._run, use, source="tool", call_id=self.call_id))

    def _on_loop(self, action: Callable[[], Any]) -> None:
        """Run something where the run lives; a sync tool is in a worker thread."""
        if self._run.closed:
            return
        if threading.get_ident() == self._thread:
            action()
            return
        try:
            anyio.from_thread.run_sync(action)
        except RuntimeError:
            if not self._run.closed:
                raise

    def ask_human(self, prompt: str, *, context: Any = None, component: str | None = None, expires_in: float | None = None) -> NoReturn:
        """Pause the run; the person's answer becomes this tool's result. See :func:`agentfp.ask_human`.

        Args:
            prompt: what the person reads.
            context: JSON data for the screen that shows it.
            component: name of the part of the screen that shows it.
            expires_in: seconds in which it can be answered.
        """
        asks.ask_human(prompt, context=context, component=component, expires_in=expires_in)

    def request_input(
        self, fields: Sequence[AskField], *, context: Any = None, component: str | None = None, expires_in: float | None = None
    ) -> NoReturn:
        """Pause the run for several values. See :func:`agentfp.request_input`.

        Args:
            fields: what to ask, one to thirty-two.
            context: JSON data for the screen that shows it.
            component: name of the part of the screen that shows it.
            expires_in: seconds in which it can be answered.
        """
        asks.request_input(fields, context=context, component=component, expires_in=expires_in)

    def on_teardown(self, cleanup: Callable[[], Any], *, scope: Scope = "run", key: str | None = None, label: str | None = None) -> None:
        """Register a cleanup; a second one under the same key only touches the first.

        Args:
            cleanup: called once, sync or async, for at most 5 s.
            scope: when: after this ``call``, at the end of the ``run`` (a pause is none), of the ``session``, or at ``shutdown``.
            key: tells sessions of one tool and scope apart.
            label: words for the record.

        Raises:
            UsageError: there is no such scope, or the run has no session.
        """
        run = self._run
        self._on_loop(
            lambda: run.agent.sessions.register(
                cleanup,
                tool=self.tool_name,
                scope=scope,
                key=key,
                label=label,
                run_id=run.session_key,
                session_id=run.session_id,
                tenant=run.identity.tenant if run.identity else None,
                principal=run.identity.principal if run.identity else None,
                call_id=self.call_id,
                emit=run.emit,
            )
        )

    # --- what plugins provide ---

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        capabilities = self._run.agent.capabilities
        factory = capabilities.get(name)
        if factory is not None:
            if name not in self._made:
                self._made[name] = factory(self, self._run)
            return self._made[name]
        if (plugin := _PROVIDED.get(name)) is not None:
            msg = f"tool {self.tool_name!r} needs ctx.{name}; switch it on: {to_install(plugin)}, then add {plugin!r} to the plugins"
            raise CapabilityMissingError(msg)
        raise CapabilityMissingError(f"the tool context has no {name!r}; {nearest(name, [*capabilities, *_PUBLIC])}")


_PROVIDED = {"artifacts": "artifacts", "credential": "credentials", "credentials": "credentials", "time": "results"}
"""What sister distributions provide, by the plugin to switch on."""
_PUBLIC = tuple(name for name in dir(ToolContext) if not name.startswith("_"))


def _progress_text(data: Any) -> str:
    if isinstance(data, str):
        return data
    try:
        return jsontext.canonical(data)
    except ValueError:
        return f"[{type(data).__name__}]"
