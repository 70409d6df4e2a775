"""A piece that quotes is told from the application's own words, on the record and on a saved one."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentfp import Agent
from agentfp.events import Served
from agentfp.plugin import Plugin, Record, RequestDraft, hookimpl
from agentfp.testing import ScriptedModel

pytestmark = pytest.mark.anyio


class Quoting(Plugin):
    """Says the same of itself and as a quotation, in turn."""

    name = "quoting"

    @hookimpl(phase="compose")
    def serve_context(self, draft: RequestDraft) -> None:
        draft.add_piece("said", "It is so.", quoted=draft.call > 1)


async def test_the_record_tells_which_pieces_quote(tmp_path: Path) -> None:
    model = ScriptedModel(["One.", "Two."])
    chat = Agent(model, plugins=[Quoting()]).conversation()
    await chat.send("Go.")
    record = (await chat.send("On.")).record
    record.save(tmp_path / "run.jsonl")
    for source in (record, Record.load(tmp_path / "run.jsonl")):
        served = [event.payload for event in source if isinstance(event.payload, Served)]
        assert [[piece.quoted for piece in payload.pieces or ()] for payload in served] == [[False], [True]]
    assert model.requests[0].system == model.requests[1].system == "It is so."
