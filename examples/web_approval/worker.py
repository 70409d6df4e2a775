"""Goes on with decided runs, in a process of its own: `python worker.py [--once]`. One at a time is enough: it keeps no run in memory.

What a killed worker left behind is taken up first: from the journal of its leg, so that a refund that was begun is not begun again
under another key. To run several workers, give a claim a time to live, and take up only what outlived it.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from desk import journal_of, open_desk, settle, take_up

from agentfp import Pause, approve, reject

agent, shop, store = open_desk()


def go_on(row: dict[str, Any]) -> None:
    """Resume a pause with what a person decided."""
    decided = json.loads(row["decisions"])
    answers = {
        question: approve(by=one["by"]) if one["approve"] else reject(one["why"] or "it was not approved", by=one["by"])
        for question, one in decided.items()
    }
    result = agent.resume_sync(Pause.from_json(row["pause"]), answers, deps=shop, journal=journal_of(row["id"]))
    settle(store, row["id"], result)


def main(*, once: bool) -> None:
    for row in store.in_state("resuming"):  # a killed worker left it
        if not take_up(agent, shop, store, row):
            go_on(row)
    while True:
        claimed = store.claim()
        if claimed is not None:
            go_on(claimed)
        elif once:
            return
        else:
            time.sleep(0.2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="end when nothing is left to do")
    main(once=parser.parse_args().once)
