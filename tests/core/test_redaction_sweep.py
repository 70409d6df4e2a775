"""One canary in every channel through which content may come in, and the places in which none of them may be seen."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

from agentfp import (
    Agent,
    AgentfpError,
    Record,
    conversation_redaction,
)
from agentfp.testing import ScriptedModel
from tests.core.canaries import Canaries, Meddler, sweep

pytestmark = pytest.mark.anyio

NOT_ON_A_RECORD = {"option", "deps", "unread", "unread_answer", "lost_piece"}


async def test_every_canary_is_where_it_belongs() -> None:
    """Without this the tests below could pass because nothing was said at all."""
    c = Canaries()
    swept = await sweep(c, policy=None)
    everything = "\n".join(line for record in swept.records for line in record.to_lines())
    missing = set(c.words) - c.seen_in(everything + "".join(swept.heard)) - NOT_ON_A_RECORD
    assert not missing
    assert len(c.words) > 60
    assert c.deps not in everything


async def test_a_lean_export_shows_no_content_without_any_policy() -> None:
    c = Canaries()
    swept = await sweep(c, policy=None)
    assert len(swept.lean) > 100
    for text in swept.lean:
        assert not c.seen_in(text), text


@pytest.mark.parametrize("place", ["lean", "full", "heard"])
async def test_under_a_policy_no_content_is_shown_to_sinks_and_listeners(place: str) -> None:
    c = Canaries()
    swept = await sweep(c, policy=conversation_redaction())
    texts: list[str] = getattr(swept, place)
    assert len(texts) > 100
    for text in texts:
        assert not c.seen_in(text), text


async def test_a_copy_that_is_saved_under_a_policy_holds_no_content(tmp_path: Path) -> None:
    c = Canaries()
    swept = await sweep(c, policy=None)
    for record in swept.records:
        record.save(tmp_path / "saved.jsonl", policy=conversation_redaction())
        assert not c.seen_in((tmp_path / "saved.jsonl").read_text(encoding="utf-8"))
        loaded = Record.load(tmp_path / "saved.jsonl")
        assert [(one.seq, one.name) for one in loaded] == [(one.seq, one.name) for one in record]
        assert len(loaded.history) == len(record.history)


async def test_errors_of_the_library_show_no_content() -> None:
    c = Canaries()
    swept = await sweep(c, policy=None)
    assert len(swept.errors) == 7
    for error in swept.errors:
        if isinstance(error, AgentfpError):
            own = f"{error}{error!r}{''.join(traceback.format_exception_only(error))}"
            assert not c.seen_in(own), own


async def test_errors_about_histories_and_options_show_no_content() -> None:
    c = Canaries()
    agent: Agent[Any, Any] = Agent(ScriptedModel([]), plugins=[Meddler(c)])
    wrong: list[dict[str, Any]] = [
        {"message": {"text": c.prompt}},
        {"message": [c.prompt, 5]},
        {"message": "Go", "history": [{"role": "user", "content": {"text": c.history_user}}]},
        {"message": "Go", "history": [{"role": c.history_role, "content": "x"}]},
        {"message": "Go", "history": c.history_text},
        {"message": "Go", "options": {"meddler": {"word": [c.option]}}},
        {"message": "Go", "options": {"meddler": {"word": 5, "number": c.option_two}}},
        {"message": "Go", "identity": c.identity},
        {"message": "Go", "session_id": f"{c.session}\n"},
    ]
    for call in wrong:
        with pytest.raises((AgentfpError, TypeError)) as refused:
            await agent.run(call.pop("message"), **call)
        assert not c.seen_in(f"{refused.value}{refused.value!r}"), refused.value
