"""The plugin against a real server: what a run leaves in CloudWatch Logs, and what becomes of it when something is wrong."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from typing import Any

import pytest

from agentfp import Agent, ConfigError, Identity, tool
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp_cloudwatch import CloudWatch
from tests.observability.cloudwatch.logs_backend import Group, Watched, in_turn, refusal

pytestmark = pytest.mark.anyio
CANARY = "canary-4711"


@tool
async def look(x: str) -> str:
    """Look at x."""
    return f"seen {x}"


def agent(logs: CloudWatch, *script: Any, **more: Any) -> Agent[Any, Any]:
    return Agent(ScriptedModel(list(script)), tools=[look], plugins=[logs], name="desk", **more)


async def test_a_run_is_there_event_by_event_at_the_times_when_they_happened(aws: str) -> None:
    group = Group(aws)
    logs = CloudWatch(log_group=group.name, endpoint_url=aws)
    who = Identity(tenant="acme", principal="ann")
    result = await agent(logs, call("look", x="3"), "Done.").run("Look.", session_id="s-1", identity=who)
    assert await logs.flush()
    raw = group.raw()
    assert [event["timestamp"] for event in raw] == [event.ts_ns // 1_000_000 for event in result.record.events()]
    messages = group.messages()
    assert [message["type"] for message in messages] == [event.name for event in result.record.events()]
    ended = next(message for message in messages if message["type"] == "agentfp.tool.ended")
    assert set(ended) == {"type", "payload", "meta"}
    assert ended["payload"]["outcome"] == "success"
    header = result.record.headers[-1]
    wanted = {
        "run_id": header.run_id,
        "agent": "desk",
        "session_id": "s-1",
        "tenant": "acme",
        "principal": "ann",
        "turn": 1,
        "iteration": 1,
    }
    assert wanted.items() <= ended["meta"].items()
    assert messages[0]["meta"]["content"] is False
    await logs.close()


async def test_content_is_sent_only_when_it_is_asked_for_and_the_stream_says_so(aws: str) -> None:
    for content in (False, True):
        group = Group(aws)
        logs = CloudWatch(log_group=group.name, endpoint_url=aws, content=content)
        await agent(logs, call("look", x=CANARY), f"It is {CANARY}.").run(CANARY)
        await logs.close()
        text = json.dumps(group.messages())
        assert (CANARY in text) is content
        assert group.messages()[0]["meta"]["content"] is content


async def test_the_default_stream_is_one_of_this_process(aws: str) -> None:
    group = Group(aws)
    logs = CloudWatch(log_group=group.name, endpoint_url=aws)
    await agent(logs, "Done.").run("Look.")
    await logs.close()
    assert group.streams == [logs.log_stream]
    assert re.fullmatch(rf"agentfp/[^:*]+/{os.getpid()}-\d{{13}}", logs.log_stream)


async def test_an_event_that_is_too_large_is_replaced_by_one_that_says_so(aws: str) -> None:
    group = Group(aws)
    logs = CloudWatch(log_group=group.name, endpoint_url=aws, content=True)
    await agent(logs, "x" * (300 * 1024)).run("Look.")
    await logs.close()
    large = [message for message in group.messages() if "oversize" in message["payload"]]
    assert [message["type"] for message in large] == ["agentfp.message.added"]
    assert large[0]["payload"]["oversize"] is True
    assert large[0]["payload"]["bytes"] > 300 * 1024
    assert large[0]["meta"]["turn"] == 1
    assert logs.stats.failed == 0


async def test_after_close_the_tail_is_there_and_flush_returns(aws: str) -> None:
    group = Group(aws)
    logs = CloudWatch(log_group=group.name, endpoint_url=aws, batch_seconds=3600)
    one = agent(logs, "Done.")
    result = await one.run("Look.")
    assert group.raw() == []
    await one.shutdown()
    assert await logs.flush()
    assert len(group.raw()) == len(list(result.record.events()))


async def test_throttling_that_ends_loses_nothing_and_doubles_nothing(aws: str) -> None:
    group = Group(aws)
    client = Watched(group.client, puts=in_turn(refusal("ThrottlingException"), refusal("ThrottlingException")))
    logs = CloudWatch(log_group=group.name, client=client)
    result = await agent(logs, "Done.").run("Look.")
    assert await logs.flush()
    assert [message["meta"]["seq"] for message in group.messages()] == [event.seq for event in result.record.events()]
    assert (logs.stats.failed, logs.stats.dropped) == (0, 0)
    await logs.close()


async def test_a_denied_stream_is_counted_logged_and_told_and_the_run_goes_on(aws: str, caplog: pytest.LogCaptureFixture) -> None:
    group = Group(aws)
    told: list[tuple[str, int]] = []
    client = Watched(group.client, creates=in_turn(refusal("AccessDeniedException", "CreateLogStream")))
    logs = CloudWatch(log_group=group.name, client=client, on_error=lambda error, count: told.append((str(error), count)))
    result = await agent(logs, "Done.").run("Look.")
    await logs.close()
    assert result.text == "Done."
    assert logs.stats.failed == logs.stats.accepted == sum(count for _, count in told)
    assert logs.stats.last_error == "CloudWatchError"
    assert [kind for kind, _ in client.asked].count("create") == 1
    assert f"allow logs:CreateLogStream and logs:PutLogEvents on {group.name!r}" in caplog.text


async def test_what_was_dropped_stands_in_the_stream(aws: str) -> None:
    group = Group(aws)
    logs = CloudWatch(log_group=group.name, endpoint_url=aws, max_queue=5, batch_seconds=3600)
    result = await agent(logs, call("look", x="3"), "Done.").run("Look.")
    await logs.close()
    stats = logs.stats
    assert stats.accepted == len(list(result.record.events())) == stats.done + stats.dropped
    assert stats.dropped > 0
    told = [message["payload"]["count"] for message in group.messages() if message["type"] == "agentfp.cloudwatch.dropped"]
    assert sum(told) == stats.dropped


# --- before anything runs -------------------------------------------------------------------------------------------------------------


async def test_without_boto3_and_without_a_client_no_agent_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "boto3" else find(name, *more))
    with pytest.raises(ConfigError, match="pip install agentfp-cloudwatch"):
        agent(CloudWatch(log_group="g"), "Done.")
    agent(CloudWatch(log_group="g", client=object()), "Done.")


async def test_without_a_region_no_agent_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/not/there")
    with pytest.raises(ConfigError, match="no AWS region; set `region`, or AWS_DEFAULT_REGION"):
        agent(CloudWatch(log_group="g"), "Done.")
    monkeypatch.setenv("AWS_PROFILE", "nobody-has-this-one")
    with pytest.raises(ConfigError, match="settings cannot be used \\(ProfileNotFound\\); see to AWS_PROFILE"):
        agent(CloudWatch(log_group="g"), "Done.")
    monkeypatch.delenv("AWS_PROFILE")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    agent(CloudWatch(log_group="g"), "Done.")


@pytest.mark.parametrize(
    "wrong",
    [
        {"log_group": ""},
        {"log_group": "a b"},
        {"log_stream": "a:b"},
        {"max_batch_events": 10_001},
        {"max_batch_bytes": 1_048_577},
        {"max_event_bytes": 1_048_551},
        {"batch_seconds": -1},
    ],
)
async def test_settings_beyond_what_the_service_takes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        CloudWatch(**{"log_group": "g", **wrong})


class Nowhere:
    """Takes everything and keeps nothing: a client of boto3 cannot be compared with itself, which the check does with settings."""

    def put_log_events(self, **arguments: Any) -> dict[str, Any]:
        return {}


def test_it_keeps_the_rules_of_plugins() -> None:
    def make() -> CloudWatch:
        return CloudWatch(log_group="g", client=Nowhere())

    script = [call("look", x="3"), "Done."]
    assert check_plugin(make, tools=[look], script=script, may_change=("_worker", "_stream")).problems == []
