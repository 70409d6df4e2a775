"""Where each value came from."""

from __future__ import annotations

import json
from collections.abc import Callable

from agentfp import Config, Limits
from agentfp.testing import ScriptedModel

Load = Callable[..., Config]

TEXT = """
version = 1
[agent]
model = "fast"
plugins = ["hours"]
limits = { usd = 2 }
[plugins.hours]
opens = 8
[models.fast]
use = "stub:x"
[models.unused]
use = "stub:y"
[env.prod.plugins.hours]
title = "Works"
"""


def test_each_value_has_one_origin(load: Load) -> None:
    config = load(TEXT, env="prod", AGENTFP__PLUGINS__HOURS__FLOOR="3")
    found = {v.path: (v.value, str(v.origin)) for v in config.explain(overrides={"limits": Limits(iterations=2), "name": "x"})}
    assert found["version"] == (1, "agentfp.toml:1:1")
    assert found["agent.model"] == ("fast", "agentfp.toml:3:1")
    assert found["agent.name"] == ("x", "override")
    assert found["agent.limits"] == ("<Limits>", "override")
    assert "agent.limits.usd" not in found
    assert found["agent.tool_concurrency"] == (8, "default")
    assert found["plugins.hours.opens"] == (8, "agentfp.toml:7:1")
    assert found["plugins.hours.title"] == ("Works", "agentfp.toml:13:1 ([env.prod])")
    assert found["plugins.hours.floor"] == (3, "environment variable AGENTFP__PLUGINS__HOURS__FLOOR")
    assert found["plugins.hours.where"] == (None, "default")
    assert found["models.fast.use"] == ("stub:x", "agentfp.toml:9:1")
    assert "models.unused.use" not in found
    assert len(found) == len(config.explain(overrides={"limits": Limits(), "name": "x"}))
    json.dumps([value for value, _ in found.values()])


def test_objects_of_the_code_are_named_and_not_shown(load: Load) -> None:
    found = {v.path: v.value for v in load(TEXT).explain(overrides={"model": ScriptedModel(["secret"]), "plugins": []})}
    assert found["agent.model"] == "<ScriptedModel>"
    assert not [path for path in found if path.startswith(("plugins.", "models."))]
