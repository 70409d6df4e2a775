"""Reports to look at: whole, marked, escaped, and with nothing loaded from elsewhere."""

from __future__ import annotations

import html.parser
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp_evidence import judge

ROWS = [{"role": "tool", "tool_call_id": "c1", "name": "ports", "content": '{"rows": [{"fcid": "0x7a0100", "n": 41200}]}'}]


class Page(html.parser.HTMLParser):
    """What a page says: its marks with their classes, and all of its text outside of styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.marks: list[tuple[str, str]] = []
        self.tags: list[str] = []
        self.answer = ""
        self._open: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        kind = dict(attrs).get("class") or ""
        if tag not in ("meta", "br"):
            self._open.append((tag, kind))
        if tag == "mark":
            self.marks.append((kind, ""))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if any(kind == "answer" for _, kind in self._open):
            self.answer += data
        if self._open and self._open[-1][0] == "mark":
            kind, text = self.marks[-1]
            self.marks[-1] = (kind, text + data)


def test_each_value_is_marked_and_its_source_named() -> None:
    text = judge("FCID 0x7a0100, then 0x7a9999.", ROWS).to_html()
    page = Page(text)
    assert page.marks == [("supported", "0x7a0100"), ("unsupported", "0x7a9999")]
    assert "$.rows[0].fcid" in text
    assert text.startswith("<!doctype html>")
    assert not re.search(r"https?://|src=|@import", text)


def test_a_notebook_gets_a_part_of_a_page() -> None:
    shown = judge("FCID 0x7a0100.", ROWS)._repr_html_()
    assert Page(shown).marks == [("supported", "0x7a0100")]
    assert "<html" not in shown


@settings(max_examples=60)
@given(st.text(st.sampled_from("<>&\"'/ script0x7a9999-AB12\n"), max_size=60))
def test_hostile_text_stays_text_and_the_answer_is_whole(answer: str) -> None:
    report = judge(answer, ROWS)
    page = Page(report.to_html())
    assert page.answer == answer
    assert "script" not in page.tags


def test_an_answer_without_values_has_no_table() -> None:
    assert "<table>" not in judge("I do not know.", ROWS).to_html()
