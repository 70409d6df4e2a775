"""The rows of the ledger, one event type each. What the model or a tool wrote is content; ids, words and counts are not."""

from __future__ import annotations

from agentfp.plugin import Content, Hash, Name, Number, Payload, event, part


@part
class Assertion:
    """Something that a result settles, as the model states it. ``value`` is JSON text."""

    kind: Content[str]
    id: Content[str]
    predicate: Content[str]
    value: Content[str]


@part
class Carrier:
    """A result that held a value, and its standing then."""

    call_id: Name[str]
    standing: Name[str]


@part
class Gap:
    """What a search did not look at, or cannot see, and why."""

    what: Content[str]
    why: Content[str | None] = None


@part
class Probability:
    """How likely a judge finds a standing."""

    standing: Name[str]
    probability: Content[float]


@event("agentfp.findings.declared")
class Declared(Payload):
    """Why the model makes a call, in its own words; the call is the event's."""

    basis: Name[str]
    tool: Name[str | None] = None
    expect: Name[str | None] = None
    has_proposition: Number[bool] = False
    malformed: Number[int] = 0
    proposition: Content[str | None] = None
    predicts: Content[str | None] = None


@event("agentfp.findings.standing")
class StandingDeclared(Payload):
    """What a result is to the model. ``result`` is the call that brought it; ``named`` an id that names no result.

    Said with a call, the event is about that call.
    """

    standing: Name[str]
    declared_on: Name[str]
    result: Name[str | None] = None
    tool: Name[str | None] = None
    ref: Name[str | None] = None
    assertion_count: Number[int] = 0
    sought: Number[bool | None] = None
    unknown_id: Number[bool] = False
    agrees: Number[bool | None] = None
    conflict_keys: Hash[tuple[str, ...]] = ()
    named: Content[str | None] = None
    settles: Content[str | None] = None
    line: Content[str | None] = None
    assertions: tuple[Assertion, ...] = ()

    @property
    def id(self) -> str:
        """The id that the model named."""
        return self.result or self.named or ""

    @property
    def stratum(self) -> str | None:
        """How its assertions stand: ``asserted``, ``quoted``, or None when there are none."""
        return {"fact": "asserted", "noise": None}.get(self.standing, "quoted")

    @property
    def provenance(self) -> str:
        """Where its assertions come from: ``tool:ID``, or ``artifact:REF`` when the result was placed."""
        return f"tool:{self.id}" if self.ref is None else f"artifact:{self.ref}"

    def __str__(self) -> str:
        return f"the model calls the result of {self.tool or self.result or self.named or 'a call'} {self.standing}"


@event("agentfp.findings.conflict")
class ConflictFound(Payload):
    """Facts state different values of one thing; filed when it first shows. Who states it, never what."""

    key: Hash[str]
    kind: Content[str]
    id: Content[str]
    predicate: Content[str]
    witnesses: Content[tuple[str, ...]]

    def __str__(self) -> str:
        return f"results are at odds on {self.kind} {self.id}, {self.predicate}"


@event("agentfp.findings.malformed")
class Malformed(Payload):
    """Parts of a declaration that could not be read and have no other row to stand on."""

    declared_on: Name[str]
    count: Number[int]


@event("agentfp.findings.contingent")
class Contingent(Payload):
    """The model uses a value that only results carry which it has set aside."""

    declared_on: Name[str]
    carriers: tuple[Carrier, ...]
    value_chars: Number[int]
    value: Content[str]

    def __str__(self) -> str:
        return f"a value of the {self.declared_on} stands only in results that are no facts: {self.value}"


@event("agentfp.findings.unsettled_by_absence")
class UnsettledByAbsence(Payload):
    """A result was ruled out that found nothing, and says itself what it did not look at."""

    result: Name[str]
    tool: Name[str | None] = None
    not_checked: tuple[Gap, ...] = ()
    cannot_cover: tuple[Gap, ...] = ()
    try_instead: Content[str | None] = None


@event("agentfp.findings.judged")
class Judged(Payload):
    """What a judge finds that a result is; nothing is served from it. The call is the event's."""

    tool: Name[str]
    judge: Name[str]
    model: Name[str]
    against: Name[str]
    standing: Name[str]
    latency_ms: Number[int]
    confidence: Number[float | None] = None
    input_tokens: Number[int | None] = None
    output_tokens: Number[int | None] = None
    clipped: Number[bool] = False
    tests_subject: Content[float | None] = None
    probabilities: tuple[Probability, ...] = ()

    def __str__(self) -> str:
        return f"{self.judge} judges the result of {self.tool} against the {self.against}: {self.standing}"


@event("agentfp.findings.judge_failed")
class JudgeFailed(Payload):
    """A judge gave no answer that can be used. The call is the event's."""

    tool: Name[str]
    judge: Name[str]
    latency_ms: Number[int]
    status: Number[int | None] = None
    message: Content[str] = ""

    def __str__(self) -> str:
        return f"{self.judge} could not judge the result of {self.tool}"


@event("agentfp.findings.frame_skipped")
class FrameSkipped(Payload):
    """The ledger's piece was not served, for not even its fixed words fit under the ceiling."""

    bytes: Number[int]
    ceiling: Number[int]


KINDS: dict[str, tuple[str, type[Payload]]] = {
    Declared.event_name: ("basis", Declared),
    StandingDeclared.event_name: ("standing", StandingDeclared),
    ConflictFound.event_name: ("conflict", ConflictFound),
    Malformed.event_name: ("findings-malformed", Malformed),
    Contingent.event_name: ("contingent", Contingent),
    UnsettledByAbsence.event_name: ("unsettled-by-absence", UnsettledByAbsence),
    Judged.event_name: ("judgment", Judged),
    JudgeFailed.event_name: ("judgment-error", JudgeFailed),
    FrameSkipped.event_name: ("findings-frame-skipped", FrameSkipped),
}
"""The kind of row that each event is, and its class."""
EVENTS = tuple(kind for _, kind in KINDS.values())
