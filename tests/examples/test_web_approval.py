"""The approval in a web app: a real server and real workers on this machine, killed where it hurts."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.examples.conftest import Run
from tests.providers.aimock import Aimock

ASK = {"question": "Refund 49.50 of order A-17."}
DIES = """
import os, signal, shop
pays = shop.Shop.pay_back
def pay_back(self, *arguments, **named):
    {before}
    paid = pays(self, *arguments, **named)
    {after}
    return paid
shop.Shop.pay_back = pay_back
import worker
worker.main(once=True)
"""
KILL = "os.kill(os.getpid(), signal.SIGKILL)"
DIES_AT = """
import os, signal, store
step = store.Store.{step}
def last(self, *arguments):
    if {before} or step(self, *arguments) is not False:
        os.kill(os.getpid(), signal.SIGKILL)
store.Store.{step} = last
"""
WORKS = """
import worker
worker.main(once=True)
"""
BEGINS = f"""
import anyio, app
async def begin():
    number = app.store.begin({ASK["question"]!r})
    app.settle(app.store, number, await app.agent.run({ASK["question"]!r}, deps=app.shop, journal=app.journal_of(number)))
anyio.run(begin)
"""


class Desk:
    """The app as a process of its own, and workers.

    Args:
        folder: of the example.
        aimock: plays the model.
        run: starts programs.
    """

    def __init__(self, folder: Path, aimock: Aimock, run: Run) -> None:
        self.folder, self._run = folder, run
        self.variables = {"REFUNDS_MODEL": "openai-chat:m", "OPENAI_BASE_URL": f"{aimock.url}/v1", "OPENAI_API_KEY": "k"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self._port}", trust_env=False, timeout=30)
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        environ = {**os.environ, **self.variables}
        command = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(self._port), "--log-level", "warning"]
        process = subprocess.Popen(command, cwd=self.folder, env=environ)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                self.http.get("/approvals")
                return process
            time.sleep(0.05)
        process.kill()
        raise AssertionError("the app did not start")

    def restart(self) -> None:
        """Kill the app and start it again."""
        self.process.kill()
        self.process.wait(10)
        self.process = self._start()

    def work(self, code: str | None = None) -> int:
        """Let a worker do what there is to do; gives how it ended."""
        command = ("worker.py", "--once") if code is None else ("-c", code)
        done = self._run(self.folder, *command, **self.variables)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        return done.returncode

    def ask(self) -> dict[str, Any]:
        """A request that needs a person; gives what GET /approvals says of it."""
        number = self.http.post("/requests", json=ASK).json()["id"]
        (waiting,) = [row for row in self.http.get("/approvals").json() if row["id"] == number]
        return dict(waiting)

    def decide(self, waiting: dict[str, Any], approve: bool = True, by: str = "ann", **other: Any) -> httpx.Response:
        body = {"question": waiting["question"], "approve": approve, **other}
        return self.http.post(f"/approvals/{waiting['id']}", json=body, headers={"X-User": by})

    def state(self, waiting: dict[str, Any]) -> dict[str, Any]:
        return dict(self.http.get(f"/requests/{waiting['id']}").json())

    def refunds(self) -> list[tuple[str, float]]:
        """What was paid."""
        path = self.folder / "data" / "shop.sqlite3"
        if not path.exists():
            return []
        with contextlib.closing(sqlite3.connect(path)) as db:
            return list(db.execute("SELECT order_id, eur FROM refunds"))


@pytest.fixture
def desk(example: Callable[[str], Path], run: Run, aimock: Aimock) -> Iterator[Desk]:
    refund = {"name": "refund", "arguments": {"order": "A-17", "eur": 49.5}}
    aimock.answers(
        {"match": {"hasToolResult": True}, "response": {"content": "Order A-17: 49.50 EUR were paid back, or not, as was decided."}},
        {"match": {"userMessage": "Refund"}, "response": {"toolCalls": [refund]}},
    )
    made = Desk(example("web_approval"), aimock, run)
    yield made
    made.process.terminate()
    made.process.wait(20)
    made.http.close()


def test_a_request_is_approved_and_another_process_goes_on(desk: Desk) -> None:
    waiting = desk.ask()
    assert (waiting["tool"], waiting["arguments"]) == ("refund", {"order": "A-17", "eur": 49.5})
    assert desk.work() == 0
    assert (desk.state(waiting)["state"], desk.refunds()) == ("waiting", [])
    assert desk.decide(waiting).json()["state"] == "decided"
    assert desk.decide(waiting).status_code == 200, "a second click is no error"
    assert desk.work() == 0
    assert desk.state(waiting)["state"] == "done"
    assert "49.50" in desk.state(waiting)["answer"]
    assert desk.refunds() == [("A-17", 49.5)]
    assert desk.http.get("/approvals").json() == []


def test_who_says_no_and_who_says_nonsense(desk: Desk) -> None:
    waiting, other = desk.ask(), desk.ask()
    assert desk.decide(waiting, by="").status_code == 401
    assert desk.decide({**waiting, "question": "q_forged"}).status_code == 409
    assert desk.decide({**waiting, "question": other["question"]}).status_code == 409
    assert desk.decide({**waiting, "id": 999}).status_code == 404
    assert desk.http.post(f"/approvals/{waiting['id']}", content="{", headers={"X-User": "ann"}).status_code == 400
    assert desk.http.post("/requests", json=[]).status_code == 400
    assert desk.decide(waiting, approve=False, why="too much").status_code == 200
    assert desk.decide(waiting, approve=True).status_code == 409, "it was decided otherwise"
    desk.work()
    assert (desk.state(waiting)["state"], desk.state(other)["state"], desk.refunds()) == ("done", "waiting", [])
    assert desk.decide(waiting, approve=True).status_code == 409, "it is over"


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("dies", [DIES.format(before=KILL, after=""), DIES.format(before="", after=KILL)], ids=["before", "after"])
def test_a_worker_that_is_killed_while_it_pays_loses_nothing_and_pays_once(desk: Desk, dies: str) -> None:
    waiting = desk.ask()
    desk.decide(waiting)
    assert desk.work(dies) == -signal.SIGKILL
    assert desk.state(waiting)["state"] == "resuming"
    assert desk.work() == 0
    assert (desk.state(waiting)["state"], desk.refunds()) == ("done", [("A-17", 49.5)])


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_app_that_is_killed_keeps_what_waits(desk: Desk) -> None:
    waiting = desk.ask()
    desk.restart()
    assert [row["question"] for row in desk.http.get("/approvals").json()] == [waiting["question"]]
    assert desk.decide(waiting).status_code == 200
    desk.work()
    assert desk.refunds() == [("A-17", 49.5)]


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("before", [True, False], ids=["unnoted", "noted"])
def test_a_worker_that_is_killed_at_its_end_has_paid_once(desk: Desk, before: bool) -> None:
    waiting = desk.ask()
    desk.decide(waiting)
    assert desk.work(DIES_AT.format(step="ends", before=before) + WORKS) == -signal.SIGKILL
    assert desk.work() == 0
    assert (desk.state(waiting)["state"], desk.refunds()) == ("done", [("A-17", 49.5)])
    assert "49.50" in desk.state(waiting)["answer"]


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("written", [None, "", '{"agentfp":1,'], ids=["no journal", "an empty one", "a torn head"])
def test_a_worker_that_is_killed_before_the_run_goes_on(desk: Desk, written: str | None) -> None:
    waiting = desk.ask()
    desk.decide(waiting)
    assert desk.work(DIES_AT.format(step="claim", before=False) + WORKS) == -signal.SIGKILL
    if written is not None:
        (desk.folder / "data" / f"request-{waiting['id']}.journal").write_text(written, encoding="utf-8")
    assert desk.work() == 0
    assert (desk.state(waiting)["state"], desk.refunds()) == ("done", [("A-17", 49.5)])


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("before", [True, False], ids=["unnoted", "noted"])
@pytest.mark.parametrize("twice", [True, False], ids=["and so is the worker", "once"])
def test_an_app_that_is_killed_while_it_notes_a_question_asks_it(desk: Desk, before: bool, twice: bool) -> None:
    assert desk.work(DIES_AT.format(step="waits", before=before) + BEGINS) == -signal.SIGKILL
    desk.restart()
    (waiting,) = desk.http.get("/approvals").json()
    assert desk.decide(waiting).status_code == 200
    if twice:  # the journal that the worker finds is the one of the app's leg
        assert desk.work(DIES_AT.format(step="claim", before=False) + WORKS) == -signal.SIGKILL
    assert desk.work() == 0
    assert (desk.state(waiting)["state"], desk.refunds()) == ("done", [("A-17", 49.5)])


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_app_that_is_killed_with_only_the_head_of_a_journal_begins_anew(desk: Desk) -> None:
    assert desk.work(DIES_AT.format(step="waits", before=True) + BEGINS) == -signal.SIGKILL
    journal = desk.folder / "data" / "request-1.journal"
    head, end, _ = journal.read_bytes().partition(b"\n")
    journal.write_bytes(head + end)
    desk.restart()
    (waiting,) = desk.http.get("/approvals").json()
    desk.decide(waiting)
    assert desk.work() == 0
    assert desk.refunds() == [("A-17", 49.5)]


def test_all_refunds_of_an_order_stay_within_what_was_paid(desk: Desk) -> None:
    """The order is of 149.50 EUR: three times 49.50 fit, a fourth does not, however it was approved."""
    for _ in range(4):
        waiting = desk.ask()
        desk.decide(waiting)
        desk.work()
        assert desk.state(waiting)["state"] == "done"
    assert desk.refunds() == [("A-17", 49.5)] * 3
