"""The lexical profile: tokens of the answer against tokens of the evidence, and nothing else."""

from __future__ import annotations

from agentfp_evidence.dates_given import spellings
from agentfp_evidence.figures import Figures, FiguresFacet, figure_values
from agentfp_evidence.index import MAX_CARRIERS, MAX_FORMS, EvidenceIndex, Posting, places
from agentfp_evidence.nearest import nearest_form
from agentfp_evidence.normalise import Candidate, classify, forms, normalise, tokens
from agentfp_evidence.options import EvidenceOptions
from agentfp_evidence.report import EvidenceReport, EvidenceValue
from agentfp_evidence.sources import Source

MAX_ANSWER_TOKENS = 20_000


class LexicalFacet:
    """Normalised tokens, leaves and keys, and where they stand."""

    def __init__(self) -> None:
        self.evidence: dict[str, list[Posting]] = {}
        self.given: dict[str, list[Posting]] = {}
        self.truncated = False

    def add(self, source: Source) -> None:
        """Index a source."""
        table = self.evidence if source.ground == "evidence" else self.given
        for leaf in source.reading.leaves:
            value = leaf.value
            if value is None:
                continue
            if not isinstance(value, str):
                self._put(table, normalise(str(value)), Posting(source, leaf.node))
                continue
            if leaf.node is not None:
                self._put(table, normalise(value), Posting(source, leaf.node))
                if leaf.is_key:
                    continue
            for token in tokens(value):
                at = leaf.offset
                posting = Posting(source, leaf.node, token.start + at, token.end + at) if leaf.node is None else Posting(source, leaf.node)
                self._put(table, token.value, posting)
            if source.ground == "given":
                for form in spellings(value):
                    self._put(table, form, Posting(source, leaf.node))

    def _put(self, table: dict[str, list[Posting]], value: str, posting: Posting) -> None:
        if not value:
            return
        for form in forms(value):
            held = table.get(form)
            if held is None:
                if len(table) >= MAX_FORMS:
                    self.truncated = True
                    continue
                table[form] = [posting]
            elif len(held) < MAX_CARRIERS:
                held.append(posting)

    def find(self, candidate: Candidate, table: dict[str, list[Posting]]) -> list[Posting]:
        """Where a candidate stands."""
        found = [p for form in forms(candidate.value) for p in table.get(form, ())]
        if not found and candidate.glued is not None:
            found = list(table.get(candidate.glued, ()))
        return found


def judge_lexical(index: EvidenceIndex, text: str, options: EvidenceOptions) -> EvidenceReport:
    """Judge an answer at the lexical level.

    Args:
        index: the evidence.
        text: the answer.
        options: shapes, exemptions and figures.
    """
    facet = index.facet(LexicalFacet)
    figures = Figures(index.facet(FiguresFacet)) if options.figures else None
    wearing = figure_values(text) if options.figures else frozenset()
    values: list[EvidenceValue] = []
    seen: set[str] = set()
    for count, token in enumerate(tokens(text)):
        if count >= MAX_ANSWER_TOKENS:
            break
        candidate = _candidate(token.value, options, wearing)
        if candidate is None or candidate.value in seen:
            continue
        seen.add(candidate.value)
        values.append(_verdict(candidate, text[token.start : token.end], token.start, token.end, facet, figures))
    return EvidenceReport(
        answer=text,
        profile="lexical",
        values=tuple(values),
        tools=tuple(index.tools),
        calls=index.calls,
        results=index.results,
        truncated=facet.truncated,
    )


def _candidate(token: str, options: EvidenceOptions, wearing: frozenset[str]) -> Candidate | None:
    if options.is_exempt(token):
        return None
    shape = options.shape_of(token)
    if shape is not None:
        return Candidate(token, shape)
    candidate = classify(token, 1 if wearing else options.min_digits)
    if candidate is None or candidate.shape != "number":
        return candidate
    if candidate.value in wearing:
        return Candidate(candidate.value, "figure", candidate.glued)
    return classify(token, options.min_digits) if wearing else candidate


def _verdict(candidate: Candidate, text: str, start: int, end: int, facet: LexicalFacet, figures: Figures | None) -> EvidenceValue:
    given = facet.find(candidate, facet.given)
    evidence = facet.find(candidate, facet.evidence)
    if given or evidence:
        return EvidenceValue(
            text=text,
            kind=candidate.shape,
            start=start,
            end=end,
            verdict="supported",
            how="exact" if evidence else "given",
            sources=places([*evidence, *given]),
            value=candidate.value,
        )
    derived = figures.derive(candidate.value) if figures is not None and candidate.shape in ("number", "figure") else None
    if derived is not None:
        return EvidenceValue(
            text=text,
            kind=candidate.shape,
            start=start,
            end=end,
            verdict="supported",
            how=derived.how,
            derivation=derived.origin,
            sources=derived.sources,
            value=candidate.value,
        )
    return EvidenceValue(
        text=text,
        kind=candidate.shape,
        start=start,
        end=end,
        verdict="unsupported",
        severity="strong",
        how="absent",
        near=nearest_form(candidate.value, facet.evidence) if candidate.shape != "number" else None,
        value=candidate.value,
    )
