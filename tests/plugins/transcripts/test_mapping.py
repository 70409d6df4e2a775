"""``--map``: a file of JSON paths reads a format that no reader knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentfp.commands import Code
from agentfp.transcripts import TranscriptError
from agentfp_transcripts.mapping import MapReader
from tests.plugins.transcripts.conftest import Checker
from tests.plugins.transcripts.telling import ANSWER, ASKED, CONVERSATION, RESULT, failed, told

MAP = """
transcripts = "$.runs[*]"
id = "$.run"
system = "$.prompt"
messages = "$.turns[*]"
tools = "$.kit[*]"

[message]
role = "$.who"
content = "$.text"
tool_calls = "$.did[*]"
tool_call_id = "$.for"
name = "$.by"
failed = "$.broke"

[call]
id = "$.key"
name = "$.tool"
arguments = "$.with"

[roles]
Customer = "user"
Bot = "assistant"
Robot = "tool"
Note = "skip"
"""
RUN: dict[str, Any] = {
    "run": "r1",
    "prompt": "Be brief.",
    "kit": [{"name": "price", "description": "A price."}],
    "turns": [
        {"who": "Customer", "text": ASKED},
        {"who": "Note", "text": "a note 99"},
        {"who": "Bot", "did": [{"key": "c1", "tool": "price", "with": {"city": "Oslo"}}]},
        {"who": "Robot", "for": "c1", "text": RESULT},
        {"who": "Bot", "text": ANSWER},
    ],
}


@pytest.fixture
def mapped(folder: Path) -> Any:
    def mapped(text: str, data: Any) -> Any:
        (folder / "map.toml").write_text(text)
        return MapReader.load(folder / "map.toml").read(data, id="made", source="x")

    return mapped


def test_a_map(mapped: Any) -> None:
    (transcript,) = mapped(MAP, {"runs": [RUN]})
    assert transcript.id == "r1"
    assert told(transcript) == CONVERSATION
    assert [t.name for t in transcript.tools] == ["price"]


def test_results_that_stand_in_the_calls(mapped: Any) -> None:
    turns = [
        *RUN["turns"][:2],
        {"who": "Bot", "did": [{"tool": "price", "with": '{"city": "Oslo"}', "got": RESULT, "bad": True}]},
        RUN["turns"][-1],
    ]
    (transcript,) = mapped(MAP.replace('key"', 'key"\nresult = "$.got"\nfailed = "$.bad"'), {"runs": [{**RUN, "turns": turns}]})
    assert told(transcript) == CONVERSATION
    assert json.loads(failed(transcript)[0]) == RESULT


def test_the_usual_names_need_no_map(mapped: Any) -> None:
    (transcript,) = mapped('messages = "$.log[*]"', {"log": [{"role": "human", "content": "Hi"}, {"role": "ai", "content": "Hello"}]})
    assert told(transcript) == [("user", "Hi"), ("assistant", "Hello")]


def test_on_the_command_line(check: Checker, folder: Path) -> None:
    (folder / "map.toml").write_text(MAP)
    (folder / "map.json").write_text(
        json.dumps(
            {
                "messages": "$.turns[*]",
                "message": {"role": "$.who", "content": "$.text"},
                "roles": {"Bot": "assistant", "Customer": "user", "Note": "skip", "Robot": "tool"},
            }
        )
    )
    (folder / "t.jsonl").write_text(f"{json.dumps({'runs': [RUN]})}\n" * 2)
    (folder / "u.json").write_text(json.dumps(RUN))
    done = check("t.jsonl", "--map", "map.toml", "--json")
    assert [(line["id"], line["answers"][0]["unsupported"], line["format"]) for line in done.lines] == [
        ("r1", [], "map"),
        ("r1#2", [], "map"),
    ]
    assert check("u.json", "--map", "map.json", "--json").lines[0]["id"] == "u.json"
    assert check("t.jsonl", "--map", "map.toml", "--format-in", "atif").code == Code.USAGE
    assert check("t.jsonl", "--map", "no.toml").code == Code.USAGE


def test_nothing_at_the_paths_is_told(check: Checker, folder: Path) -> None:
    (folder / "map.toml").write_text('messages = "$.no[*]"')
    (folder / "t.json").write_text(json.dumps(RUN))
    assert "nothing stands at the paths of the map" in check("t.json", "--map", "map.toml").err


def test_all_that_is_wrong_with_a_map_is_told_at_once(check: Checker, folder: Path) -> None:
    (folder / "t.json").write_text(json.dumps(RUN))
    (folder / "map.toml").write_text(
        'mesages = "$.x"\nid = 7\nsystem = "$.["\nroles.Bot = "asistant"\nmessage.contents = "$.x"\ncall = 3\n'
    )
    done = check("t.json", "--map", "map.toml")
    assert done.code == Code.USAGE
    for words in (
        "did you mean 'messages'?",
        "id must be a JSON path",
        "'$.[' is no JSON path",
        "did you mean 'assistant'?",
        "did you mean 'content'?",
        "call must be a table",
        "messages is missing",
    ):
        assert words in done.err


def test_what_is_no_map(folder: Path) -> None:
    for text in (b"messages =", b"[1", b"\xff\xfe"):
        (folder / "m.toml").write_bytes(text)
        with pytest.raises(TranscriptError, match=r"m\.toml"):
            MapReader.load(folder / "m.toml")
    (folder / "m.json").write_text("[]")
    with pytest.raises(TranscriptError, match="is a table"):
        MapReader.load(folder / "m.json")
