"""A formatter that reorders tables and keys changes nothing."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentfp import load_config
from agentfp.testing import PluginDist

DATA: dict[str, Any] = {
    "version": 1,
    "agent": {
        "model": "fast",
        "plugins": ["pairs", "hours"],
        "tools": ["config_app:plain", "config_app:port_status"],
        "instructions": ["one", "two ${CITY:-Rome}"],
        "limits": {"iterations": 4, "usd": 0.5},
        "model_settings": {"temperature": 0.0, "extra": {"a": 1, "token": {"env": "TOKEN"}}},
    },
    "agents": {
        "desk": {"extends": "night", "limits": {"iterations": 2}},
        "night": {"extends": "agent", "plugins": ["hours"], "name": "n"},
    },
    "plugins": {
        "hours": {"opens": 7, "boxes": [{"size": 1}, {"size": 2, "key": {"env": "TOKEN"}}], "labels": {"x": "y", "a": "b"}},
        "pairs": {"url": "u", "also": "v"},
    },
    "models": {"fast": {"use": "stub:x", "base_url": "http://x"}, "slow": {"use": "stub:y"}},
    "env": {"prod": {"agent": {"limits": {"usd": 2.0}}, "plugins": {"hours": {"opens": 3, "title": "P"}}}, "dev": {}},
}


def shuffled(value: Any, order: random.Random) -> Any:
    """The same tables with their keys in another order; arrays stay as they are."""
    if isinstance(value, dict):
        items = [(key, shuffled(item, order)) for key, item in value.items()]
        order.shuffle(items)
        return dict(items)
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


def tables_first(data: dict[str, Any], order: random.Random) -> str:
    """TOML text: simple keys before tables, as the format needs it; tables inline or not, as it comes."""
    document = tomlkit.document()
    for key, value in sorted(data.items(), key=lambda item: isinstance(item[1], dict)):
        if isinstance(value, dict) and order.random() < 0.3:
            table = tomlkit.inline_table()
            table.update(value)
            document[key] = table
        else:
            document[key] = value
    return tomlkit.dumps(document)


def resolved(text: str, env: str | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agentfp.toml"
        path.write_text(text)
        config = load_config(path, env=env, environ={"TOKEN": "secret-token"})
    assert not config.problems, config.problems
    values = {f"{agent}: {v.path}": (v.value, v.origin.kind) for agent in config.agents for v in config.explain(agent)}
    agents = {name: config.build(name) for name in config.agents}
    made = {
        name: (list(a.plugin_set.by_name), list(a.tools), a.instructions, a.limits, a.model_settings, a.name, a.secrets)
        for name, a in agents.items()
    }
    return {"values": values, "agents": made}


@pytest.mark.parametrize("env", [None, "prod"])
def test_order_of_tables_and_keys_means_nothing(site: PluginDist, env: str | None) -> None:
    reference = resolved(tomlkit.dumps(DATA), env)
    assert reference["agents"]["agent"][0] == ["pairs", "hours"]

    @settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
    @given(st.randoms(use_true_random=False))
    def same(order: random.Random) -> None:
        text = tables_first(shuffled(DATA, order), order)
        assert resolved(text, env) == reference

    same()
