"""Notes leave an answer and nothing else does, however the text is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp_findings.peeling import AnswerPeeler, peel

NOTE = '{"_findings":{"previous":[]}}'


def peel_in_pieces(text: str, cuts: list[int]) -> tuple[str, list[Any], int]:
    peeler, shown, at = AnswerPeeler(), "", 0
    for cut in [*sorted(c for c in cuts if c <= len(text)), len(text)]:
        shown += peeler.feed(text[at:cut])
        at = cut
    return shown + peeler.finish(), peeler.notes, peeler.malformed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("{see below}", "{see below}"),
        ("{}", "{}"),
        ("{ }", "{ }"),
        (NOTE, "{}"),
        (f"\n{NOTE}\n", "{}"),
        ('{"total":3,"_findings":{"a":1},"ok":true}', '{"total":3,"ok":true}'),
        ('{"total":3, "_findings" : {"a":1} }', '{"total":3 }'),
        ('{ "_findings": 1, "a": 2 }', '{ "a": 2 }'),
        ('{\n  "_findings": {"a": [1, "}"]},\n  "a": 2\n}', '{\n  "a": 2\n}'),
        ('{"_findings":1,"_findings":2}', "{}"),
        ('{"a":1,"_findings":1,"b":2,"_findings":2}', '{"a":1,"b":2}'),
        ('{"a":{"_findings":1}}', '{"a":{"_findings":1}}'),
        ('{"\\u005ffindings":1,"a":2}', '{"a":2}'),
        (f"Done.\n\n```json\n{NOTE}\n```\n", "Done."),
        (f"Done.\n\n```json\n{NOTE}\n```\n\n\nMore.", "Done.\n\nMore."),
        (f"~~~~\n{NOTE}\n\n{NOTE}\n~~~~~\nMore.", "More."),
        (f"```\n{NOTE}\n```", ""),
        (f"```\n{NOTE}\nx\n```\n", "```\n{}\nx\n```\n"),
        (f"```\nx\n{NOTE}\n```\n", "```\nx\n{}\n```\n"),
        (f"```\n{NOTE}\n``\n```\n", "```\n{}\n``\n```\n"),
        ("```\n\n```\n", "```\n\n```\n"),
        ("```\nopen", "```\nopen"),
        (f"Cut.\n```json\n{NOTE}", "Cut."),
        (f"A\n{NOTE}\nB", "A\nB"),
        (f"A\n\n  {NOTE}  \n\n\n  B", "A\n\n  B"),
        (f"A\n{NOTE}", "A"),
        (f"A\n{NOTE} B", "A\n{} B"),
        (f"A {NOTE}", "A {}"),
        (f"- {NOTE}\n- x", "- {}\n- x"),
        (f"`{NOTE}`", "`{}`"),
        (f'[\n  {NOTE},\n  {{"a":1}},\n  {NOTE}\n]', '[\n  {},\n  {"a":1},\n  {}\n]'),
        (f"As in [1], this holds.\n{NOTE}", "As in [1], this holds."),
        (f"{NOTE}\n{NOTE}", ""),
        (f"  {NOTE}\n", "{}"),
        ("``` not closed` {x}", "``` not closed` {x}"),
        (f"```{NOTE}```", "```{}```"),
        ('{"a":1,"_findings":{} oops}', '{"a":1 oops}'),
        ('{"_findings":{} oops}', "{} oops}"),
        ('{"_findings":{}, oops}', "{}, oops}"),
        ('{"_findings":{"a" oops}', '{"_findings":{"a" oops}'),
        ('{"a":1,"_findings":{oops}}', '{"a":1,"_findings":{oops}}'),
        ('{ {"_findings":1,"a":2}', '{ {"a":2}'),
        ('{"a" 1}', '{"a" 1}'),
        ('{"a":01}', '{"a":01}'),
        ("{'_findings': 1}", "{'_findings': 1}"),
        ('{"a\n":1}', '{"a\n":1}'),
        ('{"_find', '{"_find'),
        ('{"_findings"', '{"_findings"'),
        ('{"a":1,', '{"a":1,'),
        ('{"a":1 ', '{"a":1 '),
        ('{"a":1, "b', '{"a":1, "b'),
        ('x {"_findings":{"prev', "x {}"),
        ('{"_findings":{"prev', ""),
        ('x\n{"_findings":{"prev', "x"),
        ('{"a":1,"_findings":{"prev', '{"a":1'),
        ('{"_findings":{}', ""),
        ('{"_findings":{},', ""),
        ('{"_findings":{},"a', '{"a'),
        ('{"a":1}\n{"_findings":1,"b":[1.5e3,-0,true,null,"\\n\\u00e9"]}', '{"a":1}\n{"b":[1.5e3,-0,true,null,"\\n\\u00e9"]}'),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert peel(text)[0] == shown
    for size in (1, 3, 7):
        assert peel_in_pieces(text, list(range(0, len(text), size)))[0] == shown


@pytest.mark.parametrize(
    ("text", "notes", "malformed"),
    [
        (NOTE, [{"previous": []}], 0),
        ('{"_findings":1,"_findings":2} {"_findings":3}', [2, 3], 0),
        ('{"a":1,"_findings":{"prev', [], 1),
        ('{"_findings":7} {"_findings":{"prev', [7], 1),
        ('{"_findings":{} oops}', [{}], 0),
        ('{"_findings":{"a" oops}', [], 0),
        ("{see below}", [], 0),
        ('{"_findings":' + "9" * 5000 + "}", [], 1),
        ('{"_findings":' + "[" * 100_000 + "]" * 100_000 + ',"a":1}', [], 1),
    ],
)
def test_what_is_read(text: str, notes: list[Any], malformed: int) -> None:
    assert peel(text)[1:] == (notes, malformed)


SIGNS = ["{", "}", "[", "]", '"', ":", ",", "\n", " ", "\t", "\r\n", "`", "```", "```json\n", "\n```\n", "~~~", "\\", "- "]
VALUES = ["1", "-", ".5", "e3", "true", "x", "é", '"_findings"', "_find"]
MEMBERS = ['"_findings":', '"a":', NOTE, '{"_findings":1,"a":2}', '{"a":[1],"_findings":{"previous":[]}}']
TEXTS = st.lists(st.sampled_from([*SIGNS, *VALUES, *MEMBERS]), max_size=24).map("".join)


@given(TEXTS, st.lists(st.integers(0, 200), max_size=12))
@settings(max_examples=600)
def test_a_text_in_pieces_gives_what_the_whole_gives(text: str, cuts: list[int]) -> None:
    assert peel_in_pieces(text, cuts) == peel(text)


@given(st.one_of(st.text(), TEXTS.filter(lambda text: "_findings" not in text and "\\u" not in text)))
@settings(max_examples=400)
def test_a_text_without_notes_comes_back_byte_for_byte(text: str) -> None:
    assert peel(text) == (text, [], 0)


NUMBERS = st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False)
KEYS = st.sampled_from(["a", "b", "_findings"]) | st.text(max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "_findings"]) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "_findings", "total"]) | st.text(max_size=5), JSON, max_size=5)


@given(OBJECTS, st.sampled_from([None, 0, 2, "\t"]), st.booleans(), st.booleans())
@settings(max_examples=300)
def test_peeled_json_is_the_json_without_the_key(data: dict[str, Any], indent: int | str | None, ascii_only: bool, sort: bool) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only, sort_keys=sort)
    shown, notes, malformed = peel(text)
    rest = {key: value for key, value in data.items() if key != "_findings"}
    assert json.loads(shown) == rest
    assert (notes, malformed) == ([data["_findings"]] if "_findings" in data else [], 0)
    if "_findings" not in data:
        assert shown == text


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.sampled_from([None, 2]))
@settings(max_examples=150)
def test_objects_of_a_list_stay_a_list(items: list[dict[str, Any]], indent: int | None) -> None:
    shown, _, _ = peel(json.dumps(items, indent=indent))
    assert json.loads(shown) == [{key: value for key, value in item.items() if key != "_findings"} for item in items]


def test_little_is_held_back() -> None:
    peeler = AnswerPeeler()
    assert peeler.feed("The ports are ") == "The ports are"
    assert peeler.feed('3 {"a":"long text') == ' 3 {"a":"long text'
    assert peeler.feed('","_find') == '"'
    assert peeler.feed('ings":{"previous":[') == ""
    assert peeler.feed("]}}") == "}"
