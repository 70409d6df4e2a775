"""The code in the README runs and does what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import blocks_of
from tests.docs.runner import PageRun
from tests.observability.aws.moto_server import client

README = Path(__file__).parents[3] / "observability" / "cloudwatch" / "README.md"


def test_the_blocks_of_the_readme_run(tmp_path: Path, aws: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    logs = client("logs", aws)
    logs.create_log_group(logGroupName="/desk/agents")
    page = PageRun("README.md", tmp_path)
    blocks = blocks_of("observability/cloudwatch/README.md", README.read_text(encoding="utf-8"))
    assert blocks
    with page.open():
        for block in blocks:
            page.run(block)
    assert len(logs.describe_log_streams(logGroupName="/desk/agents")["logStreams"]) == 1
