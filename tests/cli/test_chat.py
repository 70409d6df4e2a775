"""``agentfp chat`` in a pipe: a line in, an answer out."""

from __future__ import annotations

import json
from pathlib import Path

from agentfp import Record
from agentfp.testing import PluginDist
from tests.cli.conftest import Cli


def test_each_line_is_a_message_of_one_conversation(agents: Path, cli: Cli) -> None:
    done = cli("chat", "desk_agents:chatty", stdin="one\n\ntwo\n/exit\nthree\n")
    assert (done.code, done.out, done.err) == (0, "1: one\n2: 3 messages\n", "")


def test_json_is_one_line_an_answer(agents: Path, cli: Cli) -> None:
    done = cli("chat", "desk_agents:chatty", "--json", "--record", "r.jsonl", stdin="one\ntwo\n")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [line["text"] for line in lines] == ["1: one", "2: 3 messages"]
    assert lines[0]["conversation"] == lines[1]["conversation"]
    assert len(Record.load("r.jsonl").headers) == 2


def test_a_question_ends_it_where_nobody_can_be_asked(agents: Path, cli: Cli) -> None:
    done = cli("chat", "desk_agents:shutting", stdin="shut it\nand?\n")
    assert (done.code, done.out) == (4, "")
    assert "May shut run?" in done.err


def test_a_failed_turn_ends_it(agents: Path, cli: Cli) -> None:
    done = cli("chat", "desk_agents:failing", "--record", "r.jsonl", stdin="go\nand?\n")
    assert (done.code, done.out) == (5, "")
    assert "RuntimeError: out of order" in done.err
    assert Record.load("r.jsonl").events("agentfp.tool.ended")


def test_deps_live_as_long_as_the_conversation(agents: Path, cli: Cli) -> None:
    done = cli("chat", "desk_agents:depending", "--deps", "desk_agents:deps_async_context", stdin="one\n")
    assert done.out == "async context\n"


def test_a_model_that_cannot_answer_is_told_of_before_the_first_message(folder: Path, site: PluginDist, cli: Cli) -> None:
    lacking = "class M:\n    def __init__(self, name, **settings): ...\n    def check_ready(self): raise ValueError('there is no key')\n"
    site("agentfp-stub", entry_points={"agentfp.models": {"stub": "keyless_chat:M"}}, modules={"keyless_chat": lacking + COMPLETES})
    assert cli("init").code == 0
    done = cli("chat", stdin="")
    assert (done.code, done.out, done.err) == (5, "", "agentfp: ValueError: there is no key\n")


COMPLETES = """
    name = "m"
    provider = "stub"
    features = None
    async def complete(self, request): ...
"""
