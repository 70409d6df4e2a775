"""Traces of runs in X-Ray: what is in them, how it hangs together, and what never is in them."""

from __future__ import annotations

import importlib.util
import json
import re
import uuid
from typing import Any

import anyio
import pytest

from agentfp import Agent, ConfigError, Limits, approve, tool
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp_xray import XRay, limits
from agentfp_xray.turn import sampled
from tests.observability.xray.segments_backend import Watched, agent, check_whole, look, stored, tree

pytestmark = pytest.mark.anyio
CANARY = "canary-4711"


async def test_a_turn_is_one_trace_on_the_server(aws: str) -> None:
    traces = XRay(service_name="desk", endpoint_url=aws)
    one = agent(traces, call("look", x="3"), "Done.")
    trace_id = uuid.uuid4().hex
    result = await one.run("Look.", trace_id=trace_id)
    await one.shutdown()
    documents = stored(aws, f"1-{trace_id[:8]}-{trace_id[8:]}")
    check_whole(documents)
    assert tree(documents) == [["desk", ["iteration_1", ["llm"], ["tool_look"]], ["iteration_2", ["llm"]]]]
    root = next(document for document in documents if document["name"] == "desk")
    assert root["annotations"]["run_id"] == result.record.headers[-1].run_id
    assert (traces.stats.done, traces.stats.failed) == (6, 0)


async def test_what_stands_on_the_segments() -> None:
    client = Watched(None)
    traces = XRay(client=client)
    result = await agent(traces, call("look", x="3"), "Done.").run("Look.", session_id="s-1")
    await traces.close()
    root, model, used = client.one("agentfp"), client.named("llm")[0], client.one("tool_look")
    wanted = {"run_id": result.record.headers[-1].run_id, "agent": "desk", "session_id": "s-1"}
    assert root["annotations"] == {**wanted, "provider": "scripted", "model": "script", "status": "answered"}
    assert root["metadata"]["agentfp"]["iterations"] == 2
    assert model["namespace"] == "remote"
    assert model["annotations"] == {"provider": "scripted", "model": "script"}
    assert {"input_tokens", "output_tokens", "stop_reason", "duration_ms"} <= set(model["metadata"]["agentfp"])
    assert used["annotations"] == {"tool": "look"}
    assert used["metadata"]["agentfp"]["outcome"] == "success"
    assert [found["annotations"] for found in client.named("iteration_1")] == [{"iteration": 1}]


async def test_ids_and_times_are_of_the_form_that_the_service_takes() -> None:
    client = Watched(None)
    traces = XRay(client=client)
    result = await agent(traces, call("look", x="3"), "Done.").run("Look.")
    await traces.close()
    events = list(result.record.events())
    for document in client.documents:
        assert re.fullmatch(r"1-[0-9a-f]{8}-[0-9a-f]{24}", document["trace_id"])
        assert re.fullmatch(r"[0-9a-f]{16}", document["id"])
        assert isinstance(document["start_time"], float)
    root = client.one("agentfp")
    assert int(root["trace_id"][2:10], 16) == events[0].ts_ns // 1_000_000_000
    assert root["start_time"] == pytest.approx(events[0].ts_ns / 1e9, abs=1e-6)
    assert root["end_time"] == pytest.approx(events[-1].ts_ns / 1e9, abs=1e-6)


async def test_calls_side_by_side_that_end_out_of_order_are_siblings_with_their_own_ends() -> None:
    done = anyio.Event()

    @tool
    async def slow(x: str) -> str:
        """Wait for the other."""
        await done.wait()
        return x

    @tool
    async def fast(x: str) -> str:
        """Let the other go on."""
        done.set()
        return x

    client = Watched(None)
    traces = XRay(client=client)
    result = await agent(traces, [call("slow", x="1"), call("fast", x="2")], "Done.", tools=[slow, fast]).run("Look.")
    await traces.close()
    check_whole(client.documents)
    assert tree(client.documents)[0][1][0] == "iteration_1"
    slow_one, fast_one, iteration = client.one("tool_slow"), client.one("tool_fast"), client.one("iteration_1")
    assert slow_one["parent_id"] == fast_one["parent_id"] == iteration["id"]
    ends = {e.call_id: e.ts_ns for e in result.record.events() if e.name == "agentfp.tool.ended"}
    names = {e.call_id: getattr(e.payload, "tool", "") for e in result.record.events() if e.name == "agentfp.tool.started"}
    for call_id, ts_ns in ends.items():
        assert client.one(f"tool_{names[call_id]}")["end_time"] == pytest.approx(ts_ns / 1e9, abs=1e-6)


