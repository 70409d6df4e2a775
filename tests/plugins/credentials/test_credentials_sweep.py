"""No secret in any file but the private journal, nor in any event, log line, error, message or representation, however a run ends."""

from __future__ import annotations

import base64
import json
import logging
import pickle
import stat
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import quote

import keyring
import pytest

from agentfp import Pause, RunCheckpointError, approve
from agentfp.testing import call
from tests.plugins.credentials.sweep_agent import PLAIN, SECRETS, Person, agent

HERE = Path(__file__).parent


class Net:
    """All that comes out of the runs, as text."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.texts: dict[str, str] = {}

    def listen(self, event: Any) -> None:
        self.add(f"event {event.name}", repr(event))

    def add(self, what: str, text: str) -> None:
        self.texts[what] = self.texts.get(what, "") + "\n" + text

    def result(self, what: str, result: Any) -> None:
        self.add(f"{what}: representations", f"{result!r} {result} {result.record!r}")
        self.add(f"{what}: live record", "".join(repr(event) for event in result.record))
        self.add(f"{what}: history", result.history.to_json() + repr(list(result.history)))
        result.record.save(self.folder / f"{what}.jsonl")
        (self.folder / f"{what}.checkpoint").write_text(result.checkpoint().to_json())
        if result.paused:
            (self.folder / f"{what}.pause").write_text(result.pause.to_json())
            self.add(f"{what}: pause", repr(result.pause) + repr(result.pause.questions))
        elif result.status == "refused":
            with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever it is, it must not tell
                result.raise_for_status()
            self.error(what, raised.value)

    def error(self, what: str, error: BaseException) -> None:
        self.add(f"{what}: error", "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error)))
        if not isinstance(error, RunCheckpointError):
            self.add(f"{what}: pickled error", pickle.dumps(error, protocol=0).decode("latin-1"))


def forms(secret: str) -> list[str]:
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return [secret, json.dumps(secret)[1:-1], quote(secret, safe=""), encoded, secret.encode().hex()]


def test_no_secret_is_in_anything_that_comes_out(
    server: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SWEEP_TOKEN", SECRETS["environment"])
    before = keyring.get_keyring()
    try:
        net = sweep(server, tmp_path)
    finally:
        keyring.set_keyring(before)
    out, err = capfd.readouterr()
    net.add("standard output", out + err)
    net.add("log", caplog.text + "".join(f"{record.__dict__}" for record in caplog.records))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    journals = [path for path in files if path.suffix == ".journal"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in journals} == {0o600}
    for path in files:
        if path not in journals:
            net.add(f"file {path.name}", path.read_text())
    assert len(set(SECRETS.values())) == 12
    assert any("store" in path.parts for path in files), "no result was placed in the store"
    assert len(server.issued) >= 2
    found = [
        (name, what)
        for name, secret in {**SECRETS, **{f"access token {i}": token for i, token in enumerate(server.issued)}}.items()
        for form in forms(secret)
        for what, text in net.texts.items()
        if form in text
    ]
    assert found == []
    assert "SENTINEL" not in "".join(net.texts.values())
    for name in ("told", "raised", "asked", "consented", "crashed"):
        assert net.texts[f"file {name}.jsonl"].count("[REDACTED]") > 5, "the tools gave nothing away, so nothing was tried"


def sweep(server: Any, folder: Path) -> Net:
    net, url, person = Net(folder), server.url + "/token", Person()

    def made(*script: Any) -> Any:
        return agent(list(script), url, person, folder / "store", dev=True, listeners=net.listen)

    def journal(name: str) -> Path:
        return folder / f"{name}.journal"

    def calls(name: str) -> list[Any]:
        return [call(name, service=service) for service in PLAIN]

    # success, and retries of the provider
    net.result("told", made(calls("tell"), call("with_stumbling"), "Done.").run_sync("Go.", journal=journal("told")))
    # failures of tools, and of a provider
    failing = made(calls("raises"), calls("raises_words"), [call("with_broken"), call("raises", service="broken")], "Done.")
    net.result("raised", failing.run_sync("Go.", journal=journal("raised")))
    # a question of a tool, resumed in another process as it were
    asking = made(calls("asks"), calls("tell"), "Done.")
    result = asking.run_sync("Go.", journal=journal("asked"))
    net.result("asked", result)
    answers = {question.id: "yes" for question in result.pause.questions}
    net.result("asked and answered", asking.resume_sync(Pause.from_json(result.pause.to_json()), answers, on_event=net.listen))
    # a consent, not given, then given
    waiting = made([call("with_person"), *calls("tell")], "Done.")
    result = waiting.run_sync("Go.", journal=journal("waiting"))
    net.result("waiting", result)
    result = waiting.resume_sync(Pause.from_json(result.pause.to_json()), approve())
    net.result("still waiting", result)
    person.consented = True
    result = waiting.resume_sync(Pause.from_json(result.pause.to_json()), approve())
    net.result("consented", result)
    assert result.text == "Done."
    person.consented = False
    # a consent that a running tool needs: refused, with the place to consent on the error only
    net.result("refused", made(call("tell", service="person"), "Done.").run_sync("Go."))
    # the model breaks off in the middle of a run, which is taken up again
    broken = made(calls("tell"), RuntimeError("no more"), "Done.")
    with pytest.raises(RunCheckpointError) as raised:
        broken.run_sync("Go.", journal=journal("broken"))
    net.error("broken", raised.value)
    (folder / "broken.checkpoint").write_text(raised.value.checkpoint.to_json())
    net.result("taken up", broken.resume_on_error_sync(raised.value))
    # the process is killed in a tool, and the journal is taken up
    killed = subprocess.run([sys.executable, str(HERE / "sweep_agent.py"), url, str(folder)], capture_output=True, text=True, check=False)
    assert killed.returncode == -9, killed.stderr
    net.add("crash: output", killed.stdout + killed.stderr)
    net.result("crashed", made("Done.").resume_on_error_sync(journal("crash")))
    net.add("agent", f"{waiting!r} {waiting.tools!r}")
    return net
