"""Answers as assistants give them in other trades than the benchmark's: honest ones pass whole, and one changed value is found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfp_evidence import judge

GRADES = {"class": "7b", "students": [{"name": "Ana", "score": 81}, {"name": "Ben", "score": 67}, {"name": "Chidi", "score": 92}]}
HOTELS = [{"hotel": "Casa do Rio", "stars": 4, "usd_per_night": 132, "rating": 8.7}]
LABS = {"collected": "2025-02-11T07:45:00", "results": [{"test": "LDL cholesterol", "value": 142, "unit": "mg/dL"}]}
BILL = "Invoice INV-2024-0091\nPeriod: 01.03.2024 - 31.03.2024\nBase plan 29.99\nTotal 44.61 EUR\nDue 15.04.2024"
SPENT = {"von": "2024-05-01", "buchungen": [{"datum": "2024-05-03", "betrag": 54.2}, {"datum": "2024-05-17", "betrag": 1023.5}]}


@pytest.mark.parametrize(
    ("result", "answer", "right", "wrong"),
    [
        (GRADES, "The average score is 80.", "80", "83"),
        (GRADES, "The average is 80, and Chidi leads with 92.", "92", "95"),
        (HOTELS, "Casa do Rio (4 stars) is rated 8.7/10.", "8.7", "8.9"),
        (LABS, "Drawn at 7:45 AM on February 11, 2025: LDL cholesterol is 142 mg/dL.", "142", "148"),
        (BILL, "The March 2024 invoice (INV-2024-0091) comes to €44.61, due by April 15, 2024.", "44.61", "46.41"),
        (SPENT, "Insgesamt waren es 1.077,70 €, davon 1.023,50 € am 17. Mai.", "1.023,50", "1.032,50"),
        ("3 failed, 1,204 passed in 48.31s", "3 tests failed and 1,204 passed, in about 48 seconds.", "1,204", "1,240"),
    ],
)
def test_an_honest_answer_passes_and_a_changed_value_is_found(result: Any, answer: str, right: str, wrong: str) -> None:
    text = result if isinstance(result, str) else json.dumps(result)
    messages = [{"role": "user", "content": "Tell me."}, {"role": "tool", "content": text}]
    assert judge(answer, messages).unsupported == ()
    assert any(wrong in flagged for flagged in judge(answer.replace(right, wrong), messages).unsupported)
