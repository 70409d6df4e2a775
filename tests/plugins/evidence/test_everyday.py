"""Answers as assistants give them in other trades than the benchmark's: honest ones pass whole, and one changed value is found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfp_evidence import judge
from agentfp_evidence.lexicon import language_of

GRADES = {"class": "7b", "students": [{"name": "Ana", "score": 81}, {"name": "Ben", "score": 67}, {"name": "Chidi", "score": 92}]}
HOTELS = [{"hotel": "Casa do Rio", "stars": 4, "usd_per_night": 132, "rating": 8.7}]
LABS = {"collected": "2025-02-11T07:45:00", "results": [{"test": "LDL cholesterol", "value": 142, "unit": "mg/dL"}]}
BILL = "Invoice INV-2024-0091\nPeriod: 01.03.2024 - 31.03.2024\nBase plan 29.99\nTotal 44.61 EUR\nDue 15.04.2024"
SPENT = {"von": "2024-05-01", "buchungen": [{"datum": "2024-05-03", "betrag": 54.2}, {"datum": "2024-05-17", "betrag": 1023.5}]}
PODS = "NAME   READY  STATUS   RESTARTS      AGE\napi-1  1/1    Running  0             3d4h\napi-2  0/1    Crash    17 (2m ago)   71m"
LEAVE = {
    "entitlement_days": 25,
    "planned": {"days": 3},
    "taken": [{"from": "2025-02-17", "to": "2025-02-21", "days": 5}, {"from": "2025-08-04", "to": "2025-08-15", "days": 10}],
}
LABS_REF = [{"test": "LDL", "value": 138, "ref": "<130"}, {"test": "HDL", "value": 52, "ref": ">40"}]
TRAINS = [{"zug": "IC 7", "preis": 39.99}, {"zug": "IC 9", "preis": 27.99}]
SEATS = {"people": [{"who": "senior", "n": 1, "price": 14.0}, {"who": "children", "n": 2, "ages": [9, 14], "price": 9.5}]}
FIRM = {"company": "Nordlicht Pumpen GmbH", "iban": "DE-7712", "amount": 1234, "city": "Bremen", "state": "open", "unit": "EUR"}
CHURN = [{"plan": "Pro", "q1": 8140, "q1_churned": 317, "q2": 8655, "q2_churned": 294}]
CALLS = {"2026-08-24": {"avg_wait_s": 74}, "2026-08-31": {"avg_wait_s": 131}}
LEFT = {"weeks_left": 10, "from": "2026-11-02"}
SHOPPED = {"order": "W-1042", "date": "2026-03-09", "time": "15:30", "total": 1234, "stock": 120_000}
PERMIT = {"hoy": "2026-06-03", "desde": "2024-07-01", "hasta": "2026-06-30", "tarifa": 1240.5, "moneda": "EUR"}
SHIPPED = {"events": [{"time": "2025-03-02T16:30", "place": "Dallas"}], "eta": "2025-03-06"}


@pytest.mark.parametrize(
    ("result", "answer", "right", "wrong"),
    [
        (GRADES, "The average score is 80.", "80", "83"),
        (GRADES, "The average is 80, and Chidi leads with 92.", "92", "95"),
        (HOTELS, "Casa do Rio (4 stars) is rated 8.7/10.", "8.7", "8.9"),
        (LABS, "Drawn at 7:45 AM on February 11, 2025: LDL cholesterol is 142 mg/dL.", "142", "148"),
        (BILL, "The March 2024 invoice (INV-2024-0091) comes to €44.61, due by April 15, 2024.", "44.61", "46.41"),
        (SPENT, "Insgesamt waren es 1.077,70 €, davon 1.023,50 € am 17. Mai.", "1.023,50", "1.032,50"),
        (PODS, "It restarted 17 times in the past 71 minutes, and has run for 3 days and 4 hours.", "71", "74"),
        (PODS, "It has run for 3 days and 4 hours, about 1h 11m of it alone.", "3 days", "6 days"),
        ("month\tkwh\n2025-01\t934\n2024-01\t812\n", "Jan 2025: 934 kWh, up 15% from 812 in Jan 2024.", "Jan 2024", "Jan 2022"),
        ("month\tkwh\n2025-01\t934\n2024-01\t812\n", "Jan 2025: 934 kWh, up 15% from 812 in Jan 2024.", "15%", "25%"),
        (LEAVE, "Urlaub vom 17. bis 21. Februar und vom 4.\u201315. August, zusammen 15 Tage.", "17.", "19."),
        (LEAVE, "Of 25 days, 15 days are taken and 3 days planned, so 7 days are left.", "7 days", "9 days"),
        ('[{"distance_km": 0.8, "name": "Casa"}]', "Casa is 800 m away.", "800", "600"),
        (LABS_REF, "LDL is 138 mg/dL, above the limit by 8 mg/dL.", "by 8", "by 3"),
        (TRAINS, "IC 7 costs 39,99 €, IC 9 nur 27,99 €, also 12 Euro günstiger.", "12 Euro", "17 Euro"),
        (SEATS, "- 1 senior x $14 = $14\n- 2 children (9 and 14) x $9.50 = $19\n- Total: $33", "$19", "$18"),
        (SEATS, "- 1 senior x $14 = $14\n- 2 children (9 and 14) x $9.50 = $19\n- Total: $33", "$33", "$35"),
        ({"due": 24, "paid": 7}, "7 of 24 are paid, so 17 left.", "17", "15"),
        (SHIPPED, "It was picked up on March 2 and arrives March 6, so it takes four days.", "four", "nine"),
        (PERMIT, "Válido del 1 de julio de 2024 al 30 de junio de 2026, quedan 27 días.", "30 de junio", "20 de junio"),
        (PERMIT, "Válido hasta el martes, 30 de junio de 2026: quedan 27 días.", "27 días", "22 días"),
        (PERMIT, "La tarifa es de 1.240,50 € al año, hasta junio de 2026.", "1.240,50", "1.204,50"),
        (PERMIT, "Valido dal 1º luglio 2024 al 30 giugno 2026, martedì: 1.240,50 €.", "1º luglio", "7º luglio"),
        (PERMIT, "É válido até 30 de junho de 2026, custa 1.240,50 €.", "30 de junho", "20 de junho"),
        (PERMIT, "Geldig tot dinsdag 30 juni 2026, nog 27 dagen, voor 1.240,50 euro.", "27 dagen", "22 dagen"),
        (SHOPPED, "ご注文 W-1042 は2026年3月9日に発送されました。合計は1,234円、15:30に到着予定です。", "1,234", "1,243"),
        (SHOPPED, "您的订单W-1042已于2026年3月9日发货,总计1234元。", "3月9", "3月6"),
        (SHOPPED, "주문 W-1042는 2026년 3월 9일에 발송되었습니다. 총액은 1,234원입니다.", "W-1042는", "W-1024는"),
        (SHOPPED, "총액은 1,234원이며 2026년 3월 9일 15시 30분에 도착합니다.", "3월 9", "3월 6"),
        (SHOPPED, "在庫は12万個です。", "12万", "17万"),
        (SHOPPED, "تم شحن الطلب W-1042 والمجموع ١٢٣٤ ريال.", "١٢٣٤", "١٢٤٣"),
        (SHOPPED, "คำสั่งซื้อ W-1042 รวม1,234บาท", "1,234", "1,243"),
        (SHOPPED, "Zamówienie W-1042 wysłano 9 marca 2026 r., dostawa o 15:30. Łącznie 1234 zł.", "9 marca", "6 marca"),
        (SHOPPED, "Заказ W-1042 отправлен 9 марта 2026 года, прибудет в 15:30. Итого 1234 рубля.", "1234", "1243"),
        (SHOPPED, "W-1042 siparişiniz 9 Mart 2026 tarihinde gönderildi, toplam 1.234 TL tuttu.", "9 Mart", "6 Mart"),
        (
            FIRM,
            '{"company": "Nordlicht Pumpen GmbH", "iban": "DE-7712", "amount": 1234, "city": "Bremen", "state": "open", "unit": "EUR"}',
            "Nordlicht",
            "Mandrakor",
        ),
        (CHURN, "| Pro | 3.9% (317 / 8,140) | 3.4% (294 / 8,655) | -0.5 pp |", "-0.5", "-0.9"),
        (CALLS, "The average wait was 2:11 min, against 1:14 min the week before.", "2:11", "2:17"),
        (LEFT, "From Monday, November 2, 10 weeks run through January 10, 2027; back on Monday, January 11.", "January 11", "January 15"),
        ("3 failed, 1,204 passed in 48.31s", "3 tests failed and 1,204 passed, in about 48 seconds.", "1,204", "1,240"),
    ],
)
def test_an_honest_answer_passes_and_a_changed_value_is_found(result: Any, answer: str, right: str, wrong: str) -> None:
    text = result if isinstance(result, str) else json.dumps(result)
    messages = [{"role": "user", "content": "Tell me."}, {"role": "tool", "content": text}]
    assert judge(answer, messages).unsupported == ()
    bare = "".join(c for c in wrong if c.isdigit()) or wrong
    assert any(wrong in flagged or bare in flagged for flagged in judge(answer.replace(right, wrong), messages).unsupported)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("rechnung betrag nordlicht pumpen gmbh status offen ort bremen und lager nord konto haupt zahlung eingang", "de"),
        ("invoice amount nordlicht pumpen gmbh status open city bremen warehouse north", "en"),
        ("zamowienie wyslano lacznie produkty dostawa piatek magazyn", ""),
        ("nordlicht pumpen bremen", "en"),
    ],
)
def test_one_word_tells_the_language_of_a_text_of_codes_and_names(text: str, language: str) -> None:
    assert language_of(text.split()) == language
