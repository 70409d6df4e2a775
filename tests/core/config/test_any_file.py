"""Whatever a file holds, what comes of it is an agent or one report: never a crash."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath
from typing import Any

import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentfp import ConfigError, load_config
from agentfp.testing import PluginDist
from agentfp_core.config.positions import Path

DATA: dict[str, Any] = {
    "version": 1,
    "agent": {
        "model": "fast",
        "plugins": ["pairs", "hours"],
        "required_plugins": ["hours"],
        "tools": ["config_app:plain"],
        "instructions": ["one"],
        "instructions_file": "x.md",
        "limits": {"iterations": 4, "usd": 0.5},
        "model_settings": {"temperature": 0.0, "stop": ["a"], "extra": {"token": {"env": "TOKEN"}}},
        "prices": {"x": {"input": 0.1}},
        "redact": {"keys": ["a"], "patterns": {"p": "x"}},
        "listeners": {"*": "config_app:hear"},
        "context_budget": {"system": 3},
    },
    "agents": {"desk": {"extends": "agent", "limits": {"iterations": 2}}},
    "plugins": {
        "hours": {"opens": 7, "boxes": [{"size": 1}], "licence": {"file": "x"}, "labels": {"x": "y"}},
        "pairs": {"url": "u", "enabled": True},
    },
    "models": {"fast": {"use": "stub:x", "headers": {"a": {"env": "TOKEN"}}}},
    "env": {"prod": {"agent": {"limits": {"usd": 2.0}}}},
}

scalars = st.one_of(
    st.integers(-2, 99), st.booleans(), st.sampled_from(["", "hours", "agent", "desk", "fast", "a:b", "${X}", "mcp:y"]), st.floats()
)
anything: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "env", "use", "token"]), inner, max_size=2)
)


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(item, (*path, key))


def changed(path: Path, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(DATA)
    at: Any = data
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    return data


def failure(do: Callable[[], Any]) -> ConfigError | None:
    try:
        do()
    except ConfigError as error:
        return error
    return None


def test_any_change_of_a_file_is_an_agent_or_a_report(site: PluginDist) -> None:
    @settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
    @given(st.sampled_from(list(places(DATA))), anything, st.sampled_from([None, "prod"]), st.sampled_from([None, "desk"]))
    def check(path: Path, value: Any, env: str | None, agent: str | None) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = FilePath(folder) / "agentfp.toml"
            file.write_text(tomlkit.dumps(changed(path, value)))
            (FilePath(folder) / "x.md").write_text("text")
            (FilePath(folder) / "x").write_text("secret")
            config = load_config(file, env=env, environ={"TOKEN": "secret-token"})
            found = config.check()
            repr((config.notes, config.secrets()))
            error = failure(lambda: config.explain(agent)) or failure(lambda: config.build(agent))
            if error is not None:
                assert all(problem.startswith((f"{file}:", "override")) for problem in error.problems)
                missing = [use.path for use in config.secrets() if use.error is not None]  # check() needs no secret, and notes these
                assert found.problems or (missing and found.notes) or agent not in config.agents

    check()
