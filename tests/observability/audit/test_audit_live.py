"""A log that is written while runs go on: what stands in it, and what becomes of it when something breaks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentfp import ConfigError
from agentfp.testing import check_plugin
from agentfp_audit import Audit, Ed25519Checker, HmacKey, verify_audit
from agentfp_audit.command import in_order
from agentfp_core.cli import main
from tests.observability.audit.logs import SECRET, agent, lines_of, log_of

pytestmark = pytest.mark.anyio


async def test_each_run_begins_with_its_genesis_and_all_are_one_chain(tmp_path: Path) -> None:
    path = await log_of(tmp_path / "deep" / "audit.jsonl", runs=2, versions={"policy": "7"})
    records = [line for line in lines_of(path) if "event_type" in line]
    begins = [record for record in records if record["event_type"] == "audit.genesis"]
    assert [begin["payload"]["agent"] for begin in begins] == ["loans", "loans"]
    assert begins[0]["payload"]["versions"] == {"policy": "7"}
    assert len({begin["payload"]["run_id"] for begin in begins}) == 2
    assert [record["seq"] for record in records] == list(range(len(records)))
    assert {"agentfp.tool.started", "agentfp.tool.ended", "agentfp.run.ended"} <= {record["event_type"] for record in records}
    assert path.stat().st_mode & 0o777 == 0o600


async def test_content_is_in_a_verbatim_log_only(tmp_path: Path) -> None:
    assert SECRET not in (await log_of(tmp_path / "bounded.jsonl")).read_text()
    assert SECRET in (await log_of(tmp_path / "verbatim.jsonl", payload_mode="verbatim")).read_text()
    assert verify_audit(tmp_path / "verbatim.jsonl")


async def test_a_log_is_gone_on_with(tmp_path: Path) -> None:
    path = await log_of(tmp_path / "audit.jsonl")
    before = verify_audit(path)
    after = verify_audit(await log_of(path))
    assert (after.valid, after.runs, after.checked) == (True, 2, 2 * before.checked)


async def test_signatures(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    pem, raw = serialization.Encoding.PEM, serialization.NoEncryption()
    (tmp_path / "key.pem").write_bytes(private.private_bytes(pem, serialization.PrivateFormat.PKCS8, raw))
    public = private.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    other = Ed25519PrivateKey.generate().public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "secret").write_bytes(b"0123456789abcdef")
    by_pair = await log_of(tmp_path / "pair.jsonl", key_file=tmp_path / "key.pem")
    by_secret = await log_of(tmp_path / "secret.jsonl", key_file=tmp_path / "secret")
    unsigned = await log_of(tmp_path / "unsigned.jsonl")
    assert verify_audit(by_pair, key=Ed25519Checker(public)).signed == 1
    assert verify_audit(by_secret, key=HmacKey(b"0123456789abcdef")).signed == 1
    assert "not of this key" in str(verify_audit(by_pair, key=Ed25519Checker(other)).reason)
    assert "not of this key" in str(verify_audit(by_secret, key=HmacKey(b"another-secret-1")).reason)
    assert "by 'ed25519'" in str(verify_audit(by_pair, key=HmacKey(b"0123456789abcdef")).reason)
    assert "without a signature" in str(verify_audit(unsigned, key=HmacKey(b"0123456789abcdef")).reason)
    seal = lines_of(by_secret)[-1]
    by_secret.write_text(by_secret.read_text().replace(seal["signature"]["value"], "0" * 64))
    assert not verify_audit(by_secret, key=HmacKey(b"0123456789abcdef"))
    (tmp_path / "short").write_bytes(b"short")
    for name in ("short", "none", "pair.jsonl"):
        with pytest.raises(ConfigError, match="key_file"):
            Audit(path=tmp_path / "x.jsonl", key_file=tmp_path / name if name != "pair.jsonl" else tmp_path)


async def test_a_log_that_has_grown_is_set_aside_and_the_chain_goes_on(tmp_path: Path) -> None:
    for _ in range(2):  # each time by a new writer
        await log_of(tmp_path / "audit.jsonl", runs=2, rotate_bytes=8_000)
    files = in_order([tmp_path])
    assert len(files) >= 3
    verdict = verify_audit(files, sealed=True)
    assert (verdict.valid, verdict.runs) == (True, 4)
    assert verify_audit([files[0], *files[2:]]).broken_at is not None


async def test_the_last_hash_is_given_away(tmp_path: Path) -> None:
    kept: list[tuple[str, int]] = []
    subject = agent(Audit(path=tmp_path / "audit.jsonl", anchor=lambda *last: kept.append(last)))
    await subject.run("x")
    assert verify_audit(tmp_path / "audit.jsonl", final_hash=kept[-1][0])
    await subject.run("x")
    await subject.shutdown()
    assert len(kept) == 2
    assert verify_audit(tmp_path / "audit.jsonl", final_hash=kept[-1][0], sealed=True).checked == kept[-1][1] + 1


async def test_an_anchor_may_wait(tmp_path: Path) -> None:
    kept: list[tuple[str, int]] = []

    async def away(hash: str, seq: int) -> None:
        await anyio.sleep(0.001)
        kept.append((hash, seq))

    subject = agent(Audit(path=tmp_path / "audit.jsonl", anchor=away))
    await subject.run("x")
    await subject.shutdown()
    assert verify_audit(tmp_path / "audit.jsonl", final_hash=kept[-1][0], sealed=True).checked == kept[-1][1] + 1


async def test_an_anchor_that_fails_breaks_nothing(tmp_path: Path) -> None:
    def away(hash: str, seq: int) -> None:
        raise RuntimeError("no net")

    subject = agent(Audit(path=tmp_path / "audit.jsonl", anchor=away))
    assert (await subject.run("x")).status == "answered"
    await subject.shutdown()
    assert verify_audit(tmp_path / "audit.jsonl", sealed=True)


async def test_a_log_that_cannot_be_written_breaks_no_run_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    plugin = Audit(path=tmp_path / "file" / "audit.jsonl")
    result = await agent(plugin).run("x")
    assert (result.status, result.plugin_failures) == ("answered", {"audit": 1})
    stats = plugin.stats
    assert (stats.written, stats.waiting) == (0, 0)
    assert stats.dropped == stats.accepted > 5


async def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for text in ("my diary\n", '{"seq": 1}\n', "[]\n"):
        path.write_text(text)
        plugin = Audit(path=path)
        result = await agent(plugin).run("x")
        assert result.plugin_failures == {"audit": 1}
        assert "none of an audit log" in str(plugin.stats.last_error)
        assert path.read_text() == text


async def test_what_was_lost_stands_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.mkdir()
    with pytest.raises(ConfigError, match="is a folder"):
        Audit(path=path)
    path.rmdir()
    plugin = Audit(path=path)
    path.mkdir()
    await agent(plugin).run("x")
    lost = plugin.stats.dropped
    path.rmdir()
    await agent(plugin).run("x")
    verdict = verify_audit(path)
    assert (verdict.valid, verdict.lost) == (True, lost)


async def test_a_second_process_gets_no_log_that_is_written(tmp_path: Path) -> None:
    first = agent(Audit(path=tmp_path / "audit.jsonl"))
    await first.run("x")
    second = Audit(path=tmp_path / "audit.jsonl")
    result = await agent(second).run("x")
    assert (result.status, result.plugin_failures) == ("answered", {"audit": 1})
    assert "another process writes to the log" in str(second.stats.last_error)
    await first.shutdown()
    assert verify_audit(tmp_path / "audit.jsonl", sealed=True).runs == 1
    assert str(os.getpid()) in str(Audit(path=tmp_path / "{pid}.jsonl").log.path)


def test_a_killed_writer_leaves_a_log_that_is_valid_and_gone_on_with(tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import anyio
        from agentfp_audit import Audit
        from tests.observability.audit.logs import agent
        subject = agent(Audit(path={str(tmp_path / "audit.jsonl")!r}))
        async def main():
            while True:
                await subject.run("x")
                print("ran", flush=True)
        anyio.run(main)
        """
    )
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
        assert process.stdout is not None
        for _ in range(3):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        verdict = verify_audit(tmp_path / "audit.jsonl")
        assert (verdict.valid, verdict.sealed) == (True, False)
    with (tmp_path / "audit.jsonl").open("ab") as file:
        file.write(b'{"seq": 99, "half of')
    assert verify_audit(tmp_path / "audit.jsonl")
    anyio.run(lambda: log_of(tmp_path / "audit.jsonl"))
    verdict = verify_audit(tmp_path / "audit.jsonl", sealed=True)
    assert verdict.valid
    assert verdict.runs >= 7


