"""What holds for every answer and every conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp_evidence import EvidenceIndex, EvidenceOptions, EvidenceReport, judge, judge_with
from agentfp_evidence.fold import fold

codes = st.from_regex(r"[A-Z]{2,4}-[0-9]{3,6}", fullmatch=True)
numbers = st.one_of(st.integers(0, 10**9), st.decimals(0, 10**6, places=2).map(float))
days = st.dates().map(lambda d: d.isoformat())
texts = st.text(st.characters(codec="utf-8"), max_size=60)
leaves = st.one_of(codes, numbers, days, texts)
rows = st.lists(st.fixed_dictionaries({"id": codes, "price": numbers, "day": days, "note": texts}), min_size=1, max_size=6)
ODD = r"""
0 1 7 12 31 99 1990 2026 0000 0000-00-00 0000-01-01 9999-12-31 2026-02-30 2026-W53-7 8504.40.90 1/0 0/0 3/4 10-20 5xx 10k 1.5M 2bn 0% 0x
1e59 1e60 1e309 1E+99 x10^80 NaN -Infinity 1,234.56 1.234,56 1'000 00:00 24:00 25:61 23:59:60 ٣ ½ ²
. , - / : T Z + % $ € = ( ) | --- # h min kg days weeks months ago later before of total average each per from to between
January Mai Monday pm Uhr two hundred dozen half { } [ ] " \
"""
PIECES = [*ODD.split(), "\n", " ", "9" * 70, "9" * 400, "5" * 4_500, "1." + "0" * 80]
odd_texts = st.lists(st.sampled_from(PIECES).flatmap(lambda piece: st.sampled_from([piece, f"{piece} "])), max_size=25).map("".join)
odd_numbers = st.sampled_from([0, -1, 1e308, -0.0, 1e-320, 2**63, 10**30, 1e61, 10**400, True, None])
odd_data = st.recursive(
    odd_texts | odd_numbers, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_texts, inner, max_size=3), max_leaves=6
)
PROFILES = ("standard", "lexical", "strict")


def result(data: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c1", "content": json.dumps(data, ensure_ascii=False)}


def essence(report: EvidenceReport) -> list[tuple[Any, ...]]:
    return [(v.text, v.start, v.end, v.verdict, v.how, v.sources) for v in report.values]


@given(rows)
@settings(max_examples=60, deadline=None)
def test_what_stands_in_a_result_is_supported(data: list[dict[str, Any]]) -> None:
    for row in data:
        answer = f"Item {row['id']} of {row['day']} costs {row['price']}."
        for profile in PROFILES[:1]:
            report = judge(answer, [result(data)], profile=profile)
            assert report.unsupported == (), report.values


@given(texts, st.lists(leaves, max_size=5))
@settings(max_examples=150, deadline=None)
@pytest.mark.parametrize("profile", PROFILES)
def test_spans_give_the_text_and_the_report_is_json(profile: str, answer: str, data: list[Any]) -> None:
    report = judge(answer, [result(data)], profile=profile)
    for value in report.values:
        assert report.answer[value.start : value.end] == value.text != ""
    assert json.loads(json.dumps(report.to_json()))["standing"] == report.standing


@given(odd_texts, odd_texts, odd_data)
@settings(max_examples=200, deadline=None)
def test_whatever_stands_there_it_is_judged(said: str, answer: str, data: Any) -> None:
    judge(answer, [{"role": "system", "content": said}, result(data), {"role": "user", "content": said}])
    judge(f"{said} {answer}", [{"role": "tool", "tool_call_id": "c1", "content": said}])


@pytest.mark.parametrize(
    ("data", "answer", "unsupported"),
    [
        ({"hs": "8504.40.90"}, "Code 8504.40.90, not 8504.40.80.", ("8504.40.80",)),
        ({"closed": "0000-00-00", "opened": "2026-02-03"}, "Opened in February, closed 0000-00-00, two days later.", None),
        ({"end": "9999-12-31"}, "It ends 9999-12-31, three months after that.", None),
        ({"size": 1e308}, "That is 1e+308, not 1e+309.", ("1e+309",)),
        ({"id": "9" * 70}, "No. " + "9" * 70 + ", not " + "9" * 69 + "8.", ("9" * 69 + "8",)),
    ],
)
def test_what_only_looks_like_a_date_or_a_number(data: Any, answer: str, unsupported: tuple[str, ...] | None) -> None:
    report = judge(answer, [result(data)])
    assert unsupported in (None, report.unsupported), report.values


@given(texts)
@settings(max_examples=200)
def test_folding_moves_no_character(text: str) -> None:
    assert len(fold(text)) == len(text)
    assert fold(fold(text)) == fold(text)


@given(rows, rows, texts)
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("profile", PROFILES)
def test_an_index_grown_in_pieces_equals_one_made_at_once(profile: Any, one: list[Any], two: list[Any], text: str) -> None:
    messages = [{"role": "user", "content": text}, result(one), {"role": "assistant", "content": "ok"}, result({"rows": two})]
    answer = f"{one[0]['id']} {two[0]['price']} {text} total 4,711 XY-99999"
    options = EvidenceOptions(profile=profile)
    whole = judge_with(EvidenceIndex(messages), answer, options=options)
    grown = EvidenceIndex()
    for message in messages:
        grown.add([message])
        judge_with(grown, answer, options=options)
    assert essence(judge_with(grown, answer, options=options)) == essence(whole)


@given(rows)
@settings(max_examples=40, deadline=None)
def test_data_and_its_json_text_are_judged_alike(data: list[dict[str, Any]]) -> None:
    answer = {"rows": data, "extra": "ZZ-998877"}
    as_data = judge(answer, [result(data)])
    as_text = judge(json.dumps(answer, ensure_ascii=False), [result(data)])
    assert essence(as_data) == essence(as_text)
    assert [v.path for v in as_data.values] == [v.path for v in as_text.values]
    assert [v.text for v in as_data.values if v.path == "$.extra"] == ["ZZ-998877"]
    assert all(v.verdict != "unsupported" for v in as_data.values if v.path.endswith((".id", ".price", ".day")))


@pytest.mark.parametrize(
    "text",
    [
        "QUJD/1+a" * 60_000,
        "a1-" * 100_000,
        '{"a": [' * 30_000,
        "9" * 200_000,
        "'1" * 100_000,
        "x@" * 100_000,
        '"' * 100_000,
        "12:" * 100_000,
        "Ab " * 60_000,
        "1 " * 100_000,
    ],
    ids=lambda text: text[:8],
)
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    report = judge("Code XY-4711 stands for 1,234.", [{"role": "tool", "content": text}])
    assert "XY-4711" in report.unsupported
    assert judge(text[:20_000], [{"role": "tool", "content": "ok"}]).answer == text[:20_000]
