"""``override``: another model, other tools or limits for an agent that the code under test holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from agentfp_core.agent import Agent, _overrides
from agentfp_core.billing import unmet_needs
from agentfp_core.model import Model
from agentfp_core.prices import Prices


@contextmanager
def override(agent: Agent[Any, Any], *, model: Model | str | None = None, **changes: Any) -> Iterator[Agent[Any, Any]]:
    """Run an agent with other arguments for the time of a ``with`` block, wherever it is held.

    For example::

        with override(app.agent, model=ScriptedModel(["Ports 3 and 7 are down."])):
            answer = await app.answer("Which ports are down?")

    It holds for runs that are started in the block and in tasks and threads started from it, by whatever way of running: also for
    conversations, streams, resumes and the agent as a tool of another one. Other tasks do not see it. Blocks nest; the inner one
    changes what the outer one left as it was. A fixture that yields inside of the block must be async when its tests are, for a sync
    fixture runs in another context than an async test.

    Args:
        agent: the agent; it is not changed.
        model: the model in place of its own.
        **changes: other arguments of the agent's constructor, such as ``tools=``, ``limits=``, ``clock=``.

    Yields:
        The agent that runs in its place.

    Raises:
        ConfigError: the agent has no such argument, or the changes do not go together.
    """
    key = id(agent)
    before = _overrides.get().get(key)
    base = agent if before is None else before[1]
    if model is not None:
        changes = {"model": model, **_free(base, model), **changes}
    stand_in = base.replace(**changes)
    _overrides.set({**_overrides.get(), key: (agent, stand_in)})
    try:
        yield stand_in
    finally:
        # Put back by key and not by token: a fixture may be torn down in another context than it was set up in.
        left = {other: pair for other, pair in _overrides.get().items() if other != key}
        _overrides.set(left if before is None else {**left, key: before})


def _free(agent: Agent[Any, Any], model: Model | str) -> dict[str, Any]:
    """What limits dollars needs prices, and a stand-in has none: it costs nothing."""
    if isinstance(model, str) or model.features.prices is not None:
        return {}
    given = {} if agent.prices is None else agent.prices
    needed = (agent.limits.usd is not None and not given) or unmet_needs(agent.price_needs, model, agent.price_tables)
    if not needed or not isinstance(given, dict):
        return {}
    return {"prices": {**given, model.name: Prices(Decimal(0), Decimal(0))}}
