"""Questions to a person: how a tool raises them, how those of one phase become one pause, and what an answer must be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from agentfp_core import jsontext
from agentfp_core.errors import PluginError, UsageError
from agentfp_core.events.pause import PauseRequest, QuestionAsked
from agentfp_core.verdicts import AskField, AskPerson
from agentfp_core.wellformed import misfit

if TYPE_CHECKING:
    from agentfp_core.batch import Batch
    from agentfp_core.run import Run

MAX_FIELDS = 32
MAX_CONTEXT = 16_384
TOOL = "tool"
"""The phase of questions that tools raise while they run, and the plugin name that such questions carry."""


class PauseSignal(BaseException):
    """Carries a question out of a tool. Not an ``Exception``, so that a tool's own ``except`` does not swallow it."""

    def __init__(self, ask: AskPerson, *, single: bool) -> None:
        self.ask = ask
        self.single = single
        super().__init__("a person was asked outside of a tool call of a run; ask from inside a tool")


@dataclass(frozen=True, slots=True)
class PendingAsk:
    """One question on its way into a pause."""

    plugin: str
    field: AskField
    call_id: str | None
    context: str | None = None
    component: str | None = None
    expires_in: float | None = None
    path: tuple[str, ...] = ()
    id: str | None = None
    tool: str | None = None
    asker: int = 0


def ask_human(prompt: str, *, context: Any = None, component: str | None = None, expires_in: float | None = None) -> NoReturn:
    """Call it in a tool: the run pauses, and the person's answer becomes the tool's result.

    Args:
        prompt: what the person reads.
        context: JSON data for the screen that shows it.
        component: name of the part of the screen that shows it.
        expires_in: seconds in which it can be answered.
    """
    raise PauseSignal(AskPerson((AskField("answer", prompt),), context, component, expires_in), single=True)


def request_input(
    fields: Sequence[AskField], *, context: Any = None, component: str | None = None, expires_in: float | None = None
) -> NoReturn:
    """Call it in a tool: the run pauses, and ``{"status": "input_received", "values": {...}}`` becomes the tool's result.

    Args:
        fields: what to ask, one to thirty-two.
        context: JSON data for the screen that shows it.
        component: name of the part of the screen that shows it.
        expires_in: seconds in which it can be answered.
    """
    raise PauseSignal(AskPerson(tuple(fields), context, component, expires_in), single=False)


def pending(plugin: str, ask: AskPerson, call_id: str | None, asker: int = 0) -> list[PendingAsk]:
    """The questions of one ask.

    Args:
        plugin: who asks.
        ask: what.
        call_id: the call that it was asked about, where its fields do not say.
        asker: which of the plugin's implementations in the phase asks.

    Raises:
        UsageError: the ask is malformed; says how.
    """
    fields = tuple(ask.fields)
    if not fields or len(fields) > MAX_FIELDS or not all(isinstance(field, AskField) for field in fields):
        raise UsageError(f"an ask of {plugin!r} needs 1 to {MAX_FIELDS} fields of type AskField, got {len(fields)}")
    keys = [field.key for field in fields]
    if len(set(keys)) != len(keys):
        raise UsageError(f"an ask of {plugin!r} has two fields with one key; each needs its own")
    wrong = misfit(ask) or next((found for field in fields if (found := misfit(field)) is not None), None)
    if wrong is not None:
        raise UsageError(f"an ask of {plugin!r} is malformed: {wrong}")
    if any(field.kind not in ("value", "decision", "acknowledge") for field in fields):
        raise UsageError(f"an ask of {plugin!r} has a field of unknown kind; it is 'value', 'decision' or 'acknowledge'")
    if ask.component is not None and not ask.component.strip():
        raise UsageError(f"an ask of {plugin!r} names a blank component; leave it out or name one")
    context = None if ask.context is None else jsontext.canonical(ask.context)
    if context is not None and len(context) > MAX_CONTEXT:
        raise UsageError(f"the context of an ask of {plugin!r} has {len(context)} characters of JSON; at most {MAX_CONTEXT} are taken")
    return [PendingAsk(plugin, field, field.call_id or call_id, context, ask.component, ask.expires_in, asker=asker) for field in fields]


def raise_pause(run: Run[Any], phase: str, asks: Sequence[PendingAsk], batch: Batch | None) -> None:
    """File ONE pause for the asks of a phase. Questions about calls that were refused meanwhile are left out.

    Args:
        run: the run.
        phase: the phase of ``before_tool`` that asked, or ``tool``.
        asks: in the order of plugins and fields; a pause shows at most 32 of them at a time.
        batch: the calls.
    """
    expiries = [ask.expires_in for ask in asks if ask.expires_in is not None]
    expires_ns = run.clock.time_ns() + int(min(expiries) * 1e9) if expiries else None
    questions = []
    for ask in asks:
        call = batch.get(ask.call_id) if batch is not None and ask.call_id is not None else None
        schema = None if ask.field.schema is None else jsontext.canonical(dict(ask.field.schema))
        questions.append(
            QuestionAsked(
                id=ask.id or run.ids.new("q"),
                kind=ask.field.kind,
                plugin=ask.plugin,
                key=ask.field.key,
                prompt=ask.field.prompt,
                tool_call_id=ask.call_id,
                tool=ask.tool or (call.tool.name if call is not None and call.tool is not None else None),
                schema=schema,
                context=ask.context,
                component=ask.component,
                pinned=ask.field.pinned,
                required=ask.field.required,
                path=ask.path,
                asker=ask.asker,
            )
        )
    run.emit(PauseRequest(run.ids.new("pause"), phase, tuple(questions), expires_ns))
    run.flush()


def live_asks(asks: Sequence[PendingAsk], batch: Batch) -> list[PendingAsk]:
    """The questions whose calls can still run; those of calls refused in the same phase are dropped, all when none is left."""
    if not batch.live:
        return []
    return [ask for ask in asks if ask.call_id is None or (call := batch.get(ask.call_id)) is None or call.live]


def answer_text(value: Any) -> str:
    """A person's answer as a tool's result: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def refuse_unasked(plugin: str, moment: str) -> PluginError:
    """The error of a plugin that asks where nobody can be asked."""
    return PluginError(
        f"plugin {plugin!r} asks a person in phase 'screen', which may only refuse; ask in phase 'fill'", plugin=plugin, moment=moment
    )
