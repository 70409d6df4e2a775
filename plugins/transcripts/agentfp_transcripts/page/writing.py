"""Writes the page, transcript by transcript, so that not all of them are held at once."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import IO

from agentfp.transcripts import JudgedValue, Transcript
from agentfp_transcripts.checking import Answer, Checked, Summary
from agentfp_transcripts.page.results import Shelf, content_html
from agentfp_transcripts.places import describe, segments
from agentfp_transcripts.problems import Problem

_ORDER = ("unsupported", "unverifiable", "supported")
_ASKED = 600
_MARKS = {"unsupported": "✕", "unverifiable": "?", "supported": "✓"}
"""A sign besides the colour, for those who cannot tell colours apart."""


class Page:
    """Takes judged transcripts; the file appears when all are taken.

    Args:
        path: where the page goes; replaced if it is there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._body: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  # as long as the page
        self._count = 0

    def add(self, checked: Checked) -> None:
        """Write the answers of a transcript."""
        if not checked.answers:
            return
        self._count += 1
        prefix = f"t{self._count}"
        shelf = Shelf(prefix)
        articles = [_article(checked, answer, f"{prefix}a{answer.index}", shelf) for answer in checked.answers]
        transcript = checked.transcript
        name = f"{escape(transcript.format)} · {escape(transcript.source)}"
        self._body.write(f'<section class="transcript" aria-labelledby="{prefix}"><header><h2 id="{prefix}">{escape(transcript.id)}</h2>')
        self._body.write(f"<p>{name}</p></header>\n")
        self._body.writelines(articles)
        if shelf.messages:
            self._body.write('<div class="results"><h3>Where the values come from</h3>')
            self._body.writelines(_message(transcript, shelf, index) for index in sorted(shelf.messages))
            self._body.write("</div>")
        notes = [*transcript.problems, *(f"Not checked: {text}" for text in checked.not_checked), *checked.failures]
        self._body.write(_list("notes", notes))
        self._body.write("</section>\n")

    def end(self, summary: Summary, problems: Sequence[Problem]) -> None:
        """Put the page in its place.

        Raises:
            OSError: it cannot be written.
        """
        style, script = (files("agentfp_transcripts.page").joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
        self._body.seek(0)
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.", suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as page, self._body:
                page.write(_head(style, script))
                page.write(_top(summary))
                shutil.copyfileobj(self._body, page)
                page.write(_list("notes", [f"Not read: {problem}" for problem in problems]))
                page.write('<p id="none" hidden>No answer fits.</p></main><div id="card" role="tooltip" hidden></div>')
                page.write(f"<script>{script}</script></body></html>\n")
            Path(name).chmod(0o644)
            Path(name).replace(self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise


def _head(style: str, script: str) -> str:
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<title>Checked answers</title><style>{style}</style></head>\n"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _top(summary: Summary) -> str:
    counts = "".join(
        f'<label class="{verdict}"><input type="radio" name="show" value="{verdict}">'
        f"<span><b>{summary.values[verdict]}</b> {verdict}</span></label>"
        for verdict in _ORDER
    )
    said = f"{summary.judged}, {summary.flagged} with a value that nothing supports"
    return (
        f'<body><header class="top"><div><h1>Checked answers</h1><p>{said}.</p></div>'
        f'<form aria-label="Show answers by the verdict on their values"><label><input type="radio" name="show" value="" checked>'
        f"<span>All</span></label>{counts}"
        '<input type="search" id="find" placeholder="Find in answers" aria-label="Find in answers">'
        '<button type="button" id="theme" aria-label="Light or dark">◐</button></form></header>\n<main>\n'
    )


def _values_of(answer: Answer) -> list[tuple[str, JudgedValue]]:
    return [(judge, value) for judge, judgement in answer.judgements.items() for value in judgement.values]


def _article(checked: Checked, answer: Answer, id: str, shelf: Shelf) -> str:
    transcript = checked.transcript
    found = _values_of(answer)
    values = [value for _, value in found]
    has = " ".join(verdict for verdict in _ORDER if any(value.verdict == verdict for value in values))
    pieces = [
        escape(piece) if number is None else f'<a class="v {values[number].verdict}" href="#{id}v{number}">{escape(piece)}</a>'
        for piece, number in segments(answer.text, values)
    ]
    known = {id_ for finding in answer.findings if finding.known for id_ in (id_of(finding.value),)}
    several = len(answer.judgements) > 1
    rows = "".join(
        _row(transcript, value, f"{id}v{number}", shelf, judge=judge if several else "", known=id_of(value) in known)
        for number, (judge, value) in sorted(enumerate(found), key=lambda one: _ORDER.index(one[1][1].verdict))
    )
    standing = answer.main.standing
    asked = _asked(transcript, answer.index)
    notes = [text for judgement in answer.judgements.values() for text in judgement.notes]
    return (
        f'<article id="{id}" data-has="{has}" class="{"flagged" if answer.new else ""}">'
        f"<h3>Answer {answer.index} <small>{escape(standing)}</small></h3>"
        + (f'<blockquote aria-label="The person asked">{escape(asked)}</blockquote>' if asked else "")
        + f'<div class="said">{"".join(pieces)}</div>'
        + (f'<ol class="values">{rows}</ol>' if rows else '<p class="none">No value in it.</p>')
        + _list("notes", notes)
        + "</article>\n"
    )


def id_of(value: JudgedValue) -> int:
    """Tells one value object from another that is equal."""
    return id(value)


def _asked(transcript: Transcript, index: int) -> str:
    """What the person said last before an answer."""
    for message in reversed(transcript.messages[:index]):
        if message.role == "user" and message.content.strip():
            text = message.content.strip()
            return text if len(text) <= _ASKED else f"{text[:_ASKED]}…"
    return ""


def _row(transcript: Transcript, value: JudgedValue, id: str, shelf: Shelf, *, judge: str, known: bool) -> str:
    words = [value.verdict, *([f"({value.severity})"] if value.severity else []), *(["known"] if known else [])]
    how = f' <span class="how">{escape(value.how)}</span>' if value.how else ""
    notes = (value.derivation, f"nearly {value.near}" if value.near else "")
    derived = "".join(f'<div class="derived">{escape(text)}</div>' for text in notes if text)
    links = []
    for source in value.sources:
        place, said = shelf.put(source), escape(describe(source, transcript))
        links.append(f"<li>{said}</li>" if place is None else f'<li><a href="#{place}">{said}</a></li>')
    sources = f"<ul>{''.join(links)}</ul>" if links else ""
    by = f' <span class="by">{escape(judge)}</span>' if judge else ""
    verdict = f'<span class="verdict"><span aria-hidden="true">{_MARKS[value.verdict]}</span> {escape(" ".join(words))}</span>'
    told = f'<code>{escape(value.text)}</code> <span class="kind">{escape(value.kind)}</span>'
    return f'<li id="{id}" class="{value.verdict}" tabindex="-1">{verdict} {told}{how}{by}{derived}{sources}</li>'


def _message(transcript: Transcript, shelf: Shelf, index: int) -> str:
    if not 0 <= index < len(transcript.messages):
        return ""
    message = transcript.messages[index]
    who = message.tool_name or message.role
    failed = " · failed" if message.id in transcript.failed else ""
    called = next((c for m in transcript.messages[:index] for c in m.tool_calls if c.id and c.id == message.tool_call_id), None)
    arguments = f" <code>{escape(called.arguments_json[:200])}</code>" if called is not None else ""
    return (
        f'<details id="{shelf.id_of(index)}"><summary>message {index} · <b>{escape(who)}</b>{arguments}{failed}</summary>'
        f"<pre>{content_html(message.content, shelf.messages[index])}</pre></details>"
    )


def _list(name: str, texts: Iterable[str]) -> str:
    made = "".join(f"<li>{escape(text)}</li>" for text in dict.fromkeys(texts))
    return f'<ul class="{name}">{made}</ul>' if made else ""
