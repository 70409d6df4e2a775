"""The code in the README runs and does what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import blocks_of
from tests.docs.runner import PageRun

README = Path(__file__).parents[3] / "observability" / "xray" / "README.md"


def test_the_blocks_of_the_readme_run(tmp_path: Path, aws: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    page = PageRun("README.md", tmp_path)
    blocks = blocks_of("observability/xray/README.md", README.read_text(encoding="utf-8"))
    assert blocks
    with page.open():
        for block in blocks:
            page.run(block)
