"""What every test shares: the event loops that async tests run on, and how hard property tests try."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from agentfp_core.testing import pytest_plugin
from scripts.workshop import local_names

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("thorough", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))


def pytest_configure(config: pytest.Config) -> None:
    """Where the distribution is not installed, its entry point is not there; the plugin is taken from the checkout then."""
    if not config.pluginmanager.is_registered(pytest_plugin):
        config.pluginmanager.register(pytest_plugin, "agentfp")


@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """The loop of a test marked `anyio`; each such test runs on both."""
    backend: str = request.param
    return backend


TESTS = Path(__file__).parent
KERNEL_ONLY = ("benchmarks", "cli", "core", "docs", "scripts")
"""Folders whose tests say what is so when nothing but the kernel is installed; the sister distributions are hidden from them."""
SISTERS = " ".join(sorted(name for name in local_names() if name != "agentfp"))
HIDING = TESTS / "kernel_only" / "sitecustomize.py"


@pytest.fixture(scope="session")
def _visible() -> object:
    spec = importlib.util.spec_from_file_location("agentfp_tests_hiding", HIDING)
    assert spec is not None
    assert spec.loader is not None
    before = importlib.metadata.distributions
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    importlib.metadata.distributions = before
    return module.visible


@pytest.fixture(autouse=True)
def _kernel_only(request: pytest.FixtureRequest, _visible: object) -> Iterator[None]:
    """Here and in every Python process that a test starts."""
    if request.path.relative_to(TESTS).parts[0] not in KERNEL_ONLY or request.node.get_closest_marker("with_sisters"):
        yield
        return
    # A patch of its own: the test's `monkeypatch` would be undone after fixtures that must go after it.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TESTS_HIDE_DISTRIBUTIONS", SISTERS)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(HIDING.parent), os.environ.get("PYTHONPATH")))))
        patch.setattr(importlib.metadata, "distributions", _visible)
        yield
