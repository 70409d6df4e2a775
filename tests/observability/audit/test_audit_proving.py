"""One record, shown to stand in a sealed log without the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp_audit import AuditProof, HmacKey, ProofError, prove_record, verify_audit, verify_proof
from agentfp_audit.merkle import leaf_hash, path_of, root_by, root_of
from agentfp_core.cli import main
from tests.observability.audit.logs import agent, changed, lines_of, log_of, rehashed, root_over, tree_hash

SECRET = b"a secret of sixteen bytes or more"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("log")
    (folder / "key").write_bytes(SECRET)
    anyio.run(lambda: log_of(folder / "audit.jsonl", runs=2, key_file=folder / "key"))
    return folder / "audit.jsonl"


def test_each_record_is_proved_and_none_tells_of_another(log: Path) -> None:
    header, *records, seal = lines_of(log)
    assert seal["merkle_root"] == root_over(header, records)
    for record in records:
        proof = AuditProof.from_json(json.loads(json.dumps(prove_record(log, record["seq"]).to_json())))
        verdict = verify_proof(proof, key=HmacKey(SECRET))
        assert (verdict.valid, verdict.seq, verdict.signed) == (True, record["seq"], True), verdict
        assert proof.record == record
        assert len(proof.path) <= 7
        assert not {other["hash"] for other in records} & set(proof.path)


def _record(proof: dict[str, Any]) -> None:
    proof["record"]["payload"] = {"outcome": "success"}


def _rehashed(proof: dict[str, Any]) -> None:
    proof["record"] = rehashed({**proof["record"], "payload": {}})


def _moved(proof: dict[str, Any]) -> None:
    proof["record"] = rehashed({**proof["record"], "seq": 8})


def _sealed_anew(proof: dict[str, Any]) -> None:
    _rehashed(proof)
    proof["seal"] = {**proof["seal"], "record_count": 1, "first_seq": 7, "merkle_root": root_over({}, [proof["record"]])}
    proof["path"] = [tree_hash([b"{}"]).hex()]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_record, "the record was changed"),
        (_rehashed, "does not stand in the segment"),
        (_moved, "does not stand in the segment"),
        (_sealed_anew, "a signature that is not of this key and seal"),
        (lambda proof: proof["path"].pop(), "does not stand in the segment"),
        (lambda proof: proof["path"].append("00" * 32), "does not stand in the segment"),
        (lambda proof: proof["path"].__setitem__(0, "zz"), "cannot be hashed"),
        (lambda proof: proof["seal"].pop("signature"), "a seal without a signature"),
        (lambda proof: proof["seal"].update(note="added"), "fields that are none of it: note"),
        (lambda proof: proof["seal"].update(record_count=True), "has no number"),
        (lambda proof: proof["seal"].update(first_seq=10**9), "does not stand in the segment"),
        (lambda proof: proof["record"].pop("hash"), "the record was changed"),
    ],
)
def test_a_proof_that_was_changed_proves_nothing(log: Path, change: Callable[[dict[str, Any]], Any], reason: str) -> None:
    proof = json.loads(json.dumps(prove_record(log, 7).to_json()))
    change(proof)
    verdict = verify_proof(AuditProof.from_json(proof), key=HmacKey(SECRET))
    assert not verdict
    assert reason in str(verdict.reason)


@pytest.mark.parametrize(
    "data", [None, [], {}, {"format": "agentfp.audit/1"}, {"format": "agentfp.audit.proof/1", "record": {}, "path": [1], "seal": {}}]
)
def test_what_is_no_proof(data: Any) -> None:
    with pytest.raises(ProofError, match="proof"):
        AuditProof.from_json(data)


def test_what_cannot_be_proved(log: Path, tmp_path: Path) -> None:
    with pytest.raises(ProofError, match="no record 1000 in this log: it holds"):
        prove_record(log, 1000)
    with pytest.raises(ProofError, match="broken log: record 3 is missing"):
        prove_record(changed(log, lambda lines: lines.pop(4)), 3)
    with pytest.raises(ProofError, match="record 3 has no seal"):
        prove_record(changed(log, lambda lines: lines.pop()), 3)
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(ProofError, match="no record 0"):
        prove_record(tmp_path / "empty.jsonl", 0)


def test_of_several_segments_that_one_is_taken_which_holds_the_record(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for _ in range(3):
        anyio.run(lambda: log_of(path))
    assert sum("final_hash" in line for line in lines_of(path)) == 3
    for seq in range(verify_audit(path).checked):
        assert verify_proof(prove_record(path, seq)).seq == seq


async def _killed(path: Path) -> None:
    from agentfp_audit import Audit

    plugin = Audit(path=path)
    await agent(plugin).run("x")
    plugin.log.release()  # as the end of the process does


def test_what_a_killed_process_left_is_not_sealed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    anyio.run(_killed, path)
    left = verify_audit(path).checked
    anyio.run(lambda: log_of(path))
    with pytest.raises(ProofError, match="record 3 has no seal"):
        prove_record(path, 3)
    assert verify_proof(prove_record(path, left))


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=3), min_size=1, max_size=40), st.data())
def test_the_tree_is_that_of_the_standard(data: list[bytes], draw: st.DataObject) -> None:
    leaves = [leaf_hash(one) for one in data]
    index = draw.draw(st.integers(0, len(leaves) - 1))
    path = path_of(leaves, index)
    assert root_of(leaves) == tree_hash(data)
    assert root_by(leaves[index], index, len(leaves), path) == tree_hash(data)
    assert root_by(leaf_hash(b"longer than any of them"), index, len(leaves), path) != tree_hash(data)
    assert root_by(leaves[index], len(leaves), len(leaves), path) is None


def test_the_commands(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["audit", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    proof = tmp_path / "seven.json"
    assert run("prove", str(log), "--seq", "7", "--out", str(proof))[:2] == (0, "")
    assert json.loads(run("prove", str(log), "--seq", "7")[1]) == json.loads(proof.read_text())
    code, out, err = run("verify-proof", str(proof), "--key", str(log.with_name("key")))
    assert (code, "record 7 stands in the log that was sealed, and the signature fits" in out) == (0, True)
    assert "the seal is genuine" in err
    assert json.loads(run("verify-proof", str(proof), "--json")[1])["record"]["seq"] == 7
    proof.write_text(proof.read_text().replace('"seq": 7', '"seq": 8'))
    code, out, _ = run("verify-proof", str(proof))
    assert (code, "broken: the record was changed" in out) == (1, True)
    for text in ("{", "[]", "\udcff"):
        proof.write_bytes(text.encode("utf-8", "surrogateescape"))
        assert run("verify-proof", str(proof))[0] == 2
    assert run("verify-proof", str(tmp_path / "none"))[0] == 2
    assert run("prove", str(log), "--seq", "1000")[0] == 2
    assert run("prove", str(log), "--seq", "7", "--out", str(tmp_path))[0] == 2
