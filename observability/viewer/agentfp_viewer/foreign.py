"""Opens a file, whatever it is."""
from __future__ import annotations
from collections.abc import Callable
from pathlib import Path
from agentfp_viewer.recording import Recording
def open_any(path: Path, progress: Callable[[int, int], None] | None = None) -> Recording:
    return Recording(path, progress)