async def test_a_run_that_fails_is_a_fault_and_its_subsegments_are_sent() -> None:
    client = Watched(None)
    traces = XRay(client=client)
    with pytest.raises(Exception, match=r".*"):
        await agent(traces, call("look", x="3"), ValueError(CANARY)).run("Look.")
    await traces.close()
    check_whole(client.documents)
    root = client.one("agentfp")
    assert root["fault"] is True
    (cause,) = root["cause"]["exceptions"]
    assert cause["type"] == "ValueError"
    assert set(cause) == {"id", "type"}
    assert client.one("tool_look")
    assert CANARY not in json.dumps(client.documents)


async def test_a_call_that_fails_is_an_error_with_the_class_alone() -> None:
    @tool
    async def broken(x: str) -> str:
        """Break."""
        raise TimeoutError(CANARY)

    client = Watched(None)
    traces = XRay(client=client)
    await agent(traces, [call("broken", x="1"), call("nowhere", x="1")], "Done.", tools=[broken]).run("Look.")
    await traces.close()
    used = client.one("tool_broken")
    assert used["error"] is True
    assert [cause["type"] for cause in used["cause"]["exceptions"]] == ["TimeoutError"]
    assert client.one("tool")["error"] is True  # of no tool: the name that the model wrote is content
    assert "fault" not in client.one("agentfp")
    assert CANARY not in json.dumps(client.documents)


async def test_nothing_that_anybody_wrote_is_in_a_segment() -> None:
    client = Watched(None)
    traces = XRay(client=client)
    script = [call("look", x=CANARY), call(CANARY), f"It is {CANARY}."]
    await agent(traces, *script, instructions=[CANARY]).run(CANARY)
    await traces.close()
    assert len(client.documents) == 9
    assert CANARY not in json.dumps(client.documents)


async def test_with_a_sample_rate_of_zero_nothing_is_sent() -> None:
    client = Watched(None)
    traces = XRay(client=client, sample_rate=0)
    one = agent(traces, call("look", x="3"), "Done.")
    await one.run("Look.")
    await one.shutdown()
    assert client.calls == []
    assert traces.stats.accepted == 0


def test_runs_are_sampled_by_their_id_whole_or_not_at_all() -> None:
    ids = [f"run-{number}" for number in range(10_000)]
    assert sum(sampled(run_id, 0.3) for run_id in ids) == pytest.approx(3_000, rel=0.1)
    assert all(sampled(run_id, 1.0) for run_id in ids)
    assert not any(sampled(run_id, 0.0) for run_id in ids)
    assert [sampled(run_id, 0.3) for run_id in ids] == [sampled(run_id, 0.3) for run_id in ids]


async def test_half_of_the_runs_are_sent_whole_and_no_part_of_the_others() -> None:
    client = Watched(None)
    traces = XRay(client=client, sample_rate=0.5)
    results = [await agent(traces, call("look", x="3"), "Done.").run("Look.") for _ in range(12)]
    await traces.close()
    wanted = {result.record.headers[-1].run_id for result in results if sampled(result.record.headers[-1].run_id, 0.5)}
    assert {root["annotations"]["run_id"] for root in client.named("agentfp")} == wanted
    assert len(client.documents) == 6 * len(wanted)


async def test_a_nested_agent_hangs_below_the_call_that_asked_it() -> None:
    client = Watched(None)
    traces = XRay(client=client)
    inner = Agent(ScriptedModel([call("look", x="1"), "Seen."]), tools=[look], name="network")
    outer = agent(traces, call("network", request="look"), "Done.", tools=[inner.as_tool("network", "Answers questions.")])
    await outer.run("Look.")
    await traces.close()
    check_whole(client.documents)
    nested = ["agent_network", ["iteration_1", ["llm"], ["tool_look"]], ["iteration_2", ["llm"]]]
    assert tree(client.documents) == [["agentfp", ["iteration_1", ["llm"], ["tool_network", nested]], ["iteration_2", ["llm"]]]]


