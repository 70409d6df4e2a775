"""What is kept, what is counted, and that the counters add up."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfp import Agent, ConfigError, tool
from agentfp.testing import ScriptedModel, call, check_plugin
from agentfp_core.cli import main
from agentfp_permissions import Permissions
from agentfp_trust import Trust
from agentfp_trust.facts import KEPT
from agentfp_trust.recorder import Recorder

pytestmark = pytest.mark.anyio
CANARY = "never-to-be-seen"
ORIGIN = {"run_id": "r", "root_id": "r", "ts_ns": 1_700_000_000_000_000_000, "seq": 3, "turn": 1, "iteration": 1}
CHECK = {"capability": "tool_call", "result": "deny"}


def seen(name: str = "agentfp.permission.check", data: dict[str, Any] | None = None, **origin: Any) -> Recorder:
    recorder = Recorder(10)
    recorder.observe(name, CHECK if data is None else data, {**ORIGIN, **origin})
    return recorder


def outcome(recorder: Recorder) -> str:
    counters = recorder.counters
    assert counters.observed == counters.retained + counters.evicted + counters.invalid + counters.oversized + counters.pending
    for name in ("retained", "evicted", "invalid", "oversized"):
        if getattr(counters, name):
            return name
    return "nothing"


def test_a_snapshot_is_the_callers_own() -> None:
    recorder = seen(path=("c1", "c2"))
    recorder.snapshot()["data"]["facts"][0]["origin"]["path"].append("another")
    assert recorder.snapshot()["data"]["facts"][0]["origin"]["path"] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("data", "origin", "wanted"),
    [
        (CHECK, {}, "retained"),
        ({**CHECK, "target": "x" * 512}, {}, "retained"),
        ({**CHECK, "target": "x" * 513}, {}, "oversized"),
        ({**CHECK, "target": "😀" * 256}, {}, "retained"),
        ({**CHECK, "target": "😀" * 257}, {}, "oversized"),
        (CHECK, {"path": ("c",) * 32}, "retained"),
        (CHECK, {"path": ("c",) * 33}, "oversized"),
        (CHECK, {"path": ("😀" * 256,) * 8}, "oversized"),
        ({**CHECK, "result": "invented"}, {}, "invalid"),
        ({"result": "deny"}, {}, "invalid"),
        (CHECK, {"call_id": ""}, "invalid"),
        (CHECK, {"iteration": -1}, "invalid"),
        (CHECK, {"iteration": 0.5}, "invalid"),
        (CHECK, {"seq": 2**53}, "invalid"),
        (CHECK, {"seq": True}, "invalid"),
        (CHECK, {"run_id": None}, "invalid"),
        ({**CHECK, "rationale": CANARY, "arguments": {"a": CANARY}, CANARY: CANARY}, {"prompt": CANARY}, "retained"),
    ],
)
def test_what_fits_and_what_does_not(data: dict[str, Any], origin: dict[str, Any], wanted: str) -> None:
    recorder = seen(data=data, **origin)
    assert outcome(recorder) == wanted
    assert CANARY not in json.dumps(recorder.snapshot())


def test_objects_are_not_asked_anything() -> None:
    class Text(str):
        __slots__ = ()

        def __len__(self) -> int:
            raise AssertionError

    class Reads:
        @property
        def get(self) -> Any:
            raise RuntimeError

    assert outcome(seen(data={**CHECK, "target": Text("x")})) == "invalid"
    assert outcome(seen(data=Reads())) == "invalid"  # type: ignore[arg-type]


def test_other_events_are_not_seen() -> None:
    assert seen("agentfp.stream.token").counters.observed == 0


def test_the_newest_are_kept() -> None:
    recorder = Recorder(10)
    for number in range(25_000):
        recorder.observe("agentfp.permission.check", CHECK, {**ORIGIN, "seq": number})
    counters, snapshot = recorder.counters, recorder.snapshot()
    assert (counters.retained, counters.evicted, counters.observed) == (10, 24_990, 25_000)
    assert (snapshot["data"]["first_retained"], snapshot["data"]["last_observed"]) == (24_990, 24_999)
    recorder.reset()
    assert recorder.snapshot()["data"]["facts"] == []
    assert recorder.snapshot()["data"]["capture_id"] != snapshot["data"]["capture_id"]


def test_a_reset_in_the_middle_belongs_to_the_old_capture() -> None:
    recorder = Recorder(10)

    class Resetting(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            recorder.reset()
            return super().get(key, default)

    recorder.observe("agentfp.permission.check", Resetting(CHECK), ORIGIN)
    assert outcome(recorder) == "nothing"


def test_threads_lose_nothing() -> None:
    recorder = Recorder(100)

    def observe() -> None:
        for _ in range(500):
            recorder.observe("agentfp.permission.check", CHECK, ORIGIN)

    threads = [threading.Thread(target=observe) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (recorder.counters.observed, recorder.counters.evicted) == (4_000, 3_900)


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=600) | st.lists(st.text(), max_size=3)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*KEPT, "agentfp.tool.ended"]),
            st.dictionaries(st.sampled_from(["capability", "result", "target", "service", "kind", "moment"]), plain),
            st.dictionaries(st.sampled_from(["run_id", "seq", "iteration", "call_id", "path"]), plain),
        )
    )
)
def test_the_law_of_the_counters(events: list[tuple[str, dict[str, Any], dict[str, Any]]]) -> None:
    recorder = Recorder(3)
    for name, data, origin in events:
        recorder.observe(name, data, {**ORIGIN, **origin})
        outcome(recorder)
        json.dumps(recorder.snapshot(), allow_nan=False)
    assert recorder.counters.observed == sum(name in KEPT for name, _, _ in events)


@pytest.mark.parametrize(
    "settings", [{"max_facts": 0}, {"max_facts": -1}, {"max_facts": 0.5}, {"max_facts": 10_001}, {"id": ""}, {"id": "x" * 513}]
)
def test_wrong_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        Trust(**settings)


# --- runs ---------------------------------------------------------------------------------------------------------------------------------


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {CANARY}"


@tool
def look() -> str:
    """Look."""
    return CANARY


async def test_live_and_saved_say_the_same(tmp_path: Path, capsys: Any) -> None:
    from agentfp import approve

    watch = Trust()
    policy = {"clerk": ["pay"]}
    agent = Agent(
        ScriptedModel([[call("look"), call("pay", amount=3)], f"Done, {CANARY}."]),
        tools=[pay, look],
        plugins=[Permissions(roles=policy, active_role="clerk"), watch],
    )
    result = await agent.run(CANARY)
    assert result.pause is not None
    result = await agent.resume(result.pause, {result.pause.questions[0].id: approve(by="lovelace")})
    live = watch.snapshot()["data"]
    assert {"agentfp.permission.check", "agentfp.hook.verdict", "agentfp.approval.decided"} <= {fact["type"] for fact in live["facts"]}
    assert live["coverage"] == ["permissions"]
    result.record.save(tmp_path / "r.jsonl")
    for source in (result, tmp_path / "r.jsonl"):
        saved = Trust.of(source)["data"]
        assert sorted(map(json.dumps, saved["facts"])) == sorted(map(json.dumps, live["facts"]))
    assert CANARY not in json.dumps(live)
    assert "lovelace" not in json.dumps(live)
    assert main(["trust", str(tmp_path / "r.jsonl")]) == 0
    assert "permission.check" in capsys.readouterr().out
    (tmp_path / "text.jsonl").write_text("no record")
    for name, words in (("none", "No such file or directory"), ("text", "line 1 is not JSON")):
        assert main(["trust", str(tmp_path / f"{name}.jsonl")]) == 2
        assert capsys.readouterr().err.startswith(f"agentfp: {tmp_path / name}.jsonl: {words}")


def test_the_plugin_keeps_the_rules_of_plugins() -> None:
    check_plugin(Trust(), may_change=("_recorder", "_deciders"))
