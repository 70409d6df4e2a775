"""A run is recorded while it goes on, and what is read back is what the live record holds."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp import Agent, Record, RedactionPolicy, approve, load_config
from agentfp.plugin import Identity
from agentfp.testing import ScriptedModel, call
from agentfp_recording import Recording, RecordingFile
from tests.core.random_plugins import meddlings
from tests.core.random_runs import scene_of, scripts
from tests.observability.recording.scenes import agent_of, look, plugin_of, same_record, shut, the_file, until

pytestmark = pytest.mark.anyio


async def test_what_is_read_back_is_the_live_record(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    result = await agent.run("Is A up?")
    recorded = RecordingFile(the_file(tmp_path))
    assert same_record(recorded.record(), result.record)
    assert [event for _, event in recorded] == list(result.record)
    assert recorded.record().served_at(2) == result.record.served_at(2)
    assert recorded.verify().intact
    assert plugin_of(agent).stats.written == len(result.record)
    assert result.plugin_failures == {}


async def test_legs_and_turns_of_a_conversation_go_to_one_file(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, call("shut", port=3), "It is shut.", "You are welcome.")
    paused = await agent.run("Shut port 3.")
    assert paused.pause is not None
    resumed = await agent.resume(paused.pause, approve(by="ann"))
    last = await agent.run("Thanks.", history=resumed.history)
    recorded = RecordingFile(the_file(tmp_path))
    assert same_record(recorded.record(), last.record)
    assert [(leg.status, leg.complete) for leg in recorded.legs] == [("paused", True), ("answered", True), ("answered", True)]
    assert [part.run_id for part in recorded.verify().parts] == [header.run_id for header in last.record.headers]
    assert recorded.verify().intact


async def test_nested_runs_stand_in_the_file_of_the_outer_one(tmp_path: Path) -> None:
    inner = Agent(ScriptedModel([call("look", switch="B"), "B is up."]), tools=[look], name="network")
    outer = agent_of(tmp_path, call("network", request="B?"), "Yes.", tools=[inner.as_tool("network", "Knows switches.")])
    result = await outer.run("Is B up?")
    recorded = RecordingFile(the_file(tmp_path))
    assert result.record.children
    assert same_record(recorded.record(), result.record)
    assert recorded.verify().intact


async def test_a_nested_agent_that_is_recorded_itself_has_a_file_of_its_part(tmp_path: Path) -> None:
    deepest = Agent(ScriptedModel([call("look", switch="C"), "C is up."]), tools=[look], name="deepest")
    inner = agent_of(tmp_path, call("deepest", request="C?"), "C is up.", tools=[deepest.as_tool("deepest", "Knows.")], name="inner")
    outer = Agent(ScriptedModel([call("inner", request="C?"), "Yes."]), tools=[inner.as_tool("inner", "Knows switches.")])
    result = await outer.run("Is C up?")
    (child,) = result.record.children.values()
    recorded = RecordingFile(the_file(tmp_path))
    assert the_file(tmp_path).name == f"{child.run_id}.jsonl"
    assert same_record(recorded.record(), child)
    assert recorded.verify().intact


async def test_many_runs_at_once_do_not_mix(tmp_path: Path) -> None:
    plugin = Recording(folder=tmp_path)
    results: list[Any] = []

    async def one(number: int) -> None:
        agent = Agent(ScriptedModel([call("look", switch=f"s{number}"), f"s{number} is up."]), tools=[look], plugins=[plugin])
        results.append(await agent.run(f"Is s{number} up?"))

    async with anyio.create_task_group() as tasks:
        for number in range(80):  # more than there are files open at once
            tasks.start_soon(one, number)
    for result in results:
        recorded = RecordingFile(tmp_path / f"{result.record.root_id}.jsonl")
        assert same_record(recorded.record(), result.record)
        assert recorded.verify().intact


async def test_it_can_be_read_while_the_run_goes_on(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    async def peek() -> str:
        """Read the recording of this run."""
        await until(
            lambda: any(path.stat().st_size for path in tmp_path.glob("*.jsonl")) and len(list(RecordingFile(the_file(tmp_path)))) >= 10
        )
        recorded = RecordingFile(the_file(tmp_path))
        seen.append([event.name for _, event in recorded])
        assert not recorded.complete
        assert recorded.legs[0].ended_ns is None
        return "seen"

    result = await agent_of(tmp_path, call("peek"), "Done.", tools=[peek]).run("Go")
    assert seen[0] == [event.name for event in result.record][: len(seen[0])]
    assert seen[0][-1] == "agentfp.tool.dispatched"


async def test_it_is_masked_as_the_policy_says_and_names_it(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, call("look", switch="secret-7"), "secret-7 is up.", redact=RedactionPolicy(patterns={"name": r"secret-\d"}))
    result = await agent.run("Is secret-7 up?")
    text = the_file(tmp_path).read_text()
    assert "secret-7" not in text
    recorded = RecordingFile(the_file(tmp_path))
    assert recorded.file.redacted == ("pattern:name",)
    assert recorded.privacy == "redacted"
    assert [event.seq for _, event in recorded] == [event.seq for event in result.record]


async def test_known_secrets_are_masked_and_named_from_where_they_stand(tmp_path: Path) -> None:
    masked = await agent_of(tmp_path / "a", "The key is sk-123456.", secrets=["sk-123456"]).run("Which key?")
    assert masked.text == "The key is sk-123456."
    assert "sk-123456" not in the_file(tmp_path / "a").read_text()
    assert RecordingFile(the_file(tmp_path / "a")).file.redacted == ("secrets",)
    clean = await agent_of(tmp_path / "b", "I do not say.", secrets=["sk-123456"]).run("Which key?")
    recorded = RecordingFile(the_file(tmp_path / "b"))
    assert recorded.file.redacted == ()
    assert recorded.record().served_at(1) == clean.record.served_at(1)


async def test_a_lean_recording_has_no_content_and_says_so(tmp_path: Path) -> None:
    canary = "canary-4711"

    def tells() -> str:
        """Say it."""
        return canary

    agent = agent_of(tmp_path, call("tells"), f"It is {canary}.", tools=[tells], settings={"detail": "lean"}, instructions=f"Say {canary}.")
    result = await agent.run(f"What is {canary}?")
    text = the_file(tmp_path).read_text()
    assert canary not in text
    recorded = RecordingFile(the_file(tmp_path))
    assert recorded.privacy == "structure_only"
    assert json.loads(text.splitlines()[0])["file"]["detail"] == "lean"
    assert [event.name for _, event in recorded] == [event.name for event in result.record]
    assert recorded.verify().intact


async def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    await agent_of(tmp_path).run("Is A up?")
    assert stat.S_IMODE(the_file(tmp_path).stat().st_mode) == 0o600


async def test_facts_name_what_is_known_and_nothing_else(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, "Yes.", "No.")
    await agent.run("Anonymous?")
    facts = RecordingFile(the_file(tmp_path)).facts()
    assert facts["complete"] is True
    assert facts["dropped_events"] == 0
    leg = facts["legs"][0]
    assert not {"principal", "tenant", "session_id"} & leg.keys()
    assert leg["configuration"]["tools"] == ["look", "shut", "breaks"]
    assert leg["configuration"]["plugins"] == [{"name": "recording", "version": "0.1.0"}]
    assert facts["producers"][0]["agentfp"]
    the_file(tmp_path).unlink()
    await agent.run("In a session?", session_id="s-1")
    leg = RecordingFile(the_file(tmp_path)).facts()["legs"][0]
    assert leg["session_id"] == "s-1"
    assert "principal" not in leg
    the_file(tmp_path).unlink()
    await agent.replace(model=ScriptedModel(["Hi."])).run("Who?", identity=Identity(principal="ann", tenant="acme"))
    leg = RecordingFile(the_file(tmp_path)).facts()["legs"][0]
    assert (leg["principal"], leg["tenant"]) == ("ann", "acme")


async def test_it_is_switched_on_by_a_config_file(tmp_path: Path) -> None:
    folder = tmp_path / "recs"
    (tmp_path / "agentfp.toml").write_text(
        'version = 1\n[agent]\nplugins = ["recording"]\n[plugins.recording]\n'
        f'folder = "{folder}"\nname = "{{date}}/{{conversation}}.jsonl"\n'
    )
    agent = load_config(tmp_path / "agentfp.toml").build(model=ScriptedModel(["Hello."]))
    result = await agent.run("Hi")
    path = the_file(folder)
    assert path.name == f"{result.record.root_id}.jsonl"
    assert same_record(RecordingFile(path).record(), result.record)


async def test_a_plugin_that_is_off_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "agentfp.toml").write_text(
        f'version = 1\n[agent]\nplugins = ["recording"]\n[plugins.recording]\nenabled = false\nfolder = "{tmp_path / "recs"}"\n'
    )
    agent = load_config(tmp_path / "agentfp.toml").build(model=ScriptedModel(["Hello."]))
    plain = await Agent(ScriptedModel(["Hello."])).run("Hi")
    result = await agent.run("Hi")
    assert not (tmp_path / "recs").exists()
    assert [event.name for event in result.record] == [event.name for event in plain.record]


async def test_building_an_agent_makes_no_folder(tmp_path: Path) -> None:
    agent_of(tmp_path / "recs")
    assert not (tmp_path / "recs").exists()


# --- whatever happens in a run --------------------------------------------------------------------------------------------


@given(script=scripts, meddled=st.lists(meddlings, max_size=2), rejecting=st.booleans(), backend=st.sampled_from(["asyncio", "trio"]))
@settings(max_examples=60)
def test_replay_equals_live(tmp_path_factory: pytest.TempPathFactory, script: Any, meddled: Any, rejecting: bool, backend: str) -> None:
    folder = tmp_path_factory.mktemp("recordings")
    scene = scene_of(script, meddled)
    scene.agent = scene.agent.replace(plugins=[*scene.agent.plugin_set.plugins, Recording(folder=folder)])

    async def run() -> Record:
        try:
            result = await scene.run()
            while result.pause is not None:
                result = await scene.resume(result.pause, rejecting=rejecting)
        except Exception:
            return scene.watcher.record
        return result.record

    live = anyio.run(run, backend=backend)
    recorded = RecordingFile(the_file(folder))
    assert same_record(recorded.record(), live)
    assert [event for header, event in recorded if not header.path] == list(live)
    assert recorded.verify().intact
    assert list(recorded.file.steps()) == live.steps()


# --- names ----------------------------------------------------------------------------------------------------------------


def refused() -> Iterator[tuple[str, str]]:
    yield "run.jsonl", "needs {conversation} or {run}"
    yield "{conversation}.json", "must end in .jsonl"
    yield "../{conversation}.jsonl", "must stay within the folder"
    yield "/tmp/{conversation}.jsonl", "must stay within the folder"
    yield "{conversation:>9}.jsonl", "takes no format"
    yield "{conversatoin}.jsonl", "conversation"
    yield "{conversation.jsonl", "no pattern"


@pytest.mark.parametrize(("pattern", "said"), list(refused()))
def test_a_pattern_that_cannot_be_one_is_refused(pattern: str, said: str) -> None:
    from agentfp import ConfigError

    with pytest.raises(ConfigError, match="setting 'name' is refused") as raised:
        Recording(name=pattern)
    assert said in str(raised.value)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    from agentfp import ConfigError

    (tmp_path / "recs").write_text("")
    with pytest.raises(ConfigError, match="there is a file of this name"):
        Recording(folder=tmp_path / "recs")


@pytest.mark.parametrize("root_id", ["Run-A", "../etc", "con", "nul.x", "a b", "x" * 201, "é"])
async def test_an_id_that_is_no_name_is_not_recorded_and_counted(tmp_path: Path, root_id: str) -> None:
    class Fixed:
        def new(self, prefix: str) -> str:
            return root_id if prefix == "conv" else f"{prefix}_{next(numbers)}"

    numbers = iter(range(10_000))
    agent = agent_of(tmp_path, "Yes.", ids=Fixed())
    result = await agent.run("Is it?")
    assert result.text == "Yes."
    assert not list(tmp_path.rglob("*.jsonl"))
    assert result.plugin_failures["recording"] >= 1
    stats = plugin_of(agent).stats
    assert stats.dropped == stats.accepted
    assert stats.last_error is not None
    assert "cannot be part of a file's name" in stats.last_error


async def test_shut_is_asked_about(tmp_path: Path) -> None:
    result = await agent_of(tmp_path, call("shut", port=1), "Done.", tools=[shut]).run("Shut it.")
    assert RecordingFile(the_file(tmp_path)).legs[0].status == "paused" == result.status
