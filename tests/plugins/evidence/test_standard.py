"""The standard profile, example by example."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfp_evidence import EvidenceReport, EvidenceValue, judge

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
    "mem_gb": 2048.0,
    "serial": "90071992547409931234",
    "hosts": [{"host": "esx-lab-12", "flaps": 555}, {"host": "esx-lab-core", "flaps": 7}],
    "window": "5-10 minutes",
}
POOLS = {
    "pools": [
        {"name": "p-east", "total_tb": 2000, "used_tb": 1220, "used_pct": 61.0},
        {"name": "p-west", "total_tb": 3000, "used_tb": 1731, "used_pct": 57.7},
    ]
}


def result(content: Any, *, call: str = "c1", **more: Any) -> dict[str, Any]:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": call, "content": text, **more}


def about(answer: Any, *messages: Any, **options: Any) -> EvidenceReport:
    made = [m if isinstance(m, dict) and "role" in m else result(m) for m in messages]
    report = judge(answer, made, **options)
    for value in report.values:
        assert report.answer[value.start : value.end] == value.text
    return report


def flagged(answer: Any, *messages: Any, **options: Any) -> list[str]:
    return list(about(answer, *messages, **options).unsupported)


def only(report: EvidenceReport, text: str) -> EvidenceValue:
    found = [v for v in report.values if v.text == text]
    assert found, [v.text for v in report.values]
    return found[0]


SUPPORTED = [
    (SWITCH, "12% of 41,200", "12%", "exact"),
    (SWITCH, "peaks at 41.2k IOPS", "41.2k IOPS", "exact"),
    (SWITCH, "about 0.008 errors", "0.008", "rounded"),
    (SWITCH, "an error ratio of 0.78%", "0.78%", "scaled"),
    (SWITCH, "Seen 2026-04-12", "2026-04-12", "exact"),
    (SWITCH, "Seen 12 April 2026", "12 April 2026", "part"),
    (SWITCH, "Seen on Apr 12, 2026 08:15 UTC", "Apr 12, 2026", "part"),
    (SWITCH, "at 08:15", "08:15", "part"),
    (SWITCH, "at 8:15 AM", "8:15 AM", "part"),
    (SWITCH, "WWN 20-00-11-22-33-44-55-66", "20-00-11-22-33-44-55-66", "exact"),
    (SWITCH, "FCID 7A0100 on FC2/4", "7A0100", "exact"),
    (SWITCH, "2 TB of memory", "2 TB", "converted"),
    (SWITCH, "Of the 2 ports, 1 is down.", "2", "count"),
    (SWITCH, "1 of 2 ports is down", "1", "count"),
    (SWITCH, "esx-lab-core flapped", "esx-lab-core", ""),
    (SWITCH, "\uff15\uff15\uff15 times", "\uff15\uff15\uff15", "exact"),
    (POOLS, "2,951 TB used of 5,000 TB", "2,951 TB", "sum"),
    (POOLS, "5,000 TB in total", "5,000 TB", "sum"),
    (POOLS, "That is 59.0% used.", "59.0%", "ratio"),
    (POOLS, "2,049 TB free", "2,049 TB", "difference"),
    (POOLS, "39% free on p-east", "39%", "complement"),
    (POOLS, "58% used on p-west", "58%", "rounded"),
    ({"p": 812.41}, "812.4 ms", "812.4 ms", "rounded"),
    ({"p": 1287}, "~1300 ms", "1300 ms", "rounded"),
    ({"r": 0.9995}, "99.95%", "99.95%", "scaled"),
    ({"n": 1240}, "1.240 rows", "1.240", "exact"),
    ({"n": 1240.5}, "Umsatz 1.240,5", "1.240,5", "exact"),
    ({"n": 1240}, "1\u202f240 lignes", "1\u202f240", "exact"),
    ({"n": 1240}, "1'240 Zeilen", "1'240", "exact"),
    ({"duration_hours": 1.5}, "takes 90 min", "90 min", "converted"),
    ({"temp": "20 \u00b0C"}, "68 \u00b0F", "68 \u00b0F", "converted"),
    ({"start": "2026-04-12T08:15:00Z", "end": "2026-04-12T10:45:00Z"}, "It took 2h 30m.", "2h 30m", "duration"),
    ({"avail_bytes": 435500000000000}, "435.5 TB", "435.5 TB", "converted"),
    ({"departs": "2024-05-20"}, "on May 20th", "May 20th", "exact"),
    ({"departs": "2024-05-20"}, "am 20. Mai 2024", "20. Mai 2024", "exact"),
    ({"departs": "2024-05-20"}, "le 20 mai 2024", "20 mai 2024", "exact"),
    ({"departs": "2024-05-20"}, "am 20.05.2024", "20.05.2024", "exact"),
    ({"departs": "06:00:00"}, "6:00 AM", "6:00 AM", "exact"),
    ({"departs": "18:30"}, "6:30 p.m.", "6:30 p.m.", "exact"),
    ({"departs": "18:30"}, "um 18.30 Uhr", "18.30 Uhr", "exact"),
    ({"note": "leaves May 20 at 6 AM"}, "2024-05-20? No: 06:00", "06:00", "exact"),
    ({"total": "$1,047.50"}, "1.047,50 $", "1.047,50 $", "exact"),
    ({"total_eur": 1047.5}, "1.047,50 \u20ac", "1.047,50 \u20ac", "exact"),
    ({"price": 1800000}, "$1.8 million", "$1.8 million", "exact"),
    ({"id": "certificate_7504069"}, "certificate 7504069", "7504069", "part"),
    ({"commit": "9fceb02d0ae598e95dc970b74767f19372d61af8"}, "fixed in 9fceb02", "9fceb02", "part"),
    ({"phone": "+49 170 1234567"}, "call 0170 1234567", "0170 1234567", "part"),
    ({"url": "https://example.com/a/b-17"}, "see https://example.com/a/b-17.", "https://example.com/a/b-17", "exact"),
    ({"mail": "Ann.Lee7@Example.com"}, "write to ann.lee7@example.com", "ann.lee7@example.com", "exact"),
]


@pytest.mark.parametrize(("data", "answer", "text", "how"), SUPPORTED)
def test_supported(data: Any, answer: str, text: str, how: str) -> None:
    report = about(answer, data)
    if how:
        value = only(report, text)
        assert (value.verdict, value.how if how not in ("exact", "part") else how) == ("supported", how), value
    assert text not in report.unsupported


UNSUPPORTED = [
    (SWITCH, "4.9k IOPS", "4.9k IOPS", "strong"),
    (SWITCH, "fc2/5 is down", "fc2/5", "strong"),
    (SWITCH, "FCID 0x7a01", "0x7a01", "strong"),
    (SWITCH, "42,100 IOPS", "42,100 IOPS", "strong"),
    (SWITCH, "13.25%", "13.25%", "strong"),
    (SWITCH, "serial 90071992547409931235", "90071992547409931235", "strong"),
    (SWITCH, "on 13 April 2026", "13 April 2026", "strong"),
    (SWITCH, "esx-lab-alpha is the peer", "esx-lab-alpha", "weak"),
    (SWITCH, "flapped five hundred fifty-six times", "five hundred fifty-six", "weak"),
    (SWITCH, "3 ports are down", "3", "weak"),
    (SWITCH, "30-minute window", "30", None),
    (SWITCH, "2048 MB", "2048 MB", "strong"),
    (POOLS, "6.3 TB free", "6.3 TB", "strong"),
    (POOLS, "57.0%", "57.0%", "strong"),
    (POOLS, "5,100 TB in total", "5,100 TB", "strong"),
    ({"commit": "9fceb02d0ae598e95dc970b74767f19372d61af8"}, "fixed in 9fceb12", "9fceb12", "strong"),
    (
        {"commit": "9fceb02d0ae598e95dc970b74767f19372d61af8"},
        "9fceb02d0ae598e95dc970b74767f19372d61af9",
        "9fceb02d0ae598e95dc970b74767f19372d61af9",
        "strong",
    ),
    ({"lines": "  412 file"}, "There are 421 lines", "421", "strong"),
    ({"total_eur": 1047.5}, "$1,047.50", "$1,047.50", "strong"),
    ({"departs": "2024-05-20"}, "on May 64, 2024", "May 64, 2024", "strong"),
    ({"departs": "2024-05-20"}, "on Tuesday, May 20, 2024", "Tuesday", "strong"),
    ({"who": "Ann Lee"}, "The passenger is Bob Lee.", "Bob Lee", "weak"),
    ({"city": "Paris"}, "It ships to Ljubljana today.", "Ljubljana", "weak"),
    ({"phone": "+49 170 1234567"}, "call 0170 1234568", "0170 1234568", "strong"),
    ({"mail": "ann.lee7@example.com"}, "write to ann.lee8@example.com", "ann.lee8@example.com", "strong"),
    ({"ok": True}, 'The tool failed with the error "Read-only file system".', "Read-only file system", "strong"),
]


@pytest.mark.parametrize(("data", "answer", "text", "severity"), UNSUPPORTED)
def test_unsupported(data: Any, answer: str, text: str, severity: str | None) -> None:
    report = about(answer, data)
    assert any(text in flag for flag in report.unsupported), report.values
    if severity is not None:
        assert only(report, text).severity == severity


QUIET = [
    "GPT-4, COVID-19, SHA-256, HTTP/2 and IPv4 are supported 24/7.",
    "See section 4.2.1 and step 2 of ISO 8601; utf-8 is fine.",
    "1. Open it.\n2. Close it.\n3) Done.",
    "### 2. Next steps\n\n**Step 3:** wait.",
    "It is the 3rd attempt, 1/2 done.",
    "Hello! Thank you for your patience. Please let me know, and Best Regards.",
    "**Payment Method:** Credit Card\n**Travel Insurance:** Yes\n- **Cabin Class:** Business",
    "Unfortunately, I cannot help. However, on Monday or in January I can.",
    "Leider kann ich Ihre Rechnung nicht finden. Bitte nennen Sie mir die Kundennummer und das Datum.",
    "Voici les d\u00e9tails de votre commande. Merci de confirmer votre adresse.",
    "Option 1: wait. Option 2: cancel.",
    'Reply "yes" or type "CONFIRM NOW" to go on.',
    "```python\nfor i in range(1000):\n    retry(i, 37)\n```",
]


@pytest.mark.parametrize("answer", QUIET)
def test_quiet(answer: str) -> None:
    assert flagged(answer) == []


def test_about_a_number_keeps_two_digits() -> None:
    assert flagged("about 410 lines", "  412 file") == []
    assert flagged("about 400 lines", "  412 file") == ["400"]


def test_a_value_of_another_row_is_misattached() -> None:
    report = about("Port fc2/4 has FCID 0x7a0400.", SWITCH)
    assert [(m.value, m.stated_for, m.served_for) for m in report.misattached] == [("0x7a0400", "fc2/4", "fc2/6")]
    assert report.unsupported == ()
    assert about("Port fc2/4 has FCID 0x7a0100.", SWITCH).misattached == ()


def test_failed_empty_and_not_called_are_told_apart() -> None:
    failed = about("The balance is 4417.", result("timeout after 4417 ms", is_error=True))
    assert [(t.standing, t.message) for t in failed.tools] == [("failed", 0)]
    assert only(failed, "4417").how == "failed"
    empty = about("The balance is 4417.", result([]))
    assert [t.standing for t in empty.tools] == ["empty"]
    none = about("The balance is 4417.")
    assert none.tools == ()
    assert none.calls == 0
    assert len({failed.notes, empty.notes, none.notes}) == 3


def test_an_error_may_be_quoted_from_the_call_that_failed() -> None:
    report = about('It failed with "disk quota exceeded".', result("Error: disk quota exceeded", is_error=True))
    assert only(report, "disk quota exceeded").verdict == "unverifiable"


def test_what_the_model_passed_to_a_call_is_no_evidence() -> None:
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "find", "arguments": '{"id": "vm-9931"}'}}],
    }
    echo = about("vm-9931 is there", call, result({"query": "vm-9931", "hits": 0}))
    assert only(echo, "vm-9931").how == "echo"
    assert flagged("vm-9931 is there", call, result({"hits": 0})) == ["vm-9931"]


def test_a_nested_agent_grounds_only_what_its_own_run_grounds() -> None:
    text = result("Port fc2/4 is down since 2026-04-12.", call="n1")
    report = judge("fc2/4 went down on 2026-04-12", [text], nested={"n1": ["fc2/4"]})
    assert report.unsupported == ("2026-04-12",)


def test_totals_that_the_answer_lists_itself() -> None:
    prices = [{"sku": "A-101", "price": 19.5}, {"sku": "B-202", "price": 20.25}]
    answer = "- A-101: $19.50\n- B-202: $20.25\n\nTotal: $39.75"
    assert flagged(answer, {"items": prices}) == []
    assert flagged(answer.replace("39.75", "38.75"), {"items": prices}) == ["$38.75"]
    assert flagged("$19.50 + $20.25 = $39.85", {"items": prices}) == ["$39.85"]


def test_a_total_worked_out_before_may_be_said_again() -> None:
    prices = [{"sku": "A-101", "price": 19.5}, {"sku": "B-202", "price": 20.25}, {"sku": "C-303", "price": 7}]
    earlier = {"role": "assistant", "content": "A-101 is $19.50 and B-202 is $20.25, so the total is $39.75."}
    report = about("I charged $39.75.", result({"items": prices}), earlier, {"role": "user", "content": "ok"})
    assert only(report, "$39.75").how == "restated"
    invented = {"role": "assistant", "content": "The total is $99.75."}
    assert flagged("I charged $99.75.", result({"items": prices}), invented) == ["$99.75"]


def test_days_that_the_person_shifts() -> None:
    person = {"role": "user", "content": "Please move it to the next day."}
    assert flagged("Moved to 2024-05-21.", {"date": "2024-05-20"}, person) == []
    assert flagged("Moved to 2024-05-22.", {"date": "2024-05-20"}, person) == ["2024-05-22"]


def test_a_day_without_year_is_not_a_birthday() -> None:
    data = {"date": "2024-05-20", "back": "2024-05-25", "people": [{"dob": "1990-06-12"}, {"dob": "1988-01-30"}]}
    assert flagged("You leave on June 12.", data) == ["June 12"]


def test_a_name_put_together_of_two_people() -> None:
    people = {"passengers": [{"first_name": "Mia", "last_name": "Kim"}, {"first_name": "Noah", "last_name": "Silva"}]}
    assert flagged("Mia Kim and Noah Silva travel.", people) == []
    assert flagged("Noah Kim travels.", people) == ["Noah Kim"]
    assert flagged("Mia Kim travels.", "The guest is Mia. J. Kim.", {"user": "mia_kim_77"}) == []


def test_strict_makes_weak_numbers_strong() -> None:
    assert [v.text for v in about("3 ports are down", SWITCH, profile="strict").strong] == ["3"]
    assert about("3 ports are down", SWITCH).strong == ()


def test_what_was_given_is_named_as_such() -> None:
    report = judge(
        "Ticket OPS-4471 is open since 2024.", [{"role": "user", "content": "work OPS-4471"}], given={"memory": "opened in 2024"}
    )
    ticket, year = report.values
    assert (ticket.how, ticket.sources[0].message) == ("given", 0)
    assert (year.how, year.sources[0].path) == ("given", "memory characters 10-14")


def test_an_article_is_no_source_of_a_name() -> None:
    system = {"role": "system", "content": "You are the assistant of a shop."}
    (name,) = about("The Ridgeline is here.", system, {"name": "Ridgeline 29"}).values
    assert [source.message for source in name.sources] == [1]
