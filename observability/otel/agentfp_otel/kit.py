"""What all runs of one plugin object share: the tracer, the instruments, the names. Nothing of any run, but where paused ones broke off."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from opentelemetry.trace import SpanContext, Tracer

from agentfp_otel.logs import Logs
from agentfp_otel.meters import Meters
from agentfp_otel.names import Conventions, SpanNames
from agentfp_otel.profiles import Profiles

PAUSES_KEPT = 10_000


@dataclass(frozen=True)
class Paused:
    """A run that waits for a person.

    Args:
        context: of its root span; the run that goes on with it links there.
        tools: the tools of the calls that wait, by call id.
    """

    context: SpanContext
    tools: Mapping[str, str]


class Pauses:
    """The runs of this process that wait, by run id; the oldest are forgotten."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Paused] = OrderedDict()

    def keep(self, run_id: str, paused: Paused) -> None:
        """Remember a run."""
        self._kept[run_id] = paused
        while len(self._kept) > PAUSES_KEPT:
            self._kept.popitem(last=False)

    def of(self, run_id: str | None) -> Paused | None:
        """The run that another goes on with; it stays, for it may be gone on with again."""
        return None if run_id is None else self._kept.get(run_id)


@dataclass(frozen=True)
class Kit:
    """What spans are made with.

    Args:
        tracer: makes spans.
        conventions: name attributes.
        names: name spans.
        profiles: add attributes.
        meters: measure; None for nothing.
        logs: write; None for nothing.
        pauses: the runs that wait.
        content: whether what people, models and tools wrote stands on spans.
        explain: whether decisions stand on spans.
        iterations: whether iterations have spans.
        usage: the keys for each count of tokens.
    """

    tracer: Tracer
    conventions: Conventions
    names: SpanNames
    profiles: Profiles
    meters: Meters | None
    logs: Logs | None
    pauses: Pauses
    content: bool
    explain: bool
    iterations: bool
    usage: Mapping[str, tuple[str, ...]]