async def test_the_command(tmp_path: Path, capsys: Any) -> None:
    path = await log_of(tmp_path / "audit.jsonl")

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["audit", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    code, out, err = run("verify", str(path))
    assert (code, out.startswith("valid: ")) == (0, True)
    assert "not who wrote it" in err
    told = json.loads(run("verify", str(tmp_path), "--json", "--sealed")[1])
    assert (told["valid"], told["sealed"]) == (True, True)
    assert run("verify", str(path), "--final-hash", told["final_hash"])[0] == 0
    assert run("verify", str(path), "--final-hash", "0" * 64)[0] == 1
    assert run("show", str(path), "--type", "agentfp.tool.ended")[1].count("\n") == 1
    record = json.loads(run("show", str(path), "--type", "audit.genesis", "--json")[1])
    assert record["payload"]["agent"] == "loans"
    (tmp_path / "notes").write_text("no log\n" + path.read_text())
    code, out, err = run("show", str(tmp_path / "notes"), "--type", "audit.genesis")
    assert (code, out.count("\n"), err) == (0, 1, "1 line of it is no part of an audit log\n")
    (tmp_path / "notes").write_text("no log\n" * 2)
    code, out, err = run("show", str(tmp_path / "notes"))
    assert (code, out, err.splitlines()[0]) == (2, "", "2 lines of it are no part of an audit log")
    (tmp_path / "notes").unlink()
    path.write_text(path.read_text().replace('"agent":"loans"', '"agent":"loanz"'))
    code, out, _ = run("verify", str(path))
    assert (code, "record 0 was changed" in out, f"at {path}:2" in out) == (1, True, True)
    assert run("verify", str(tmp_path / "none.jsonl"))[0] == 2
    assert run("verify", str(path), "--key", str(tmp_path / "none"))[0] == 2


def test_the_plugin_keeps_the_rules_of_plugins(tmp_path: Path) -> None:
    check_plugin(Audit(path=tmp_path / "audit.jsonl"), may_change=("_writer", "log"))
