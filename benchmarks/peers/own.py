"""agentfp's own turn as a subject beside the peers: `own` in memory, `own --journal` with the resumable file."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.peers.subject import report
from benchmarks.turns import OwnTurn, journal_folder

if __name__ == "__main__":
    with journal_folder() as folder:
        if "--journal" in sys.argv:
            report("agentfp with journal", OwnTurn(journal=Path(folder)))
        else:
            report("agentfp", OwnTurn())
