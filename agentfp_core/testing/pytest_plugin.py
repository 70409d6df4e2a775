"""The pytest plugin: fixtures, and the gate that lets no test call a real model unless it is marked ``real_model``.

pytest imports this module in every session of an environment that has the library, so it imports the rest where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentfp_core.guard import model_gate

if TYPE_CHECKING:
    from agentfp_core.clock import CountingIds, StepClock
    from agentfp_core.model import Model
    from agentfp_core.testing.harness import Harness
    from agentfp_core.testing.installed import PluginDist
    from agentfp_core.testing.scripted import AutoModel, ScriptedModel


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "real_model: calls a real model; without this mark, a run that would go to one is refused")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Refuse real models while a test, with its setup and teardown, runs."""
    if item.get_closest_marker("real_model") is not None or "allow_any_model" in getattr(item, "fixturenames", ()):
        with model_gate(None):
            return (yield)
    with model_gate(_refuse_for(item)):
        return (yield)


def _refuse_for(item: pytest.Item) -> Callable[[Model | str], None]:
    folders = [item.path.parent]
    for name in item.config.getini("testpaths"):
        folder = item.config.rootpath / name
        if folder != item.config.rootpath and folder in item.path.parents:
            folders.append(folder)

    def gate(model: Model | str) -> None:
        from agentfp_core.testing.real_models import StandInsOnly

        StandInsOnly(folders)(model)

    return gate


@pytest.fixture
def allow_any_model() -> None:
    """Lets a test call any model, for tests of a provider against a server of their own. A real service: mark ``real_model`` instead."""


@pytest.fixture
def scripted_model() -> Callable[..., ScriptedModel]:
    """Makes a model that follows a script: ``scripted_model(call("port_status", switch="A"), "Ports 3 and 7 are down.")``."""
    from agentfp_core.testing.scripted import ScriptedModel

    def make(*script: Any, **settings: Any) -> ScriptedModel:
        return ScriptedModel(script, **settings)

    return make


@pytest.fixture
def auto_model() -> AutoModel:
    """A model that calls each tool once, with arguments made of its schema, and then answers."""
    from agentfp_core.testing.scripted import AutoModel

    return AutoModel()


@pytest.fixture
def agentfp_harness() -> type[Harness]:
    """The class that runs plugins over a script.

    ``await agentfp_harness(OfficeHours(), tools=[...], script=[...]).run("Shut port 3")``
    """
    from agentfp_core.testing.harness import Harness

    return Harness


@pytest.fixture
def golden_clock_ids() -> dict[str, StepClock | CountingIds]:
    """A clock that steps and ids that count, for records that are the same at each run: ``Agent(..., **golden_clock_ids)``."""
    from agentfp_core.clock import CountingIds, StepClock

    return {"clock": StepClock(), "ids": CountingIds()}


@pytest.fixture
def plugin_dist(tmp_path: Path) -> Iterator[PluginDist]:
    """Installs small distributions for the time of the test; see :class:`agentfp.testing.PluginDist`."""
    from agentfp_core.testing.installed import PluginDist

    with PluginDist(tmp_path / "site") as made:
        yield made
