"""The blocks of the README run, in order, and do what it says."""

from __future__ import annotations

from pathlib import Path

from tests.docs.blocks import blocks_of
from tests.docs.runner import PageRun

README = Path(__file__).resolve().parents[3] / "plugins" / "results" / "README.md"
NOT_RUN = {"pip install agentfp-results agentfp-answer": "installs into the environment that this test runs in"}


def test_the_blocks_of_the_readme_run(tmp_path: Path) -> None:
    page = PageRun("results.md", tmp_path)
    with page.open():
        for block in blocks_of("plugins/results/README.md", README.read_text(encoding="utf-8")):
            if block.text.strip() not in NOT_RUN:
                page.run(block)
