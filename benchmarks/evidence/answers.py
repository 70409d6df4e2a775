"""Honest answers over a domain's rows, in three forms and three languages, piece by piece so that one value can be replaced."""

from __future__ import annotations

import datetime
import json
import random
from dataclasses import dataclass, field
from typing import Any

from benchmarks.evidence.domains import DOMAINS, Domain, Field
from benchmarks.evidence.styles import FORMATS, LANGUAGES, Value, clock, date, number, with_unit

SEEDS = 6
_TOTAL = {"en": "In total: ", "de": "Insgesamt: ", "fr": "Total : "}
_DIFFERENCE = {
    "en": "Difference between the first two: ",
    "de": "Differenz der ersten beiden: ",
    "fr": "Différence entre les deux premiers : ",
}
_OPEN = {"en": ("I found ", " ", ":"), "de": ("Ich habe ", " ", " gefunden:"), "fr": ("J'ai trouvé ", " ", " :")}
_CLOSE = {
    "en": "Please let me know if you need anything else.",
    "de": "Bitte sagen Sie mir, falls Sie noch etwas brauchen.",
    "fr": "N'hésitez pas à me dire si vous avez besoin d'autre chose.",
}


@dataclass
class Case:
    """An answer and the conversation before it.

    Args:
        name: domain, language, form and seed.
        domain: the domain.
        language: the language.
        form: plain, markdown or json.
        messages: the conversation.
        pieces: the answer, texts and values in turn.
        rows: what the tool served.
    """

    name: str
    domain: Domain
    language: str
    form: str
    messages: list[dict[str, Any]]
    pieces: list[str | Value] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def text(self, instead: dict[int, str] | None = None) -> str:
        """The answer, with some pieces replaced."""
        instead = instead or {}
        return "".join(instead.get(i, p if isinstance(p, str) else p.text) for i, p in enumerate(self.pieces))

    @property
    def values(self) -> list[tuple[int, Value]]:
        """The values and the pieces that they are."""
        return [(i, p) for i, p in enumerate(self.pieces) if isinstance(p, Value)]


def cases() -> list[Case]:
    """All honest answers."""
    return [_case(d, lang, form, seed) for d in DOMAINS for lang in LANGUAGES for form in FORMATS for seed in range(SEEDS)]


def _case(domain: Domain, language: str, form: str, seed: int) -> Case:
    rng = random.Random(f"{domain.name} {language} {form} {seed}")
    rows = [{f.key: f.make(rng) for f in domain.fields} for _ in range(rng.randrange(3, 6))]
    content = json.dumps({domain.rows: rows, "page": 1}, ensure_ascii=False)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a helpful assistant. Use the tools."},
        {"role": "user", "content": domain.ask[language]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": domain.tool, "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "name": domain.tool, "content": content},
    ]
    case = Case(f"{domain.name}.{language}.{form}.{seed}", domain, language, form, messages, rows=rows)
    {"plain": _plain, "markdown": _markdown, "json": _json}[form](case)
    return case


def _plain(case: Case) -> None:
    a, b, c = _OPEN[case.language]
    case.pieces += [a, _count(case), b + case.domain.nouns[case.language] + c + " "]
    for row in case.rows:
        head, *rest = case.domain.fields
        case.pieces += [f"{head.labels[case.language]} ", _value(case, row, head), ": "]
        for i, f in enumerate(rest):
            label = f.labels[case.language]
            label = label if case.language == "de" else label[0].lower() + label[1:]
            case.pieces += [", " if i else "", f"{label} ", _value(case, row, f)]
        case.pieces.append(". ")
    case.pieces += [_TOTAL[case.language], _total(case), ". ", _DIFFERENCE[case.language], _difference(case), ". ", _CLOSE[case.language]]


def _markdown(case: Case) -> None:
    a, b, c = _OPEN[case.language]
    case.pieces += [a, _count(case), b + case.domain.nouns[case.language] + c + "\n\n"]
    head, *rest = case.domain.fields
    if int(case.name[-1]) % 2:
        case.pieces.append(
            "| " + " | ".join(f.labels[case.language] for f in case.domain.fields) + " |\n" + "|---" * len(case.domain.fields) + "|\n"
        )
        for row in case.rows:
            for f in case.domain.fields:
                case.pieces += ["| ", _value(case, row, f), " "]
            case.pieces.append("|\n")
        case.pieces.append("\n")
    else:
        for n, row in enumerate(case.rows, 1):
            case.pieces += [f"{n}. **{head.labels[case.language]} ", _value(case, row, head), "**\n"]
            for f in rest:
                case.pieces += [f"   - **{f.labels[case.language]}:** ", _value(case, row, f), "\n"]
        case.pieces.append("\n")
    case.pieces += [f"**{_TOTAL[case.language].strip()}** ", _total(case), "\n\n", _CLOSE[case.language]]


def _json(case: Case) -> None:
    case.pieces.append('{"answer": [')
    for n, row in enumerate(case.rows):
        case.pieces.append((", " if n else "") + "{")
        for i, f in enumerate(case.domain.fields):
            text = f.kind in ("id", "person", "company", "date", "time")
            value = Value(str(row[f.key]), f.kind, row[f.key], f.unit, f.key, str(row[case.domain.fields[0].key]))
            case.pieces += [(", " if i else "") + json.dumps(f.key) + (': "' if text else ": "), value, '"' if text else ""]
        case.pieces.append("}")
    field_ = _total_field(case)
    total = sum(row[field_.key] for row in case.rows)
    case.pieces += [f'], "total_{field_.key}": ', Value(f"{round(total, field_.decimals)}", "sum", total, field_.unit, field_.key), "}"]


def _total_field(case: Case) -> Field:
    return next(f for f in case.domain.fields if f.key == case.domain.total)


def _value(case: Case, row: dict[str, Any], f: Field) -> Value:
    raw = row[f.key]
    entity = str(row[case.domain.fields[0].key])
    if f.kind == "date":
        text = date(datetime.date.fromisoformat(raw), case.language)
    elif f.kind == "time":
        text = clock(int(raw[:2]), int(raw[3:5]), case.language)
    elif f.kind in ("money", "quantity", "percent", "count"):
        text = with_unit(number(raw, case.language, f.decimals), f.unit, case.language)
    else:
        text = str(raw)
    return Value(text, f.kind, raw, f.unit, f.key, entity)


def _count(case: Case) -> Value:
    return Value(str(len(case.rows)), "row count", len(case.rows))


def _total(case: Case) -> Value:
    f = _total_field(case)
    total = sum(row[f.key] for row in case.rows)
    return Value(with_unit(number(total, case.language, f.decimals), f.unit, case.language), "sum", total, f.unit, f.key)


def _difference(case: Case) -> Value:
    f = _total_field(case)
    gap = abs(case.rows[0][f.key] - case.rows[1][f.key])
    return Value(with_unit(number(gap, case.language, f.decimals), f.unit, case.language), "difference", gap, f.unit, f.key)
