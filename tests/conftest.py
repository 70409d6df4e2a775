"""What every test shares: the event loops that async tests run on, and how hard property tests try."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from agentfp_core.testing import pytest_plugin

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
