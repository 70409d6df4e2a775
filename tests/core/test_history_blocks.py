"""Histories as providers keep them: contents that are lists of text blocks, and the role of the developer."""

from __future__ import annotations

from typing import Any

import pytest

from agentfp import CheckpointError, History

TEXT: Any = {"type": "text", "text": "one"}


@pytest.mark.parametrize("kind", ["text", "input_text", "output_text"])
def test_text_blocks_are_one_text(kind: str) -> None:
    history = History.of([{"role": "user", "content": [{**TEXT, "type": kind}, {"type": kind, "text": "two"}]}])
    assert history[0].content == "one\n\ntwo"


def test_the_developer_is_the_system() -> None:
    assert History.of([{"role": "developer", "content": "Be brief."}])[0].role == "system"


@pytest.mark.parametrize("block", [{"type": "image_url", "image_url": {}}, {"type": "text"}, {"type": "text", "text": 1}, "one", None])
def test_a_block_that_is_no_text_is_refused_and_not_dropped(block: Any) -> None:
    with pytest.raises(CheckpointError, match="message 1 of the history needs a text in 'content', got a list"):
        History.of([{"role": "user", "content": "hi"}, {"role": "user", "content": [TEXT, block]}])
