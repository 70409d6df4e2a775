"""The agent, and how a leg of a run becomes a row: shared by the app, which begins runs, and the worker, which goes on with them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from agentfp import Agent, RunResult, humanize

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


def take_up(agent: Agent[Any, Any], shop: Shop, store: Store, number: int) -> bool:
    """Go on with a leg that a killed process was in; False where it had not begun to run."""
    journal = journal_of(number)
    if not journal.exists():
        return False
    settle(store, number, agent.resume_on_error_sync(journal, deps=shop))
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
