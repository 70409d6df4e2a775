"""What a judgement says: each value with its verdict and where it comes from, and the answer as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from agentfp.transcripts import JudgedValue, Severity, ValueSource, ValueVerdict

Standing: TypeAlias = Literal["supported", "unverifiable", "unsupported", "no-values"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceValue:
    """One value of an answer and its verdict.

    Args:
        text: the value as the answer has it.
        kind: ``identifier``, ``number``, ``money``, ``percent``, ``date``, ``time``, ``name``, ``quote`` and the like.
        start: where it begins in the answer, in characters; ``answer[start:end] == text``.
        end: where it ends.
        verdict: ``supported``, ``unverifiable`` or ``unsupported``.
        severity: of an unsupported value: ``strong`` or ``weak``.
        how: how it is supported (``exact``, ``given``, ``part``, ``rounded``, ``sum`` ...), or why it is not, in one word.
        derivation: what it was derived from, written out: ``2951 = 1220 + 1731, $.rows[*].used_tb``.
        sources: where it comes from.
        near: the grounded value that is nearest to an unsupported identifier, at most two edits away.
        path: JSON path of its field, for answers that are data.
        value: its normalised form.
    """

    text: str
    kind: str
    start: int
    end: int
    verdict: ValueVerdict
    severity: Severity | None = None
    how: str = ""
    derivation: str = ""
    sources: tuple[ValueSource, ...] = ()
    near: str | None = None
    path: str = ""
    value: str = ""

    @property
    def span(self) -> tuple[int, int]:
        """Where it stands in the answer."""
        return (self.start, self.end)

    def judged(self) -> JudgedValue:
        """The value as judges of transcripts hand it on."""
        return JudgedValue(
            text=self.text,
            kind=self.kind,
            start=self.start,
            end=self.end,
            verdict=self.verdict,
            severity=self.severity,
            how=self.how,
            derivation=self.derivation,
            sources=self.sources,
            path=self.path,
        )

    def to_json(self) -> dict[str, Any]:
        """The value as JSON data; fields that say nothing are left out."""
        data: dict[str, Any] = {"text": self.text, "kind": self.kind, "start": self.start, "end": self.end, "verdict": self.verdict}
        for name in ("severity", "how", "derivation", "near", "path"):
            if getattr(self, name):
                data[name] = getattr(self, name)
        data["sources"] = [_source_json(source) for source in self.sources]
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNote:
    """A call whose result grounds nothing, and why.

    Args:
        tool: name of the tool.
        standing: ``failed`` or ``empty``.
        message: index of its message.
        call_id: id of the call.
    """

    tool: str | None
    standing: Literal["failed", "empty"]
    message: int | None
    call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Misattachment:
    """A value that was served for another entity than the answer states it for. Advisory.

    Args:
        value: the value.
        stated_for: the entity beside it in the answer.
        served_for: the entity that has it in the results.
        start: where the value begins in the answer.
        end: where it ends.
        sources: where the value stands.
    """

    value: str
    stated_for: str
    served_for: str
    start: int
    end: int
    sources: tuple[ValueSource, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceReport:
    """What a judgement says of one answer.

    Args:
        answer: the text that spans point into; of data, its JSON text.
        profile: the profile that judged.
        values: the values found, in the order of the text.
        tools: calls whose results ground nothing.
        results: number of results that served something.
        calls: number of tool results in the conversation, failed and empty ones included.
        misattached: values served for another entity; advisory.
        truncated: the evidence was larger than what is indexed; an unsupported value may stand in what was not read.
        unseen: a message holds an image or a document, which the check cannot read; what may stand there is no strong finding.
        is_data: the answer was judged as JSON data, field by field.
    """

    answer: str
    profile: str
    values: tuple[EvidenceValue, ...] = ()
    tools: tuple[ToolNote, ...] = ()
    results: int = 0
    calls: int = 0
    misattached: tuple[Misattachment, ...] = ()
    truncated: bool = False
    unseen: bool = False
    is_data: bool = False

    @property
    def standing(self) -> Standing:
        """The whole in one word: ``unsupported`` when a value is, ``unverifiable`` when one is, else ``supported``."""
        verdicts = {value.verdict for value in self.values}
        if "unsupported" in verdicts:
            return "unsupported"
        if "unverifiable" in verdicts:
            return "unverifiable"
        return "supported" if verdicts else "no-values"

    @property
    def unsupported(self) -> tuple[str, ...]:
        """Texts of the unsupported values, each once, in the order of the text."""
        return tuple(dict.fromkeys(value.text for value in self.values if value.verdict == "unsupported"))

    @property
    def strong(self) -> tuple[EvidenceValue, ...]:
        """Unsupported values that a gate acts on."""
        return tuple(v for v in self.values if v.verdict == "unsupported" and v.severity == "strong")

    @property
    def weak(self) -> tuple[EvidenceValue, ...]:
        """Unsupported values that are shown, and that no gate acts on by itself."""
        return tuple(v for v in self.values if v.verdict == "unsupported" and v.severity == "weak")

    @property
    def counts(self) -> dict[str, int]:
        """Number of values by verdict, and of all as ``values``."""
        counts = {"values": len(self.values), "supported": 0, "unverifiable": 0, "unsupported": 0}
        for value in self.values:
            counts[value.verdict] += 1
        return counts

    @property
    def notes(self) -> tuple[str, ...]:
        """What there was to know besides the values, in sentences."""
        notes = [_tool_sentence(tool) for tool in self.tools]
        if self.calls == 0 and self.values:
            notes.append("No tool was called: nothing that a tool would know can come from one.")
        notes.extend(f"{m.value!r} is stated for {m.stated_for!r}; the results have it for {m.served_for!r}." for m in self.misattached)
        if self.truncated:
            notes.append("The results are larger than what is indexed; an unsupported value may stand in the part that was not read.")
        if self.unseen and any(value.how == "unseen" for value in self.values):
            notes.append("A message holds an image or a document, which the check cannot read; an unsupported value may stand there.")
        return tuple(notes)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {
            "standing": self.standing,
            "profile": self.profile,
            "counts": self.counts,
            "values": [value.to_json() for value in self.values],
            "unsupported": list(self.unsupported),
            "misattached": [_misattached_json(m) for m in self.misattached],
            "tools": [{"tool": t.tool, "standing": t.standing, "message": t.message, "call_id": t.call_id} for t in self.tools],
            "calls": self.calls,
            "results": self.results,
            "notes": list(self.notes),
            "truncated": self.truncated,
            "unseen": self.unseen,
        }

    def to_html(self) -> str:
        """The report as a page that stands alone: the answer with each value marked, and where each comes from."""
        from agentfp_evidence.html import page_of

        return page_of(self)

    def _repr_html_(self) -> str:
        from agentfp_evidence.html import fragment_of

        return fragment_of(self)


def _tool_sentence(tool: ToolNote) -> str:
    name = f"{tool.tool!r}" if tool.tool else "a tool"
    where = "" if tool.message is None else f" (message {tool.message})"
    if tool.standing == "failed":
        return f"A call of {name}{where} failed: its result is no evidence."
    return f"A call of {name}{where} found nothing."


def _source_json(source: ValueSource) -> dict[str, Any]:
    data: dict[str, Any] = {"message": source.message, "path": source.path}
    if source.call_id is not None:
        data["call_id"] = source.call_id
    return data


def _misattached_json(m: Misattachment) -> Mapping[str, Any]:
    sources = [_source_json(s) for s in m.sources]
    return {"value": m.value, "stated_for": m.stated_for, "served_for": m.served_for, "start": m.start, "end": m.end, "sources": sources}
