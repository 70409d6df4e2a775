"""The plugin in a config file: all that is needed for a backend, its key out of the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, ConfigError
from agentfp.testing import AutoModel
from tests.observability.otel.receiver import receiver

pytestmark = pytest.mark.anyio

CONFIG = """
version = 1
[agent]
model = "openai:gpt-5-mini"
plugins = ["otel"]

[plugins.otel]
endpoint = "{url}"
service_name = "desk"
profiles = ["openinference"]
headers = {{ authorization = {authorization} }}
"""


async def test_a_config_file_is_all_that_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTLP_AUTH", "Bearer from-the-environment")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with receiver() as received:
        path = tmp_path / "agentfp.toml"
        path.write_text(CONFIG.format(url=received.url, authorization='{ env = "OTLP_AUTH" }'))
        agent: Agent[Any, Any] = Agent.from_config(path, model=AutoModel())
        await agent.run("go")
        await agent.shutdown()
        own: Any = agent.plugin_set.by_name["otel"]
        await own.stop()
        assert {headers["authorization"] for _, headers, _ in received.requests} == {"Bearer from-the-environment"}
        (root,) = [span for span in received.spans() if not span.parent_span_id]
        attributes = {pair.key: pair.value.string_value for pair in root.attributes}
        assert attributes["openinference.span.kind"] == "AGENT"


async def test_a_key_in_the_file_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    path = tmp_path / "agentfp.toml"
    path.write_text(CONFIG.format(url="http://localhost:1", authorization='"Bearer l1teral"'))
    with pytest.raises(ConfigError) as refused:
        Agent.from_config(path, model=AutoModel())
    assert "authorization" in str(refused.value)
    assert "l1teral" not in str(refused.value)
