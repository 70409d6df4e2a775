"""What ``mcp()`` takes and refuses, servers in config files, and that nothing is imported or started before a server is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp import Agent, ConfigError
from agentfp_mcp import from_text, mcp
from agentfp_mcp.catalog import _add_names, cleaned
from agentfp_mcp.facts import read
from agentfp_mcp.schemas import SchemaError, vet


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "pass command= .* or url="),
        ({"command": "a", "url": "http://b/"}, "one of them"),
        ({"command": "a", "headers": {"x": "y"}}, "headers is for url="),
        ({"url": "http://h/", "env": {"x": "y"}}, "env is for command="),
        ({"url": "ftp://h/"}, "url takes an address"),
        ({"url": "http://ann:secret-payload@h/"}, "must not hold a user and a password"),
        ({"command": "a", "args": "--verbose"}, "args takes a list"),
        ({"command": "a", "env": {"x": 1}}, "env takes a mapping of text to text"),
        ({"url": "http://h/", "headers": {"x": "a\nb"}}, "line break"),
        ({"command": "a", "timeout": 0}, "timeout takes seconds above 0"),
        ({"command": "a", "max_tools": 0}, "max_tools takes a whole number"),
        ({"command": "a", "on_change": "shrug"}, "on_change is 'refuse', 'ask' or 'accept'"),
        ({"command": "a", "era": "2024"}, "era is"),
        ({"command": "a", "prefix": "gh:"}, "prefix takes"),
        ({"command": "a", "filter": "read_*"}, r"write \['read_\*'\]"),
        ({"command": "a", "options": {"t": {"aproval": True}}}, "options of 't': there is no 'aproval'.*approval"),
        ({"command": "a", "name": "a b"}, "name takes"),
        ({"comand": "a"}, "mcp has no argument 'comand'.*command"),
    ],
)
def test_arguments_that_do_not_go(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        mcp(**arguments)
    assert "secret-payload" not in str(caught.value)


def test_all_problems_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        mcp(command="a", url="http://h/", timeout=-1, era="x")  # type: ignore[arg-type]
    assert len(caught.value.problems) >= 3


@pytest.mark.parametrize(
    ("text", "name", "place"),
    [
        ("uvx some-server --flag", "some-server", "uvx"),
        ("uvx some-server@1.2", "some-server", "uvx"),
        ("npx -y @scope/server-files /tmp", "server-files", "npx"),
        ("python -m some_module", "some_module", "python"),
        ("/opt/bin/tool.py", "tool", "tool.py"),
        ("docker run -i image", "image", "docker"),
        ("https://api.example.com:8443/mcp?key=abcdefgh", "api.example.com", "https://api.example.com:8443/mcp"),
    ],
)
def test_a_server_in_a_text(text: str, name: str, place: str) -> None:
    made = from_text(text)
    assert (made.name, made.settings.place) == (name, place)


@pytest.mark.parametrize("text", ["", "  ", "uvx 'open"])
def test_a_text_that_is_none(text: str) -> None:
    with pytest.raises(ConfigError):
        from_text(text)


def test_a_server_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "agentfp.toml"
    peer = Path(__file__).parent / "peers" / "modern.py"
    file.write_text(f'version = 1\n[agent]\ntools = ["mcp:{sys.executable} {peer}", "mcp:http://127.0.0.1:9/mcp"]\n')
    from agentfp.testing import ScriptedModel

    agent = Agent.from_config(file, model=ScriptedModel(["Done."]))
    assert [source.name for source in agent.tool_sources] == ["modern", "127.0.0.1"]
    file.write_text('version = 1\n[agent]\ntools = ["mcp:ftp://nowhere \'"]\n')
    with pytest.raises(ConfigError, match="command line cannot be read"):
        Agent.from_config(file, model=ScriptedModel(["Done."]))


def test_nothing_of_the_sdk_is_imported_before_it_is_used() -> None:
    code = """
import sys, agentfp
assert "agentfp_mcp" not in sys.modules
from agentfp_mcp import mcp, serve
source = mcp(command="uvx", args=["some-server"])
agentfp.Agent("nobody:none", tools=[source])
wrong = {"mcp", "mcp_types", "httpx2", "starlette", "uvicorn", "jsonschema"} & set(sys.modules)
assert not wrong, wrong
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# --- invariants -----------------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "properties", "$ref", "allOf", "pattern", "x", "enum"]), inner)
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["type", "properties", "$defs", "required", "additionalProperties", "$ref", "anyOf"]), JSON, max_size=4)
)
def test_any_schema_is_an_object_or_is_refused(schema: dict[str, Any]) -> None:
    try:
        vetted = vet(schema)
    except SchemaError:
        return
    assert vetted["type"] == "object"
    assert vet(vetted) == vetted


@given(st.lists(st.text(min_size=1, max_size=80), unique=True, max_size=12), st.sampled_from(["", "gh_"]))
def test_names_are_unique_valid_and_the_same_in_any_order(remote: list[str], prefix: str) -> None:
    names: dict[str, str] = {}
    _add_names(names, dict.fromkeys(remote), prefix)
    assert len(set(names.values())) == len(remote)
    assert all(len(name) <= 64 and all(c.isascii() and (c.isalnum() or c in "_-") for c in name) for name in names.values())
    again: dict[str, str] = {}
    _add_names(again, dict.fromkeys(reversed(remote)), prefix)
    assert again == names


@given(st.text(max_size=200), st.integers(1, 100))
def test_words_are_never_longer_than_they_may_be(text: str, limit: int) -> None:
    said = cleaned(text, limit)
    assert len(said) <= limit
    assert cleaned(said, limit) == said
    assert not any(ord(c) < 32 and c not in "\t\n" for c in said)


@given(
    JSON | st.dictionaries(st.just("agentfp/facts"), JSON | st.dictionaries(st.sampled_from(["owner", "gates", "result_ceiling"]), JSON))
)
def test_facts_never_raise(meta: Any) -> None:
    kept, dropped = read(meta)
    assert not set(kept) & set(dropped)
