"""Hides the sister distributions from a Python process: for tests that say what is so when nothing but the kernel is installed.

Python imports this by itself when the folder is on `PYTHONPATH`. The names come from `TESTS_HIDE_DISTRIBUTIONS`; what a test installs
into a folder of its own is seen.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_all = importlib.metadata.distributions
_home = Path(sysconfig.get_path("purelib"))


def visible(**context: Any) -> Iterator[importlib.metadata.Distribution]:
    """What is installed, without what is hidden."""
    hidden = set(os.environ.get("TESTS_HIDE_DISTRIBUTIONS", "").split())
    for distribution in _all(**context):
        folder = getattr(distribution, "_path", None)  # its name is in the metadata, which take long to parse
        if folder is None or folder.parent != _home or re.sub(r"[-_.]+", "-", folder.name.partition("-")[0]).lower() not in hidden:
            yield distribution


importlib.metadata.distributions = visible
