"""The file of JSON lines: what stands in it, when it is written and put aside, and what becomes of a run when it cannot be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentfp import Agent, ConfigError, Identity, tool
from agentfp.plugin import Content, Number, Payload, Plugin, Run, WorkerStats, event, hookimpl
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp_console import EventFile, read_events
from agentfp_console.event_file import LineFile

pytestmark = pytest.mark.anyio


@tool
async def look(x: int) -> str:
    """Look."""
    return f"seen {x}"


def writing(path: Path, *script: Any, **settings: Any) -> tuple[Agent[Any, Any], EventFile]:
    file = EventFile(path=path, **settings)
    return Agent(ScriptedModel(list(script or ["done"])), tools=[look], plugins=[file], name="desk"), file


def sums_up(stats: WorkerStats) -> bool:
    return stats.accepted == stats.done + stats.failed + stats.dropped + stats.waiting


async def test_each_event_is_a_line_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "made" / "on the way" / "events.jsonl"
    agent, file = writing(path, call("look", id="c1", x=1), "done")
    result = await agent.run("go", session_id="s-1", identity=Identity(tenant="acme"))
    assert await file.flush()
    lines = list(read_events(path))
    assert [line["type"] for line in lines] == [made.name for made in result.record]
    assert [line["meta"]["seq"] for line in lines] == [made.seq for made in result.record]
    ended = next(line for line in lines if line["type"] == "agentfp.tool.ended")
    assert ended["payload"]["outcome"] == "success"
    assert ended["meta"]["call_id"] == "c1"
    assert {key: ended["meta"][key] for key in ("run_id", "agent", "session_id", "tenant")} == {
        "run_id": result.run_id,
        "agent": "desk",
        "session_id": "s-1",
        "tenant": "acme",
    }
    assert "principal" not in ended["meta"]
    assert "seen 1" not in path.read_text(encoding="utf-8")
    assert (file.stats.accepted, file.stats.done, file.stats.waiting) == (len(lines), len(lines), 0)
    await agent.shutdown()


async def test_content_is_written_where_it_is_asked_for_and_the_file_says_so(tmp_path: Path) -> None:
    for content in (False, True):
        path = tmp_path / f"{content}.jsonl"
        agent, _ = writing(path, call("look", x=1), "an answer", content=content)
        await agent.run("a question")
        await agent.shutdown()
        text = path.read_text(encoding="utf-8")
        assert all((words in text) is content for words in ("a question", "seen 1", "an answer"))
        first = next(iter(read_events(path)))
        assert first["meta"]["content"] is content


async def test_domains_and_names_choose(tmp_path: Path) -> None:
    for number, (settings, wanted) in enumerate(
        [
            ({"domains": ["tool"]}, {"tool.started", "tool.dispatched", "tool.ended"}),
            ({"domains": ["tool"], "events": ["agentfp.run.ended"]}, {"tool.started", "tool.dispatched", "tool.ended", "run.ended"}),
            ({"events": ["agentfp.cost.tick"]}, set()),
            ({"skip": ["agent", "context", "message", "stream", "tool"]}, {"run.ended"}),
        ]
    ):
        path = tmp_path / f"{number}.jsonl"
        agent, file = writing(path, call("look", x=1), "done", **settings)
        result = await agent.run("go")
        await agent.shutdown()
        assert {line["type"].removeprefix("agentfp.") for line in read_events(path)} == wanted
        assert result.deliveries is not None
        assert file.stats.accepted == result.deliveries.delivered == len(list(read_events(path)))


def test_domains_that_there_are_not_are_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'tool'"):
        writing(tmp_path / "a", domains=["toool"])
    with pytest.raises(ConfigError, match="no such event"):
        writing(tmp_path / "a", events=["agentfp.cost.tock"])
    writing(tmp_path / "a", domains=["acme.orders"], skip=["tools"])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"path": ""}, "empty"),
        ({"max_bytes": 0}, "max_bytes"),
        ({"keep": 0}, "keep"),
        ({"fsync": "always"}, "fsync"),
        ({"paths": "x"}, "path"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=says):
        EventFile(**{"path": tmp_path / "x", **settings})


def test_a_path_that_cannot_be_written_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=str(tmp_path)) as refused:
        EventFile(path=tmp_path)
    assert isinstance(refused.value.__cause__, OSError)


# --- when it is written -----------------------------------------------------------------------------------------------------------


def until(condition: Any, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(condition())


async def test_a_full_batch_is_written_at_once_and_one_that_is_not_waits(tmp_path: Path) -> None:
    agent, file = writing(tmp_path / "a", batch=5, batch_seconds=60)
    result = await agent.run("go")
    assert len(result.record) > 5
    assert await anyio.to_thread.run_sync(until, lambda: file.stats.done >= 5)
    quiet, waiting = writing(tmp_path / "b", batch=1000, batch_seconds=60)
    await quiet.run("go")
    assert waiting.stats.done == 0
    assert (tmp_path / "b").read_bytes() == b""
    assert await waiting.flush()
    assert waiting.stats.done == waiting.stats.accepted
    await agent.shutdown()
    await quiet.shutdown()


async def test_much_text_is_written_at_once(tmp_path: Path) -> None:
    @tool
    async def dump() -> str:
        """Dump."""
        return "x" * 70_000

    file = EventFile(path=tmp_path / "a", content=True, batch=1000, batch_seconds=60)
    agent = Agent(ScriptedModel([call("dump"), "done"]), tools=[dump], plugins=[file])
    await agent.run("go")
    assert await anyio.to_thread.run_sync(until, lambda: file.stats.done > 0)
    assert "x" * 70_000 in (tmp_path / "a").read_text(encoding="utf-8")
    await agent.shutdown()


async def test_the_first_event_of_a_batch_does_not_wait_for_ever(tmp_path: Path) -> None:
    agent, file = writing(tmp_path / "a", batch=1000, batch_seconds=0.02)
    await agent.run("go")
    assert await anyio.to_thread.run_sync(until, lambda: file.stats.waiting == 0)
    await agent.shutdown()


async def test_a_file_that_was_closed_is_written_on(tmp_path: Path) -> None:
    agent, file = writing(tmp_path / "a", "one", "two")
    await agent.run("go")
    await agent.shutdown()
    before = len(list(read_events(tmp_path / "a")))
    await agent.run("go on")
    await agent.shutdown()
    assert len(list(read_events(tmp_path / "a"))) == 2 * before == file.stats.done
    assert not [thread for thread in threading.enumerate() if thread.name == "agentfp event_file"]


def test_lines_of_a_script_are_there_when_it_has_ended(tmp_path: Path) -> None:
    script = f"""
    from agentfp import Agent
    from agentfp.testing import ScriptedModel
    from agentfp_console import EventFile
    Agent(ScriptedModel(["hi"]), plugins=[EventFile(path={str(tmp_path / "a")!r}, batch_seconds=60)]).run_sync("go")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=60)
    assert [line["type"] for line in read_events(tmp_path / "a")][-1] == "agentfp.run.ended"


