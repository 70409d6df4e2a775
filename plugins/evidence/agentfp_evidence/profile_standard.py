"""The standard profile: every value of an answer, judged rung by rung."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from agentfp_evidence.attachment import misattached
from agentfp_evidence.fold import fold
from agentfp_evidence.index import EvidenceIndex
from agentfp_evidence.judged_text import JudgedText
from agentfp_evidence.ladder import Found, Ladder
from agentfp_evidence.options import EvidenceOptions
from agentfp_evidence.reading import json_path
from agentfp_evidence.report import EvidenceReport, EvidenceValue
from agentfp_evidence.scan import Mention, Word, scan
from agentfp_evidence.structured import FieldMap, fields_of, json_span, literals_of, without_escapes

_CODE_KEY = re.compile(r"(?=.*\d)(?=.*[A-Z])[\w./:-]{4,}")
"""A key that is data itself: a code with digits and capitals."""


def judge_standard(
    index: EvidenceIndex, answer: str, options: EvidenceOptions, *, output_type: Any = None, is_data: bool = False
) -> EvidenceReport:
    """Judge an answer by the standard profile.

    Args:
        index: the evidence.
        answer: the answer's text.
        options: shapes, exemptions and strictness.
        output_type: the type of a typed answer.
        is_data: the text is JSON that was made of data.
    """
    ladder = Ladder(index, options)
    span = json_span(answer)
    text = fold(answer) if span is None else fold(without_escapes(answer))
    judged = JudgedText(ladder, text, answer)
    values = judged.values() if span is None else _by_field(judged, text, answer, span, output_type)
    return EvidenceReport(
        answer=answer,
        profile=options.profile,
        values=tuple(values),
        tools=tuple(index.tools),
        calls=index.calls,
        results=index.results,
        misattached=tuple(misattached(text, values, judged.postings)),
        truncated=ladder.table.truncated,
        unseen=index.unseen,
        is_data=is_data or span is not None,
    )


def _by_field(judged: JudgedText, text: str, answer: str, span: tuple[int, int], output_type: Any) -> list[EvidenceValue]:
    """The values of an answer that is JSON, each with the path of its field; what the type prescribes is none."""
    fields = fields_of(answer, *span)
    literals = literals_of(output_type)
    typed = output_type is not None and output_type is not str
    mentions: list[Mention] = []
    words: list[Word] = []
    for field in fields:
        if field.number is not None:
            if answer[field.start : field.end] not in literals:
                mentions.append(Mention("number", field.start, field.end, field.number))
            continue
        leaf = text[field.start : field.end]
        if leaf.lower() in literals or (field.is_key and (typed or not _CODE_KEY.fullmatch(leaf))):
            continue
        mentions.extend(scan(text, lambda *word: words.append(Word(*word)), start=field.start, end=field.end))
    places = FieldMap(fields)
    values = judged.values(Found(mentions, words), in_words=False)
    found = [(value, places.at(value.start)) for value in values]
    return [replace(v, path=json_path(field.node)) for v, field in found if field is not None]
