"""Weeks later: say how the decision was made, from the files alone.

Run it as `python explain.py BUNDLE KEPT`.

Nothing of the agent is imported: who has the files needs `agentfp-audit` and no more. Ends with 1 where the files were changed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path


def explain(bundle: Path, kept: Path) -> int:
    """Check the files against what was kept elsewhere, and have them told.

    Returns:
        0, or 1 where something was changed.
    """
    anchor = json.loads((kept / "anchor.json").read_text())
    for name, checksum in anchor["recordings"].items():
        path = bundle / "recordings" / name
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != checksum:
            print(f"the recording {name} is not the one that was archived", file=sys.stderr)
            return 1
    command = [sys.executable, "-m", "agentfp", "audit", "explain", str(bundle / "audit.jsonl"), "--sealed"]
    command += ["--recording", str(bundle / "recordings"), "--key", str(kept / "public.pem"), "--final-hash", anchor["final_hash"]]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(explain(Path(sys.argv[1]), Path(sys.argv[2])))
