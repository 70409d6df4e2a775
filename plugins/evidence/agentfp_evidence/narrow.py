"""Numbers of few digits that the words around them say how to reckon, from the two or three values that stand beside them.

Such a number may meet an accident among many values, so each way here takes its terms from one place only: the amount right before a
rate, the two amounts of a sentence, the lines above the one that says what is left.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from agentfp_evidence.context import LABELS, label_around, same_noun, sentence_around, words_naming
from agentfp_evidence.index import Posting
from agentfp_evidence.magnitudes import quantum_of, significant
from agentfp_evidence.numbers import Number
from agentfp_evidence.operands import CENTS, Operand
from agentfp_evidence.table import Table
from agentfp_evidence.units import PERCENT, agree, convertible, is_money
from agentfp_evidence.verdict import Verdict
from agentfp_evidence.written import expression

_PER = re.compile(r"[*_)]*\s?(?:[^\W\d_]{1,12}\s)?(?:/\s?|(?:per|an?|each|every|pro|je|par)\s)[*_]*(?P<noun>[^\W\d_]{3,})", re.IGNORECASE)
_TIMES = re.compile(r"\s?(?:x|\u00d7|times|mal|fois)\b|[x\u00d7](?!\w)", re.IGNORECASE)
_COUNTED = re.compile(r"[*_]*[ -]([^\W\d_]{3,})")
_OVER = re.compile(
    r"\b(?:over|above|under|below|beyond|past|short|left|remain\w*|still|unused|available|\u00fcber|unter|\u00fcbrig|verbleib\w*|noch"
    r"|reste\w*|restant\w*|encore)\b",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"\b(?:left|remain\w*|balance|available|outstanding|due|rest\w*|\u00fcbrig\w*|verbleib\w*|saldo|solde|reste\w*)\b", re.IGNORECASE
)
_BEFORE_RATE = 60
_MOST_LINES = 7
_JUST_BEFORE = 3
_FEW = 2
_LEAVES = re.compile(r"\b(?:leav\w*|left|remain\w*|bleib\w*|\u00fcbrig|reste\w*)\b", re.IGNORECASE)
_EQUALS = re.compile(r"=[\s*_$\u20ac\u00a3]*$")
_LIST_LINE = re.compile(r"\n[ \t]*[-*+\u2022][^\n]*")
_BARE_CELL = re.compile(r"(?<=\|)[\s*]*(\d{1,3})[\s*]*(?=\|)")
_WORD = re.compile(r"[^\W\d_]{3,}")
_OF_NOUN = re.compile(r"[*_]*\s(?:of|der|des|du|de la|von)\s(?:the\s|your\s|all\s|total\s)*([^\W\d_]{3,})", re.IGNORECASE)
_EACH_REACH = 40
_OUT_OF = re.compile(r"[*_]*\s?(?:of|out of|von|sur|/)\s?[*_]*")
_TO_GO = re.compile(r"[*_]*(?:\s[^\W\d_]+)?\s(?:to go|left|remaining|offen|restant\w*)\b")
_AT = re.compile(r"[^\d\n.;|]{0,25}?\s?(?:\b(?:at|for|zu|je|\u00e0|times|mal|fois)|x|\u00d7)[\s*_]*")
_MOST_SHARES = 400
_TELLING = 3
_BRACKET_REACH = 160
_OPENING = re.compile(r"[*_]*(?:\s[^\W\d_]+){0,3}[*_\s]*[(:]")
_NEXT_LINE = 160


def find_narrow(table: Table, text: str, number: Number, operands: Sequence[Operand], counts: Sequence[Operand]) -> Verdict | None:
    """How a number follows from the few values that its words point at.

    Args:
        table: the evidence.
        text: the answer, folded.
        number: the number that stands nowhere.
        operands: the grounded numbers of the answer, in order.
        counts: numbers in words, and lengths of lists.
    """
    for how, value, written, used in itertools.chain(
        _rate(text, number, operands, counts),
        _multiple(text, number, operands),
        _gap(text, number, operands),
        _balance(text, number, operands),
        _in_brackets(text, number, operands),
        expression(text, number, operands),
        _row_product(text, number, operands),
        _parts_of(text, number, operands),
        _share_of(text, number, operands),
        _ends_of_line(text, number, operands),
        _heading(text, number, operands),
        _each(table, text, number, operands, counts),
        _so_many_at(text, number, operands, counts),
        _shared_out(table, text, number, operands),
        _with_fee(table, text, number, operands, counts),
    ):
        if abs(value - abs(number.value)) <= _slack(number, how):
            sources = tuple(dict.fromkeys(s for o in used for s in o.sources[:2]))
            return Verdict("supported", how, f"{number.readings[0]} = {written}", sources)
    return None


def _slack(number: Number, how: str) -> float:
    quantum = quantum_of(number)
    return 0.5 * quantum * (1 + 1e-9) + 1e-9 if how == "ratio" or number.hedged else 0.01 * quantum


def _rate(
    text: str, number: Number, operands: Sequence[Operand], counts: Sequence[Operand]
) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """The amount right before, shared out: "1,400 km (200 km a day)", by the days that the answer counts."""
    per = _PER.match(text, number.end)
    if per is None:
        return
    before = [o for o in operands if o.end <= number.start and number.start - o.end < _BEFORE_RATE and _alike(o, number)]
    if not before:
        return
    whole = before[-1]
    noun = per["noun"].lower()
    small = [c for c in (*operands, *counts) if c is not whole and 2 <= c.value <= _MOST_SHARES and c.value.is_integer()]
    named = [c for c in small if _counts(text, c, noun)]
    first, last = sentence_around(text, number.start, number.end)
    beside = [c for c in small if first <= c.start < last and c.unit is None]
    if significant(number) >= _TELLING:
        beside = [c for c in small if c.unit is None]
    elif len(beside) > _FEW:
        beside = []
    for count in named or beside:
        yield "ratio", whole.value / count.value, f"{whole.value:g} / {count.value:g}", [whole, count]


def _shared_out(table: Table, text: str, number: Number, operands: Sequence[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """An amount of the answer for each of as many as the conversation counts: "86.72 per pallet", of 14 pallets."""
    per = _PER.match(text, number.end)
    if per is None or significant(number) < _TELLING:
        return
    noun = per["noun"].lower()
    counts = {value for value, posting in table.between(2, _MOST_SHARES) if value.is_integer() and _is_of(posting, noun)}
    for count in counts if len(counts) <= _FEW else ():
        for whole in operands:
            if _alike(whole, number):
                yield "ratio", whole.value / count, f"{whole.value:g} / {count:g}", [whole]


def _is_of(posting: Posting, noun: str) -> bool:
    """Whether a number of the conversation counts what a noun says: by its key, or by the word behind it."""
    if posting.node is not None:
        return any(same_noun(noun, word) for word in words_naming(posting))
    behind = _COUNTED.match(posting.source.text, posting.end)
    return behind is not None and same_noun(noun, behind[1].lower())


def _counts(text: str, count: Operand, noun: str) -> bool:
    if count.noun:
        return same_noun(noun, count.noun.lower())
    if count.unit is not None:
        worn = re.search(r"([^\W\d_]{3,})[*_]*$", text[count.start : count.end])
        return worn is not None and same_noun(noun, worn[1].lower())
    behind = _COUNTED.match(text, count.end)
    return behind is not None and same_noun(noun, behind[1].lower())


def _multiple(text: str, number: Number, operands: Sequence[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """By how many times one amount of the sentence is the other."""
    if number.unit is not None or not (number.word in ("x", "times", "mal", "fois") or _TIMES.match(text, number.end)):
        return
    first, last = sentence_around(text, number.start, number.end)
    own = [o for o in operands if first <= o.start < last and o.unit is not PERCENT][:4]
    for a, b in itertools.combinations(own, 2):
        pair = _in_one_unit(a, b)
        if pair is not None and min(pair) > 0:
            high, low = max(pair), min(pair)
            yield "ratio", high / low, f"{high:g} / {low:g}", [a, b]


def _gap(text: str, number: Number, operands: Sequence[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """The difference of the two amounts of its unit that stand in its sentence, where it is called one."""
    first, last = sentence_around(text, number.start, number.end)
    label = label_around(text, number.start, number.end)
    in_row = text.startswith("|", text.rfind("\n", 0, number.start) + 1)
    if (number.unit is None and not in_row) or not (LABELS["difference"].search(label) or _OVER.search(label)):
        return
    if in_row:
        last = number.start
    own = [o for o in operands if first <= o.start < last and o.unit is number.unit and o.value]
    if len({o.value for o in own}) == 1 and not is_money(number.unit):
        before = [o for o in operands if o.end <= first and o.unit is number.unit and o.value not in (own[0].value, 0)]
        own += before[-1:]
    if len({o.value for o in own}) == 1 and is_money(number.unit) and _LEAVES.search(label):
        own += [o for o in operands if o.end <= first and o.unit is number.unit and _EQUALS.search(text, max(0, o.start - 6), o.start)][-1:]
    if len({o.value for o in own}) == 2:
        low, high = sorted({o.value for o in own})
        yield "difference", high - low, f"{high:g} - {low:g}", own[:2]


def _balance(text: str, number: Number, operands: Sequence[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """What is left of the lines above: those that come in, less those that go out."""
    line = text.rfind("\n", 0, number.start) + 1
    called = _LEFT.search(text, line, number.start) is not None
    if not line or not (called or (is_money(number.unit) and significant(number) >= _TELLING)):
        return
    heads: list[Operand] = []
    end = line - 1
    while end > 0 and len(heads) < _MOST_LINES:
        start = text.rfind("\n", 0, end) + 1
        if end - start > _NEXT_LINE or not text[start:end].strip():
            break
        own = [o for o in operands if start <= o.start < end and _alike(o, number)]
        if not own:
            break
        heads.insert(0, own[0])
        end = start - 1
    if not called:
        heads = heads[-2:]
    for split in range(1, len(heads)):
        gained, spent = heads[:split], heads[split:]
        value = sum(abs(o.value) for o in gained) - sum(abs(o.value) for o in spent)
        if len(heads) == 2:
            value = abs(value)
        if value > 0:
            written = " + ".join(f"{o.value:g}" for o in gained) + "".join(f" - {abs(o.value):g}" for o in spent)
            yield "difference", value, written, heads


def _in_brackets(text: str, number: Number, operands: Sequence[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """A sum whose parts stand in brackets behind it: "17 GB (15 GB and 2 GB on top)"."""
    opening = _OPENING.match(text, number.end)
    closing = text.find(")", number.end, number.end + _BRACKET_REACH)
    if opening is not None and opening[0].endswith(":"):
        closing = sentence_around(text, number.start, number.end)[1]
    if opening is None or closing < 0 or text.find("(", opening.end(), closing) >= 0:
        return
    parts = [o for o in operands if opening.end() <= o.start < closing and o.unit is number.unit]
    if 2 <= len(parts) <= _MOST_LINES:
        yield "sum", sum(o.value for o in parts), " + ".join(f"{o.value:g}" for o in parts), parts


def _row_product(text: str, number: Number, operands: Sequence[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """So many at so much, which stand in two cells of the row before the amount."""
    line = text.rfind("\n", 0, number.start) + 1
    if not text.startswith("|", line) or not is_money(number.unit):
        return
    row = [o for o in operands if line <= o.start < number.start]
    prices = [o for o in row if o.unit is number.unit]
    bare = [Operand(float(m[1]), None, m.start(1), m.end(1)) for m in _BARE_CELL.finditer(text, line, number.start)]
    row += [o for o in bare if all(o.start != other.start for other in row)]  # a count that stands nowhere is flagged by itself
    counts = [o for o in row if not is_money(o.unit) and o.unit is not PERCENT and 2 <= o.value <= _MOST_SHARES]
    if len(prices) == 1 and len(counts) <= 2:
        for count in counts:
            yield "product", count.value * prices[0].value, f"{count.value:g} x {prices[0].value:g}", [count, prices[0]]


def _so_many_at(
    text: str, number: Number, operands: Sequence[Operand], counts: Sequence[Operand]
) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """So many at so much, said right before: "7 GB at $4 each"."""
    if not is_money(number.unit):
        return
    line = text.rfind("\n", 0, number.start) + 1
    before = sorted((o for o in (*operands, *counts) if line <= o.start < number.start), key=lambda o: o.start)
    for count, price in itertools.pairwise(before[-_JUST_BEFORE:]):
        in_cents = price.unit is None and CENTS.match(text, price.end) is not None
        worth = price.value / 100 if in_cents else price.value
        if (
            (in_cents or price.unit is number.unit)
            and not is_money(count.unit)
            and count.unit is not PERCENT
            and _AT.fullmatch(text, count.end, price.start)
        ):
            yield "ratio", count.value * worth, f"{count.value:g} x {worth:g}", [count, price]


def _share_of(text: str, number: Number, operands: Sequence[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """An amount of the sentence as a share of what the answer calls by the noun behind the share: "30% of revenue"."""
    if number.unit is not PERCENT:
        return
    for a, b in itertools.pairwise(operands):
        if a.unit is b.unit and b.value > a.value and _OUT_OF.fullmatch(text, a.end, b.start):
            yield "ratio", 100 * a.value / b.value, f"100 * {a.value:g} / {b.value:g}", [a, b]
    noun = _OF_NOUN.match(text, number.end)
    if noun is None:
        return
    first, last = sentence_around(text, number.start, number.end)
    parts = [o for o in operands if first <= o.start < last and o.unit is not PERCENT and o.unit is not None][:_FEW]
    own = [o for o in operands if first <= o.start < number.start and o.unit is not PERCENT and o.value > 0]
    if len(own) == 2 and own[0].unit is own[1].unit:  # "204 match and 918 do not, so 18% of all"
        yield (
            "ratio",
            100 * own[0].value / (own[0].value + own[1].value),
            f"100 * {own[0].value:g} / ({own[0].value:g} + {own[1].value:g})",
            own,
        )
    for part in parts:
        wholes = {o.value: o for o in operands if o.unit is part.unit and abs(o.value) > abs(part.value)}
        for whole in wholes.values():
            label = label_around(text, whole.start, whole.end)
            if any(same_noun(noun[1].lower(), w.lower()) for w in _WORD.findall(label)):
                yield "ratio", 100 * part.value / whole.value, f"100 * {part.value:g} / {whole.value:g}", [part, whole]


def _ends_of_line(text: str, number: Number, operands: Sequence[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """A total of the first and the last amount before it on its line: "Starter ($19): 7 GB at $4 = $28, so $47 in total"."""
    if not is_money(number.unit) or not LABELS["sum"].search(label_around(text, number.start, number.end)):
        return
    line = text.rfind("\n", 0, number.start) + 1
    own = [o for o in operands if line <= o.start < number.start and o.unit is number.unit]
    if len(own) > 1:
        yield "sum", own[0].value + own[-1].value, f"{own[0].value:g} + {own[-1].value:g}", [own[0], own[-1]]


def _heading(text: str, number: Number, operands: Sequence[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """A sum that heads a list: of the last amount on each line below it."""
    end = text.find("\n", number.end)
    parts: list[Operand] = []
    while 0 <= end < len(text) and is_money(number.unit):
        line = _LIST_LINE.match(text, end)
        if line is None:
            break
        own = [o for o in operands if line.start() <= o.start < line.end() and o.unit is number.unit]
        own = [o for o in own if text.rfind("(", line.start(), o.start) <= text.rfind(")", line.start(), o.start)]
        parts += own[-1:]
        end = line.end()
    if len(parts) > 1:
        yield "sum", sum(o.value for o in parts), " + ".join(f"{o.value:g}" for o in parts), parts


def _parts_of(text: str, number: Number, operands: Sequence[Operand]) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """What is left of so many out of so many: "7 of 24 paid, 17 left"."""
    label = label_around(text, number.start, number.end)
    if number.unit is not None or not (_LEFT.search(label) or _TO_GO.match(text, number.end)):
        return
    for a, b in itertools.pairwise(operands):
        if a.unit is None and b.unit is None and b.value > a.value and _OUT_OF.fullmatch(text, a.end, b.start):
            yield "difference", b.value - a.value, f"{b.value:g} - {a.value:g}", [a, b]


def _each(
    table: Table, text: str, number: Number, operands: Sequence[Operand], counts: Sequence[Operand]
) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """A price for each, which a text gives, times as many as the answer counts beside the amount: "180 for the two adults"."""
    if not is_money(number.unit):
        return
    for count in (*operands, *counts):
        apart = max(number.start - count.end, count.start - number.end)
        behind = _COUNTED.match(text, count.end) if count.end and 0 <= apart < _BEFORE_RATE else None
        if behind is None or not 2 <= count.value <= _MOST_SHARES or is_money(count.unit):
            continue
        for rate in [o for o in operands if o.unit is number.unit]:
            priced = _PER.match(text, rate.end)
            if priced is not None and same_noun(priced["noun"].lower(), behind[1].lower()):
                yield "product", count.value * rate.value, f"{count.value:g} x {rate.value:g}", [count, rate]
        each = number.value / count.value
        for posting in table.find(f"n:{each:.10g}"):
            said = posting.source.text[posting.end : posting.end + _EACH_REACH] if posting.node is None else ""
            per = _PER.match(said)
            if per is not None and same_noun(per["noun"].lower(), behind[1].lower()):
                yield "product", number.value, f"{count.value:g} x {each:g}", [count]


def _with_fee(
    table: Table, text: str, number: Number, operands: Sequence[Operand], counts: Sequence[Operand]
) -> Iterator[tuple[str, float, str, list[Operand]]]:
    """A rate for as many as the answer counts, and a fee that the rate's own row holds."""
    if not is_money(number.unit) or not LABELS["sum"].search(label_around(text, number.start, number.end)):
        return
    first, last = sentence_around(text, number.start, number.end)
    for rate in [o for o in operands if first <= o.start < last and o.unit is number.unit]:
        per = _PER.match(text, rate.end)
        if per is None:
            continue
        for count in [c for c in (*operands, *counts) if 2 <= c.value <= _MOST_SHARES and _counts(text, c, per["noun"].lower())]:
            fee = number.value - count.value * rate.value
            rows = {(s.message, s.path.rpartition(".")[0]) for s in rate.sources if s.path}
            for posting in table.find(f"n:{fee:.10g}") if fee > 1 else ():
                where = posting.where()
                if where.path and (where.message, where.path.rpartition(".")[0]) in rows:
                    yield "sum", number.value, f"{count.value:g} x {rate.value:g} + {fee:g}", [count, rate]


def _alike(operand: Operand, number: Number) -> bool:
    return operand.unit is number.unit or (number.unit is not None and operand.unit is None and agree(operand.unit, number.unit))


def _in_one_unit(a: Operand, b: Operand) -> tuple[float, float] | None:
    if a.unit is b.unit and a.unit is not None:
        return a.value, b.value
    if a.unit is not None and b.unit is not None and convertible(a.unit, b.unit):
        return a.value * float(a.unit.factor), b.value * float(b.unit.factor)
    return None
