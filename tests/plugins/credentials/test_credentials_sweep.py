"""No secret in any file, message, event, log line, error, span or representation, however a run ends, with every distribution on."""

from __future__ import annotations

import functools
import json
import logging
import os
import pickle
import stat
import subprocess
import sys
import traceback
import urllib.request
from pathlib import Path
from typing import Any

import anyio
import keyring
import pydantic
import pytest

from agentfp import Agent, Pause, RunCheckpointError, approve
from agentfp.testing import ScriptedModel, call
from agentfp_credentials import Credentials
from agentfp_mcp import mcp
from tests.plugins.credentials import sweep_parts
from tests.plugins.credentials.sweep_agent import ANN, PLAIN, SECRETS, Person, agent, credentials, forms, login

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent


def test_every_distribution_says_what_it_writes_and_where() -> None:
    there, said = set(sweep_parts.projects()), set(sweep_parts.PARTS)
    assert there - said == set(), "add these to PARTS in sweep_parts.py: what they write, and how the sweep gets to see it"
    assert said - there == set(), "these are in PARTS of sweep_parts.py and not in the checkout any more"


def test_the_plugin_of_every_distribution_is_on(server: Any, tmp_path: Path) -> None:
    entries = [project.get("entry-points", {}).get("agentfp.plugins", {}) for project in sweep_parts.projects().values()]
    made = agent(["x"], credentials(server.url, Person(), login(server.url)), tmp_path)
    assert sorted(plugin.name for plugin in made.plugins) == sorted(name for found in entries for name in found)


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
        self.add(f"{what}: representations", f"{result!r} {result} {result.record!r} {result.calls!r}")
        self.add(f"{what}: live record", "".join(repr(event) for event in result.record))
        self.add(f"{what}: history", result.history.to_json() + repr(list(result.history)))
        result.record.save(self.folder / f"{what}.jsonl")
        (self.folder / f"{what}.checkpoint").write_text(result.checkpoint().to_json())
        for name, thing in (("result", result), ("record", result.record), ("history", result.history), ("pause", result.pause)):
            self.pickled(f"{what}: pickled {name}", thing)
        if result.paused:
            (self.folder / f"{what}.pause").write_text(result.pause.to_json())
            self.add(f"{what}: pause", repr(result.pause) + repr(result.pause.questions))
        elif result.status == "refused":
            with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever it is, it must not tell
                result.raise_for_status()
            self.error(what, raised.value)
        else:
            self.add(f"{what}: answer", f"{result.text} {result.output!r}")

    def error(self, what: str, error: BaseException) -> None:
        self.add(f"{what}: error", "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error)))
        self.pickled(f"{what}: pickled error", error)

    def pickled(self, what: str, thing: Any) -> None:
        try:
            self.add(what, pickle.dumps(thing, protocol=0).decode("latin-1"))
        except Exception as error:  # what cannot be pickled says why, and no more
            self.add(what, repr(error))

    def hits(self, secrets: dict[str, str]) -> list[tuple[str, str]]:
        wanted = [(name, form) for name, secret in secrets.items() for form in forms(secret)]
        return sorted({(name, what) for what, text in self.texts.items() for name, form in wanted if form in text})


def test_no_secret_is_in_anything_that_comes_out(
    server: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SWEEP_TOKEN", SECRETS["environment"])
    monkeypatch.chdir(tmp_path)
    before = keyring.get_keyring()
    try:
        net = Sweep(server, tmp_path).go()
    finally:
        keyring.set_keyring(before)
    out, err = capfd.readouterr()
    net.add("standard output", out + err)
    net.add("log", caplog.text + "".join(f"{record.__dict__}" for record in caplog.records))
    net.add("spans", "\n".join(sweep_parts.SPANS.texts))
    for name, part in sweep_parts.PARTS.items():
        if part.collect is not None:
            net.add(f"what {name} wrote", part.collect())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    journals = [path for path in files if path.suffix == ".journal"]
    assert len(journals) >= 5
    assert {stat.S_IMODE(path.stat().st_mode) for path in journals} == {0o600}
    for path in files:
        net.add(f"file {path.relative_to(tmp_path)}", path.read_bytes().decode("latin-1"))

    granted = {f"granted {number}": token for number, token in enumerate([*server.issued, *server.codes])}
    assert len(set(SECRETS.values())) == 12
    assert len(granted) >= 5
    assert net.hits({**SECRETS, **granted, "state": "SENTINEL-10-state"}) == []
    assert [what for what, text in net.texts.items() if "SENTINEL" in text] == []
    # and yet all of it was tried
    for name in ("told", "kept", "raised", "asked", "consented", "crashed", "signed in"):
        assert net.texts[f"file {name}.jsonl"].count("[REDACTED]") > 5, f"{name}: the tools gave nothing away, so nothing was tried"
    stored = [text for what, text in net.texts.items() if what.startswith("file store/") and "[REDACTED]" in text]
    assert len(stored) > 10


class Sweep:
    """The runs. Each says in its name how it ends."""

    def __init__(self, server: Any, folder: Path) -> None:
        self.server, self.folder, self.net = server, folder, Net(folder)
        self.person, self.login = Person(), login(server.url)
        self.plugin: Credentials = credentials(server.url, self.person, self.login)

    def agent(self, *script: Any, **more: Any) -> Agent[Any, Any]:
        return agent(list(script), self.plugin, self.folder, dev=True, listeners=self.net.listen, **more)

    def journal(self, name: str) -> Path:
        return self.folder / f"{name}.journal"

    def end(self, name: str, made: Agent[Any, Any], result: Any) -> Any:
        model: Any = made.model
        self.net.add(f"{name}: requests", repr(model.requests))
        self.net.add(f"{name}: agent", f"{made!r} {made.tools!r} {made.plugins!r} {[plugin.settings for plugin in made.plugins]!r}")
        self.net.result(name, result)
        return result

    def run(self, name: str, made: Agent[Any, Any], message: str = "Go.", **options: Any) -> Any:
        return self.end(name, made, made.run_sync(message, journal=self.journal(name), **options))

    def resume(self, name: str, made: Agent[Any, Any], result: Any, answer: Any) -> Any:
        """As another process would, from the stored text."""
        return self.end(name, made, made.resume_sync(Pause.from_json(result.pause.to_json()), answer, on_event=self.net.listen))

    def go(self) -> Net:
        self.succeed()
        self.fail()
        self.pause()
        self.consent()
        self.sign_in()
        self.retry()
        self.crash()
        self.serve()
        self.check()
        return self.net

    def succeed(self) -> None:
        def calls(name: str) -> list[Any]:
            return [call(name, service=service) for service in PLAIN]

        self.run("told", self.agent(calls("tell"), call("with_stumbling"), "Done."))
        self.run("kept", self.agent(calls("keep"), "Done."))

        class Report(pydantic.BaseModel):
            text: str
            inner: dict[str, list[str]]

        # what models and people say: arguments, answers, data, and a message that somebody pasted keys into
        known = " ".join(form for name in ("bearer", "config", "password", "environment") for form in forms(SECRETS[name]))
        arguing = self.agent([call("repeat", text=f"x {SECRETS['bearer']}"), call("tell", service="api_key")], f"It is {known}.")
        self.run("argued", arguing, f"Use {known}.")
        self.run("reported", self.agent(Report(text=known, inner={"keys": [known]}), output_type=Report))

    def fail(self) -> None:
        failing = self.agent(
            [call("raises", service=service) for service in PLAIN],
            [call("raises_words", service=service) for service in PLAIN],
            [call("with_broken"), call("raises", service="broken")],
            "Done.",
        )
        self.run("raised", failing)

    def pause(self) -> None:
        asking = self.agent([call("asks", service=service) for service in PLAIN], call("tell", service="config"), "Done.")
        result = self.run("asked", asking)
        told = f"It is {SECRETS['config']}."
        self.resume("asked and answered", asking, result, {question.id: told for question in result.pause.questions})
        approving = self.agent(call("approved", text="x"), "Done.")
        result = self.run("to approve", approving)
        self.resume("approved with a secret", approving, result, approve(args={"text": SECRETS["bearer"]}, by="ann"))

    def consent(self) -> None:
        waiting = self.agent([call("with_person"), *[call("tell", service=service) for service in PLAIN]], "Done.")
        result = self.run("waiting", waiting)
        result = self.resume("still waiting", waiting, result, approve())
        self.person.consented = True
        result = self.resume("consented", waiting, result, approve())
        assert result.text == "Done."
        self.person.consented = False
        # a consent that a running tool needs: refused, with the place to consent on the error only
        self.run("refused", self.agent(call("tell", service="person"), "Done."))

    def sign_in(self) -> None:
        """A real consent, with an access token that is refreshed at once."""
        signing = self.agent(call("with_login"), [call("with_login"), call("tell", service="api_key")], "Done.")
        result = self.run("signing in", signing, identity=ANN)
        (wanted,) = anyio.run(self.plugin.authorizations, result)
        callback = urllib.request.build_opener(NoRedirect()).open(wanted.url).headers["Location"]
        self.net.add("signing in: what the application handles", f"{wanted!r}")
        self.server.expires_in = 1
        anyio.run(functools.partial(self.login.finish, callback, identity=ANN))
        result = self.resume("signed in", signing, result, approve())
        assert result.text == "Done."
        assert self.server.grants.count("refresh_token") >= 1

    def retry(self) -> None:
        """The model breaks off in the middle of a run, which is taken up again."""
        broken = self.agent([call("tell", service=service) for service in PLAIN], RuntimeError("no more"), "Done.")
        with pytest.raises(RunCheckpointError) as raised:
            broken.run_sync("Go.", journal=self.journal("broken"))
        self.net.error("broken", raised.value)
        (self.folder / "broken.checkpoint").write_text(raised.value.checkpoint.to_json())
        self.end("taken up", broken, broken.resume_on_error_sync(raised.value))

    def crash(self) -> None:
        """The process is killed in a tool, and the journal is taken up."""
        command = [sys.executable, "-m", "tests.plugins.credentials.sweep_agent", self.server.url, str(self.folder)]
        killed = subprocess.run(command, capture_output=True, text=True, check=False, env=self.environ())
        assert killed.returncode == -9, killed.stderr
        self.net.add("crash: output", killed.stdout + killed.stderr)
        made = self.agent("Done.")
        self.end("crashed", made, made.resume_on_error_sync(self.journal("crash")))

    def serve(self) -> None:
        """The tools behind MCP, in another process that holds the secrets; the client's agent knows none of them."""
        command = ["-m", "agentfp", "mcp-serve", "tests.plugins.credentials.sweep_agent:served"]
        environ = self.environ(SWEEP_SERVES=self.server.url, SWEEP_FOLDER=str(self.folder))
        source = mcp(command=sys.executable, args=command, env=environ)
        calls = [call(name, service=service) for name in ("tell", "keep", "raises", "raises_words") for service in ("api_key", "password")]
        client = Agent(ScriptedModel([calls, "Done."]), tools=[source], listeners=self.net.listen)
        result = self.run("served", client)
        assert result.history.to_json().count("[REDACTED]") > 5

    def check(self) -> None:
        """What the command line prints of the records."""
        for name in ("told", "raised", "argued"):
            command = [sys.executable, "-m", "agentfp", "check", str(self.folder / f"{name}.jsonl")]
            for more in ([], ["--json"]):
                done = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
                assert "answer judged" in done.stdout + done.stderr or json.loads(done.stdout), done.stderr
                self.net.add(f"check of {name}", done.stdout + done.stderr)

    def environ(self, **more: str) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT), **more}


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A browser that stops before it goes back to the application."""

    def http_error_302(self, req: Any, fp: Any, code: int, msg: str, headers: Any) -> Any:
        return fp