# --- full files ---------------------------------------------------------------------------------------------------------------------


def test_a_full_file_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "a"
    file = LineFile(path, max_bytes=10_000)
    for number in range(20):
        file.write([json.dumps({"type": "t", "n": number, "pad": "x" * 960})])
    aside = list(read_events(path.with_name("a.1")))
    current = list(read_events(path))
    assert [line["n"] for line in [*aside, *current]] == list(range(20))
    assert path.with_name("a.1").stat().st_size <= 10_000
    assert {made.name for made in tmp_path.iterdir()} == {"a", "a.1"}


def test_the_oldest_is_thrown_away(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "a", max_bytes=10, keep=2)
    for number in range(5):
        file.write([f'{{"type": "{number}"}}'])
    assert {made.name: made.read_text() for made in tmp_path.iterdir()} == {
        "a": '{"type": "4"}\n',
        "a.1": '{"type": "3"}\n',
        "a.2": '{"type": "2"}\n',
    }


def test_a_batch_larger_than_a_file_is_written_whole(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "a", max_bytes=10)
    file.write(["x" * 100])
    assert (tmp_path / "a").read_text() == "x" * 100 + "\n"


def test_a_line_that_a_killed_process_left_is_ended_first(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"type": "whole"}\n{"type": "to')
    LineFile(tmp_path / "a", fsync=True).write(['{"type": "next"}'])
    reader = read_events(tmp_path / "a")
    assert [line["type"] for line in reader] == ["whole", "next"]
    assert reader.broken == 1
    assert len(list(reader)) == 2
    assert reader.broken == 1


# --- what goes wrong ------------------------------------------------------------------------------------------------------------------


@event("acme.odd.happened")
class Odd(Payload):
    """Holds what no JSON can."""

    number: Number[float]
    text: Content[str]


class Emitting(Plugin):
    """Emits an odd event."""

    name = "emitting"
    events = (Odd,)

    @hookimpl
    def admit_input(self, run: Run[Any]) -> None:
        run.emit(Odd(float("inf"), "\ud800"))


async def test_an_event_that_cannot_be_written_costs_no_other(tmp_path: Path) -> None:
    file = EventFile(path=tmp_path / "a", content=True)
    agent = Agent(ScriptedModel(["done"]), plugins=[Emitting(), file], dev=False)
    result = await agent.run("go \ud800")
    await agent.shutdown()
    reader = read_events(tmp_path / "a")
    lines = list(reader)
    assert reader.broken == 0
    assert len(lines) == len(result.record)
    assert next(line["payload"] for line in lines if line["type"] == "acme.odd.happened") == {"unserialisable": True}


def test_a_line_of_which_a_full_disk_took_a_part_spoils_no_other(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from agentfp_console.event_file import LineFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = LineFile(__import__("pathlib").Path(sys.argv[1]))
file.write(['{"type": "whole"}'])
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (40, hard))
try:
    file.write(['{"type": "does not fit on what is left"}'])
except OSError:
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    file.write(['{"type": "next"}'])
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "a")], check=True)
    reader = read_events(tmp_path / "a")
    assert [line["type"] for line in reader] == ["whole", "next"]
    assert reader.broken == 1


