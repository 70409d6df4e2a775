"""The agent, and how a leg of a run becomes a row: shared by the app, which begins runs, and the worker, which goes on with them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from agentfp import Agent, Journal, NoConversationError, Pause, PendingQuestionError, RunResult, humanize
from agentfp.events import TurnEnd

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from shop import Shop  # noqa: E402
from store import Store  # noqa: E402

DATA = Path(os.environ.get("REFUNDS_DATA", HERE / "data"))


def open_desk() -> tuple[Agent[Any, Any], Shop, Store]:
    """The agent, what its tools work on, and the requests."""
    DATA.mkdir(parents=True, exist_ok=True)
    agent = Agent.from_config(HERE / "agentfp.toml", **({"model": os.environ["REFUNDS_MODEL"]} if "REFUNDS_MODEL" in os.environ else {}))
    return agent, Shop(DATA / "shop.sqlite3"), Store(DATA / "requests.sqlite3")


def journal_of(number: int) -> Path:
    """Where a leg is written down while it runs, so that a killed process loses nothing."""
    return DATA / f"request-{number}.journal"


def take_up(agent: Agent[Any, Any], shop: Shop, store: Store, row: dict[str, Any]) -> bool:
    """Go on with a leg that a killed process was in; False where it had not begun to run."""
    journal = journal_of(row["id"])
    if not journal.exists() or b"\n" not in journal.read_bytes():
        return False
    try:
        settle(store, row["id"], agent.resume_on_error_sync(journal, deps=shop))
    except PendingQuestionError:  # the leg ended in a question, or the journal is that of the leg before, which asked the one decided now
        pause = Pause.of(Journal(journal).load())
        if row["pause"] is not None and Pause.from_json(row["pause"]).id == pause.id:
            return False
        store.waits(row["id"], pause.to_json())
        journal.unlink()
    except NoConversationError:  # the leg had ended, and nobody noted it; or nothing but its head had been written
        record = Journal(journal).load()
        if not (ends := record.of(TurnEnd)):
            return False
        answered = ends[-1].status == "answered"
        store.ends(row["id"], "done" if answered else "failed", record.history[-1].text if answered else ends[-1].status)
        journal.unlink()
    return True


def settle(store: Store, number: int, result: RunResult[Any]) -> None:
    """Note where a request stands after a leg."""
    if result.pause is not None:
        store.waits(number, result.pause.to_json())
    elif result.status == "answered":
        store.ends(number, "done", str(result.output))
    else:
        store.ends(number, "failed", humanize(result.error) if result.error is not None else result.status)
    journal_of(number).unlink(missing_ok=True)
