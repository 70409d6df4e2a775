"""The moments at which plugins are called, their phases, and what happens when a hook raises."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

import pluggy

from agentfp_core.errors import PluginDefinitionError, nearest

if TYPE_CHECKING:
    from agentfp_core.answer import AnswerDraft
    from agentfp_core.batch import Batch, CallView, ResultView
    from agentfp_core.configure import Registry
    from agentfp_core.draft import RequestDraft
    from agentfp_core.exported import ExportedEvent
    from agentfp_core.messages import Message
    from agentfp_core.run import Run
    from agentfp_core.verdicts import AdmitVerdict, AfterResultVerdict, AnswerVerdict, AskPerson, BeforeToolVerdict, Refuse

F = TypeVar("F", bound=Callable[..., Any])
Granularity: TypeAlias = Literal["call", "batch"]

PROJECT = "agentfp"
hookspec = pluggy.HookspecMarker(PROJECT)
_mark = pluggy.HookimplMarker(PROJECT)

PHASES: Mapping[str, tuple[str, ...]] = {
    "serve_context": ("window", "route", "activate", "deliver", "compose", "overlay", "annotate", "seal"),
    "before_tool": ("peel", "screen", "fill", "authorize", "rewrite", "validate", "consent", "resolve", "credential"),
    "after_result": ("check", "rewrite", "place", "cap", "note", "judge"),
    "assess_answer": ("rewrite", "schema", "procedure", "evidence", "claims", "stand", "append"),
}
"""The phases of each moment, in order. Within a phase, plugins are called in the order of the plugin list."""

KERNEL_PHASES = frozenset({("before_tool", "validate"), ("after_result", "cap"), ("assess_answer", "schema")})
"""Phases in which only the kernel acts."""

OnError: TypeAlias = Literal["run-failed", "edits-dropped", "call-refused", "result-withheld", "skipped", "answer-refused", "counted"]

ON_ERROR: Mapping[tuple[str, str], OnError] = {
    **{("serve_context", phase): "run-failed" for phase in ("window", "activate", "compose", "seal")},
    **{("serve_context", phase): "edits-dropped" for phase in ("route", "deliver", "overlay", "annotate")},
    **{("before_tool", phase): "call-refused" for phase in PHASES["before_tool"]},
    **{("after_result", phase): "result-withheld" for phase in ("check", "rewrite")},
    **{("after_result", phase): "skipped" for phase in ("place", "note", "judge")},
    **{("assess_answer", phase): "answer-refused" for phase in ("rewrite", "claims")},
    **{("assess_answer", phase): "skipped" for phase in ("procedure", "evidence", "stand", "append")},
    ("admit_input", ""): "answer-refused",
    ("finish_run", ""): "counted",
    ("export_event", ""): "counted",
    ("close", ""): "counted",
}
"""What happens when a hook of a phase raises or does not end in time."""

MOMENTS = (
    "serve_context",
    "before_tool",
    "after_result",
    "assess_answer",
    "export_event",
    "configure",
    "admit_input",
    "finish_run",
    "close",
)
SYNC_ONLY = frozenset({"configure"})

_STAMP = "agentfp_hook"
_order = itertools.count()


@dataclass(frozen=True, slots=True)
class HookMark:
    """What :func:`hookimpl` stores on a function."""

    moment: str
    phase: str
    per: Granularity
    order: int


@overload
def hookimpl(function: F, /) -> F: ...
@overload
def hookimpl(*, moment: str | None = None, phase: str | None = None, per: Granularity = "call") -> Callable[[F], F]: ...
def hookimpl(
    function: F | None = None, /, *, moment: str | None = None, phase: str | None = None, per: Granularity = "call"
) -> F | Callable[[F], F]:
    """Mark a method of a plugin as its implementation of a moment. It may be sync or async, and takes the arguments it needs.

    Args:
        function: the method, when used without brackets.
        moment: the moment; the method's name where it is left out, so a plugin may have several of one moment.
        phase: when within the moment; required for moments that have phases.
        per: ``call``, or ``batch`` for one call of the hook over all tool calls of a reply (then without ``call``
            and ``result``); only for ``before_tool`` and ``after_result``.

    Raises:
        PluginDefinitionError: there is no such moment or phase, or a phase is missing.
    """

    def decorate(method: F) -> F:
        name = moment or method.__name__
        if name not in MOMENTS:
            raise PluginDefinitionError(f"hook {method.__qualname__!r}: there is no moment {name!r}; {nearest(name, MOMENTS)}")
        phases = PHASES.get(name, ())
        if phases and phase is None:
            raise PluginDefinitionError(f"hook {method.__qualname__!r} of {name!r} needs phase=..., one of {', '.join(phases)}")
        if phase is not None and phase not in phases:
            raise PluginDefinitionError(f"hook {method.__qualname__!r}: {name!r} has no phase {phase!r}; {nearest(phase, phases)}")
        if (name, phase) in KERNEL_PHASES:
            raise PluginDefinitionError(
                f"hook {method.__qualname__!r}: phase {phase!r} of {name!r} is the kernel's own; take the one before or after it"
            )
        if per not in ("call", "batch") or (per == "batch" and name not in ("before_tool", "after_result")):
            raise PluginDefinitionError(
                f"hook {method.__qualname__!r}: per={per!r} does not go with {name!r}; per='batch' is for before_tool and after_result"
            )
        setattr(method, _STAMP, HookMark(name, phase or "", per, next(_order)))
        return _mark(specname=name)(method)

    return decorate if function is None else decorate(function)


def mark_of(function: Any) -> HookMark | None:
    """What :func:`hookimpl` stored, or None."""
    found = getattr(function, _STAMP, None)
    return found if isinstance(found, HookMark) else None


class Specs:
    """The hooks. Each docstring is the contract: when, in which order, what an answer means, what a raise does."""

    @hookspec
    def serve_context(self, draft: RequestDraft, run: Run[Any]) -> None:
        """Before each model call: shape the request through the draft's methods.

        Phases: window, route, activate, deliver, compose, overlay, annotate, seal (read-only). Returns nothing. Raising
        in window, activate, compose or seal fails the run; elsewhere the plugin's edits of this call are dropped.
        """

    @hookspec
    def before_tool(
        self, call: CallView, batch: Batch, run: Run[Any]
    ) -> BeforeToolVerdict | Mapping[str, BeforeToolVerdict] | AskPerson | None:
        """After a reply with calls, before any of them runs: decide over each.

        Phases: peel, screen (without arguments, may only refuse), fill, authorize, rewrite, validate (kernel), consent,
        resolve, credential. Answers ``Allow``, ``Deny``, ``Halt`` or ``AskPerson``; ``per="batch"`` answers one
        ``AskPerson`` or a mapping of call id to verdict. A denied call meets no further hook. Raising refuses the call,
        or, per batch, every call that is still live. Async hooks have 30 s.
        """

    @hookspec
    def after_result(
        self, result: ResultView, call: CallView, batch: Batch, run: Run[Any]
    ) -> AfterResultVerdict | Mapping[str, AfterResultVerdict] | None:
        """When all calls of a batch have their outcome: decide what the model reads of each, in call order.

        Phases: check, rewrite, place, cap (kernel), note, judge. Answers ``Replace``, ``Withhold`` or ``Note``. The
        tool's own result is on the record already and stays. Raising in check or rewrite withholds the result;
        elsewhere the hook is skipped. ``result.value`` is None after a resume.
        """

    @hookspec
    def assess_answer(self, draft: AnswerDraft, run: Run[Any]) -> AnswerVerdict | None:
        """When a reply would be the answer: judge it.

        Phases: rewrite, schema (kernel), procedure, evidence, claims, stand, append. Answers ``Replace``, ``Revise`` or
        ``Refuse``; to annotate, emit an event. At most three revisions a turn over all plugins, none once a limit has
        fired. Raising in rewrite or claims refuses the answer; elsewhere the answer goes out, marked not assessed, or is
        refused where the plugin's ``refuse_on_failure`` says so.
        """

    @hookspec
    def export_event(self, event: ExportedEvent, state: dict[Any, Any]) -> None:
        """After an event, in the background and behind redaction: hand it on. Raising is counted.

        In plugin order, those of plugins that say ``exports_in_thread`` apart from the others: they are called on a thread of the agent's.

        ``state`` is the plugin's own for this run and those nested in it: empty at the first event, gone after the last.
        """

    @hookspec
    def configure(self, agent: Registry) -> None:
        """While the agent is built: see its tools, contribute tools, capabilities, filters, reserved names; report every problem."""

    @hookspec
    def admit_input(self, message: Message, run: Run[Any]) -> AdmitVerdict | None:
        """Before a person's message enters the history. ``Refuse`` ends the run, ``Replace`` puts another text in. Raising refuses."""

    @hookspec
    def finish_run(self, run: Run[Any], outcome: str) -> Refuse | None:
        """At the end of every leg: answered, paused, stopped_early, refused, failed, cancelled. Shielded, 5 s. Raising is counted.

        ``Refuse`` takes an answer back.
        """

    @hookspec
    def close(self) -> None:
        """When the agent is shut down: let go of what the plugin holds."""


ARGUMENTS: Mapping[tuple[str, Granularity], tuple[str, ...]] = {
    ("serve_context", "call"): ("draft", "run"),
    ("before_tool", "call"): ("call", "batch", "run"),
    ("before_tool", "batch"): ("batch", "run"),
    ("after_result", "call"): ("result", "call", "batch", "run"),
    ("after_result", "batch"): ("batch", "run"),
    ("assess_answer", "call"): ("draft", "run"),
    ("export_event", "call"): ("event", "state"),
    ("configure", "call"): ("agent",),
    ("admit_input", "call"): ("message", "run"),
    ("finish_run", "call"): ("run", "outcome"),
    ("close", "call"): (),
}
"""The arguments that an implementation may take, in the order in which the kernel passes them."""
