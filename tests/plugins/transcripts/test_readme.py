"""The blocks of the README run and do what it says, with the judge that people use."""

from __future__ import annotations

from pathlib import Path

from tests.docs.blocks import Block, blocks_of
from tests.docs.runner import PageRun

README = Path(__file__).resolve().parents[3] / "plugins" / "transcripts" / "README.md"


class Page(PageRun):
    """A page some of whose blocks are files that its commands read."""

    def run(self, block: Block) -> None:
        """Run one block, or write it."""
        if "file" in block.marks and block.language in ("text", "toml"):
            self._write(block)
        else:
            super().run(block)


def test_the_blocks_of_the_readme_run(tmp_path: Path) -> None:
    page = Page("readme.md", tmp_path)
    with page.open():
        for block in blocks_of("README.md", README.read_text(encoding="utf-8")):
            page.run(block)
        assert (tmp_path / "work" / "page.html").exists()