async def test_what_goes_on_after_a_pause_is_a_trace_of_its_own() -> None:
    @tool(approval=True)
    async def shut(x: str) -> str:
        """Shut it."""
        return x

    client = Watched(None)
    traces = XRay(client=client)
    one = agent(traces, call("shut", x="1"), "Done.", tools=[shut])
    paused = await one.run("Shut.")
    assert paused.pause is not None
    await one.resume(paused.pause, approve())
    await traces.close()
    first, second = client.named("agentfp")
    assert (first["annotations"]["status"], second["annotations"]["status"]) == ("paused", "answered")
    assert second["annotations"]["resumed_from"] == first["annotations"]["run_id"]
    assert first["trace_id"] != second["trace_id"]
    assert [document["trace_id"] for document in client.named("tool_shut")][-1] == second["trace_id"]
    check_whole([document for document in client.documents if document["trace_id"] == second["trace_id"]])


async def test_shutdown_sends_what_there_is_of_a_turn_that_goes_on_and_flush_does_not() -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    @tool
    async def wait(x: str) -> str:
        """Wait."""
        begun.set()
        await go_on.wait()
        return x

    client = Watched(None)
    traces = XRay(client=client)
    one = agent(traces, call("wait", x="1"), "Done.", tools=[wait])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one.run, "Wait.")
        await begun.wait()
        await anyio.sleep(0.05)  # for the delivery of what happened up to now
        assert await traces.flush()
        assert client.calls == []
        await traces.close()
        open_ones = {document["name"] for document in client.documents if document.get("in_progress")}
        assert {"agentfp", "iteration_1", "tool_wait"} <= open_ones
        assert "end_time" in client.one("llm"), "what ended already is sent too"
        go_on.set()
    await traces.close()
    ended = [document for document in client.documents if "end_time" in document]
    assert {document["name"] for document in ended} >= open_ones
    ids = {document["id"]: document for document in ended}
    assert all(document["id"] in ids for document in client.documents), "each segment in progress is replaced by its own end"


async def test_one_run_that_ends_leaves_the_others_open() -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    @tool
    async def wait(x: str) -> str:
        """Wait."""
        begun.set()
        await go_on.wait()
        return x

    client = Watched(None)
    traces = XRay(client=client)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent(traces, call("wait", x="1"), "Done.", tools=[wait]).run, "Wait.")
        await begun.wait()
        short = await agent(traces, "Done.").run("Go.")
        await traces.flush()
        assert [root["annotations"]["run_id"] for root in client.named("agentfp")] == [short.record.headers[-1].run_id]
        go_on.set()
    await traces.close()
    check_whole(client.documents)
    assert len(client.named("agentfp")) == 2


async def test_a_long_turn_goes_out_as_it_comes() -> None:
    client = Watched(None)
    traces = XRay(client=client)
    script = [*[call("look", x=str(number)) for number in range(300)], "Done."]
    await agent(traces, *script, limits=Limits(iterations=400, hard_cap=400)).run("Look.")
    await traces.close()
    check_whole(client.documents)
    assert len(client.documents) == 1 + 301 + 301 + 300
    assert client.documents[-1]["name"] == "agentfp"


# --- before anything runs -------------------------------------------------------------------------------------------------------------


def test_without_boto3_and_without_a_client_no_agent_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "boto3" else find(name, *more))
    with pytest.raises(ConfigError, match="pip install agentfp-xray"):
        agent(XRay(), "Done.")
    agent(XRay(client=object()), "Done.")


def test_without_a_region_no_agent_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/not/there")
    with pytest.raises(ConfigError, match="no AWS region; set `region`, or AWS_DEFAULT_REGION"):
        agent(XRay(), "Done.")


WRONG: list[dict[str, Any]] = [{"sample_rate": 1.1}, {"sample_rate": -0.1}, {"max_batch": limits.MAX_DOCUMENTS + 1}, {"service_name": ""}]


@pytest.mark.parametrize("wrong", WRONG)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        XRay(**wrong)


class Nowhere:
    """Takes everything and keeps nothing."""

    def put_trace_segments(self, **arguments: Any) -> dict[str, Any]:
        return {}


def test_it_keeps_the_rules_of_plugins() -> None:
    script = [call("look", x="3"), "Done."]
    may_change = ("_worker", "_sender", "_open")
    assert check_plugin(lambda: XRay(client=Nowhere()), tools=[look], script=script, may_change=may_change).problems == []