async def test_a_file_that_cannot_be_written_any_more_breaks_no_run_and_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "folder" / "a"
    told: list[tuple[str, int]] = []
    agent, file = writing(path, "one", "two", on_error=lambda error, count: told.append((type(error).__name__, count)))
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("in the way")
    result = await agent.run("go")
    await file.flush()
    assert result.text == "one"
    assert not result.plugin_failures
    stats = file.stats
    assert (stats.failed, stats.done) == (stats.accepted, 0)
    assert sum(count for _, count in told) == stats.failed
    assert stats.last_error == told[0][0]
    assert "event_file lost" in caplog.text
    path.parent.unlink()
    path.parent.mkdir()
    await agent.run("go on")
    await agent.shutdown()
    assert file.stats.done > 0
    assert sums_up(file.stats)


async def test_a_disk_that_hangs_delays_no_run_and_what_is_dropped_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    write = LineFile.write

    def hang(self: LineFile, lines: list[str]) -> None:
        free.wait(60)
        write(self, lines)

    monkeypatch.setattr(LineFile, "write", hang)
    agent, file = writing(tmp_path / "a", *["done"] * 4, batch=1, batch_seconds=0, max_queue=10, flush_seconds=0.05)
    for _ in range(4):
        result = await agent.run("go")
        assert result.deliveries is not None
        assert result.deliveries.dropped == 0
    assert not free.is_set()
    assert not await file.flush()
    with anyio.fail_after(10):
        await agent.shutdown()
    assert file.stats.dropped > 0
    assert sums_up(file.stats)
    free.set()
    assert await anyio.to_thread.run_sync(until, lambda: file.stats.waiting == 0)
    lines = list(read_events(tmp_path / "a"))
    gaps = [line["payload"]["count"] for line in lines if line["type"] == "agentfp.console.dropped"]
    assert sum(gaps) == file.stats.dropped
    assert len(lines) - len(gaps) == file.stats.done
    assert sums_up(file.stats)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_writes_too(tmp_path: Path) -> None:
    script = f"""
    import os
    from agentfp import Agent
    from agentfp.testing import ScriptedModel
    from agentfp_console import EventFile
    agent = Agent(ScriptedModel(["hi", "hi"]), plugins=[EventFile(path={str(tmp_path / "a")!r})])
    agent.run_sync("go")
    if os.fork() == 0:
        agent.run_sync("go")
    else:
        os.wait()
    """
    subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)], check=True, timeout=60)
    ends = [line for line in read_events(tmp_path / "a") if line["type"] == "agentfp.run.ended"]
    assert len({line["meta"]["run_id"] for line in ends}) == 2


def test_the_plugin_keeps_the_rules_of_plugins(tmp_path: Path) -> None:
    report = check_plugin(EventFile(path=tmp_path / "a"), tools=[look], script=[call("look", x=1), "done"], may_change=("_worker", "_file"))
    assert report.problems == []


async def test_a_share_of_the_conversations_is_written_whole_and_of_the_others_what_went_wrong(tmp_path: Path) -> None:
    file = EventFile(path=tmp_path / "a", sample_rate=0.3)
    inner = Agent(ScriptedModel(lambda _: "inner"), plugins=[file])
    script = [call("ask", request="x"), RuntimeError("down")]
    sizes: dict[str, int] = {}
    for _ in range(40):
        broken: list[str] = []

        def hear(event: Any, header: Any, broken: list[str] = broken) -> None:
            broken.extend([header.root_id] if event.seq >= 0 else [])

        agent = Agent(ScriptedModel(script), tools=[inner.as_tool("ask", "Asks.")], plugins=[file])
        with pytest.raises(Exception, match=r".*"):
            await agent.run("go", on_event=hear)
        sizes[broken[0]] = len(broken)
    await file.close()
    written: dict[str, list[str]] = {}
    for line in read_events(tmp_path / "a"):
        written.setdefault(line["meta"]["record_id"], []).append(line["type"])
    assert set(written) == set(sizes)
    whole = [root for root, types in written.items() if len(types) == sizes[root]]
    errors = [root for root, types in written.items() if set(types) == {"agentfp.error.fatal"}]
    assert len(whole) + len(errors) == 40
    assert 2 <= len(whole) <= 25
