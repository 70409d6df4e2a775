"""The plugin's events: what was found, once; and of every check, whether it looked."""

from __future__ import annotations

from typing import Literal

from agentfp.plugin import Content, Name, Number, Payload, event, part


@part
class SubjectRow:
    """A thing that a finding is about."""

    kind: Name[str]
    id: Content[str]


@part
class WitnessRow:
    """What a finding stands on. The value may quote arguments."""

    provenance: Content[str]
    stratum: Name[Literal["asserted", "quoted"]] = "asserted"
    value: Content[str | None] = None


@event("agentfp.integrity.finding")
class FindingFiled(Payload):
    """A check found something; filed once a turn however often it is seen. ``message`` quotes the ceiling of what it shows."""

    kind: Name[str]
    seam: Name[str]
    subjects: tuple[SubjectRow, ...]
    message: Content[str]
    predicate: Content[str | None] = None
    witnesses: tuple[WitnessRow, ...] = ()
    advisory: Number[bool] = False


@event("agentfp.integrity.external_ground_used")
class ExternalGroundUsed(Payload):
    """An argument stands in what the application vouches for, and nowhere else."""

    tool: Name[str]
    path: Content[str]
    source: Content[str]


@part
class DispositionRow:
    """What a check did in one leg."""

    check: Name[str]
    seam: Name[str]
    checked: Number[int] = 0
    findings: Number[int] = 0
    not_applicable: Number[int] = 0
    unreachable: Number[int] = 0
    synthetic: Number[int] = 0
    last_fired_ms: Number[int | None] = None


@event("agentfp.integrity.disposition")
class DispositionFiled(Payload):
    """What every check did in a leg; one that was not switched on is there too."""

    posture: Name[Literal["observe", "dev"]]
    work_existed: Number[bool]
    rows: tuple[DispositionRow, ...]


EVENTS: tuple[type[Payload], ...] = (FindingFiled, ExternalGroundUsed, DispositionFiled)
