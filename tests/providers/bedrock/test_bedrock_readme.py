"""The blocks of the README run, and its table names all settings."""

from __future__ import annotations

import inspect
from pathlib import Path

from agentfp.http import HttpOptions
from agentfp_bedrock import BedrockModel
from tests.docs.blocks import blocks_of
from tests.docs.runner import PageRun

README = Path(__file__).resolve().parents[3] / "providers" / "bedrock" / "README.md"


def test_the_blocks_of_the_readme_run(tmp_path: Path) -> None:
    page = PageRun(README.name, tmp_path)
    with page.open():
        for block in blocks_of("providers/bedrock/README.md", README.read_text(encoding="utf-8")):
            page.run(block)


def test_the_table_names_all_settings() -> None:
    own = [p.name for p in inspect.signature(BedrockModel).parameters.values() if p.kind is p.KEYWORD_ONLY]
    text = README.read_text(encoding="utf-8")
    assert [name for name in (*own, *HttpOptions.__dataclass_fields__) if f"`{name}`" not in text] == []
