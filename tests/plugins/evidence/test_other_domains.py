"""Spellings, derivations and names of many trades: each honest answer passes, and its altered copy does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfp_evidence import EvidenceReport, judge

TOTALS = "For 4 nights:\n\n| Room | Per night | Total |\n|---|---|---|\n| A | €87 | "
PAIRS = [
    pytest.param({"part": "axle", "score": 3.4}, "The axle scores 3.4/5.", "The axle scores 3.9/5.", "3.9", id="rating"),
    pytest.param({"lib": "zed", "to": "2.14.33"}, "Upgrade to 2.14.33.", "Upgrade to 2.14.38.", "2.14.38", id="version-like-a-date"),
    pytest.param(
        {"lib": "zed", "to": "2.14.33"}, "Run `pip add zed@2.14.33`.", "Run `pip add zed@2.14.38`.", "zed@2.14.38", id="package-at-version"
    ),
    pytest.param({"cell_mv": 3710}, "The cell is at 3.71 V.", "The cell is at 3.17 V.", "3.17", id="voltage"),
    pytest.param({"uptime_s": 10800}, "It has been up for 3 hours.", "It has been up for 5 hours.", "5 hours", id="seconds-key"),
    pytest.param(
        {"quota": 80, "used": 61.5},
        "Of 80 GB, 61.5 GB are used, leaving 18.5 GB.",
        "Of 80 GB, 61.5 GB are used, leaving 17.5 GB.",
        "17.5",
        id="leaving",
    ),
    pytest.param(
        {"n": 37, "each": 41.27}, "- 37 bolts at $41.27: $1,526.99", "- 37 bolts at $41.27: $1,562.99", "1,562.99", id="product-on-a-line"
    ),
    pytest.param({"nights": 4, "rate_eur": 87}, TOTALS + "€348 |", TOTALS + "€384 |", "384", id="column-called-total"),
    pytest.param({"doctor": "Dr. Ana Brook"}, "Please ask Dr. Brook.", "Please ask Dr. Miller.", "Miller", id="common-word-behind-a-title"),
    pytest.param(
        {"clinic": "Harbor Dental", "ref": "AP-881"},
        "You are booked at Harbor Dental (AP-881).",
        "You are booked at Wexcombe Dental (AP-881).",
        "Wexcombe",
        id="reference-is-no-gloss",
    ),
]


def report_on(data: Any, answer: str) -> EvidenceReport:
    return judge(answer, [{"role": "user", "content": "How is it?"}, {"role": "tool", "tool_call_id": "c1", "content": json.dumps(data)}])


@pytest.mark.parametrize(("data", "honest", "altered", "wrong"), PAIRS)
def test_an_honest_answer_passes_and_its_altered_copy_does_not(data: Any, honest: str, altered: str, wrong: str) -> None:
    assert [v.text for v in report_on(data, honest).values if v.verdict == "unsupported"] == []
    assert any(wrong in v.text for v in report_on(data, altered).values if v.verdict == "unsupported")


@pytest.mark.parametrize(
    "advice", ["I recommend 20 minutes of rest.", "Please arrive 15 minutes early.", "Das dauert in der Regel 3 Tage."]
)
def test_advice_is_no_finding(advice: str) -> None:
    assert [v.text for v in report_on({"room": "B"}, advice).values if v.verdict == "unsupported"] == []


def test_a_stated_duration_is_a_finding() -> None:
    assert [v.text for v in report_on({"room": "B"}, "The job took 20 minutes.").values if v.verdict == "unsupported"] == ["20 minutes"]


@pytest.mark.parametrize("line", ["| 1 " * 40_000, "7 " * 60_000, "\u202e\U0001f600\x00 1.2.3 @ 4/5 |" * 2_000])
def test_long_and_broken_text_is_judged(line: str) -> None:
    for value in report_on(line, line).values:
        assert line[value.start : value.end] == value.text != ""
