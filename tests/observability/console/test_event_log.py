"""Events as records of a logger, of the standard library or of structlog."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
import structlog

from agentfp import Agent, ConfigError, tool
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp_console import EventLog
from tests.core.canaries import Canaries, sweep

pytestmark = pytest.mark.anyio


@tool
async def look(x: int) -> str:
    """Look."""
    return f"seen {x}"


class Kept(logging.Handler):
    """Keeps records."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def kept() -> Iterator[Kept]:
    logger = logging.getLogger("agentfp.events")
    handler = Kept()
    logger.addHandler(handler)
    before = logger.level, logger.propagate
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    yield handler
    logger.level, logger.propagate = before
    logger.removeHandler(handler)


def logged(*script: Any, **settings: Any) -> tuple[Agent[Any, Any], EventLog]:
    log = EventLog(**settings)
    return Agent(ScriptedModel(list(script or ["done"])), tools=[look], plugins=[log]), log


async def test_each_event_is_a_record_with_its_fields(kept: Kept) -> None:
    agent, log = logged(call("look", id="c1", x=1), "done")
    result = await agent.run("go")
    assert await log.flush()
    assert [record.event for record in kept.records] == [made.name for made in result.record]  # type: ignore[attr-defined]
    ended: Any = next(record for record in kept.records if record.getMessage().startswith("agentfp.tool.ended"))
    assert "outcome=success" in ended.getMessage()
    assert "call_id=c1" in ended.getMessage()
    assert ended.fields["run_id"] == result.run_id
    (event,) = result.record.events("agentfp.tool.ended")
    assert ended.created == event.ts_ns / 1e9
    assert log.stats.done == log.stats.accepted
    await agent.shutdown()


async def test_levels(kept: Kept) -> None:
    agent, _ = logged([call("look", x="no number")], "done", levels={"agentfp.run.ended": "error", "stream": 5})
    await agent.run("go")
    await agent.shutdown()
    levels = {record.event: record.levelno for record in kept.records}  # type: ignore[attr-defined]
    assert levels["agentfp.validation.args_invalid"] == logging.WARNING
    assert levels["agentfp.tool.ended"] == logging.INFO
    assert levels["agentfp.context.blob"] == logging.DEBUG
    assert levels["agentfp.run.ended"] == logging.ERROR
    assert "agentfp.stream.llm_end" not in levels


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"levels": {"tool": "loud"}}, "no level 'loud'"), ({"domain": ["tool"]}, "domains"), ({"logger": object()}, "no logger")],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        EventLog(**settings)


async def test_domains_choose(kept: Kept) -> None:
    agent, _ = logged(call("look", x=1), "done", domains=["tool"])
    await agent.run("go")
    await agent.shutdown()
    assert {record.event for record in kept.records} == {  # type: ignore[attr-defined]
        "agentfp.tool.started",
        "agentfp.tool.dispatched",
        "agentfp.tool.ended",
    }


async def test_an_adapter_is_a_logger_too(kept: Kept) -> None:
    agent, _ = logged(logger=logging.LoggerAdapter(logging.getLogger("agentfp.events"), {"app": "desk"}), domains=["run"])
    await agent.run("go")
    await agent.shutdown()
    (record,) = kept.records
    assert record.getMessage().startswith("agentfp.run.ended status=answered")


async def test_structlog_gets_the_fields_as_they_are() -> None:
    with structlog.testing.capture_logs() as captured:
        agent, _ = logged(call("look", id="c1", x=1), "done", logger=structlog.get_logger(app="desk"))
        result = await agent.run("go")
        await agent.shutdown()
    ended = next(entry for entry in captured if entry["event"] == "agentfp.tool.ended")
    assert ended["outcome"] == "success"
    assert ended["run_id"] == result.run_id
    assert ended["app"] == "desk"
    assert ended["log_level"] == "info"
    assert len(captured) == len(result.record)


def leaving(*_: Any) -> Any:
    raise SystemExit(3)


def raising(*_: Any) -> Any:
    raise RuntimeError("no paper")


def dropping(*_: Any) -> Any:
    raise structlog.DropEvent


@pytest.mark.parametrize(("processor", "lost"), [(dropping, None), (raising, "RuntimeError"), (leaving, "SystemExit")])
async def test_a_processor_that_raises_breaks_no_run_and_ends_no_thread(processor: Any, lost: str | None) -> None:
    wrapper = structlog.BoundLogger  # which has no method that takes a level
    logger = structlog.wrap_logger(structlog.PrintLogger(), processors=[processor], wrapper_class=wrapper)
    agent, log = logged("one", "two", logger=logger)
    for _ in range(2):
        assert (await agent.run("go")).text in ("one", "two")
        assert await log.flush()
    await agent.shutdown()
    assert log.stats.last_error == lost
    assert (log.stats.failed, log.stats.done) == ((log.stats.accepted, 0) if lost else (0, log.stats.accepted))


async def test_a_logger_that_raises_breaks_no_run_and_is_counted(kept: Kept) -> None:
    class Broken(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise RuntimeError("no paper")

    logger = logging.getLogger("agentfp.events")
    broken = Broken()
    logger.addHandler(broken)
    try:
        agent, log = logged()
        result = await agent.run("go")
        await agent.shutdown()
    finally:
        logger.removeHandler(broken)
    assert result.text == "done"
    assert not result.plugin_failures
    assert log.stats.last_error == "RuntimeError"
    assert log.stats.failed == log.stats.accepted


async def test_a_handler_that_hangs_delays_no_run(kept: Kept) -> None:
    free = threading.Event()

    class Hanging(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            free.wait(60)

    logger = logging.getLogger("agentfp.events")
    hanging = Hanging()
    logger.addHandler(hanging)
    try:
        agent, log = logged(*["done"] * 3, max_queue=5, flush_seconds=0.05)
        for _ in range(3):
            await agent.run("go")
        assert not free.is_set()
        with anyio.fail_after(10):
            await agent.shutdown()
        assert log.stats.dropped > 0
        free.set()
        assert await anyio.to_thread.run_sync(log._worker.flush, 10)
    finally:
        free.set()
        logger.removeHandler(hanging)
    counts = [record.fields["count"] for record in kept.records if record.event == "agentfp.console.dropped"]  # type: ignore[attr-defined]
    assert sum(counts) == log.stats.dropped


async def test_no_canary_is_in_a_line_a_log_or_a_file(kept: Kept, tmp_path: Any) -> None:
    from agentfp_console import EventFile, StatusLine

    c = Canaries()
    lines: list[str] = []
    log, file = EventLog(), EventFile(path=tmp_path / "a")
    status = StatusLine(on_line=lambda line, *_: lines.append(line or ""))
    await sweep(c, policy=None, sinks=[log, file, status])
    await log.flush()
    await file.flush()
    records = [record.getMessage() + repr(vars(record)) for record in kept.records]
    assert len(records) > 100
    assert len(lines) > 20
    for text in [*records, *lines, (tmp_path / "a").read_text(encoding="utf-8")]:
        assert not c.seen_in(text), text
    await log.close()
    await file.close()


def test_the_plugin_keeps_the_rules_of_plugins(kept: Kept) -> None:
    may_change = ("_worker", "_logger", "_write")
    assert check_plugin(EventLog, tools=[look], script=[call("look", x=1), "done"], may_change=may_change).problems == []
