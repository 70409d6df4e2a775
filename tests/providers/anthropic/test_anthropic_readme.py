"""The blocks of the README run, and its table names all settings."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from agentfp import load_config
from agentfp.http import HttpOptions
from agentfp_anthropic import AnthropicModel
from tests.docs.blocks import blocks_of
from tests.docs.runner import PageRun

README = Path(__file__).resolve().parents[3] / "providers" / "anthropic" / "README.md"


def test_the_blocks_of_the_readme_run(tmp_path: Path) -> None:
    page = PageRun(README.name, tmp_path)
    with page.open():
        for block in blocks_of("providers/anthropic/README.md", README.read_text(encoding="utf-8")):
            page.run(block)


def test_the_table_names_all_settings() -> None:
    own = [p.name for p in inspect.signature(AnthropicModel).parameters.values() if p.kind is p.KEYWORD_ONLY]
    text = README.read_text(encoding="utf-8")
    assert [name for name in (*own, *HttpOptions.__dataclass_fields__) if f"`{name}`" not in text] == []


def test_a_config_file_finds_a_misspelt_setting_before_a_key_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    file = tmp_path / "agentfp.toml"
    model = 'use = "anthropic:claude-x"\napi_key = { env = "NO_SUCH_KEY" }\nretries = 2\nefort = "low"\nsilence_timout = 3\n'
    file.write_text(f'version = 1\n[agent]\nmodel = "m"\n[models.m]\n{model}', encoding="utf-8")
    problems = "\n".join(str(problem) for problem in load_config(file).check().problems)
    assert "did you mean 'effort'" in problems
    assert "did you mean 'silence_timeout'" in problems
