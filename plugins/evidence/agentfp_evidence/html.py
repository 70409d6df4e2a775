"""A report to look at: the answer with each value marked, and a table of where each comes from. One file, nothing loaded from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterable

from agentfp.transcripts import ValueSource
from agentfp_evidence.report import EvidenceReport, EvidenceValue

_STYLE = """
.af-evidence{--ok:#1a7f37;--open:#9a6700;--weak:#bc4c00;--bad:#cf222e;--line:#8885;font:15px/1.55 system-ui,sans-serif;max-width:60rem}
.af-evidence .answer{white-space:pre-wrap;overflow-wrap:anywhere;border-left:4px solid var(--line);padding:.4rem 1rem;margin:0 0 1rem}
.af-evidence mark{color:inherit;background:none;border-bottom:2px solid var(--ok);border-radius:2px;padding:0 .1em}
.af-evidence mark.unverifiable{border-bottom:2px dotted var(--open)}
.af-evidence mark.unsupported{border-bottom:3px double var(--bad);background:color-mix(in srgb,var(--bad) 14%,transparent)}
.af-evidence mark.weak{border-color:var(--weak);background:color-mix(in srgb,var(--weak) 14%,transparent)}
.af-evidence table{border-collapse:collapse;width:100%}
.af-evidence th,.af-evidence td{text-align:left;vertical-align:top;padding:.25rem .6rem;border-bottom:1px solid var(--line)}
.af-evidence td{overflow-wrap:anywhere}
.af-evidence td:first-child{font-family:ui-monospace,monospace}
.af-evidence .standing{font-weight:600}
""".strip()
_PAGE_STYLE = "body{margin:2rem auto;max-width:62rem;padding:0 1rem}:root{color-scheme:light dark}"


def page_of(report: EvidenceReport, title: str = "Where the values come from") -> str:
    """The report as a whole page.

    Args:
        report: the report.
        title: of the page.
    """
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{_PAGE_STYLE}</style></head><body>\n{fragment_of(report)}\n</body></html>\n"
    )


def fragment_of(report: EvidenceReport) -> str:
    """The report as a part of a page, for notebooks and for pages of your own."""
    counts = report.counts
    said = ", ".join(f"{counts[name]} {name}" for name in ("supported", "unverifiable", "unsupported") if counts[name]) or "no values"
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in report.notes)
    return (
        f'<div class="af-evidence"><style>{_STYLE}</style>'
        f'<p><span class="standing">{html.escape(report.standing)}</span>: {said}</p>'
        f'<div class="answer">{_marked(report)}</div>'
        f"{_table(report.values)}{f'<ul>{notes}</ul>' if notes else ''}</div>"
    )


def _marked(report: EvidenceReport) -> str:
    parts: list[str] = []
    at = 0
    for value in sorted(report.values, key=lambda v: (v.start, -v.end)):
        if value.start < at or report.answer[value.start : value.end] != value.text:
            continue  # inside of a value that is marked already, or of a masked copy, whose spans are those of the whole text
        parts.append(html.escape(report.answer[at : value.start]))
        title = html.escape(explained(value), quote=True)
        parts.append(f'<mark class="{_classes(value)}" title="{title}">{html.escape(report.answer[value.start : value.end])}</mark>')
        at = value.end
    parts.append(html.escape(report.answer[at:]))
    return "".join(parts)


def _classes(value: EvidenceValue) -> str:
    return f"{value.verdict} weak" if value.severity == "weak" else value.verdict


def _table(values: Iterable[EvidenceValue]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(v.text)}</td><td>{html.escape(v.kind)}</td><td>{_verdict(v)}</td>"
        f"<td>{html.escape(v.derivation or v.how)}</td><td>{'<br>'.join(html.escape(place(s)) for s in v.sources)}</td></tr>"
        for v in values
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("value", "kind", "verdict", "how", "from"))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""


def _verdict(value: EvidenceValue) -> str:
    return html.escape(f"{value.verdict} ({value.severity})" if value.severity else value.verdict)


def explained(value: EvidenceValue) -> str:
    """One line that says what became of a value and why."""
    words = [_plain_verdict(value), value.derivation or value.how, "; ".join(place(source) for source in value.sources)]
    near = f"nearest: {value.near}" if value.near else ""
    return " · ".join(word for word in (*words, near) if word)


def _plain_verdict(value: EvidenceValue) -> str:
    return f"{value.verdict}, {value.severity}" if value.severity else value.verdict


def place(source: ValueSource) -> str:
    """A source in words."""
    where = "given" if source.message is None else f"message {source.message}"
    return f"{where} {source.path}".strip()
