"""What a check finds: each kind of change, at its place."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp_audit import canonical, verify_audit
from tests.observability.audit.logs import changed, lines_of, log_of, rehashed, root_over, write

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "audit.jsonl"
    anyio.run(lambda: log_of(path, runs=2))
    return path


def test_an_untouched_log_is_valid(log: Path) -> None:
    verdict = verify_audit(log)
    records = [line for line in lines_of(log) if "hash" in line]
    assert (verdict.valid, verdict.sealed, verdict.checked, verdict.runs, verdict.lost) == (True, True, len(records), 2, 0)
    assert verdict.final_hash == records[-1]["hash"]
    assert verify_audit(log, final_hash=verdict.final_hash, sealed=True)
    assert len(records) > 20


def _payload(lines: Lines) -> None:
    lines[8]["payload"]["model"] = "another"


def _rehash(lines: Lines) -> None:
    lines[8] = rehashed({**lines[8], "payload": {}})


def _field(lines: Lines) -> None:
    lines[8]["note"] = "added"


def _head(lines: Lines) -> None:
    del lines[1:3]
    lines[0] = {**lines[0], "chain_head": "0" * 64, "first_seq": 0}


@pytest.mark.parametrize(
    ("change", "at"),
    [
        (_payload, 7),
        (_rehash, 8),
        (_field, 7),
        (lambda lines: lines.pop(4), 3),
        (lambda lines: lines.insert(4, dict(lines[3])), 3),
        (lambda lines: lines.__setitem__(slice(4, 6), [lines[5], lines[4]]), 3),
        (_head, 0),
        (lambda lines: lines[0].update(first_seq=5), 5),
        (lambda lines: lines[0].update(chain_head="f" * 64), 0),
        (lambda lines: lines[0].update(format="agentfp.audit/2"), None),
        (lambda lines: lines[0].update(hash_algorithm="md5"), None),
        (lambda lines: lines[0].update(canonicalization="mine"), None),
    ],
)
def test_what_was_changed_is_named(log: Path, change: Callable[[Lines], Any], at: int | None) -> None:
    verdict = verify_audit(changed(log, change))
    assert (verdict.valid, verdict.broken_at) == (False, at), verdict
    assert verdict.reason
    assert "changed.jsonl:" in str(verdict.where)


def test_an_end_that_was_cut_off(log: Path) -> None:
    total = verify_audit(log).checked
    cut = verify_audit(changed(log, lambda lines: lines.pop(-2)))
    assert (cut.valid, cut.broken_at) == (False, total - 1)
    without_seal = changed(log, lambda lines: lines.__delitem__(slice(-2, None)))
    assert verify_audit(without_seal).sealed is False
    assert verify_audit(without_seal, sealed=True).broken_at == total - 1
    assert verify_audit(without_seal, final_hash=verify_audit(log).final_hash).broken_at == total - 1


def test_another_writer_of_json_changes_nothing(log: Path) -> None:
    other = log.with_name("other.jsonl")
    other.write_text("".join(json.dumps(line, indent=None, sort_keys=False, ensure_ascii=True) + "\n" for line in lines_of(log)))
    assert verify_audit(other, sealed=True)


def test_an_empty_log_is_valid(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    assert (verify_audit(tmp_path / "empty.jsonl").valid, verify_audit(tmp_path / "empty.jsonl").checked) == (True, 0)


def test_segments_must_go_on_from_one_another(log: Path, tmp_path: Path) -> None:
    lines = lines_of(log)
    records = [line for line in lines if "hash" in line]

    def segment(name: str, part: Lines) -> Path:
        head, first = part[0]["prev_hash"], part[0]["seq"]
        header = {**lines[0], "chain_head": head, "first_seq": first}
        seal = {"final_hash": part[-1]["hash"], "first_seq": first, "record_count": len(part), "merkle_root": root_over(header, part)}
        return write(tmp_path / name, [header, *part, seal])

    one, two, three = segment("1.jsonl", records[:5]), segment("2.jsonl", records[5:9]), segment("3.jsonl", records[9:])
    assert verify_audit([one, two, three]).checked == len(records)
    assert verify_audit(two).checked == 4  # a later segment alone
    assert verify_audit([one, three]).broken_at == 9
    assert verify_audit([one, three, two]).broken_at == 9


def test_no_change_of_a_header_goes_unnoticed(log: Path) -> None:
    raw = log.read_bytes()
    copy = log.with_name("header.jsonl")
    for place in range(raw.index(b"\n")):
        mutated = bytearray(raw)
        mutated[place] ^= 1
        copy.write_bytes(mutated)
        assert not verify_audit(copy, sealed=True), place


def test_no_change_of_one_bit_or_one_record_goes_unnoticed(log: Path) -> None:
    raw = log.read_bytes()
    starts = [0]
    for text in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    chance = random.Random(7)
    copy = log.with_name("bits.jsonl")
    records = len(starts) - 3
    for _ in range(700):
        place, bit = chance.randrange(len(raw)), chance.randrange(8)
        mutated = bytearray(raw)
        mutated[place] ^= 1 << bit
        copy.write_bytes(mutated)
        verdict = verify_audit(copy, sealed=True)
        line = next(number for number, start in enumerate(starts) if start > place) - 1
        assert not verdict.valid, (place, bit)
        assert verdict.checked <= max(line - 1, 0), (place, bit, verdict)
        assert verdict.checked >= min(line - 1, records) - 1, (place, bit, verdict)
    for _ in range(300):
        lines = lines_of(log)
        at = chance.randrange(1, len(lines) - 1)
        kind = chance.choice(("drop", "double", "swap", "change", "rehash"))
        if kind == "drop":
            del lines[at]
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "swap":
            other = at % (len(lines) - 2) + 1
            lines[at], lines[other] = lines[other], lines[at]
            at = min(at, other)
        else:
            lines[at] = {**lines[at], "timestamp_ns": lines[at]["timestamp_ns"] + 1}
            lines[at] = rehashed(lines[at]) if kind == "rehash" else lines[at]
        verdict = verify_audit(write(copy, lines), sealed=True)
        assert not verdict.valid, (kind, at)
        wanted = {"double": at, "rehash": at}.get(kind, at - 1)  # record at - 1 is line at
        assert verdict.broken_at == wanted or (kind in ("rehash", "drop") and wanted >= records - 1), (kind, at, verdict)


json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(json_data)
def test_reading_and_writing_again_changes_nothing(data: Any) -> None:
    text = canonical(data)
    assert canonical(json.loads(text)) == text


def test_the_canonical_form() -> None:
    assert canonical({"b": [1.0, -0.0, 2**60, 0.1, float("nan"), None, True], "a": "é\n"}) == (
        '{"a":"é\\n","b":[1,0,1152921504606846976,0.1,null,null,true]}'
    )
    for wrong in ({1: 2}, b"x", {"a": {1, 2}}):
        with pytest.raises(TypeError):
            canonical(wrong)
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="holding itself"):
        canonical(loop)
