"""The state of one run leg, and all that a hook may do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agentfp_core.billing import HelperUse, bill_failed, bill_failure, bill_helper, check_purpose, price_now, stop_reason
from agentfp_core.errors import ModelError, UnknownEventError, UsageError, describe_type, nearest, text_of
from agentfp_core.events.agent import StopRequested
from agentfp_core.events.app import AppEvent
from agentfp_core.events.base import Event, Payload, check_payload
from agentfp_core.events.catalog import CATALOG
from agentfp_core.events.error import Fatal
from agentfp_core.events.hook import PluginFailed
from agentfp_core.events.stream import CallFailed
from agentfp_core.hook_timer import HookTimer
from agentfp_core.jsonable import without_surrogates
from agentfp_core.jsontext import canonical
from agentfp_core.memos import Memo
from agentfp_core.model import ModelRequest, ModelResponse
from agentfp_core.protocol import check_request, complete
from agentfp_core.redaction import RedactionPolicy, SecretMask, funnel
from agentfp_core.state import RunState
from agentfp_core.stream_mask import StreamMask

if TYPE_CHECKING:
    import datetime
    from decimal import Decimal

    from agentfp_core.agent import Agent
    from agentfp_core.clock import Clock, Ids
    from agentfp_core.compose import Composer
    from agentfp_core.delivery import Delivery
    from agentfp_core.events.agent import EarlyReason
    from agentfp_core.hookspecs import OnError
    from agentfp_core.journal import Journal
    from agentfp_core.limits import Limits, PriceTable
    from agentfp_core.listeners import Listeners
    from agentfp_core.messages import History, Usage
    from agentfp_core.model import Model, ModelSettings
    from agentfp_core.plugins import Plugin
    from agentfp_core.prices import Prices
    from agentfp_core.record import Record
    from agentfp_core.segments import Identity, SegmentHeader
    from agentfp_core.tool_sources import OpenSources
    from agentfp_core.tools import Tool

Deps = TypeVar("Deps")
_new_event = tuple.__new__
KERNEL = "kernel"
RECEIPTED = "agentfp.context."
"""Events of this domain hold what was sent to the model byte by byte, for a receipt is made of it."""


def _unfolded(event: Event, payload: Any) -> None:
    """Nobody computes anything of this event."""


TRANSIENT: tuple[Callable[[Event, Any], None], ...] = (_unfolded, _unfolded)
"""Stands in the place of the folds of events that are delivered only."""


class Run(Generic[Deps]):
    """One leg of a run: its record, its counters, its plugins' memos. Made for the call and gone with it.

    Hooks and functions for instructions are handed this object.

    Attributes:
        agent: the agent.
        run_id: this leg.
        root_id: the conversation.
        record: the live record.
        deps: what the caller passed; never serialised.
        clock: where time comes from.
        limits: the limits in force.
        tools: the agent's tools, and those that its tool sources brought, by name.
        model: the model, unless a plugin chooses another for a call.
    """

    def __init__(
        self,
        *,
        agent: Agent[Deps, Any],
        record: Record,
        state: RunState,
        memos: dict[str, Memo],
        deps: Deps,
        model: Model,
        settings: ModelSettings,
        limits: Limits,
        options: Mapping[str, Any],
        listeners: Listeners,
        stream_mode: str,
        redact: RedactionPolicy | None = None,
        journal: Journal | None = None,
        parent: Run[Any] | None = None,
    ) -> None:
        self.agent = agent
        self.record = record
        self.state = state
        self.deps = deps
        self.model = model
        self.settings = settings
        self.limits = limits
        self.clock: Clock = agent.clock
        self.ids: Ids = agent.ids
        self.header: SegmentHeader = record.tail.header
        self.run_id = self.header.run_id
        self.root_id = self.header.root_id
        self.parent = parent
        self.price_tables: tuple[PriceTable, ...] = agent.price_tables if parent is None else (*agent.price_tables, *parent.price_tables)
        self.journal = journal
        self.tools: Mapping[str, Tool[..., Any]] = agent.tools
        self.sources: OpenSources | None = None
        self.stream_mode = stream_mode
        self.source = KERNEL
        self.plugin_failures: dict[str, int] = {}
        if parent is not None:
            record.secrets = parent.secrets
        self.secrets: set[str] = record.secrets
        self.secrets.update(agent.secrets)
        self.handed: set[str] = set() if parent is None else parent.handed
        self._handed_mask = SecretMask(self.handed)
        outer = None if parent is None else parent.redact
        self.own_redact = redact
        self.redact: RedactionPolicy | None = redact if outer is None else outer.joined(redact)
        record.policy = self.redact if record.policy is None else record.policy.joined(self.redact)
        self.mask = listeners.mask = funnel(self.redact, self.secrets)
        self.closed = False
        self.deliveries: tuple[Delivery, ...] = () if parent is None else parent.deliveries
        self.push: Callable[[Event], None] | None = None
        self.listeners = listeners
        self.started_mono_ns = self.clock.monotonic_ns()
        self.phase = "compose"
        self.warned: set[str] = set()
        self.child_answers: dict[str, dict[str, Any]] = {}
        self.composer: Composer
        self._options = options
        self.memos = memos
        self._scratch: dict[str, dict[str, Any]] = {}
        self._events = record.tail.events
        self._seq = record.next_seq
        self._iteration = state.iteration
        self._turn = state.turn
        self._folds: dict[str, tuple[Callable[[Event, Any], None], ...]] = {}
        self._dev = agent.dev
        self._time_ns = self.clock.time_ns
        self._monotonic_ns = self.clock.monotonic_ns
        self._watched = self._heard = False
        self.hook_timer = HookTimer()
        self._in_listener = False
        self._unwritable = False
        self._params: dict[bool, str] = {}
        for plugin in agent.plugin_set.plugins:
            for secret in plugin.masked_values(self):
                self.mask_value(secret, on_record=True)

    # --- the record ---

    def emit(self, payload: Payload, *, call_id: str | None = None, source: str | None = None, name: str | None = None) -> Event | None:
        """File an event. This is the only way in which anything changes.

        Args:
            payload: made by a class decorated with ``@event``.
            call_id: the tool call it is about.
            source: for the kernel: who emits it, where it is not the plugin whose hook is running.
            name: for the kernel: the name of an application's event.

        Returns:
            The event; None when it is transient and nobody listens.

        Raises:
            UnknownEventError: the payload is of no event class, or a plugin emits what the kernel alone says of a run.
            UsageError: the run is over.
        """
        if name is None:
            name = getattr(payload, "event_name", "")
        folds = self._folds.get(name) or self._folds_of(name, payload)
        if source is None and self.source != KERNEL and self.state.handler(name) is not None:
            msg = f"plugin {self.source!r} emits {name!r}, which only the kernel does; answer with a verdict, or emit an event of its own"
            raise UnknownEventError(msg)
        if self._dev:
            check_payload(payload)
            self._check_declared(payload, source)
        if self.handed and not name.startswith(RECEIPTED):
            payload = self._handed_mask.content(payload)
        if self.closed:
            raise UsageError(f"the run is over; {name!r} cannot be filed on its record any more")
        seq = self._seq
        if folds is TRANSIENT:
            if not self.wants(name):
                return None
            seq = -1
        else:
            self._seq = seq + 1
        offset = self._monotonic_ns() - self.started_mono_ns
        event: Event = _new_event(
            Event, (seq, name, self._time_ns(), offset, self._turn, self._iteration, call_id, source or self.source, payload)
        )
        if seq >= 0:
            self._events.append(event)
            for fold in folds:
                fold(event, payload)
            if self.journal is not None:
                self.journal.write(event, self.run_id)
        if self._watched:
            if self._heard:
                self._tell(event)
            for delivery in self.deliveries:
                delivery.put(event, self.header, self.mask)
            if self.push is not None:
                self.push(event)
        return event

    def emit_app(self, name: str, data: Any, *, call_id: str | None = None, source: str = "app") -> None:
        """File an event of the application under a name of its own.

        Args:
            name: any name outside ``agentfp.``.
            data: JSON data.
            call_id: the tool call it is about.
            source: who emits it.

        Raises:
            UnknownEventError: the name is none, is in the library's domain, or is that of a plugin's own event type.
        """
        if not isinstance(name, str) or not name:
            raise UnknownEventError(f"the name of an event of the application must be a text, got {describe_type(name)}")
        if name.startswith("agentfp."):
            raise UnknownEventError(f"{name!r} is no name for an event of the application; {nearest(name, CATALOG)}")
        if any(kind.event_name == name for plugin in self.agent.plugin_set.plugins for kind in plugin.events):
            raise UnknownEventError(f"{name!r} is an event type of a plugin; only the plugin emits it, so take a name of your own")
        self.emit(AppEvent(canonical(data)), call_id=call_id, source=source, name=self.mask_text(without_surrogates(name)))

    def _check_declared(self, payload: Payload, source: str | None) -> None:
        """In development, refuse an event type that the plugin which emits it does not declare: a loaded record could not read it."""
        plugin = self.agent.plugin_set.by_name.get(source or self.source)
        kind = type(payload)
        if plugin is not None and kind is not AppEvent and kind.event_name not in CATALOG and kind not in plugin.events:
            raise UnknownEventError(
                f"plugin {plugin.name!r} emits {kind.event_name!r} and does not declare it; add {kind.__name__} to its `events`"
            )

    def watch(self) -> None:
        """Look again whether anybody watches; called when a sink or a stream has joined."""
        self._heard = bool(self.listeners)
        self._watched = self._heard or bool(self.deliveries) or self.push is not None

    def _folds_of(self, name: str, payload: Payload) -> tuple[Callable[[Event, Any], None], ...]:
        """What folds events of a name in; looked up once a name, and the payload's class checked with it."""
        if not name or not isinstance(payload, Payload):
            kind = type(payload).__name__
            raise UnknownEventError(f"emit takes the payload of an event class, got a {kind}; decorate the class with @event(...)")
        handler = self.state.handler(name)
        folds: list[Callable[[Event, Any], None]] = [] if handler is None else [handler]
        folds += [memo.apply for memo in self.memos.values() if memo.reads(name)]
        made = TRANSIENT if payload.event_kind == "transient" else tuple(folds) or (_unfolded,)
        self._folds[name] = made
        return made

    def _tell(self, event: Event) -> None:
        for failure in self.listeners.tell(event, self.header):
            if not self._in_listener:
                self._in_listener = True
                try:
                    self.emit(Fatal("listener", "observer", type(failure).__name__, text_of(failure)), source=KERNEL)
                finally:
                    self._in_listener = False

    def wants(self, name: str) -> bool:
        """Whether anybody listens to a transient event of this name."""
        return self.push is not None or self.listeners.hears(name) or any(delivery.wants_transient for delivery in self.deliveries)

    def begin_turn(self, turn: int) -> None:
        """Stamp the events to come with a turn."""
        self._turn = turn
        self._iteration = 0

    def begin_iteration(self, iteration: int) -> None:
        """Stamp the events to come with an iteration, and drop the scratch of the one before."""
        self._iteration = iteration
        if self._scratch:
            self._scratch = {}

    def flush(self) -> None:
        """Hand the journal's lines to the operating system."""
        if self.journal is None:
            return
        try:
            self.journal.flush()
        except OSError:  # the first one fails the run; it must not keep the run from ending in order too
            if not self._unwritable:
                self._unwritable = True
                raise

    def report(self, payload: Payload) -> None:
        """Take an event of a model, a wrapper or an adapter to the record."""
        event = self.emit(payload, source=KERNEL)
        if isinstance(payload, CallFailed):
            bill_failed(self, event, payload, self.model)

    def params_json(self, *, tools: bool) -> str:
        """The parameters of requests with or without tools, as canonical JSON text; made once each."""
        if tools not in self._params:
            from agentfp_core.compose import params_json

            output = self.agent.output
            choice, schema = (None, None) if output is None else output.request_fields(self.model, tools=tools)
            self._params[tools] = params_json(self.settings.to_json(), choice, schema)
        return self._params[tools]

    # --- what hooks read ---

    @property
    def turn(self) -> int:
        """Number of the person's turn, from 1."""
        return self._turn

    @property
    def iteration(self) -> int:
        """Number of the model call within the turn, from 1; 0 before the first."""
        return self._iteration

    @property
    def history(self) -> History:
        """The messages up to now."""
        return self.state.history(self.record)

    @property
    def output_type(self) -> Any:
        """The type that the answer must have; None for text."""
        return None if self.agent.output is None else self.agent.output.output_type

    @property
    def usage(self) -> Usage:
        """Tokens of the turn, plugins' own model calls and nested runs included."""
        return self.state.usage

    @property
    def cost_usd(self) -> Decimal | None:
        """Dollars of the turn; None when nothing could be priced."""
        return self.state.usd

    @property
    def session_id(self) -> str | None:
        """The hosting session, when the caller named it."""
        return self.header.session_id

    @property
    def identity(self) -> Identity | None:
        """Whom the run is for, when the caller named them."""
        return self.header.identity

    @property
    def session_key(self) -> str:
        """What sessions of scope ``run`` belong to: this turn with all its legs, and not a nested run."""
        return "/".join((self.root_id, str(self._turn), *self.header.path))

    @property
    def path(self) -> tuple[str, ...]:
        """Call ids that lead to this nested run; empty for a run of its own."""
        return self.header.path

    def now(self) -> datetime.datetime:
        """The wall clock, in UTC."""
        return self.clock.now()

    def memo(self, plugin: Plugin | str) -> Any:
        """A plugin's memo; made by its ``fold`` only. Read it, change it by emitting.

        Args:
            plugin: the plugin or its name.

        Raises:
            PluginError: its fold has raised.
        """
        name = plugin if isinstance(plugin, str) else plugin.name
        memo = self.memos.get(name)
        return None if memo is None else memo.read()

    def cache(self, plugin: Plugin | str) -> dict[str, Any]:
        """What a plugin computed of the record and can compute again.

        Unlike a memo it may be changed anywhere; it lives as long as the conversation goes on in this process, and is empty after that.
        """
        name = plugin if isinstance(plugin, str) else plugin.name
        return self.state.caches.setdefault(name, {})

    def scratch(self, plugin: Plugin | str) -> dict[str, Any]:
        """A place for one plugin during one model call; empty at the next and after a resume."""
        name = plugin if isinstance(plugin, str) else plugin.name
        return self._scratch.setdefault(name, {})

    def options(self, plugin: Plugin | str) -> Any:
        """What the caller passed for a plugin in ``options=``: its ``RunOptions``, at their defaults where it passed none."""
        name = plugin if isinstance(plugin, str) else plugin.name
        return self._options.get(name)

    # --- what hooks do ---

    def request_stop(self, reason: str, *, limit: EarlyReason = "requested") -> None:
        """End the turn before its next model call, as a limit does.

        Args:
            reason: for the record.
            limit: what ``result.stopped_early`` says, for a plugin that keeps a limit of that kind, such as ``cost-budget``.
        """
        self.emit(StopRequested(self.source, reason, limit), source=self.source)

    def mask_value(self, secret: str, *, on_record: bool = False) -> None:
        """Mask a value in everything that is served about this run: exports, listeners, saved records. Not recorded itself.

        Args:
            secret: the value; one of fewer than four characters is left as it is.
            on_record: also in what is said from now on by tools, models and people, before it stands on the record: the model neither
                reads it nor can pass it on, for a call with it among its arguments is refused.
        """
        if len(secret) >= 4:
            self.secrets.add(secret)
            if on_record:
                self.handed.add(secret)

    def text_mask(self) -> Callable[[str], str] | None:
        """What masks the values that must not stand on the record, for what a plugin keeps elsewhere; None while there are none."""
        return self._handed_mask.mask_text if self.handed else None

    def mask_text(self, text: str) -> str:
        """A text without these values."""
        return self._handed_mask.mask_text(text) if self.handed else text

    def stream_mask(self) -> StreamMask:
        """What masks a text that comes in pieces as ``mask_text`` would the whole."""
        return StreamMask(self._handed_mask)

    async def call_model(self, request: ModelRequest, *, purpose: str, model: Model | None = None) -> ModelResponse:
        """Call a model for a plugin's own work; billed, limited and recorded as part of the run.

        Args:
            request: the request.
            purpose: one word for the record.
            model: another model than the run's.

        Raises:
            ModelError: the call failed.
            UsageError: a limit of the run was reached before, or the purpose is no word of a plugin.
        """
        check_purpose(purpose)
        stopped = stop_reason(self)
        if stopped is not None:
            raise UsageError(f"no more model calls in this turn ({stopped}); check run.limits before a call of your own")
        target = model or self.model
        check_request(target, request)
        plugin, begun = self.source, self.clock.monotonic_ns()
        try:
            response = await complete(target, request)
        except ModelError as error:
            bill_failure(self, target, error)
            raise
        name, served = response.model or target.name, response.by or target
        elapsed = (self.clock.monotonic_ns() - begun) // 1_000_000
        used = HelperUse(plugin, purpose, served.provider, name, response.usage, served.features.prices, elapsed)
        bill_helper(self, used, source=plugin)
        return response

    def bill(
        self, usage: Usage, *, provider: str, model: str, purpose: str, prices: Prices | None = None, duration_ms: int = 0
    ) -> Decimal | None:
        """File and price what a model used that was called by other means than :meth:`call_model`, such as one of embeddings.

        It counts against the limits, as every call does.

        Args:
            usage: the tokens that its provider reported; of embeddings the ``input``.
            provider: who bills it.
            model: its name.
            purpose: one word for the record; ``embed`` of a call that turns texts into vectors, which has prices of its own.
            prices: what it is known to cost, where neither the agent nor a plugin says so.
            duration_ms: milliseconds that it took.

        Returns:
            Dollars; None where no price is known.

        Raises:
            UsageError: an argument cannot be billed, or the run is over.
        """
        use = HelperUse.checked(self.source, purpose, provider, model, usage, prices, duration_ms)
        return bill_helper(self, use, source=self.source)

    def price_of(
        self, usage: Usage, *, provider: str | None = None, model: str | None = None, purpose: str | None = None
    ) -> Decimal | None:
        """What a call would cost now, before it is made.

        Args:
            usage: its tokens.
            provider: who would bill it; the provider of the run's model when None.
            model: its name; the run's own model when None.
            purpose: what it would be for; see :meth:`bill`.

        Returns:
            Dollars; None where no price is known.
        """
        return price_now(self, usage, provider, model, purpose)

    # --- faults of plugins ---

    def plugin_failed(self, plugin: str, moment: str, phase: str, policy: OnError, error: BaseException) -> None:
        """File that a hook raised and what was done about it.

        Args:
            plugin: its name.
            moment: the hook.
            phase: the phase of it.
            policy: what is done about it.
            error: what it raised.
        """
        self.plugin_failures[plugin] = self.plugin_failures.get(plugin, 0) + 1
        self.emit(PluginFailed(plugin, moment, phase, policy, type(error).__name__, text_of(error)), source=KERNEL)
