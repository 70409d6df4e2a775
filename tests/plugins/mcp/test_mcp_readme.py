"""The blocks of the distribution's README run and print what it says."""

from __future__ import annotations

from pathlib import Path

from tests.docs.blocks import blocks_of
from tests.docs.runner import PageRun

README = Path(__file__).resolve().parents[3] / "plugins" / "mcp" / "README.md"


def test_the_readme(tmp_path: Path) -> None:
    page = PageRun("mcp.md", tmp_path)
    with page.open():
        for block in blocks_of("plugins/mcp/README.md", README.read_text(encoding="utf-8")):
            page.run(block)
