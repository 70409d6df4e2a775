"""The blocks of the README run."""

from __future__ import annotations

from pathlib import Path

from tests.docs.blocks import blocks_of
from tests.docs.runner import PageRun

README = Path(__file__).resolve().parents[3] / "observability" / "console" / "README.md"


def test_the_blocks_of_the_readme_run(tmp_path: Path) -> None:
    page = PageRun(README.name, tmp_path)
    with page.open():
        for block in blocks_of("observability/console/README.md", README.read_text(encoding="utf-8")):
            page.run(block)
