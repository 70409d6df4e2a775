"""The page of ``--html``: whole in itself, hostile texts escaped, every value linked with the place that it comes from."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentfp.commands import Code
from agentfp_transcripts.page.results import content_html
from agentfp_transcripts.places import characters_of, keys_of
from tests.plugins.transcripts.conftest import Checker
from tests.plugins.transcripts.test_check import CALL, conversation, says
from tests.plugins.transcripts.test_check import write as write

VOID = frozenset({"meta", "input", "br", "hr", "link", "img"})
SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Reader(HTMLParser):
    """Reads a page and refuses tags that are not closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, str] = {}
        self._ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self.tags.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
            self._ids.append(found.get("id", ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._ids.pop()

    def handle_data(self, data: str) -> None:
        for name in filter(None, self._ids):
            self.texts[name] = self.texts.get(name, "") + data

    def of(self, tag: str, css: str | None = None) -> list[dict[str, str]]:
        return [attrs for name, attrs in self.tags if name == tag and (css is None or css in attrs.get("class", "").split())]


def parse(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    ids = [attrs["id"] for _, attrs in reader.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for attrs in reader.of("a"):
        assert attrs["href"].removeprefix("#") in ids
    return reader


@pytest.fixture
def page(check: Checker, write: Any, folder: Path) -> Any:
    def page(*transcripts: Any, options: tuple[str, ...] = ()) -> Reader:
        path = write(*transcripts)
        assert check(path, "--html", "page.html", *options).code == Code.OK
        assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []
        return parse((folder / "page.html").read_text(encoding="utf-8"))

    return page


def test_each_value_leads_to_its_row_and_each_row_to_its_source(page: Any) -> None:
    reader = page(conversation("a", "It is 1234 for 7, not 999."))
    values = reader.of("a", "v")
    assert [attrs["class"] for attrs in values] == ["v supported", "v unverifiable", "v unsupported"]
    rows = [reader.texts[attrs["href"][1:]] for attrs in values]
    assert "✓ supported 1234 number exact" in rows[0]
    assert "message 2 price $.rows[0].price" in rows[0]
    assert "✕ unsupported (strong) 999" in rows[2]
    (source,) = [attrs["href"][1:] for attrs in reader.of("a") if "v" not in attrs.get("class", "")]
    assert reader.texts[source] == "1234"
    assert reader.of("article")[0]["data-has"] == "unsupported unverifiable supported"


def test_the_page_asks_for_nothing_and_runs_its_own_script_only(page: Any, folder: Path) -> None:
    reader = page(conversation("a", "999"))
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert "http://" not in text
    assert "https://" not in text
    assert not any(key in attrs for _, attrs in reader.tags for key in ("src", "style", "onclick", "onload", "action"))
    (policy,) = [attrs["content"] for attrs in reader.of("meta") if attrs.get("http-equiv") == "Content-Security-Policy"]
    for tag in ("style", "script"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert f"sha256-{base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()}" in policy
    assert "default-src 'none'" in policy


def test_hostile_texts_stay_texts(page: Any) -> None:
    made = conversation(SCRIPT, f"{SCRIPT} 999 {SCRIPT} 1234")
    made["messages"][0]["content"] = SCRIPT
    made["messages"][1]["tool_calls"] = [{**CALL, "function": {"name": SCRIPT, "arguments": json.dumps({SCRIPT: SCRIPT})}}]
    made["messages"][2]["content"] = json.dumps({SCRIPT: 1234, "x": SCRIPT})
    reader = page(made)
    assert len(reader.of("script")) == 1
    assert not reader.of("img")
    assert not any(key.startswith("on") for _, attrs in reader.tags for key in attrs)


def test_control_and_half_characters(page: Any) -> None:
    page(conversation("a\x1b[31m\x00\ud800", "999\x00\ud800\u202e"))


def test_results_that_are_text_have_their_places_marked(page: Any) -> None:
    made = conversation("a", "It is 1234.")
    made["messages"][2]["content"] = "x" * 9_000 + " costs 1234 kr " + "y" * 9_000
    reader = page(made)
    (mark,) = reader.of("mark")
    assert reader.texts[mark["id"]] == "1234"
    assert "characters left out" in reader.texts["t1m2"]
    assert len(reader.texts["t1m2"]) < 3_000


def test_long_results_are_cut_around_their_marks(page: Any) -> None:
    made = conversation("a", "It is 1234.")
    rows = [{"city": f"c{n}", "price": n} for n in range(2_000)]
    made["messages"][2]["content"] = json.dumps({"rows": rows})
    reader = page(made)
    assert "… 1230 left out" in reader.texts["t1m2"]
    assert '"c1234"' in reader.texts["t1m2"]
    assert len(reader.texts["t1m2"]) < 3_000


def test_answers_of_one_transcript_share_its_results(page: Any) -> None:
    reader = page(conversation("a", "1234", "Again 1234"), conversation("b", "1234"))
    assert len(reader.of("details")) == 2
    assert len(reader.of("mark")) == 2
    assert len(reader.of("article")) == 3


def test_what_was_not_read_or_checked_is_told(page: Any, check: Checker, folder: Path) -> None:
    made = conversation("a", "1234")
    made["messages"].insert(1, says("Perhaps 5."))
    page(made)
    with (folder / "t.jsonl").open("a") as file:
        file.write("{broken <b>\n")
    check("t.jsonl", "--html", "page.html")
    text = (folder / "page.html").read_text()
    parse(text)
    assert "Not read: t.jsonl:2: is not JSON" in text
    assert "Not checked: 1 answer that no tool result stands before" in text


def test_a_page_that_cannot_be_written(check: Checker, write: Any, folder: Path) -> None:
    path = write(conversation("a", "1234"))
    for target in ("no/page.html", "."):
        done = check(path, "--html", target)
        assert done.code == Code.USAGE
        assert "--html" in done.err
    assert not (folder / "page.html").exists()


# --- pieces ----------------------------------------------------------------------------------------------------------------------------

KEYS = st.text(min_size=1, max_size=4)
DATA = st.recursive(
    st.none() | st.integers() | KEYS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=20
)


@given(
    DATA, st.lists(st.text(max_size=8) | st.sampled_from(["$", "$[0]", "$.a", "$[0][1]", "characters 0-3", "characters 2-9"]), max_size=4)
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_content_with_any_marks_is_well_formed(data: Any, paths: list[str]) -> None:
    for content in (json.dumps(data), str(data)):
        marks = {path: f"m{number}" for number, path in enumerate(paths)}
        reader = Reader()
        reader.feed(content_html(content, marks))
        reader.close()
        assert not reader.open


def test_deep_content_is_cut() -> None:
    assert "</" not in content_html("[" * 500 + "]" * 500, {})
    assert content_html("[" * 99_999, {}).startswith("[[[")


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("$", ()),
        ("$.rows[2].price", ("rows", 2, "price")),
        ("$['a b'][0]", ("a b", 0)),
        ('$["a\\"]"].x', ('a"]', "x")),
        ("$.flight-number", ("flight-number",)),
        ("rows", None),
        ("$..x", None),
        ("$[x]", None),
    ],
)
def test_paths(path: str, keys: tuple[Any, ...] | None) -> None:
    assert keys_of(path) == keys


def test_characters() -> None:
    assert characters_of("characters 3-10") == (3, 10)
    assert characters_of("characters 3") is None
