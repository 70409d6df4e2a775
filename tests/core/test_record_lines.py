"""Lines of a record's file that are no events: notes about the file, headers that stand there twice; and what sinks are told of masks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentfp import Agent, Record, RecordFile, RecordFormatError, RedactionPolicy, tool
from agentfp.events import payload_json, words_of
from agentfp.plugin import ExportedEvent, Payload, Plugin, event, hookimpl
from agentfp.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


@tool
def look(switch: str) -> str:
    """Look at a switch."""
    return f"{switch} is up"


class Lines(Plugin):
    """A sink that writes what it is handed as lines of a record."""

    name = "lines"

    class Settings(Plugin.Settings):
        """Whether content is handed to it."""

        content: bool = False

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.lines: list[str] = []
        self._header: Any = None

    @hookimpl
    def export_event(self, event: ExportedEvent) -> None:
        if event.header != self._header:
            self._header = event.header
            self.lines.append(event.header.to_line())
        self.lines.append(event.to_line())


def script(text: str = "A is up.") -> ScriptedModel:
    return ScriptedModel([call("look", switch="A"), text])


async def test_what_a_sink_writes_is_a_record() -> None:
    sink = Lines(content=True)
    result = await Agent(script(), tools=[look], plugins=[sink]).run("Is A up?")
    assert sink.lines == list(result.record.to_lines())


async def test_without_content_it_is_the_record_masked_by_content() -> None:
    sink = Lines()
    result = await Agent(script(), tools=[look], plugins=[sink], instructions="Be brief.").run("Is A up?")
    read = Record.from_lines(sink.lines)
    assert read.redacted == ("content",)
    assert [(e.seq, e.name, e.call_id) for e in read] == [(e.seq, e.name, e.call_id) for e in result.record]
    assert not any(text in "".join(sink.lines) for text in ("Is A up?", "A is up", "Be brief."))


async def test_a_sink_is_told_what_its_view_was_masked_by() -> None:
    sink = Lines(content=True)
    policy = RedactionPolicy(keys=["switch"])
    agent = Agent(script("It is sk-123456."), tools=[look], plugins=[sink], redact=policy, secrets=["sk-123456"])
    await agent.run("Which key?")
    headers = [json.loads(line)["segment"].get("redaction") for line in sink.lines if '"segment"' in line]
    assert headers == [["key:switch"], ["secrets", "key:switch"]]  # the second from where a secret was found
    assert Record.from_lines(sink.lines).redacted == ("key:switch", "secrets")
    assert "sk-123456" not in "".join(sink.lines)


async def test_the_mask_of_secrets_is_named_where_it_masked_something(tmp_path: Path) -> None:
    agent = Agent(ScriptedModel(["No.", "It is sk-123456."]), secrets=["sk-123456"])
    first = await agent.run("Which key?")
    first.record.save(tmp_path / "a.jsonl")
    assert Record.load(tmp_path / "a.jsonl").redacted == ()
    assert Record.load(tmp_path / "a.jsonl").served_at(1) == first.record.served_at(1)
    second = await agent.run("Say it.", history=first.history)
    second.record.save(tmp_path / "b.jsonl")
    assert Record.load(tmp_path / "b.jsonl").redacted == ("secrets",)


async def test_notes_about_the_file_are_no_part_of_the_record(tmp_path: Path) -> None:
    result = await Agent(script(), tools=[look]).run("Is A up?")
    lines = list(result.record.to_lines())
    noted = ['{"file": {"by": "a test"}}', *lines[:5], '{"file": "anything"}', *lines[5:], '{"file": null}']
    assert list(Record.from_lines(noted).to_lines()) == lines
    (tmp_path / "r.jsonl").write_text("\n".join(noted) + "\n")
    file = RecordFile(tmp_path / "r.jsonl")
    assert file.notes == [(1, {"by": "a test"}), (7, "anything"), (len(noted), None)]
    assert [event for _, event in file] == list(result.record)
    assert file.served_at(2) == result.record.served_at(2)
    assert file.changed_calls() == []


async def test_a_file_is_read_as_the_record_is_loaded(tmp_path: Path) -> None:
    """Legs, branches, nested runs, several conversations in one file."""
    inner = Agent(ScriptedModel([call("look", switch="B"), "B is up."] * 3), tools=[look], name="network")
    model = ScriptedModel([call("network", request="B?"), "Yes.", "One.", call("network", request="B?"), "Two."])
    agent = Agent(model, tools=[inner.as_tool("network", "Knows.")])
    first = await agent.run("Is B up?", journal=tmp_path / "j.jsonl")
    await agent.run("One?", history=first.history, journal=tmp_path / "j.jsonl")
    live = Record.from_lines(first.record.to_lines()).history
    second = await agent.run("Two?", history=live, journal=tmp_path / "j.jsonl")
    second.record.save(tmp_path / "s.jsonl")
    for name in ("j.jsonl", "s.jsonl"):
        loaded, file = Record.load(tmp_path / name), RecordFile(tmp_path / name)
        assert list(file.events()) == list(loaded) == list(second.record)
        assert file.root_id == loaded.root_id
        assert loaded.children
        for call_id, child in loaded.children.items():
            assert list(file.events((call_id,))) == list(child)
            assert list(file.steps((call_id,))) == child.steps()
        assert list(file.steps()) == loaded.steps() == second.record.steps()
    other = await Agent(ScriptedModel(["Hi."])).run("Hi", journal=tmp_path / "j.jsonl")
    assert list(RecordFile(tmp_path / "j.jsonl").events()) == list(other.record)


async def test_a_file_is_read_up_to_where_it_is_damaged(tmp_path: Path) -> None:
    result = await Agent(script(), tools=[look]).run("Is A up?")
    lines = list(result.record.to_lines())
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join([*lines[:6], lines[3], *lines[6:]]))
    file = RecordFile(path)
    assert [event for _, event in file] == list(result.record)[:5]
    assert file.problem is not None
    assert "event 2 comes after event 4" in file.problem
    wrong = json.loads(lines[7])
    wrong["data"] = {"call": "no number"}
    path.write_text("\n".join([*lines[:7], json.dumps(wrong), *lines[8:]]))
    file = RecordFile(path)
    assert [event for _, event in file] == list(result.record)[:6]
    assert file.problem is not None
    assert "line 8" in file.problem
    path.write_text("\n".join(lines[1:]))
    assert [event for _, event in RecordFile(path)] == list(result.record)
    with pytest.raises(RecordFormatError):
        Record.load(path)


@event("acme.office.closed")
class Closed(Payload):
    """The office is closed."""

    hour: int

    def __str__(self) -> str:
        return f"closed at {10 // self.hour}"


async def test_words_of_an_event_that_fail_are_none() -> None:
    assert words_of(Closed(5)) == "closed at 2"
    assert words_of(Closed(0)) is None
    result = await Agent(ScriptedModel(["Hi."])).run("Hi")
    assert [words_of(e.payload) for e in result.record] == [None] * len(result.record)
    assert payload_json(Closed(5)) == b'{"hour":5}'
