"""The lexical profile: tokens compared, with what it is known to miss and to flag."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp_evidence import Shape, judge
from agentfp_evidence.normalise import normalise

SWITCH = {
    "switch": "mds-07",
    "ports": [
        {"if": "fc2/4", "state": "down", "fcid": "0x7a0100", "wwn": "20:00:11:22:33:44:55:66"},
        {"if": "fc2/6", "state": "up", "fcid": "0x7a0400"},
    ],
    "peak_iops": 41200,
    "avg": 18450,
    "err": 0.0078,
    "pct": 12,
    "seen": "2026-04-12T08:15:00Z",
    "mem": 2048.0,
    "uuid": "3f2b8c1e-7d44-4a19-9c0e-5a6b7c8d9e0f",
    "serial": "90071992547409931234",
    "note": "peer esx-lab-12 flapped 555 times",
}


def result(content: Any, *, call: str = "c1", **more: Any) -> dict[str, Any]:
    text = content if isinstance(content, str) else json.dumps(content)
    return {"role": "tool", "tool_call_id": call, "content": text, **more}


def flagged(answer: str, *messages: dict[str, Any], **options: Any) -> list[str]:
    report = judge(answer, messages, profile="lexical", **options)
    for value in report.values:
        assert report.answer[value.start : value.end] == value.text
    return [value.value for value in report.values if value.verdict == "unsupported"]


SWITCH_ANSWERS = [
    ("peaks at 41,200 IOPS.", []),
    ("41200iops", []),
    ("42,100 IOPS", ["42100"]),
    ("41.2k IOPS", []),
    ("error ratio 0.0078", []),
    ("about 0.008", ["0.008"]),
    ("0.78%", []),
    ("13%", []),
    ("13.25%", ["13.25"]),
    ("fc2/5 is down", ["fc2/5"]),
    ("FCID 7A0100 on FC2/4", []),
    ("FCID 0x7a01", ["0x7a01"]),
    ("2026-04-12T08:15:00Z", []),
    ("Seen 2026-04-12", ["2026-04-12"]),
    ("Seen 12 April 2026", ["2026"]),
    ("at 08:15", ["08:15"]),
    ("3f2b8c1e-7d44-4a19-9c0e-5a6b7c8d9e0f", []),
    ("3f2b8c1e-7d44-4a19-9c0e-5a6b7c8d9e00", ["3f2b8c1e-7d44-4a19-9c0e-5a6b7c8d9e00"]),
    ("2,048 GB or 2048.0 GB", []),
    ("2 TB", []),
    ("serial 90071992547409931234", []),
    ("serial 90071992547409931235", ["90071992547409931235"]),
    ("esx-lab-13 flapped 556 times", ["esx-lab-13"]),
    ("esx-lab-alpha is the peer", []),
    ("5-10 minutes, 30-minute window", ["5-10", "30-minute"]),
    ("48-port switch, 24/7, 24 hours, 47th", []),
    ("GPT-4, COVID-19, SHA-256, HTTP/2, IPv4", ["gpt-4", "covid-19", "sha-256", "http/2", "ipv4"]),
    ("section 4.2.1, step-1", ["4.2.1", "step-1"]),
    ("Total is 59,650 IOPS", ["59650"]),
    ("1.240,5 items", ["1.240,5"]),
    ("7.8e-3", ["7.8e-3"]),
    ("1 240 items", []),
    ("| **fc2/4** | `fc2/6` |", []),
    ("fc2/4,fc2/6 and fc2/9", ["fc2/9"]),
    ("-41,200", ["-41200"]),
    ("mds-07.lab.example.org", ["mds-07.lab.example.org"]),
    ("20-00-11-22-33-44-55-66", ["20-00-11-22-33-44-55-66"]),
    ("192.168.10.24, v2.1", ["192.168.10.24", "v2.1"]),
]


@pytest.mark.parametrize(("answer", "expected"), SWITCH_ANSWERS)
def test_answers_about_a_switch(answer: str, expected: list[str]) -> None:
    assert flagged(answer, result(SWITCH)) == expected


def absence(**more: Any) -> dict[str, Any]:
    return result({"af_absent": True, "outcome": "nothing_found", "looked_for": "vm-9931", "checked": ["inventory"], **more})


PERSON = {"role": "user", "content": "please work OPS-4471"}
SYSTEM = {"role": "system", "content": "escalate to Q-4471-OPS"}
OWN = {"role": "assistant", "content": "I made alias-77b"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "port", "arguments": '{"if": "fc9/9"}'}}]}
DATE = {"role": "user", "content": "2026-10-09, 8 Am"}

OTHER_CASES: list[tuple[tuple[dict[str, Any], ...], str, list[str]]] = [
    ((result({"n": "naa.0x7a0100ab"}),), "0x7a0100", ["0x7a0100"]),
    ((result({"aa:bb:01:02": {"vsan": 100}}),), "aa:bb:01:02", []),
    ((CALL, result("no such port: fc9/9", is_error=True)), "fc9/9 not found", ["fc9/9"]),
    ((absence(),), "No record for vm-9931", ["vm-9931"]),
    (({"role": "user", "content": "is vm-9931 up?"}, absence()), "No record for vm-9931", []),
    ((absence(try_instead="use vm-9930"),), "try vm-9930", []),
    ((PERSON,), "OPS-4471 is open", []),
    ((SYSTEM,), "Escalated to Q-4471-OPS", []),
    ((OWN,), "alias-77b is there", ["alias-77b"]),
    ((DATE,), "8:00, October 9, 2026", []),
    ((DATE,), "9:15 in 2031", ["9:15", "2031"]),
    ((result({"at": "2026-10-09", "time": "8 am"}),), "2026 at 8:00", ["2026", "8:00"]),
    ((result({"lat": "2024ms"}),), "2024ms", []),
    ((result({"lat": "2024ms"}),), "in 2024", ["2024"]),
    ((result('{"id": 1440}\n'),), "1,440; job-77x", ["job-77x"]),
    ((result('{"id":4417,"msg":"full on host-7 and mo'),), "4417, host-7, more", []),
    ((result({"n": 4417}),), '{"errors":4417,"p95_ms":12}', [":4417", "p95_ms"]),
    ((result({"r": 0.9995}),), "99.95%", ["99.95"]),
    ((result({"p": 812.41}),), "812.4 ms", ["812.4"]),
    ((result({"p": 1287}),), "~1300 ms", ["1300"]),
    ((result({"a": "12345"}),), "serial 0012345", []),
    ((result({"a": 1024, "b": 2048}),), "1,024-2,048 MB", ["1,024-2,048"]),
    ((), "fc2/4 is down", ["fc2/4"]),
    ((), "", []),
    ((), "replaced the optic", []),
]


@pytest.mark.parametrize(("messages", "answer", "expected"), OTHER_CASES)
def test_what_grounds_a_value(messages: tuple[dict[str, Any], ...], answer: str, expected: list[str]) -> None:
    assert flagged(answer, *messages) == expected


def test_a_declared_shape_is_data_without_a_digit() -> None:
    assert flagged("ops-open") == []
    assert flagged("ops-open", shapes=[Shape("ticket", "OPS-[a-z]{4}")]) == ["ops-open"]


def test_exempt_values_are_not_judged() -> None:
    assert flagged("build-8841 and fc2/4", exempt=["BUILD-8841"]) == ["fc2/4"]


POOLS = {
    "pools": [
        {"name": "p-east", "total_tb": 2000, "used_tb": 1220, "used_pct": 61.0},
        {"name": "p-west", "total_tb": 3000, "used_tb": 1731, "used_pct": 57.7},
    ]
}

FIGURES = [
    (POOLS, "53.2% used, 6.3 TB free", ["53.2", "6.3"], []),
    (POOLS, "2,951 TB used of 5,000 TB, 59.0%", [], ["column-sum", "column-sum", "column-ratio"]),
    (POOLS, "2,049 TB free", [], ["column-difference"]),
    (POOLS, "39% free on p-east", [], ["complement"]),
    (POOLS, "58% used on p-west", [], ["rounded"]),
    (POOLS, "57.0%", ["57"], []),
    ({"avail_bytes": 435500000000000}, "435.5 TB", [], ["unit-scale"]),
    ({"avail_bytes": 435500000000000}, "6.3 TB", ["6.3"], []),
]


@pytest.mark.parametrize(("data", "answer", "expected", "hows"), FIGURES)
def test_figures(data: Any, answer: str, expected: list[str], hows: list[str]) -> None:
    assert flagged(answer, result(data), figures=True) == expected
    report = judge(answer, [result(data)], profile="lexical", figures=True)
    assert [v.how for v in report.values if v.derivation] == hows


def test_without_figures_short_numbers_are_prose() -> None:
    assert flagged("53.2% used, 6.3 TB free", result(POOLS)) == []


@given(st.text(alphabet="aZ09:_-/.,%+@#$'\"`([{<)]}>;!? 0x1", max_size=14))
@settings(max_examples=300)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
