"""The JSON Schema of the whole file, for what is installed."""

from __future__ import annotations

import tomllib
from typing import Any

import jsonschema
import pytest

from agentfp.testing import PluginDist
from agentfp_core.config import config_schema

GOOD = """
version = 1
[agent]
model = "fast"
plugins = ["hours", "pairs"]
tools = ["app:x"]
limits = { iterations = 3, usd = 0.5 }
model_settings = { stop = "END", extra = { user = "me" } }
listeners = { "agentfp.tool.*" = "app:hear" }
prices = { gpt = { input = 1e-7, output = "0.1" } }
redact = { keys = ["pin"], patterns = { card = "[0-9]+" } }
[agents.desk]
extends = "agent"
[plugins.hours]
enabled = false
opens = 8
title = { env = "TITLE" }
licence = { file = "licence.txt" }
password = { env = "PW" }
boxes = [{ key = { env = "KEY" }, size = 1 }]
labels = { a = "b" }
[models.fast]
use = "stub:x"
temperature = 0
[env.prod.agent]
model = "stub:y"
[env.prod.plugins.pairs]
also = "z"
"""


def errors(text: str) -> list[str]:
    schema = config_schema().schema
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    data: Any = tomllib.loads(text)
    return ["/".join(map(str, error.path)) for error in validator.iter_errors(data)]


def test_a_good_file_fits(site: PluginDist) -> None:
    assert errors(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("version = 1", "version = 2", "version"),
        ('model = "fast"', "model = 3", "agent/model"),
        ('model = "fast"', 'modle = "fast"', "agent"),
        ('["hours", "pairs"]', '["huors"]', "agent/plugins/0"),
        ("iterations = 3", "iteratons = 3", "agent/limits"),
        ("opens = 8", 'opens = "early"', "plugins/hours/opens"),
        ("opens = 8", "open = 8", "plugins/hours"),
        ('licence = { file = "licence.txt" }', 'licence = "literal"', "plugins/hours/licence"),
        ('password = { env = "PW" }', 'password = "literal"', "plugins/hours/password"),
        ('key = { env = "KEY" }', 'key = "literal"', "plugins/hours/boxes/0/key"),
        ("[plugins.hours]", "[plugins.huors]", "plugins"),
        ('model = "stub:y"', 'modle = "stub:y"', "env/prod/agent"),
        ('also = "z"', "also = 3", "env/prod/plugins/pairs/also"),
    ],
)
def test_mistakes_do_not(site: PluginDist, old: str, new: str, path: str) -> None:
    assert old in GOOD
    assert errors(GOOD.replace(old, new, 1)) == [path]


def test_broken_plugins_are_skipped_and_reported(site: PluginDist) -> None:
    site("agentfp-bad", entry_points={"agentfp.plugins": {"bad": "bad_p:P"}}, modules={"bad_p": "raise RuntimeError('no')"}, version="4.0")
    schema, skipped = config_schema()
    (report,) = skipped
    assert (report.name, report.version, report.state) == ("bad", "4.0", "failed")
    assert "RuntimeError: no" in (report.error or "")
    assert "bad" in schema["$defs"]["AgentTable"]["properties"]["plugins"]["items"]["enum"]
    assert errors(GOOD + "[plugins.bad]\nx = 1\n") == []


def test_fields_are_described(site: PluginDist) -> None:
    schema = config_schema().schema
    assert schema["properties"]["plugins"]["properties"]["hours"]["description"] == "Changes in office hours only."
    assert schema["$defs"]["Limits"]["properties"]["usd"]["description"] == "dollars of a turn; needs prices."
    for table in ("AgentTable", "Limits", "ModelSettings", "RedactTable", "PricesTable"):
        assert all("description" in field or "$ref" in field for field in schema["$defs"][table]["properties"].values()), table
